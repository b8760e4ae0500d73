"""The search: from one global state to all that can come of it, breadth first, each looked at once.

Breadth first, so the first state found in which an assertion does not hold is one with the fewest moves before it.

A2 asks for more than states: that the nodes agree in the end. It does not hold where nothing can happen any more
and not all live nodes are Normal under one; nor, where time must pass (``synchronous``) and all states are known,
if the cluster can go round for ever without agreeing.
"""

import contextlib
from array import array
from collections.abc import Callable

import msgspec
from msgspec import Struct

from lab.journal import Header, NodeView
from lab.properties import A2, AGREEMENTS, RAISES, offend
from lab.protocols import Algorithm
from lab.worlds.explored.local import Ages, LearnedError, LocalStates
from lab.worlds.explored.loops import Graph
from lab.worlds.explored.moves import Move, Moves, State, Timeouts
from lab.worlds.explored.queues import NEVER_US, Queues

__all__ = ["INTERRUPTED", "Explorer", "NeverSettledError", "Tally"]

INTERRUPTED = "Ctrl-C"
"""What ``Tally.cut`` says of a search that the user ended."""

_OLD_T = 4
_SETTLES_WITHIN = 10_000
_PROGRESS_EVERY = 2_000


class NeverSettledError(Exception):
    """The nodes do not come to be Normal under one coordinator by themselves."""


class Tally(Struct):
    """What a search has come to. ``cut`` says what kept it from being exhaustive, if anything did.

    ``waiting`` counts the states that it would have gone on from, ``violated``, for each assertion, those in
    which it does not hold.
    """

    states: int = 0
    transitions: int = 0
    depth: int = 0
    waiting: int = 0
    cut: str = ""
    violated: dict[str, int] = {}


