"""Execute a path of moves on real nodes and a real network, writing records as any other world does.

A found path is in canonical numbers. Executing it again from the first start gives a recording like every other:
it can be shown, stepped through, re-executed, judged and branched. Faults are commands, executed and recorded as
in the other worlds.

If the model of time breaks an assumption, a fault that says so is in force from the beginning, and a message that
it touches is recorded as delayed: under ``ordered``, one in flight for longer than Tm; under ``any``, one in
flight while a timer of its sender or its receiver fires. Under ``any`` every node has its own clock, which dates
its steps; all other records are dated by the clock furthest ahead.
"""

from collections.abc import Callable
from random import Random
from typing import Any, Literal

import msgspec

from lab.kernel import CommandInput, Fired, Message, Node, Protocol, Started, as_lists
from lab.network import Network
from lab.recording.records import End, Fault, Header, Process, Record, Routed
from lab.recording.writer import RecordLog
from lab.script.director import Director
from lab.script.parse import parse
from lab.worlds.control import Control, NodeOperations
from lab.worlds.explored.states import BREAKS, Move, Timeouts
from lab.worlds.routing import records_of


class PathExecution(NodeOperations):
    """Executes moves, and appends their records to ``log``. ``restarts`` is the number of restarts allowed."""

    def __init__(
        self, protocol: type[Protocol], header: Header, log: RecordLog, timeouts: Timeouts, restarts: int
    ) -> None:
        self._protocol = protocol
        self._header = header
        self._log = log
        self._timeouts: Timeouts = timeouts
        self._restarts = restarts
        self._parameters = msgspec.convert(header.protocol.parameters, protocol.Parameters)
        self._ids = header.nodes
        self._nodes: dict[int, Node] = {}
        self._incarnations = dict.fromkeys(self._ids, 0)
        self._serials = dict.fromkeys(self._ids, 1)
        self._stores: dict[int, dict[str, Any]] = {node: {} for node in self._ids}
        self._clocks_us = dict.fromkeys(self._ids, 0)
        self._network = Network(lambda source, target: Random(f"{source}->{target}"))
        self._sent_us: dict[tuple[int, int], int] = {}  # of messages not recorded as delayed yet
        self._during: tuple[tuple[int, str], ...] = ()
        self._control = Control(
            protocol,
            self,
            self._network,
            Director(lambda: self.now_us, log),
            log,
            header.timing,
            self._record,
            lambda: self.now_us,
        )
        if BREAKS[timeouts]:
            links = tuple((source, target) for source in self._ids for target in self._ids if source != target)
            self._record(Fault(0, 1, "delay", f"timeouts {timeouts}", (), BREAKS[timeouts], links))
            self._control.resume(1, {})
        for node in self._ids:
            self.restart(node)

    @property
    def now_us(self) -> int:
        """The clock furthest ahead."""
        return max(self._clocks_us.values())

    @property
    def is_cut(self) -> bool:
        return bool(self._network.rules)

    def execute(self, move: Move) -> None:
        node, self._during = move.node, move.during
        for command in move.commands:
            self._execute_command(command)
        if move.what == "wait":
            for each in self._ids:
                self._clocks_us[each] += move.us
            self._record_delays()
        elif move.what == "restart":
            self._restarts -= 1
            self._clocks_us[node] = self.now_us
            self._execute_command(f"restart {node}")
        elif move.what == "fire":
            due = self._nodes[node].next_timer()
            assert due is not None
            self._clocks_us[node] = max(self._clocks_us[node], due[0])
            self._record_delays(node)
            self._feed(node, due[1])
        elif move.what == "deliver":
            self._arrive(lambda message: (message.source, message.target) == (move.source, node))
        while not self._restarts and self._arrive(lambda message: message.target not in self._nodes):
            pass  # messages to a node that cannot restart are lost

    def end(self, why: str) -> None:
        """Append the last record."""
        self._record(End(self.now_us, why))

    # operations; see NodeOperations

    def kill(self, node: int) -> bool:
        del self._nodes[node]
        self._record(Process(self.now_us, node, "killed", self._incarnations[node]))
        return True

    def restart(self, node: int) -> bool:
        """Start a new incarnation with the contents of stable storage."""
        self._incarnations[node] += 1
        incarnation = self._incarnations[node]
        self._nodes[node] = Node(self._protocol, node, self._ids, self._header.timing, self._parameters)
        self._record(Process(self.now_us, node, "started", incarnation))
        self._feed(node, Started(as_lists(self._stores[node]), incarnation, self._serials[node]))
        return True

    def process_state(self, node: int) -> Literal["running", "down"]:
        return "running" if node in self._nodes else "down"

    def give_command(self, node: int, command: CommandInput) -> None:
        self._feed(node, command)

    # the course of a run

    def _record(self, record: Record) -> None:
        self._log.append(record)

    def _execute_command(self, command: str) -> None:
        outcome = self._control.execute(parse(command))
        assert outcome.changed, outcome.text

    def _arrive(self, wanted: Callable[[Message], bool]) -> bool:
        """Deliver the first matching message; return whether there was one."""
        found = self._network.pop_first(wanted)
        if found is None:
            return False
        message, cut = found
        self._sent_us.pop((message.source, message.serial), None)
        if cut is not None:
            self._drop(message, "cut", (cut,))
        elif message.target not in self._nodes:
            self._drop(message, "down")
        else:
            self._feed(message.target, message)
        return True

    def _feed(self, node: int, node_input: Started | Message | Fired | CommandInput) -> None:
        """Execute one step, and the faults within it."""
        step = self._nodes[node].step(node_input, self._clocks_us[node])
        self._record(step)
        self._stores[node] = step.storage_after(self._stores[node])
        if step.sent:
            self._serials[node] = step.sent[-1].serial + 1
        for place, message in enumerate(step.sent):
            for command in (command for sent, command in self._during if sent == place):
                self._execute_command(command)
            if node in self._nodes:
                self._send(message)
            else:
                self._drop(message, "unsent")
        if step.failed:
            del self._nodes[node]
            self._record(Process(self.now_us, node, "failed", self._incarnations[node]))

    def _send(self, message: Message) -> None:
        sending = self._network.send(message, 0)  # the moves decide when it arrives
        for record in () if sending is None else records_of(message, sending, self.now_us):
            self._record(record)
        if sending is None:
            self._sent_us[message.source, message.serial] = self._clocks_us[message.source]

    def _drop(self, message: Message, why: str, by: tuple[int, ...] = ()) -> None:
        self._record(Routed(self.now_us, message.source, message.serial, "dropped", why, by))

    def _record_delays(self, fires: int | None = None) -> None:
        """Record messages that the model of time delays now: late ones, and those ``fires`` did not wait for."""
        if not BREAKS[self._timeouts]:
            return
        for _, _, message in self._network.in_flight():
            key = (message.source, message.serial)
            if key not in self._sent_us:
                continue
            late = self.now_us - self._sent_us[key] > self._header.timing.tm_us
            missed = self._timeouts == "any" and fires in (message.source, message.target)
            if missed or (late and self._timeouts == "ordered"):
                del self._sent_us[key]
                self._record(Routed(self.now_us, message.source, message.serial, "delayed", by=(1,)))
