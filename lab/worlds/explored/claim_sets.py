"""The claims made on the way to a state, as numbers: for uniqueness assertions, such as A5.

Most claims contain a number that their claimant counts up in its state. So states that are otherwise equal have
usually seen the same claims, and telling states apart by claims too costs next to nothing.
"""

from collections.abc import Hashable, Iterable
from typing import NamedTuple

from lab.properties import UniquenessAssertion
from lab.recording.snapshot import NodeState

__all__ = ["NOTHING", "ClaimSets", "UniqueClaim"]

NOTHING = 0


class UniqueClaim(NamedTuple):
    """A claim, made for the assertion of this name."""

    assertion: str
    what: Hashable
    claimant: Hashable | None


class ClaimSets:
    """The sets of claims, by number. ``repeated`` has, for each set, the assertions with a claim made twice."""

    def __init__(self, claims: Iterable[UniquenessAssertion]) -> None:
        self.repeated: list[tuple[str, ...]] = []
        self._claims = tuple(claims)
        self._contents: list[tuple[frozenset[UniqueClaim], tuple[str, ...]]] = []
        self._numbers: dict[tuple[frozenset[UniqueClaim], tuple[str, ...]], int] = {}
        self._number(frozenset(), ())

    def made(self, before: NodeState, after: NodeState) -> tuple[UniqueClaim, ...]:
        """Return the claims of a node that goes from one local state to the next."""
        found = ((claim.id, claim.claims(before, after)) for claim in self._claims)
        return tuple(UniqueClaim(name, *claim) for name, claim in found if claim is not None)

    def add(self, number: int, made: Iterable[UniqueClaim]) -> int:
        """Return the number of this set with these claims added."""
        known, repeated = self._contents[number]
        for new in made:
            again = [old for old in known if old[:2] == new[:2]]
            if again and (new.claimant is None or new not in again):
                repeated = tuple(sorted({*repeated, new.assertion}))
            known |= {new} if not again else frozenset()
        return self._number(known, repeated)

    def _number(self, known: frozenset[UniqueClaim], repeated: tuple[str, ...]) -> int:
        number = self._numbers.setdefault((known, repeated), len(self.repeated))
        if number == len(self.repeated):
            self._contents.append((known, repeated))
            self.repeated.append(repeated)
        return number
