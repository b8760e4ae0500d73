"""Check the class attributes that a user's protocol declares, before anything runs."""

import re
from typing import Any

import msgspec
from msgspec import Struct

from lab.kernel import Payload
from lab.properties import ASSERTIONS
from lab.protocols import PROTOCOLS, TASKS, Algorithm
from lab.worlds.missing_awaits import first_mistake

__all__ = ["DeclarationError", "check_declarations"]

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class DeclarationError(Exception):
    """A class attribute has a wrong value; the text is for the user. ``place``: where, if known."""

    def __init__(self, text: str, place: str = "") -> None:
        super().__init__(text)
        self.place = place


def check_declarations(protocol: type[Algorithm]) -> None:
    """Raise DeclarationError for the first wrong declaration."""
    _check_name(protocol)
    _check_promises(protocol)
    _check_relies_on(protocol)
    _check_heartbeats(protocol)
    _check_workload(protocol)
    _check_parameters(protocol)
    _check_awaits(protocol)


def _check_name(protocol: type[Algorithm]) -> None:
    name: object = protocol.name
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise DeclarationError(
            f"the name of {protocol.__name__} is {name!r}: write small letters, digits and hyphens, "
            "such as name: ClassVar[str] = 'my-election'"
        )
    if PROTOCOLS.get(name, protocol) is not protocol or name in TASKS:
        raise DeclarationError(
            f"{protocol.__name__} has the name {name!r}, which is the name of a built-in protocol: choose another"
        )


def _check_promises(protocol: type[Algorithm]) -> None:
    promises: object = protocol.promises
    if not isinstance(promises, tuple):
        raise DeclarationError(f"{protocol.__name__}.promises is {promises!r}: write a tuple, such as ('A1.1',)")
    for promise in promises:
        if promise not in ASSERTIONS:
            known = ", ".join(ASSERTIONS)
            raise DeclarationError(
                f"{protocol.__name__} promises {promise!r}, which is no assertion (known: {known})"
            )


def _check_relies_on(protocol: type[Algorithm]) -> None:
    try:
        msgspec.convert(protocol.relies_on, dict[str, tuple[int, ...]])
    except msgspec.ValidationError as error:
        raise DeclarationError(
            f"{protocol.__name__}.relies_on gives for an assertion the assumptions it needs, "
            f"such as {{'A1.1': (8, 9)}}: {error}"
        ) from None


def _check_heartbeats(protocol: type[Algorithm]) -> None:
    kinds: Any = protocol.heartbeats
    if not isinstance(kinds, tuple) or not all(isinstance(k, type) and issubclass(k, Payload) for k in kinds):
        raise DeclarationError(
            f"{protocol.__name__}.heartbeats is {kinds!r}: write a tuple of messages, such as (ILead,)"
        )


def _check_workload(protocol: type[Algorithm]) -> None:
    commands: Any = protocol.workload
    if not isinstance(commands, tuple) or not all(isinstance(each, str) for each in commands):
        raise DeclarationError(
            f"{protocol.__name__}.workload is {commands!r}: write a tuple of commands, such as ('publish',)"
        )
    for each in commands:
        if each.partition(" ")[0] not in protocol.commands:
            known = ", ".join(sorted(protocol.commands)) or "none"
            raise DeclarationError(
                f"{protocol.__name__} is kept busy by {each!r}, which is none of its commands (known: {known})"
            )


def _check_parameters(protocol: type[Algorithm]) -> None:
    parameters: Any = protocol.Parameters
    if not (isinstance(parameters, type) and issubclass(parameters, Struct)):
        raise DeclarationError(
            f"{protocol.__name__}.Parameters is no struct: write class Parameters(Struct, frozen=True)"
        )
    for field in msgspec.structs.fields(parameters):
        if field.required:
            raise DeclarationError(
                f"{protocol.__name__}.Parameters.{field.name} has no default: write {field.name}: … = …"
            )


def _check_awaits(protocol: type[Algorithm]) -> None:
    mistake = first_mistake(protocol)
    if mistake is not None:
        raise DeclarationError(mistake.text, mistake.place)
