"""Commands of a protocol's own: which there are, and whether a protocol has one and takes these words."""

import inspect
from typing import Any

from lab.kernel import Protocol, Told
from lab.protocols import PROTOCOLS, TASKS
from lab.script.commands import CommandError, Tell
from lab.text import did_you_mean, sanitize

__all__ = ["own_commands", "told_by"]

_LONGEST = 40


def own_commands() -> dict[str, str]:
    """The commands of the program's protocols, which need no *tell* before them, each with what it does."""
    return {
        name: text.strip().partition("\n")[0]
        for each in (*PROTOCOLS.values(), *TASKS.values())
        for name, text in each.commands.items()
    }


def told_by(command: Tell, protocol: type[Protocol]) -> Told:
    """What a node is given. CommandError where the protocol has no such command, or it takes other words."""
    name = command.command
    if name not in protocol.commands:
        known = sorted(protocol.commands)
        has = f"it has {', '.join(known)}" if known else "it has none of its own"
        said = sanitize(name, _LONGEST)
        raise CommandError(f"{protocol.name} has no command {said}; {has}{did_you_mean(name, known)}")
    signature = inspect.signature(_method(protocol, name))
    try:
        signature.bind(protocol, *command.words)
    except TypeError:
        taken = " ".join(_usage(each) for each in list(signature.parameters.values())[1:])
        got = sanitize(" ".join(command.words), _LONGEST) or "none"
        raise CommandError(
            f"the words of {name} are {taken}; got {got}: tell NODES {name} {taken}"
            if taken
            else f"{name} takes no words; got {got}: tell NODES {name}"
        ) from None
    return Told(name, command.words)


def _method(protocol: type[Protocol], name: str) -> Any:
    """The method of the layer that has it."""
    upper = protocol.carries
    return getattr(protocol, name) if upper is None or hasattr(protocol, name) else _method(upper, name)


def _usage(parameter: inspect.Parameter) -> str:
    name = parameter.name.upper()
    if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
        return f"[{name}…]"
    return name if parameter.default is inspect.Parameter.empty else f"[{name}]"
