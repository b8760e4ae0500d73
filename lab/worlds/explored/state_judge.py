"""Judge global states, and find endless executions.

States are judged by what assertions observe of the nodes, by the cut in force, and by the claims made. An
assertion observes little of a local state: most local states look the same to all promised assertions. So what
they observe is interned as a view class, and each combination of view classes is judged once.

An endless execution is a cycle of unwanted global states during which time passes. In a model where time must pass
and every message must arrive, a cluster that can take such a cycle once can take it forever. Once all states are
known, a cluster that never agrees must reach such a cycle, or a state in which nothing can happen any more. (Or it
takes endlessly many events in no time, which no real cluster does.)
"""

from array import array
from collections import deque
from collections.abc import Hashable, Sequence
from itertools import combinations
from typing import NamedTuple

import msgspec

from lab.properties.assertions import A2, A4, AGREEMENTS, AUDITED, ENDS, RAISES, disagree
from lab.properties.checks import Liveness
from lab.properties.ledger_audit import LedgerAudit, audited_fields
from lab.recording.snapshot import NodeState
from lab.worlds.explored.local_states import LocalStates
from lab.worlds.explored.moves import Moves
from lab.worlds.explored.states import CLAIM_SET, CUT, State

# endless executions


class StateGraph:
    """States by number, in the order of their expansion, and the successors of each."""

    def __init__(self) -> None:
        self._ways = array("q")
        self._ends = array("q")
        self._waits = array("q")

    def add(self, ways: list[int], wait: int | None) -> None:
        """Add the next state: its successors, and the one of them that is reached by letting time pass."""
        self._ways.extend(ways)
        self._ends.append(len(self._ways))
        self._waits.append(-1 if wait is None else wait)

    def cycle(self, wanted: bytearray) -> list[int]:
        """Return the states on a cycle through ``wanted`` states only, in order; empty if there is none.

        ``wanted`` holds 1 for the states to search. The second state of the cycle follows the first by letting
        time pass.
        """
        component = self._components(wanted)
        for state, later in enumerate(self._waits):
            if later >= 0 and wanted[state] and component[state] == component[later]:
                return [state, *self._way_back(later, state, component)]
        return []

    def _after(self, state: int) -> Sequence[int]:
        return self._ways[self._ends[state - 1] if state else 0 : self._ends[state]]

    def _way_back(self, begin: int, end: int, component: Sequence[int]) -> list[int]:
        """Return the shortest path within a component, without its end."""
        before = {begin: -1}
        left = deque([begin])
        while end not in before:
            state = left.popleft()
            for after in self._after(state):
                if component[after] == component[begin] and after not in before:
                    before[after] = state
                    left.append(after)
        way = []
        state = before[end]
        while state >= 0:
            way.append(state)
            state = before[state]
        return way[::-1]

    def _components(self, wanted: bytearray) -> Sequence[int]:
        """Return a number for each state: equal for wanted states that can reach each other (Tarjan); else -1."""
        count = len(self._ends)
        order, lowest, component = (array("q", [-1]) * count for _ in range(3))
        seen = 0
        pending: list[int] = []
        for root in range(count):
            path: list[tuple[int, deque[int]]] = []
            enter = root if wanted[root] and order[root] < 0 else -1
            while path or enter >= 0:
                if enter >= 0:
                    order[enter] = lowest[enter] = seen
                    seen += 1
                    pending.append(enter)
                    path.append((enter, deque(after for after in self._after(enter) if wanted[after])))
                    enter = -1
                state, ways = path[-1]
                if ways:
                    after = ways.popleft()
                    if order[after] < 0:
                        enter = after
                    elif component[after] < 0:
                        lowest[state] = min(lowest[state], order[after])
                    continue
                path.pop()
                if path:
                    lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[state])
                if lowest[state] == order[state]:
                    while component[state] < 0:
                        component[pending.pop()] = state
        return component


# single states


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
