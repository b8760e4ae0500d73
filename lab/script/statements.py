"""Statements: a command or an expectation, with its triggers."""

from typing import Literal

from msgspec import Struct

from lab.script.commands import Command
from lab.script.predicates import Predicate

CAUSES: dict[str, int] = {
    "wipe": 4,
    "inject": 3,
    "duplicate": 3,
    "reorder": 7,
    "delay": 8,
    "lose": 8,
    "cut": 8,
    "partition": 8,
    "hold": 8,
    "slow": 9,
    "pause": 9,
}
"""The faults by name, each with the number of the assumption that it breaks."""


class Expect(Struct, frozen=True):
    """``expect P within 2s``: P holds at some time from now until the limit.

    ``within_us`` None: P holds at the time of the trigger; without a trigger, at the end of the run.
    """

    predicate: Predicate
    within_us: int | None = None


class ExpectThroughout(Struct, frozen=True):
    """``expect always P``, ``expect never P``: from now to the end; without a trigger, from the start."""

    predicate: Predicate
    always: bool


class ExpectViolation(Struct, frozen=True):
    """``expect violation A1.1 under pause``, ``expect no violation``: the verdicts of the whole run.

    ``under``: the fault of ``CAUSES`` that breaks an assumption at the violation; empty: any fault, or none.
    ``assertion`` empty: all assertions. ``none``: no violation is expected.
    """

    assertion: str = ""
    under: str = ""
    none: bool = False


Expectation = Expect | ExpectThroughout | ExpectViolation


def covers_whole_run(command: object) -> bool:
    """Return whether it is an expectation that, without a trigger, applies to the whole run or to its end."""
    if isinstance(command, Expect):
        return command.within_us is None
    return isinstance(command, ExpectThroughout | ExpectViolation)


class ExpectationResult(Struct, frozen=True):
    """The result of an expectation; ``why`` may explain why it was not met."""

    met: bool
    why: str = ""


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
