"""The search: from one global state to all reachable ones, breadth first, each visited and judged once.

Because it is breadth first, the first violation found of an assertion has the fewest moves before it.

Liveness properties such as A2 are about more than states: the nodes must agree in the end. They are violated in a
state where nothing can happen any more and an obligation is not met. In a model where time must pass
(``synchronous``, ``prompt``), once all states are known, they are also violated by an endless execution: a cycle
of states in which the same obligation is never met, and during which time passes. Where time must pass and every
message must arrive, a cluster that can take such a cycle once can take it forever, and one that never agrees must
reach such a cycle, or a state in which nothing can happen any more. (Or it takes endlessly many events in no time,
which no real cluster does.)
"""

import contextlib
from array import array
from collections import deque
from collections.abc import Callable, Sequence

from msgspec import Struct

from lab.kernel import CommandInput
from lab.properties.assertions import RAISES
from lab.properties.declarations import Eventually, OverHistory
from lab.properties.history_verdict import GivenCalls
from lab.properties.registry import RunProperties
from lab.protocols import Algorithm
from lab.recording.records import Header
from lab.replay.roster import Roster
from lab.units import format_us
from lab.worlds.explored.local_states import Ages, LearnedError, LocalStates
from lab.worlds.explored.moves import Draws, Moves
from lab.worlds.explored.part_changes import PartChanges, Parts
from lab.worlds.explored.state_judge import StateJudge, StateVerdict
from lab.worlds.explored.states import (
    BREAKS,
    NEVER_US,
    WITH_OWN_CLOCKS,
    Memories,
    Move,
    Queues,
    State,
    Timeouts,
    links_of,
    with_budget,
)
from lab.worlds.explored.successors import MOST, Successors
from lab.worlds.interruption import interrupted_between_steps

INTERRUPTED = "Ctrl-C"
"""The value of ``SearchTally.stopped_by`` if the user ended the search."""

