"""The search: from one global state to all reachable ones, breadth first, each visited and judged once.

Because it is breadth first, the first violation found of an assertion has the fewest moves before it.

States are judged by what assertions observe of the nodes, by the cut in force, and by the claims made. An
assertion observes little of a local state: most local states look the same to all promised assertions. So what
they observe is interned as a view class, and each combination of view classes is judged once.

A2 and A4 are about more than states: the nodes must agree in the end. They are violated in a state where nothing
can happen any more and the live nodes do not agree. In a model where time must pass (``synchronous``, ``prompt``),
once all states are known, they are also violated by an endless execution: a cycle of states in which the nodes
never agree, and during which time passes. Where time must pass and every message must arrive, a cluster that can
take such a cycle once can take it forever, and one that never agrees must reach such a cycle, or a state in which
nothing can happen any more. (Or it takes endlessly many events in no time, which no real cluster does.)
"""

import contextlib
from array import array
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from itertools import combinations
from typing import NamedTuple

import msgspec
from msgspec import Struct

from lab.kernel import CommandInput
from lab.properties.assertions import A2, A4, AGREEMENTS, AUDITED, ENDS, RAISES, UNIQUENESS, disagree
from lab.properties.checks import Liveness
from lab.properties.ledger_audit import LedgerAudit, audited_fields, has_decision
from lab.protocols import Algorithm
from lab.recording.records import Header
from lab.recording.snapshot import NodeState
from lab.worlds.explored.local_states import Ages, LearnedError, LocalStates
from lab.worlds.explored.moves import Moves
from lab.worlds.explored.states import (
    BREAKS,
    CLAIM_SET,
    CUT,
    CUTS,
    NEVER_US,
    ClaimSets,
    Move,
    Queues,
    State,
    Timeouts,
    links_of,
    with_budget,
)

INTERRUPTED = "Ctrl-C"
"""The value of ``SearchTally.stopped_by`` if the user ended the search."""

_OLD_T = 4
_SETTLES_WITHIN = 10_000
_PROGRESS_EVERY = 2_000


class NeverSettledError(Exception):
    """Without faults, the nodes do not become Normal under one coordinator."""


class SearchTally(Struct):
    """The result of a search. ``stopped_by`` is the bound that kept it from being exhaustive, if any.

    ``frontier`` is the number of states whose successors are not known, ``violated`` the number of states that
    violate each assertion.
    """

    states: int = 0
    transitions: int = 0
    depth: int = 0
    frontier: int = 0
    stopped_by: str = ""
    violated: dict[str, int] = {}


