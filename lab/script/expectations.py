"""The expectations of the language as structs."""

from msgspec import Struct

from lab.script.predicates import Predicate

__all__ = [
    "CAUSES",
    "Expect",
    "ExpectThroughout",
    "ExpectViolation",
    "Expectation",
    "ExpectationResult",
    "covers_whole_run",
]

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