_OLD_T = 4
_LONGEST_PAUSE_T = 4
_SETTLES_WITHIN, _SETTLES_WITHIN_T = 10_000, 200
"""The most moves, and the most time, in which nodes must come to rest without faults."""
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

    The search begins at the first start, or, with ``settled``, the state that this leads to without
    faults, all Normal under one coordinator. Then the nodes get ``commands``, before anything else happens. Wrong
    ``suspicions`` are counted only in the model of time ``budget``.

    ``first_found`` has, for each violated assertion, the first violating state, or the first where the violation
    is a failure, if there is one. ``broken`` are the assumptions that the assertion needs and that do not hold
    there. ``liveness`` are the names of the liveness properties; if a cycle violates one, ``cycles`` has the moves
    from that state back to itself.
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
        pauses: int = 0,
        suspicions: int = 0,
    ) -> None:
        self._protocol = protocol
        self._header = header
        self._timeouts: Timeouts = timeouts
        self._budget = (min(kills, MOST), min(restarts, MOST), min(cuts, MOST))
        self._pauses = 0 if timeouts in WITH_OWN_CLOCKS else min(pauses, MOST)
        self._suspicions = min(suspicions, MOST) if timeouts == "budget" else 0
        self._settled = settled
        self._commands = commands
        self._roster = Roster.of(header, protocol)
        self._calls = GivenCalls.of(header)
        self._breaks = (*((1,) if header.members else ()), *BREAKS[timeouts])
        self._count = len(self._roster.ids)
        self._ages = Ages(_OLD_T * header.timing.t_us, set())
        self._begin()

    def _begin(self) -> None:
        """Reset the search, keeping what was learned about ages."""
        protocol, header = self._protocol, self._header
        self.tally = SearchTally()
        self._seen: dict[int, int] = {}
        self.cycles: dict[str, list[Move]] = {}
        self._verdicts: list[StateVerdict] = []
        within_us = {"synchronous": header.timing.tm_us, "prompt": 0}
        self.queues = Queues(within_us.get(self._timeouts, NEVER_US))
        self.locals = LocalStates(self._roster, self.queues, self._ages)
        properties = RunProperties.of(header.protocol, protocol)
        if header.members:
            properties = properties.relying_on(1)
        clients, of_clients = frozenset[int](), ""
        if self._calls is not None:
            history = self._calls.as_property()
            properties = properties.with_assertion(history)
            clients, of_clients = self._calls.clients, history.id
        assertions = properties.assertions
        over_history = (each for each in assertions if isinstance(each, OverHistory))
        memories = Memories(over_history, properties.types, clients, of_clients)
        longest_pause_us = _LONGEST_PAUSE_T * header.timing.t_us if self._pauses else 0
        parts = Parts(self.queues, memories)
        self.moves = Moves(
            self.locals,
            self.queues,
            self._roster.ids,
            self._timeouts,
            memories,
            parts if self._budget[-1] else PartChanges(parts),
            self._commands,
            longest_pause_us,
            (self._budget[0], self._budget[-1]),
            len(header.nodes),
            self._calls,
        )
        self.successors = Successors(self.moves, self._count)
        self._judge = StateJudge(properties, header.nodes, self.locals, self.moves, self.successors)
        self.tally.violated = {each.id: 0 for each in (*assertions, RAISES)}
        self.liveness = [each.id for each in self._judge.liveness]
        self.judges_liveness = bool(self.liveness) and not BREAKS[self._timeouts]
        self._graph = StateGraph() if self.judges_liveness else None
        self.has_ended = False
        """True once a state without further events was met."""
        self.first_found: dict[str, int] = {}
        self.broken: dict[str, tuple[int | str, ...]] = {}
        self._parents = array("q")
        self._moves: list[Move] = []
        self._origins: list[tuple[Draws, list[Move]]] = []
        self._frontier: list[int] = []

    @property
    def states(self) -> list[State]:
        """The states found, by number."""
        return [self.successors.unpack(packed) for packed in self._seen]

    @property
    def not_distinguished(self) -> list[str]:
        """The distinctions that the search did not make, by a guess about what matters to the protocol."""
        found = []
        if self._ages.asked:
            found.append(f"ages beyond {format_us(self._ages.old_us)} of messages heard and procedures begun")
        if self._pauses:
            found.append(f"pauses longer than {format_us(_LONGEST_PAUSE_T * self._header.timing.t_us)}")
        if self._timeouts == "synchronous":
            found.append("arrivals between two instants at which a timer or a deadline is due")
        if self._timeouts not in ("prompt", "synchronous") and self.locals.has_timers:
            found.append("messages that a node gets between two of its timers")
        if self.locals.has_drawn:
            found.append("random numbers other than the least and the greatest")
        if self.locals.has_drawn_many:
            found.append("of the later numbers in a step that draws more than four, all but the least")
        return found

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
            with interrupted_between_steps():
                while True:
                    self._begin()
                    with contextlib.suppress(LearnedError):
                        self._search(most_states, most_depth, progress)
                        if not self.tally.stopped_by:
                            self._find_cycle()
                        break
        except KeyboardInterrupt:
            self.tally.stopped_by = INTERRUPTED
        for verdict in self._judge.verdicts:
            for assertion, _ in verdict.violated:
                self.tally.violated[assertion] += verdict.states
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
        _, path = self._origin_of(state)
        return [*path, *self._moves_to(state)]

    def draws_before(self, state: int) -> Draws:
        """Return what the nodes draw as they start for the first time, on the path to the state of this number."""
        return self._origin_of(state)[0]

    def _origin_of(self, state: int) -> tuple[Draws, list[Move]]:
        while self._parents[state] >= 0:
            state = self._parents[state]
        return self._origins[state]

    def _moves_to(self, state: int) -> list[Move]:
        moves: list[Move] = []
        while self._parents[state] >= 0:
            moves.append(self._moves[state])
            state = self._parents[state]
        return moves[::-1]

    def _search(self, most_states: int, most_depth: int | None, progress: Callable[[], object]) -> None:
        tally, seen, successors = self.tally, self._seen, self.successors
        origins = self._find_origins()
        kills, _, cuts = self._budget
        self._judge.begin(kills, cuts, self._pauses, self._breaks)
        for state, (draws, path) in origins.items():
            self._origins.append((draws, path))
            begun = with_budget(state, *self._budget, len(self._commands), self._pauses, self._suspicions)
            self._add(-1, Move("wait"), self.successors.pack(begun))
        number = 0
        while self._frontier:
            if tally.depth == most_depth:
                tally.stopped_by = f"depth {most_depth}"
                return
            packed_states, self._frontier = self._frontier, []
            for index, packed in enumerate(packed_states):
                if number % _PROGRESS_EVERY == 0:
                    progress()
                state = successors.unpack(packed)
                steps, faults = successors.ways(packed, state)
                self.has_ended |= not steps
                if not steps and self._verdicts[number].owed:
                    for name in self._owed_in(number):
                        self._violated(name, number, self._judge.broken(name, state))
                ways = steps + faults
                reached = successors.follow(packed, ways)
                tally.transitions += len(ways)
                for way, after in zip(ways, reached, strict=True):
                    if after in seen:
                        continue
                    if len(seen) == most_states:
                        tally.stopped_by = f"{most_states:,} states"
                        tally.frontier = len(packed_states) - index + len(self._frontier)
                        return
                    self._add(number, way[0], after)
                if self._graph is not None:
                    numbers = [seen[after] for after in reached]
                    wait = next((each for each, way in enumerate(steps) if way[0].what == "wait"), None)
                    self._graph.add(numbers, None if wait is None else numbers[wait])
                number += 1
                tally.frontier = len(packed_states) - 1 - index + len(self._frontier)
            if self._frontier:
                tally.depth += 1

    def _add(self, parent: int, move: Move, packed: int) -> None:
        number = self._seen[packed] = self.tally.states
        self.tally.states = number + 1
        self._parents.append(parent)
        self._moves.append(move)
        self._frontier.append(packed)
        verdict = self._judge.judge(packed)
        self._verdicts.append(verdict)
        if not verdict.states:
            for assertion, broken in verdict.violated:
                self._found(assertion, number, broken)
        verdict.states += 1

    def _owed_in(self, number: int) -> list[str]:
        """Return the liveness properties that do not hold in a state."""
        owed = self._verdicts[number].owed
        names = (each.assertion for each, place in self._judge.obligations.items() if owed >> place & 1)
        return [*dict.fromkeys(names)]

    def is_own_goal(self, assertion: str) -> bool:
        """Return whether it is a property of the user's own that must hold in the end, and from then on."""
        own = (each.id for each in self._judge.liveness if isinstance(each, Eventually) and each.place)
        return assertion in own

    def was_met(self, liveness: str) -> bool:
        """Return whether a liveness property holds, or something is owed by it, in some state."""
        return liveness in self._judge.met

    def _violated(self, assertion: str, number: int, broken: tuple[int | str, ...]) -> None:
        """Count a violation that the verdict on the state does not have."""
        self.tally.violated[assertion] += 1
        self._found(assertion, number, broken)

    def _found(self, assertion: str, number: int, broken: tuple[int | str, ...]) -> None:
        if assertion not in self.first_found or (self.broken[assertion] and not broken):
            self.first_found[assertion], self.broken[assertion] = number, broken

    def _find_cycle(self) -> None:
        """Judge liveness once all states are known."""
        if self._graph is None:
            return
        for obligation, place in self._judge.obligations.items():
            if obligation.assertion in self.first_found:
                continue
            cycle = self._graph.cycle(bytearray(verdict.owed >> place & 1 for verdict in self._verdicts))
            if cycle:
                self._add_cycle(obligation.assertion, cycle)

    def _add_cycle(self, name: str, cycle: list[int]) -> None:
        moves = self.cycles[name] = []
        state = self.states[cycle[0]]
        broken = self._judge.broken(name, state)
        for number in (*cycle[1:], cycle[0]):
            self._violated(name, cycle[0], broken)
            steps = self.successors.steps(state)
            move, state = next(each for each in steps if self._seen[self.successors.pack(each[1])] == number)
            moves.append(move)

    def _find_origins(self) -> dict[State, tuple[Draws, list[Move]]]:
        """Return the first states of the search, each with the draws and the moves that lead to it.

        They are the first start, or a state that this leads to without faults.
        """
        begun = self._first_states()
        if not self._settled:
            return {state: (draws, []) for state, draws in begun.items()}
        for state, draws in begun.items():
            path: list[Move] = []
            settled = self._settled_state(state, path)
            if settled is not None:
                return {settled: (draws, path)}
        raise NeverSettledError

    def _first_states(self) -> dict[State, Draws]:
        """Return the states in which all nodes have just come up for the first time, one after the other.

        There are several if the nodes draw random numbers as they start. Each has what they draw.
        """
        found: dict[State, Draws] = {self.moves.all_down(): {}}
        for node in self._roster.ids:
            found = {
                after: {**draws, node: move.draws}
                for before, draws in found.items()
                for move, after in self.successors.faults(before)
                if move.node == node
            }
        return found

    def _settled_state(self, state: State, path: list[Move]) -> State | None:
        """Return the settled state that this one leads to without faults, and extend the path to it."""
        moves = self.moves.under("ordered" if self._timeouts in WITH_OWN_CLOCKS else self._timeouts)
        successors = Successors(moves, self._count)
        begun, waited_us = len(path), 0
        while len(path) < begun + _SETTLES_WITHIN and waited_us < _SETTLES_WITHIN_T * self._header.timing.t_us:
            if not any(links_of(state, self._count)) and self._judge.is_settled(state):
                return state
            steps = successors.steps(state)
            if not steps:
                break
            move, state = next((each for each in steps if each[0].what == "deliver"), steps[0])
            path.append(move)
            waited_us += move.us
        return None


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
