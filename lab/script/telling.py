"""Commands of a protocol's own: which there are, and whether a protocol has one and takes these words."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec

from lab.kernel import CommandInput, Protocol
from lab.protocols import PROTOCOLS, TASKS
from lab.script.commands import CommandError, Tell, Verb
from lab.text import did_you_mean, sanitize

__all__ = ["commands_with_words", "own_commands", "told_by"]

_UNSET: Mapping[str, Any] = MappingProxyType({})
_LONGEST = 40
_UNNAMED = {
    "leaders": " Without NODES: all that lead, or, where nobody is elected, all that run.",
    "one": " For the one that leads, or, where nobody is elected, the highest; for others: tell NODES …",
    "named": "",
}


def own_commands() -> dict[str, Verb]:
    """The commands of the program's protocols, which need no *tell* before them."""
    return {
        name: Verb(own.usage, own.does.strip().partition("\n")[0] + _UNNAMED[own.to], own.example or f"{name} 5")
        for each in (*PROTOCOLS.values(), *TASKS.values())
        for name, own in each.commands.items()
    }


def commands_with_words() -> frozenset[str]:
    """Those of them behind which there are words of theirs, and not nodes."""
    return frozenset(
        name for each in (*PROTOCOLS.values(), *TASKS.values()) for name, own in each.commands.items() if own.words
    )


def told_by(
    command: Tell, protocol: type[Protocol], nodes: Sequence[int], parameters: Mapping[str, Any] = _UNSET
) -> CommandInput:
    """What a node is given, in a run of these nodes that sets these parameters.

    CommandError where the protocol has no such command, or it takes other words.
    """
    name = command.command
    if name not in protocol.commands:
        known = sorted(protocol.commands)
        has = f"it has {', '.join(known)}" if known else "it has none of its own"
        said = sanitize(name, _LONGEST)
        raise CommandError(f"{protocol.name} has no command {said}; {has}{did_you_mean(name, known)}")
    against = protocol.against(name, command.words, nodes, msgspec.convert(parameters, protocol.Parameters))
    if against:
        raise CommandError(against)
    if command.nodes is None and protocol.commands[name].to == "named":
        raise CommandError(f"{name} is for the nodes that you name: {protocol.commands[name].example}")
    return CommandInput(name, command.words)
