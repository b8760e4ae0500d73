"""The shortest counterexample of an exploration: a path of moves, executed on real nodes and a real network.

A found path is in canonical numbers. Executing it again from the first start gives a recording like every other:
it can be shown, stepped through, re-executed, judged and branched. Faults are commands, executed and recorded as
in the other worlds.

If the model of time breaks an assumption, a fault that says so is in force from the beginning, and a message that
it touches is recorded as delayed: under ``ordered``, one in flight for longer than Tm; under ``budget`` and
``any``, one in flight while a timer of its sender or its receiver fires. Under these two every node has its own
clock, which dates its steps; all other records are dated by the clock furthest ahead.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct

from lab.kernel import Input, Message, Node, Protocol, Step
from lab.properties.assertions import A4, ENDS
from lab.properties.declarations import Bounded
from lab.properties.history_verdict import judge_history
from lab.properties.judge import Judge
from lab.properties.registry import assertions_of
from lab.protocols import Algorithm
from lab.recording.reader import open_recording
from lab.recording.records import End, Fault, Header, Routed
from lab.recording.writer import RecordLog, Writer
from lab.script.parse import parse
from lab.worlds.explored.explorer import Explorer
from lab.worlds.explored.states import BREAKS, NEXT_CALL, WITH_OWN_CLOCKS, Move, Timeouts
from lab.worlds.simulated.simulation import SimulatedIncarnation, Simulation


class _OwnClock(Node):
    """A node whose steps are dated by a clock of its own. ``planned`` are the draws of its next step."""

    clock_us = 0
    planned: tuple[float, ...] = ()

    def step(self, given: Input, now_us: int, draws: Sequence[float] = ()) -> Step:
        planned, self.planned = self.planned, ()
        return super().step(given, self.clock_us, planned)


class PathExecution(Simulation):
    """Executes moves, and appends their records to ``log``.

    ``restarts`` is the number of restarts allowed, ``draws`` are the random numbers that each node draws as it
    starts for the first time. ``now_us`` is the clock furthest ahead.
    """

    def __init__(
        self,
        protocol: type[Protocol],
        log: RecordLog,
        timeouts: Timeouts,
        restarts: int,
        draws: Mapping[int, tuple[float, ...]] = MappingProxyType({}),
    ) -> None:
        super().__init__(protocol, log)
        self._first_draws = draws
        self._timeouts: Timeouts = timeouts
        self._restarts = restarts
        self._nodes: dict[int, _OwnClock] = {}
        self._sent_us: dict[tuple[int, int], int] = {}  # of messages not recorded as delayed yet
        self._during: tuple[tuple[int, str], ...] = ()
        if BREAKS[timeouts]:
            links = tuple((source, target) for source in self.ids for target in self.ids if source != target)
            text = f"timeouts {timeouts}"
            self.record(Fault(0, self.next_fault(), "delay", text, (), BREAKS[timeouts], links))
        self.start()

    @property
    def is_cut(self) -> bool:
        return bool(self.network.rules)

    def perform(self, move: Move) -> None:
        """Execute a move, and the faults before it and within it."""
        node, self._during = move.node, move.during
        self._first_draws = {node: move.draws}  # if it is a restart
        if node in self._nodes:
            self._nodes[node].planned = move.draws
        for command in move.commands:
            self._execute_command(command)
        if move.what == "wait":
            self.now_us += move.us
            for each in self._nodes.values():
                each.clock_us += move.us
            self._record_delays()
        elif move.what == "restart":
            self._restarts -= 1
            self._execute_command(f"restart {node}")
        elif move.what == "fire":
            self._expire_timer(node)
        elif move.what == "call":
            self._feed(self.incarnations[node], NEXT_CALL)
        elif move.what == "deliver":
            self._deliver_first(lambda message: (message.source, message.target) == (move.source, node))
        while not self._restarts and self._deliver_first(lambda message: message.target not in self.incarnations):
            pass  # messages to a node that cannot restart are lost

    def end(self, why: str) -> None:
        """Append the last record."""
        self.record(End(self.now_us, why))

    def send(self, incarnation: SimulatedIncarnation, messages: Sequence[Message]) -> None:
        """Put the messages on their links; execute the move's faults between them."""
        for place, message in enumerate(messages):
            incarnation.leaving = len(messages) - place
            for command in (command for sent, command in self._during if sent == place):
                self._execute_command(command)
            self._sent_us[message.source, message.serial] = self._nodes[incarnation.id].clock_us
            super().send(incarnation, (message,))

    def create_node(self, node: int) -> Node:
        fresh = self.roster.new_node_of(_OwnClock, node)
        fresh.clock_us = self.now_us
        fresh.planned = self._first_draws.get(node, ())
        self._nodes[node] = fresh
        return fresh

    def _expire_timer(self, node: int) -> None:
        due, mine = self.incarnations[node].node.next_timer(), self._nodes[node]
        assert due is not None
        mine.clock_us = max(mine.clock_us, due[0])
        self.now_us = max(self.now_us, mine.clock_us)
        self._record_delays(node)
        self._feed(self.incarnations[node], due[1])

    def _execute_command(self, command: str) -> None:
        outcome = self.execute(parse(command))
        assert outcome.changed, outcome.text

    def _deliver_first(self, wanted: Callable[[Message], bool]) -> bool:
        """Deliver the first matching message; return whether there was one."""
        found = self.network.pop_first(wanted)
        if found is not None:
            self.arrive(*found)
        return found is not None

    def _record_delays(self, fires: int | None = None) -> None:
        """Record messages that the model of time delays now: late ones, and those ``fires`` did not wait for."""
        if not BREAKS[self._timeouts]:
            return
        for _, _, message in self.network.in_flight():
            key = (message.source, message.serial)
            if key not in self._sent_us:
                continue
            late = self.now_us - self._sent_us[key] > self.header.timing.tm_us
            missed = self._timeouts in WITH_OWN_CLOCKS and fires in (message.source, message.target)
            if missed or (late and self._timeouts == "ordered"):
                del self._sent_us[key]
                self.record(Routed(self.now_us, message.source, message.serial, "delayed", by=(1,)))


