"""What a command waits for, parsed; and the line of a script, which is triggers and a command."""

from typing import Literal

from msgspec import Struct

from lab.script.commands import Command
from lab.script.expectations import Expectation, Settled
from lab.script.predicates import Predicate

__all__ = ["After", "At", "Every", "OnMessage", "OnStatus", "Scripted", "Trigger", "When"]


class At(Struct, frozen=True):
    """``at 2s``: so long after the run began."""

    us: int


class After(Struct, frozen=True):
    """``after 2s``: so long after the trigger before it, the line before it, or the command was given."""

    us: int


class Every(Struct, frozen=True):
    """``every 2s``: so long after that, and again and again. It is the last trigger of a line."""

    us: int


class When(Struct, frozen=True):
    """``when all normal``: as soon as the predicate holds; at once, if it does already."""

    predicate: Predicate


class OnMessage(Struct, frozen=True):
    """``on send EnterElection 4->1``: as soon as such a message has left, has arrived, or was dropped.

    ``nth``: the so-manieth of them, from when it is waited for.
    """

    moment: Literal["send", "deliver", "drop"]
    kind: str
    source: int | None = None
    target: int | None = None
    nth: int = 1


class OnStatus(Struct, frozen=True):
    """``on status 4 Election``: as soon as this node, or any, enters a status."""

    who: int | Literal["any"]
    status: str


Trigger = At | After | Every | When | OnMessage | OnStatus


class Scripted(Struct, frozen=True):
    """A command, and what it waits for; ``text`` is the command as it is written, ``source`` the whole line.

    ``then`` are further triggers, each of which is looked for once the one before it has come. ``follows``: the
    line waits until what the line before it does is done. ``line`` is its number in the script, from 1; 0 where
    there is none.
    """

    command: Command | Expectation | Settled
    text: str
    trigger: Trigger | None
    source: str
    then: tuple[Trigger, ...] = ()
    follows: bool = False
    line: int = 0
