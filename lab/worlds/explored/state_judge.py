"""Judge global states: by what assertions observe of the nodes, by the cut in force, and by the claims made.

An assertion observes little of a local state: most local states look the same to all promised assertions. So what
they observe is interned as a view class, and each combination of view classes is judged once.
"""

from collections.abc import Hashable
from itertools import combinations
from typing import NamedTuple

import msgspec

from lab.properties import A2, A4, AGREEMENTS, AUDITED, ENDS, RAISES, disagree
from lab.properties.ledger_audit import LedgerAudit, audited_fields
from lab.properties.liveness import Liveness
from lab.recording.snapshot import NodeState
from lab.worlds.explored.local_states import LocalStates
from lab.worlds.explored.moves import Moves
from lab.worlds.explored.states import CLAIM_SET, CUT, State

__all__ = ["StateJudge", "StateVerdict"]


class StateVerdict(NamedTuple):
    """The verdict on a state. ``broken`` are the violated assertions.

    ``disagrees``: the live nodes do not agree as liveness requires in the end; ``agree``: there are live nodes,
    and they do.
    """

    broken: tuple[str, ...]
    disagrees: bool
    agree: bool


class StateJudge:
    """Judges states of nodes with these ids by the promised assertions.

    ``liveness`` is the first of A2, A4 and ENDS that is promised, or None.
    """

    def __init__(
        self, promises: tuple[str, ...], ids: tuple[int, ...], locals_: LocalStates, moves: Moves
    ) -> None:
        self.liveness = next((each for each in (A2, A4, ENDS) if each.id in promises), None)
        self._agreement = Liveness(self.liveness or A2)
        self._agreements = [AGREEMENTS[name] for name in promises if name in AGREEMENTS]
        self._audited_names = [name for name in promises if name in AUDITED]
        self._first: dict[int, NodeState] = {}
        self._ids = ids
        self._locals = locals_
        self._moves = moves
        self._view_classes: list[int] = []
        self._views: list[NodeState] = []
        self._numbers: dict[Hashable, int] = {}
        self._known: dict[State, StateVerdict] = {}

    def judge(self, state: State) -> StateVerdict:
        view_classes = self._view_classes
        if len(view_classes) < len(self._locals):
            view_classes += [self._view_class(view) for view in self._locals.views[len(view_classes) :]]
        key = (*[view_classes[local] for local in state[: len(self._ids)]], state[CUT])
        verdict = self._known.get(key)
        if verdict is None:
            verdict = self._known[key] = self._judge([self._views[observed] for observed in key[:-1]], state[CUT])
        repeated = self._moves.claim_sets.repeated[state[CLAIM_SET]]
        return verdict._replace(broken=(*verdict.broken, *repeated)) if repeated else verdict

    def _view_class(self, view: NodeState) -> int:
        claims = tuple(agreement.value_of(view) for agreement in self._agreements)
        ledger = (view.id, msgspec.json.encode(audited_fields(view.state))) if self._audited_names else ()
        observed = (view.process, view.status, view.coordinator, view.group, claims, ledger)
        number = self._numbers.setdefault(observed, len(self._views))
        if number == len(self._views):
            self._views.append(view)
            if view.process == "running":
                self._first.setdefault(view.id, view)
        return number

    def _judge(self, views: list[NodeState], cut: int) -> StateVerdict:
        pairs = list(combinations(views, 2))
        broken = [each.id for each in self._agreements if any(disagree(each, *pair) for pair in pairs)]
        if any(view.process == "failed" for view in views):
            broken.append(RAISES.id)
        if self._audited_names:
            broken += self._audited(views)
        # during a cut, A4 is judged among nodes that can reach each other, and A2 not at all
        excused = bool(cut) and self.liveness is not A4
        by_id = dict(zip(self._ids, views, strict=True))
        disagrees = not excused and bool(self._agreement.disagreeing(by_id, self._moves.cuts.links_of(cut)))
        any_running = any(view.process == "running" for view in views)
        return StateVerdict(tuple(broken), disagrees, any_running and not disagrees and not excused)

    def _audited(self, views: list[NodeState]) -> list[str]:
        """Return the assertions that a ledger audit violates.

        The audit enters each node's first view, and then its present one.
        """
        ledger = LedgerAudit()
        for view in (*self._first.values(), *views):
            ledger.enter(view.id, view.state.get("log", ()), view.state, 0, 0)
        found = {violation.assertion for violation in ledger.violations()}
        return [name for name in self._audited_names if name in found]