class Explorer:
    """Searches all that may happen to the nodes of ``header``.

    It begins at ``origin``: the first start, or, with ``settled``, what that comes to by itself, all Normal under
    one. ``agrees``: in some state there are live nodes, and they agree. ``first_found`` is, for each assertion
    that does not hold, the first state found in which it does not; where A2 does not hold for ever going round,
    ``round`` are the moves from that state back to itself.
    """

    def __init__(
        self,
        protocol: type[Algorithm],
        header: Header,
        timeouts: Timeouts,
        kills: int,
        restarts: int = 0,
        settled: bool = True,
    ) -> None:
        self._protocol = protocol
        self._header = header
        self._timeouts: Timeouts = timeouts
        self._strikes = (kills, restarts)
        self._settled = settled
        self.judges_liveness = A2.id in protocol.promises and timeouts == "synchronous"
        self._agreements = [AGREEMENTS[name] for name in protocol.promises if name in AGREEMENTS]
        self._count = len(header.nodes)
        self._ages = Ages(_OLD_T * header.timing.t_us, set())
        self._begin()

    def _begin(self) -> None:
        """Begin anew, with what was learned of ages."""
        protocol, header = self._protocol, self._header
        self.tally = Tally(violated=dict.fromkeys([*protocol.promises, RAISES.id], 0))
        self.seen: dict[State, int] = {}
        self.round: list[Move] = []
        self._graph = Graph() if self.judges_liveness else None
        self._astray = bytearray()
        self.agrees = False
        self.origin: State = ()
        parameters = msgspec.convert(header.protocol.parameters, protocol.Parameters)
        self.queues = Queues(header.timing.tm_us if self._timeouts == "synchronous" else NEVER_US)
        self.locals = LocalStates(protocol, header.nodes, header.timing, parameters, self.queues, self._ages)
        self.moves = Moves(self.locals, self.queues, header.nodes, self._timeouts)
        self._verdicts: dict[State, tuple[tuple[str, ...], bool]] = {}
        self.first_found: dict[str, int] = {}
        self._parents = array("q")
        self._numbers = array("q")
        self._prefix: list[int] = []
        self._frontier: list[State] = []

    def run(
        self,
        most_states: int,
        most_depth: int | None = None,
        progress: Callable[[], object] = lambda: None,
    ) -> Tally:
        """Search until there is nothing new, or a bound is met; Ctrl-C ends it too.

        NeverSettledError, SendsInstantsError where the protocol cannot be explored.
        """
        try:
            while True:
                self._begin()
                with contextlib.suppress(LearnedError):
                    self._search(most_states, most_depth, progress)
                    if not self.tally.cut:
                        self._look_for_rounds()
                    break
        except KeyboardInterrupt:
            self.tally.cut = INTERRUPTED
        return self.tally

    @property
    def violated(self) -> list[str]:
        """The assertions that do not hold in some state, the one that is broken in the fewest moves first."""
        return sorted(self.first_found, key=self.moves_to)

    def moves_to(self, assertion: str) -> int:
        """How many moves lead to the first state in which the assertion does not hold."""
        return len(self._numbers_to(self.first_found[assertion]))

    def path_to(self, state: int) -> list[Move]:
        """The moves from the first start to this state, counted as they were found."""
        return [self.moves.describe(number) for number in (*self._prefix, *self._numbers_to(state))]

    def _numbers_to(self, state: int) -> list[int]:
        numbers: list[int] = []
        while self._parents[state] >= 0:
            numbers.append(self._numbers[state])
            state = self._parents[state]
        return numbers[::-1]

    def _search(self, most_states: int, most_depth: int | None, progress: Callable[[], object]) -> None:
        tally, seen, moves = self.tally, self.seen, self.moves
        self.origin = (*self._begins_at()[:-2], *self._strikes)
        self._add(-1, 0, self.origin)
        number = 0
        while self._frontier:
            if tally.depth == most_depth:
                tally.cut = f"depth {most_depth}"
                return
            states, self._frontier = self._frontier, []
            for index, state in enumerate(states):
                if number % _PROGRESS_EVERY == 0:
                    progress()
                found = moves.steps(state)
                if not found and A2.id in tally.violated and self._astray[number]:
                    self._violated(A2.id, number)
                found += moves.strikes(state)
                tally.transitions += len(found)
                for move, after in found:
                    if after in seen:
                        continue
                    if len(seen) == most_states:
                        tally.cut = f"{most_states:,} states"
                        tally.waiting = len(states) - index + len(self._frontier)
                        return
                    self._add(number, move, after)
                if self._graph is not None:
                    wait = next((seen[after] for move, after in found if move < 0), None)
                    self._graph.add([seen[after] for _, after in found], wait)
                number += 1
                tally.waiting = len(states) - 1 - index + len(self._frontier)
            if self._frontier:
                tally.depth += 1

    def _add(self, parent: int, move: int, state: State) -> None:
        number = self.seen[state] = len(self.seen)
        self.tally.states = len(self.seen)
        self._parents.append(parent)
        self._numbers.append(move)
        self._frontier.append(state)
        there = state[: self._count]
        verdict = self._verdicts.get(there)
        if verdict is None:
            verdict = self._verdicts[there] = (self._judge(there), not self._agreed(there))
            self.agrees |= not verdict[1] and any(self.locals.alive[local] for local in there)
        for assertion in verdict[0]:
            self._violated(assertion, number)
        self._astray.append(verdict[1])

    def _violated(self, assertion: str, number: int) -> None:
        self.tally.violated[assertion] += 1
        self.first_found.setdefault(assertion, number)

    def _judge(self, there: State) -> tuple[str, ...]:
        """Which assertions do not hold of nodes in these local states."""
        views = self._views(there)
        broken = [
            each.id
            for each in self._agreements
            if any(offend(each, one, other) for place, one in enumerate(views) for other in views[:place])
        ]
        failed = any(self.locals.views[local].process == "failed" for local in there)
        return (*broken, *([RAISES.id] if failed else []))

    def _look_for_rounds(self) -> None:
        """Judge A2 when all states are known."""
        if self._graph is None or A2.id in self.first_found:
            return
        cycle = self._graph.cycle(self._astray)
        if not cycle:
            return
        state = next(state for state, number in self.seen.items() if number == cycle[0])
        for number in (*cycle[1:], cycle[0]):
            self._violated(A2.id, cycle[0])
            move, state = next(way for way in self.moves.steps(state) if self.seen[way[1]] == number)
            self.round.append(self.moves.describe(move))

    def _agreed(self, there: State) -> bool:
        """Whether all live nodes are Normal under one of them (A2); where none lives, nobody is to agree."""
        views = self._views(there)
        leaders = {view.coordinator if view.status == "Normal" else None for view in views}
        return not views or (len(leaders) == 1 and bool(leaders & {view.id for view in views}))

    def _views(self, there: State) -> list[NodeView]:
        return [self.locals.views[local] for local in there if self.locals.alive[local]]

    def _begins_at(self) -> State:
        """Where the search begins: the first start, or what that comes to by itself, without any fault."""
        state = self.moves.first()
        if not self._settled:
            return state
        one_clock: Timeouts = "synchronous" if self._timeouts == "synchronous" else "ordered"
        moves = self.moves.under(one_clock)
        for _ in range(_SETTLES_WITHIN):
            if not any(state[self._count : -2]) and self._agreed(state[: self._count]):
                return state
            steps = moves.steps(state)
            if not steps:
                break
            move, state = next((each for each in steps if each[0] >= self._count), steps[0])
            self._prefix.append(move)
        raise NeverSettledError
