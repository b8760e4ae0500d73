"""Commands that protocols declare: list them, and check a call of one against its declaration."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec

from lab.kernel import CommandInput, Protocol
from lab.protocols import PROTOCOLS, TASKS
from lab.script.commands import CommandError, ProtocolCommandLine, Verb
from lab.text import did_you_mean, sanitize

_UNSET: Mapping[str, Any] = MappingProxyType({})
_LONGEST = 40
_DEFAULT_TARGETS = {
    "leaders": " Without NODES: every coordinator, or every node that is up if the protocol elects nobody.",
    "one": " Runs on the coordinator, or the highest node if the protocol elects nobody; elsewhere: tell NODES …",
    "named": "",
}


def bare_commands() -> dict[str, Verb]:
    """Return the commands of the built-in protocols; they need no *tell* before them."""
    return {
        name: Verb(
            own.usage, own.does.strip().partition("\n")[0] + _DEFAULT_TARGETS[own.to], own.example or f"{name} 5"
        )
        for each in (*PROTOCOLS.values(), *TASKS.values())
        for name, own in each.commands.items()
    }


def commands_with_words() -> frozenset[str]:
    """Return the names of those commands that are followed by arguments, not by nodes."""
    return frozenset(
        name for each in (*PROTOCOLS.values(), *TASKS.values()) for name, own in each.commands.items() if own.words
    )


def command_input(
    command: ProtocolCommandLine,
    protocol: type[Protocol],
    nodes: Sequence[int],
    parameters: Mapping[str, Any] = _UNSET,
) -> CommandInput:
    """Return the input for a node, in a run with these nodes and parameters.

    Raises CommandError if the protocol has no such command, or refuses the arguments.
    """
    name = command.command
    if name not in protocol.commands:
        known = sorted(protocol.commands)
        has = f"its commands are {', '.join(known)}" if known else "it has no commands"
        shown = sanitize(name, _LONGEST)
        raise CommandError(f"{protocol.name} has no command {shown}; {has}{did_you_mean(name, known)}")
    refusal = protocol.refusal(name, command.words, nodes, msgspec.convert(parameters, protocol.Parameters))
    if refusal:
        raise CommandError(refusal)
    if command.nodes is None and protocol.commands[name].to == "named":
        raise CommandError(f"{name} needs nodes: {protocol.commands[name].example}")
    return CommandInput(name, command.words)
