"""What a judge says: violations with their witnesses, and a verdict for each assertion."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from lab.properties.assertions import ASSERTIONS

__all__ = ["Broken", "LocalState", "Verdict", "Violation", "verdict_of"]


class Broken(Struct, frozen=True):
    """An assumption that did not hold, what broke it last, and the record that shows that.

    ``kinds``: of which kinds the faults were that broke it, since it held last; none: it was only observed.
    """

    assumption: int
    why: str
    record: int
    kinds: tuple[str, ...] = ()

    def is_by(self, kind: str, breaks: int) -> bool:
        """Whether a fault of this kind broke it; where none is known, whether such a fault does that."""
        return kind in self.kinds if self.kinds else self.assumption == breaks

    def __str__(self) -> str:
        return f"{self.assumption} ({self.why})"


class LocalState(Struct, frozen=True):
    """A node was in this state from the record with that number on; ``text`` says it in words."""

    node: int
    record: int
    at_us: int
    text: str


class Violation(Struct, frozen=True):
    """An assertion does not hold, as the record with number ``record`` shows.

    ``states`` are the offending local states, at once in some consistent state of the whole; ``cut`` is the
    earliest such state: for every node the record that it had come to. ``broken`` are the assumptions that
    did not hold, of those that the protocol relies on for this assertion; none: a failure of the protocol.
    ``beside`` are the others that did not hold.
    """

    assertion: str
    record: int
    at_us: int
    states: tuple[LocalState, ...]
    cut: dict[int, int]
    broken: tuple[Broken, ...]
    text: str
    beside: tuple[Broken, ...] = ()

    @property
    def nodes(self) -> tuple[int, ...]:
        """The nodes that offend."""
        return tuple(state.node for state in self.states)

    @property
    def is_failure(self) -> bool:
        """Whether it is the protocol's own: all that it relies on did hold."""
        return not self.broken

    @property
    def intact(self) -> str:
        """Of a failure, which assumptions did hold: ``all assumptions intact``, or all but some."""
        but = f" but {', '.join(map(str, self.beside))}, on which it does not rely" if self.beside else ""
        return f"all assumptions intact{but}"

    def __str__(self) -> str:
        if self.is_failure:
            return f"{self.assertion} fails with {self.intact}: {self.text}"
        said = ", ".join(f"{broken.assumption}" for broken in self.broken)
        why = "; ".join(dict.fromkeys(broken.why for broken in self.broken))
        noun = "assumption" if len(self.broken) == 1 else "assumptions"
        return f"outside the promise: {self.assertion} under broken {noun} {said} ({why}): {self.text}"


class Verdict(Struct, frozen=True):
    """What is to be said of one assertion so far. ``failures`` and ``outside`` count violations."""

    assertion: str
    failures: int
    outside: int
    first: Violation | None

    @property
    def word(self) -> Literal["holds", "outside", "fails"]:
        """The verdict in a word."""
        return "fails" if self.failures else "outside" if self.outside else "holds"

    def __str__(self) -> str:
        statement = ASSERTIONS[self.assertion].statement
        if self.first is None:
            return f"{self.assertion} holds: {statement}"
        return str(self.first)


def verdict_of(assertion: str, violations: Sequence[Violation]) -> Verdict:
    """The verdict that these violations, of whatever assertions, come to for this one."""
    found = [violation for violation in violations if violation.assertion == assertion]
    failures = [violation for violation in found if violation.is_failure]
    first = next(iter(failures or found), None)
    return Verdict(assertion, len(failures), len(found) - len(failures), first)