class ExploredPath(Struct, frozen=True):
    """The shortest path to a violation, all that is needed to perform it again.

    ``draws`` are the random numbers that each node draws at its first start. Of a liveness property, ``waits`` is
    true: after the moves, time passes until the recording shows that it does not hold; with ``heals``, after the
    cut that may be in force; and if the nodes go around in a cycle, ``cycle`` has its moves.
    """

    timeouts: Timeouts
    restarts: int
    draws: tuple[tuple[int, tuple[float, ...]], ...]
    moves: tuple[Move, ...]
    waits: bool = False
    heals: bool = False
    cycle: tuple[Move, ...] = ()

    @property
    def commands(self) -> tuple[str, ...]:
        """The faults, in their order, as commands."""
        found: list[str] = []
        for move in self.moves:
            found += move.commands
            found += [f"restart {move.node}"] if move.what == "restart" else []
            found += [command for _, command in move.during]
        return tuple(found)


def path_to_violation(explorer: Explorer, assertion: str, timeouts: Timeouts, restarts: int) -> ExploredPath:
    """Return the shortest path to a violation of the assertion."""
    state = explorer.first_found[assertion]
    return ExploredPath(
        timeouts,
        restarts,
        tuple(explorer.draws_before(state).items()),
        tuple(explorer.path_to(state)),
        waits=assertion in explorer.liveness,
        heals=assertion not in (A4.id, ENDS.id),
        cycle=tuple(explorer.cycles.get(assertion, ())),
    )


def is_shown(recording: Path, assertion: str) -> bool:
    """Return whether a recording shows a violation of the assertion.

    It does not if a node keeps the number of a request (``handled``) and answers when its sender waits no more,
    but for the answer to another request: in the search the two have the same number.
    """
    with closing(open_recording(recording)) as store:
        judge, records = Judge(store.header), list(store.records())
    for record in records:
        judge.observe(record)
    if (history := judge_history(records)) is not None:
        judge.conclude(history)
    return any(violation.assertion == assertion for violation in judge.violations)


def record_path(path: ExploredPath, assertion: str, protocol: type[Algorithm], writer: Writer) -> None:
    """Perform a path to a violation of the assertion, and close the writer. Raises OSError."""
    execution = PathExecution(protocol, writer, path.timeouts, path.restarts, dict(path.draws))
    for move in path.moves:
        execution.perform(move)
    if path.waits:
        _wait_for_agreement(path, execution, _bound_us(assertion, writer.header))
    execution.end(f"{assertion} does not hold")
    writer.close()


def _bound_us(assertion: str, header: Header) -> int:
    """Return how long it takes until a recording shows that a liveness property does not hold."""
    info = header.protocol
    declared = next((each for each in assertions_of(info) if each.id == assertion), None)
    if not isinstance(declared, Bounded):
        return info.settles_within_us
    return declared.within_us(header.timing, info.parameters, info.settles_within_us)


def _wait_for_agreement(path: ExploredPath, execution: PathExecution, within_us: int) -> None:
    """Let time pass until the recording shows the lack of agreement: by silence, or by the cycle."""
    if path.heals and execution.is_cut:  # it may stay in force around a node that is down
        execution.perform(Move("strike", commands=("heal",)))
    ends_us = execution.now_us + within_us
    around = path.cycle or (Move("wait", us=within_us + 1),)
    while execution.now_us <= ends_us:
        for move in around:
            execution.perform(move)
