"""What was claimed on the way to a state, as numbers: for assertions about what may be claimed only once (A5).

Most that is claimed is counted by who claims it. So states of which all else is the same have claimed the same,
and to keep it apart costs next to nothing.
"""

from collections.abc import Hashable, Iterable
from typing import NamedTuple

from lab.properties import Claim
from lab.recording.snapshot import NodeState

__all__ = ["NOTHING", "Claimed", "Made"]

NOTHING = 0


class Made(NamedTuple):
    """A claim that was made by the assertion of this name."""

    assertion: str
    what: Hashable
    claimant: Hashable | None


class Claimed:
    """The sets of claims, by number; ``twice`` has, of each, the assertions by which one was made again."""

    def __init__(self, claims: Iterable[Claim]) -> None:
        self.twice: list[tuple[str, ...]] = []
        self._claims = tuple(claims)
        self._contents: list[tuple[frozenset[Made], tuple[str, ...]]] = []
        self._numbers: dict[tuple[frozenset[Made], tuple[str, ...]], int] = {}
        self._number(frozenset(), ())

    def made(self, before: NodeState, after: NodeState) -> tuple[Made, ...]:
        """What a node claims when it comes from one local state to the next."""
        found = ((claim.id, claim.claims(before, after)) for claim in self._claims)
        return tuple(Made(name, *claimed) for name, claimed in found if claimed is not None)

    def add(self, claimed: int, made: Iterable[Made]) -> int:
        """All that is claimed when this is too."""
        known, twice = self._contents[claimed]
        for new in made:
            again = [old for old in known if old[:2] == new[:2]]
            if again and (new.claimant is None or new not in again):
                twice = tuple(sorted({*twice, new.assertion}))
            known |= {new} if not again else frozenset()
        return self._number(known, twice)

    def _number(self, known: frozenset[Made], twice: tuple[str, ...]) -> int:
        number = self._numbers.setdefault((known, twice), len(self.twice))
        if number == len(self.twice):
            self._contents.append((known, twice))
            self.twice.append(twice)
        return number
