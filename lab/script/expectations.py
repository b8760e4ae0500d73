"""What is expected of a run, parsed."""

from msgspec import Struct

from lab.script.predicates import Predicate

__all__ = ["CAUSES", "Expect", "ExpectThroughout", "ExpectViolation", "Expectation", "Settled", "is_of_whole_run"]

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
"""Faults by name, with the assumption that each breaks."""


class Expect(Struct, frozen=True):
    """``expect P within 2s``: holds at some instant from here on, so long at most.

    ``within_us`` None: holds when its trigger comes; without a trigger, when the run ends.
    """

    predicate: Predicate
    within_us: int | None = None


class ExpectThroughout(Struct, frozen=True):
    """``expect always P``, ``expect never P``: from here on to the end; without a trigger, from the start."""

    predicate: Predicate
    always: bool


class ExpectViolation(Struct, frozen=True):
    """``expect violation A1.1 under pause``, ``expect no violation``: what the verdicts of the whole run are.

    ``under``: a fault of ``CAUSES``, by which an assumption is broken then; "" : any, or none. ``assertion`` "":
    of all.
    """

    assertion: str = ""
    under: str = ""
    none: bool = False


Expectation = Expect | ExpectThroughout | ExpectViolation


def is_of_whole_run(command: object) -> bool:
    """Whether it is an expectation that, where no trigger says otherwise, is of the whole run, or of its end."""
    if isinstance(command, Expect):
        return command.within_us is None
    return isinstance(command, ExpectThroughout | ExpectViolation)


class Settled(Struct, frozen=True):
    """An expectation of which it is known by now whether it was met; ``why`` says more, where it was not."""

    met: bool
    why: str = ""
