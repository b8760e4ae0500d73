"""The search: from one global state to all that can come of it, breadth first, each looked at once.

Breadth first, so the first state found in which an assertion does not hold is one with the fewest moves before it.

A2 and A4 ask for more than states: that the nodes agree in the end. They do not hold where nothing can happen any
more and the live nodes do not agree; nor, where time must pass (``synchronous``, ``prompt``) and all states are
known, if the cluster can go round for ever without agreeing.
"""

import contextlib
from array import array
from collections.abc import Callable

import msgspec
from msgspec import Struct

from lab.kernel import CommandInput
from lab.properties import CLAIMS, RAISES
from lab.protocols import Algorithm
from lab.recording.records import Header
from lab.worlds.explored.claimed import Claimed
from lab.worlds.explored.judging import StateJudge
from lab.worlds.explored.local import Ages, LearnedError, LocalStates
from lab.worlds.explored.loops import Graph
from lab.worlds.explored.moves import Moves
from lab.worlds.explored.queues import NEVER_US, Queues
from lab.worlds.explored.states import BREAKS, CUTS, Move, State, Timeouts, left, links_of

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
    one. Then nodes are ``told`` commands, before anything else happens. ``agrees``: in some state there are live
    nodes, and they agree. ``first_found`` is, for each assertion that does not hold, the first state found in
    which it does not, or, if there is one, the first in which that is a failure: ``broken`` are the assumptions
    that it needs and that do not hold there. ``liveness`` is one of A2, A4 and ENDS, or none; where it does not
    hold for ever going round, ``round`` are the moves from that state back to itself.
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
        told: tuple[tuple[int, CommandInput], ...] = (),
    ) -> None:
        self._protocol = protocol
        self._header = header
        self._timeouts: Timeouts = timeouts
        self._strikes = (kills, restarts, cuts)
        self._settled = settled
        self._told = told
        self._count = len(header.nodes)
        self._ages = Ages(_OLD_T * header.timing.t_us, set())
        self._begin()

    def _begin(self) -> None:
        """Begin anew, with what was learned of ages."""
        protocol, header = self._protocol, self._header
        self.tally = Tally(violated=dict.fromkeys([*protocol.promises, RAISES.id], 0))
        self.seen: dict[State, int] = {}
        self.round: list[Move] = []
        self._astray = bytearray()
        self.agrees = False
        self.origin: State = ()
        parameters = msgspec.convert(header.protocol.parameters, protocol.Parameters)
        within_us = {"synchronous": header.timing.tm_us, "prompt": 0}
        self.queues = Queues(within_us.get(self._timeouts, NEVER_US))
        self.locals = LocalStates(protocol, header.nodes, header.timing, parameters, self.queues, self._ages)
        claimed = Claimed(CLAIMS[name] for name in protocol.promises if name in CLAIMS)
        self.moves = Moves(self.locals, self.queues, header.nodes, self._timeouts, claimed, self._told)
        self._judge = StateJudge(protocol.promises, header.nodes, self.locals, self.moves)
        self.liveness = self._judge.liveness
        self.judges_liveness = self.liveness is not None and not BREAKS[self._timeouts]
        self._graph = Graph() if self.judges_liveness else None
        self.first_found: dict[str, int] = {}
        self.broken: dict[str, tuple[int, ...]] = {}
        self._parents = array("q")
        self._moves: list[Move] = []
        self._same: dict[Move, Move] = {}
        self._prefix: list[Move] = []
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
        """The assertions that do not hold in some state: failures first, then by the fewest moves."""
        return sorted(self.first_found, key=lambda name: (bool(self.broken[name]), self.moves_to(name)))

    def moves_to(self, assertion: str) -> int:
        """How many moves lead to the first state in which the assertion does not hold."""
        return len(self._moves_to(self.first_found[assertion]))

    def path_to(self, state: int) -> list[Move]:
        """The moves from the first start to this state, counted as they were found."""
        return [*self._prefix, *self._moves_to(state)]

    def _moves_to(self, state: int) -> list[Move]:
        moves: list[Move] = []
        while self._parents[state] >= 0:
            moves.append(self._moves[state])
            state = self._parents[state]
        return moves[::-1]

    def _search(self, most_states: int, most_depth: int | None, progress: Callable[[], object]) -> None:
        tally, seen, moves = self.tally, self.seen, self.moves
        self.origin = left(self._begins_at(), *self._strikes, len(self._told))
        self._add(-1, Move("wait"), self.origin)
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
                if not found and self.liveness is not None and self._astray[number]:
                    self._violated(self.liveness.id, number, state)
                found += moves.strikes(state, still=not found)
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
                    wait = next((seen[after] for move, after in found if move.what == "wait"), None)
                    self._graph.add([seen[after] for _, after in found], wait)
                number += 1
                tally.waiting = len(states) - 1 - index + len(self._frontier)
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
        self._astray.append(verdict.astray)

    def _violated(self, assertion: str, number: int, state: State) -> None:
        self.tally.violated[assertion] += 1
        if self.broken.get(assertion) == ():
            return
        broken = self._broken(assertion, state)
        if assertion not in self.first_found or not broken:
            self.first_found[assertion], self.broken[assertion] = number, broken

    def _broken(self, assertion: str, state: State) -> tuple[int, ...]:
        """The assumptions that do not hold, of those that matter. That all agree in the end does not need that
        there was no cut, for it is asked only of those between whom there is none.
        """
        if assertion == RAISES.id:
            return ()
        lives = self.liveness is not None and assertion == self.liveness.id
        was_cut = not lives and state[CUTS] < self._strikes[-1]
        relied = self._header.protocol.relies_on.get(assertion)
        broken = {*BREAKS[self._timeouts], *((8,) if was_cut else ())}
        return tuple(each for each in sorted(broken) if relied is None or each in relied)

    def _look_for_rounds(self) -> None:
        """Judge liveness when all states are known."""
        if self._graph is None or self.liveness is None or self.liveness.id in self.first_found:
            return
        cycle = self._graph.cycle(self._astray)
        if not cycle:
            return
        state = next(state for state, number in self.seen.items() if number == cycle[0])
        for number in (*cycle[1:], cycle[0]):
            self._violated(self.liveness.id, cycle[0], state)
            move, state = next(way for way in self.moves.steps(state) if self.seen[way[1]] == number)
            self.round.append(move)

    def _begins_at(self) -> State:
        """Where the search begins: the first start, or what that comes to by itself, without any fault."""
        state = self.moves.first()
        if not self._settled:
            return state
        moves = self.moves.under("ordered" if self._timeouts == "any" else self._timeouts)
        for _ in range(_SETTLES_WITHIN):
            if not any(links_of(state, self._count)) and not self._judge.judge(state).astray:
                return state
            steps = moves.steps(state)
            if not steps:
                break
            move, state = next((each for each in steps if each[0].what == "deliver"), steps[0])
            self._prefix.append(move)
        raise NeverSettledError
