"""Execute a path of moves on real nodes and a real network, writing records as any other world does.

A found path is in canonical numbers. Executing it again from the first start gives a recording like every other:
it can be shown, stepped through, re-executed, judged and branched. Faults are commands, executed and recorded as
in the other worlds.

If the model of time breaks an assumption, a fault that says so is in force from the beginning, and a message that
it touches is recorded as delayed: under ``ordered``, one in flight for longer than Tm; under ``budget`` and
``any``, one in flight while a timer of its sender or its receiver fires. Under these two every node has its own
clock, which dates its steps; all other records are dated by the clock furthest ahead.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from lab.kernel import Input, Message, Node, Protocol, Step
from lab.recording.records import End, Fault, Routed
from lab.recording.writer import RecordLog
from lab.script.parse import parse
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
