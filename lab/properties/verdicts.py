"""The results of a judge: violations with their witnesses, and a verdict for each assertion."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from lab.properties.assertions import ASSERTIONS


class Broken(Struct, frozen=True):
    """A broken assumption: what broke it last, and the record that shows it.

    ``kinds`` are the kinds of the faults that broke it since it last held; empty if it was only observed.
    """

    assumption: int | str
    why: str
    record: int
    kinds: tuple[str, ...] = ()

    def is_caused_by(self, kind: str, breaks: int) -> bool:
        """Return whether a fault of this kind broke it or, if no fault is known, whether such faults do so."""
        return kind in self.kinds if self.kinds else self.assumption == breaks

    def __str__(self) -> str:
        return f"{self.assumption} ({self.why})"


class WitnessState(Struct, frozen=True):
    """A local state of a node, from that record on; ``text`` describes it."""

    node: int
    record: int
    at_us: int
    text: str


class Violation(Struct, frozen=True):
    """A violation of an assertion, shown by the record with number ``record``.

    ``states`` are the offending local states, which occur together in some consistent cut; ``cut`` is the earliest
    one, as the last record of every node. ``broken`` are the broken assumptions on which the protocol relies for
    this assertion; if there are none, the violation is a failure of the protocol. ``other_broken`` are all others.
    """

    assertion: str
    record: int
    at_us: int
    states: tuple[WitnessState, ...]
    cut: dict[int, int]
    broken: tuple[Broken, ...]
    text: str
    other_broken: tuple[Broken, ...] = ()

    @property
    def nodes(self) -> tuple[int, ...]:
        """The offending nodes."""
        return tuple(state.node for state in self.states)

    @property
    def is_failure(self) -> bool:
        """True if every assumption held that the protocol relies on."""
        return not self.broken

    @property
    def intact(self) -> str:
        """The assumptions that held at a failure: ``all assumptions intact``, or all but some."""
        but = (
            f" but {', '.join(map(str, self.other_broken))}, on which it does not rely"
            if self.other_broken
            else ""
        )
        return f"all assumptions intact{but}"

    def __str__(self) -> str:
        if self.is_failure:
            return f"{self.assertion} fails with {self.intact}: {self.text}"
        numbers = ", ".join(f"{broken.assumption}" for broken in self.broken)
        why = "; ".join(dict.fromkeys(broken.why for broken in self.broken))
        noun = "assumption" if len(self.broken) == 1 else "assumptions"
        return f"excused: {self.assertion} under broken {noun} {numbers} ({why}): {self.text}"


ERROR_IN_CODE = "an error in its code"
"""Why an assertion is not judged any more, followed by what its function has raised or returned."""


class Evidence(Struct, frozen=True):
    """The grounds of a verdict, in words: ``14 states of 5 nodes``; or why nothing was judged.

    ``since`` is the record from which on the assertion has been judged; None if it has not been. ``count`` is how
    many of what it speaks of there were, and ``noun`` the word for one of them. ``at_once``: how many pairs of
    these were concurrent, if the assertion is about pairs.
    """

    text: str
    since: int | None = None
    count: int = 0
    noun: str = ""
    at_once: int | None = None


class Occurrences:
    """The number of times that something occurred, and the record of the first time."""

    def __init__(self) -> None:
        self.count = 0
        self.since: int | None = None

    def add(self, record: int) -> None:
        """Note that it occurred, shown by this record."""
        self.count += 1
        self.since = record if self.since is None else self.since


class Verdict(Struct, frozen=True):
    """The verdict on an assertion so far: the numbers of failures and of excused violations.

    Without a violation the assertion holds only if there is ``evidence`` for that.
    """

    assertion: str
    failures: int
    excused: int
    first: Violation | None
    evidence: Evidence

    @property
    def word(self) -> Literal["holds", "not judged", "excused", "fails"]:
        """The verdict as a word."""
        if self.first is None:
            return "not judged" if self.evidence.since is None else "holds"
        return "fails" if self.failures else "excused"

    def __str__(self) -> str:
        if self.first is not None:
            return str(self.first)
        if self.evidence.since is None:
            return f"{self.assertion} is not judged: {self.evidence.text}"
        return f"{self.assertion} holds: {ASSERTIONS[self.assertion].statement} ({self.evidence.text})"


def verdict_of(assertion: str, violations: Sequence[Violation], evidence: Evidence) -> Verdict:
    """Return the verdict on one assertion, given the violations of all."""
    found = [violation for violation in violations if violation.assertion == assertion]
    failures = [violation for violation in found if violation.is_failure]
    first = next(iter(failures or found), None)
    return Verdict(assertion, len(failures), len(found) - len(failures), first, evidence)
