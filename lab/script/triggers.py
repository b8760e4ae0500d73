"""The triggers of the language as structs, and statements: a command with its triggers."""

from typing import Literal

from msgspec import Struct

from lab.script.commands import Command
from lab.script.expectations import Expectation, ExpectationResult
from lab.script.predicates import Predicate

__all__ = ["After", "At", "Every", "OnMessage", "OnStatus", "Statement", "Trigger", "When"]


class At(Struct, frozen=True):
    """``at 2s``: this long after the start of the run."""

    us: int


class After(Struct, frozen=True):
    """``after 2s``: this long after the previous trigger, the previous line, or the time the command was given."""

    us: int


class Every(Struct, frozen=True):
    """``every 2s``: repeatedly, with this period. Always the last trigger of a line."""

    us: int


class When(Struct, frozen=True):
    """``when all normal``: as soon as the predicate holds; at once if it holds already."""

    predicate: Predicate


class OnMessage(Struct, frozen=True):
    """``on send EnterElection 4->1``: as soon as such a message is sent, delivered or dropped.

    ``nth``: wait for the nth such message, counted from the start of the wait.
    """

    event: Literal["send", "deliver", "drop"]
    kind: str
    source: int | None = None
    target: int | None = None
    nth: int = 1


class OnStatus(Struct, frozen=True):
    """``on status 4 Election``: as soon as this node, or any node, enters the status."""

    who: int | Literal["any"]
    status: str


Trigger = At | After | Every | When | OnMessage | OnStatus


class Statement(Struct, frozen=True):
    """A command with its triggers. ``text`` is the text of the command, ``source`` that of the whole line.

    ``then``: further triggers; the wait for each starts when the one before it has fired. ``follows``: the line
    waits until the line before it is done. ``line`` is its number in the script, from 1; 0 outside of scripts.
    """

    command: Command | Expectation | ExpectationResult
    text: str
    trigger: Trigger | None
    source: str
    then: tuple[Trigger, ...] = ()
    follows: bool = False
    line: int = 0
