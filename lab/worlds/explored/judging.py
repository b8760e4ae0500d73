"""What does not hold of a global state: by what is seen of its nodes, by the cut in force, by what was claimed.

Of a local state an assertion sees little: most that differ look the same to all that are promised. So each look is
numbered, and a combination of looks is judged once.
"""

from collections.abc import Hashable
from itertools import combinations
from typing import NamedTuple

import msgspec

from lab.properties import A2, A4, AGREEMENTS, BOOKED, ENDS, RAISES, offend
from lab.properties.books import Books, booked
from lab.properties.liveness import Liveness
from lab.recording.snapshot import NodeState
from lab.worlds.explored.local import LocalStates
from lab.worlds.explored.moves import Moves
from lab.worlds.explored.states import CLAIMED, CUT, State

__all__ = ["StateJudge", "Verdict"]


class Verdict(NamedTuple):
    """``broken`` are the assertions that do not hold. ``astray``: the live nodes do not agree as they have to in
    the end; ``agree``: there are some, and they do.
    """

    broken: tuple[str, ...]
    astray: bool
    agree: bool


class StateJudge:
    """Judges states of nodes with these ids by what is promised. ``liveness`` is the first of A2, A4 and ENDS
    that is; or None.
    """

    def __init__(
        self, promises: tuple[str, ...], ids: tuple[int, ...], locals_: LocalStates, moves: Moves
    ) -> None:
        self.liveness = next((each for each in (A2, A4, ENDS) if each.id in promises), None)
        self._agreement = Liveness(self.liveness or A2)
        self._agreements = [AGREEMENTS[name] for name in promises if name in AGREEMENTS]
        self._booked = [name for name in promises if name in BOOKED]
        self._first: dict[int, NodeState] = {}
        self._ids = ids
        self._locals = locals_
        self._moves = moves
        self._looks: list[int] = []
        self._views: list[NodeState] = []
        self._numbers: dict[Hashable, int] = {}
        self._known: dict[State, Verdict] = {}

    def judge(self, state: State) -> Verdict:
        """What is to be said of the state."""
        looks = self._looks
        if len(looks) < len(self._locals):
            looks += [self._look(view) for view in self._locals.views[len(looks) :]]
        key = (*[looks[local] for local in state[: len(self._ids)]], state[CUT])
        verdict = self._known.get(key)
        if verdict is None:
            verdict = self._known[key] = self._judge([self._views[look] for look in key[:-1]], state[CUT])
        twice = self._moves.claimed.twice[state[CLAIMED]]
        return verdict._replace(broken=(*verdict.broken, *twice)) if twice else verdict

    def _look(self, view: NodeState) -> int:
        said = tuple(agreement.says(view) for agreement in self._agreements)
        books = (view.id, msgspec.json.encode(booked(view.state))) if self._booked else ()
        look = (view.process, view.status, view.coordinator, view.group, said, books)
        number = self._numbers.setdefault(look, len(self._views))
        if number == len(self._views):
            self._views.append(view)
            if view.process == "running":
                self._first.setdefault(view.id, view)
        return number

    def _judge(self, views: list[NodeState], cut: int) -> Verdict:
        pairs = list(combinations(views, 2))
        broken = [each.id for each in self._agreements if any(offend(each, *pair) for pair in pairs)]
        if any(view.process == "failed" for view in views):
            broken.append(RAISES.id)
        if self._booked:
            broken += self._audited(views)
        # while the network is cut, A4 is asked of those who can talk to each other, and A2 of nobody
        spared = bool(cut) and self.liveness is not A4
        by_id = dict(zip(self._ids, views, strict=True))
        astray = not spared and bool(self._agreement.astray(by_id, self._moves.cuts.links_of(cut)))
        lives = any(view.process == "running" for view in views)
        return Verdict(tuple(broken), astray, lives and not astray and not spared)

    def _audited(self, views: list[NodeState]) -> list[str]:
        """What does not hold of the books of all nodes, which were first as they came up first."""
        books = Books()
        for view in (*self._first.values(), *views):
            books.enter(view.id, view.state.get("log", ()), view.state, 0, 0)
        found = {offence.assertion for offence in books.offences()}
        return [name for name in self._booked if name in found]