class Explorer:
    """Search all executions of the nodes of ``header``.

    The search begins at ``origin``: the first start, or, with ``settled``, the state that this leads to without
    faults, all Normal under one coordinator. Then the nodes get ``commands``, before anything else happens.
    ``agrees``: in some state there are live nodes, and they agree.

    ``first_found`` has, for each violated assertion, the first violating state, or the first where the violation
    is a failure, if there is one. ``broken`` are the assumptions that the assertion needs and that do not hold
    there. ``liveness`` is one of A2, A4 and ENDS, or None; if a cycle violates it, ``cycle`` are the moves from
    that state back to itself.
    """

    def __init__(
        self,
        protocol: type[Algorithm],
        header: Header,
        timeouts: Timeouts,
        kills: int,
        restarts: int = 0,
        settled: bool = True,
        cuts: int = 0,
        commands: tuple[tuple[int, CommandInput], ...] = (),
    ) -> None:
        self._protocol = protocol
        self._header = header
        self._timeouts: Timeouts = timeouts
        self._budget = (kills, restarts, cuts)
        self._settled = settled
        self._commands = commands
        self._count = len(header.nodes)
        self._ages = Ages(_OLD_T * header.timing.t_us, set())
        self._begin()

    def _begin(self) -> None:
        """Reset the search, keeping what was learned about ages."""
        protocol, header = self._protocol, self._header
        self.tally = SearchTally(violated=dict.fromkeys([*protocol.promises, RAISES.id], 0))
        self.seen: dict[State, int] = {}
        self.cycle: list[Move] = []
        self._disagreements = bytearray()
        self.agrees = False
        self.origin: State = ()
        parameters = msgspec.convert(header.protocol.parameters, protocol.Parameters)
        within_us = {"synchronous": header.timing.tm_us, "prompt": 0}
        self.queues = Queues(within_us.get(self._timeouts, NEVER_US))
        self.locals = LocalStates(protocol, header.nodes, header.timing, parameters, self.queues, self._ages)
        claim_sets = ClaimSets(UNIQUENESS[name] for name in protocol.promises if name in UNIQUENESS)
        self.moves = Moves(self.locals, self.queues, header.nodes, self._timeouts, claim_sets, self._commands)
        self._judge = StateJudge(protocol.promises, header.nodes, self.locals, self.moves)
        self.liveness = self._judge.liveness
        self.judges_liveness = self.liveness is not None and not BREAKS[self._timeouts]
        self._graph = StateGraph() if self.judges_liveness else None
        self.first_found: dict[str, int] = {}
        self.broken: dict[str, tuple[int, ...]] = {}
        self._parents = array("q")
        self._moves: list[Move] = []
        self._same: dict[Move, Move] = {}
        self._prefix: list[Move] = []
        self._frontier: list[State] = []

    def why_not_judged(self, assertion: str) -> str:
        """Return why an assertion was judged in no state; empty if it was."""
        return self._judge.why_not_judged(assertion)

    def run(
        self,
        most_states: int,
        most_depth: int | None = None,
        progress: Callable[[], object] = lambda: None,
    ) -> SearchTally:
        """Search until no state is new, a bound is met, or the user presses Ctrl-C.

        Raises NeverSettledError; SendsInstantsError if the protocol cannot be explored.
        """
        try:
            while True:
                self._begin()
                with contextlib.suppress(LearnedError):
                    self._search(most_states, most_depth, progress)
                    if not self.tally.stopped_by:
                        self._find_cycle()
                    break
        except KeyboardInterrupt:
            self.tally.stopped_by = INTERRUPTED
        return self.tally

    @property
    def violated(self) -> list[str]:
        """The assertions violated in some state: failures first, then by the number of moves."""
        return sorted(self.first_found, key=lambda name: (bool(self.broken[name]), self.count_moves_to(name)))

    def count_moves_to(self, assertion: str) -> int:
        """Return the number of moves to the first state that violates the assertion."""
        return len(self._moves_to(self.first_found[assertion]))

    def path_to(self, state: int) -> list[Move]:
        """Return the moves from the first start to the state of this number."""
        return [*self._prefix, *self._moves_to(state)]

    def _moves_to(self, state: int) -> list[Move]:
        moves: list[Move] = []
        while self._parents[state] >= 0:
            moves.append(self._moves[state])
            state = self._parents[state]
        return moves[::-1]

    def _search(self, most_states: int, most_depth: int | None, progress: Callable[[], object]) -> None:
        tally, seen, moves = self.tally, self.seen, self.moves
        self.origin = with_budget(self._find_origin(), *self._budget, len(self._commands))
        self._add(-1, Move("wait"), self.origin)
        number = 0
        while self._frontier:
            if tally.depth == most_depth:
                tally.stopped_by = f"depth {most_depth}"
                return
            states, self._frontier = self._frontier, []
            for index, state in enumerate(states):
                if number % _PROGRESS_EVERY == 0:
                    progress()
                found = moves.steps(state)
                if not found and self.liveness is not None and self._disagreements[number]:
                    self._violated(self.liveness.id, number, state)
                found += moves.fault_moves(state, stuck=not found)
                tally.transitions += len(found)
                for move, after in found:
                    if after in seen:
                        continue
                    if len(seen) == most_states:
                        tally.stopped_by = f"{most_states:,} states"
                        tally.frontier = len(states) - index + len(self._frontier)
                        return
                    self._add(number, move, after)
                if self._graph is not None:
                    wait = next((seen[after] for move, after in found if move.what == "wait"), None)
                    self._graph.add([seen[after] for _, after in found], wait)
                number += 1
                tally.frontier = len(states) - 1 - index + len(self._frontier)
            if self._frontier:
                tally.depth += 1

    def _add(self, parent: int, move: Move, state: State) -> None:
        number = self.seen[state] = len(self.seen)
        self.tally.states = len(self.seen)
        self._parents.append(parent)
        self._moves.append(self._same.setdefault(move, move))
        self._frontier.append(state)
        verdict = self._judge.judge(state)
        for assertion in verdict.broken:
            self._violated(assertion, number, state)
        self.agrees |= verdict.agree
        self._disagreements.append(verdict.disagrees)

    def _violated(self, assertion: str, number: int, state: State) -> None:
        self.tally.violated[assertion] += 1
        if self.broken.get(assertion) == ():
            return
        broken = self._broken(assertion, state)
        if assertion not in self.first_found or not broken:
            self.first_found[assertion], self.broken[assertion] = number, broken

    def _broken(self, assertion: str, state: State) -> tuple[int, ...]:
        """Return the assumptions that do not hold, of those that the assertion needs.

        Liveness does not need the absence of cuts, because it is judged only among nodes that no cut separates.
        """
        if assertion == RAISES.id:
            return ()
        is_liveness = self.liveness is not None and assertion == self.liveness.id
        was_cut = not is_liveness and state[CUTS] < self._budget[-1]
        relied = self._header.protocol.relies_on.get(assertion)
        broken = {*BREAKS[self._timeouts], *((8,) if was_cut else ())}
        return tuple(each for each in sorted(broken) if relied is None or each in relied)

    def _find_cycle(self) -> None:
        """Judge liveness once all states are known."""
        if self._graph is None or self.liveness is None or self.liveness.id in self.first_found:
            return
        cycle = self._graph.cycle(self._disagreements)
        if not cycle:
            return
        state = next(state for state, number in self.seen.items() if number == cycle[0])
        for number in (*cycle[1:], cycle[0]):
            self._violated(self.liveness.id, cycle[0], state)
            move, state = next(way for way in self.moves.steps(state) if self.seen[way[1]] == number)
            self.cycle.append(move)

    def _find_origin(self) -> State:
        """Return the first state of the search: the first start, or what it leads to without faults."""
        state = self.moves.first()
        if not self._settled:
            return state
        moves = self.moves.under("ordered" if self._timeouts == "any" else self._timeouts)
        for _ in range(_SETTLES_WITHIN):
            if not any(links_of(state, self._count)) and not self._judge.judge(state).disagrees:
                return state
            steps = moves.steps(state)
            if not steps:
                break
            move, state = next((each for each in steps if each[0].what == "deliver"), steps[0])
            self._prefix.append(move)
        raise NeverSettledError


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
        self._concerned: dict[str, set[int]] = {each.id: set() for each in self._agreements}
        self._is_decided = False

    def why_not_judged(self, name: str) -> str:
        """Return why an assertion was judged in no state so far; empty if it was."""
        if name in self._concerned and len(self._concerned[name]) < 2:
            who = "only one node" if self._concerned[name] else "no node"
            return f"{who} was {AGREEMENTS[name].concerned} in any state"
        if name in UNIQUENESS and name not in self._moves.claim_sets.with_claims:
            return f"no {UNIQUENESS[name].noun} was {UNIQUENESS[name].done} in any state"
        if name in self._audited_names and not self._is_decided:
            return "no transaction was decided in any state"
        return ""

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
        for agreement, claim in zip(self._agreements, claims, strict=True):
            if claim is not None:
                self._concerned[agreement.id].add(view.id)
        self._is_decided = self._is_decided or bool(self._audited_names and has_decision(view.state))
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
