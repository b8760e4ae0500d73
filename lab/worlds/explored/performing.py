"""Making moves come true: real nodes, a real network, and the records of it, as any other world writes them.

A found path is told in canonical numbers; this does it again from the first start, so what comes out is a
recording like every other, that can be shown, stepped through, re-executed, judged and branched from. What
strikes are commands, carried out and recorded as in the other worlds.

Where the model of time breaks an assumption, a fault that says so is in force from the beginning, and a message
that it touched is recorded as delayed: under ``ordered`` one that is not there after Tm, under ``any`` one that
is on its way when its sender or its receiver has waited for so long that its timer fires. Under ``any`` every
node has its own clock, and a step its time by that; what is not a step is dated by the clock furthest on.
"""

from collections.abc import Callable
from random import Random
from typing import Any, Literal

import msgspec

from lab.kernel import CommandInput, Fired, Message, Node, Protocol, Started, as_lists
from lab.network import Network
from lab.recording.memory import Log
from lab.recording.records import End, Fault, Header, Process, Record, Routed
from lab.script import Director, parse
from lab.worlds.control import Control
from lab.worlds.explored.states import BREAKS, Move, Timeouts
from lab.worlds.handles import NodeHandles
from lab.worlds.routing import records_of

__all__ = ["Performance"]


class Performance(NodeHandles):
    """Does moves, and appends their records to ``log``. ``restarts`` is how many there may be."""

    def __init__(
        self, protocol: type[Protocol], header: Header, log: Log, timeouts: Timeouts, restarts: int
    ) -> None:
        self._protocol = protocol
        self._header = header
        self._log = log
        self._timeouts: Timeouts = timeouts
        self._restarts = restarts
        self._parameters = msgspec.convert(header.protocol.parameters, protocol.Parameters)
        self._ids = header.nodes
        self._nodes: dict[int, Node] = {}
        self._lives = dict.fromkeys(self._ids, 0)
        self._serials = dict.fromkeys(self._ids, 1)
        self._stores: dict[int, dict[str, Any]] = {node: {} for node in self._ids}
        self._clocks_us = dict.fromkeys(self._ids, 0)
        self._network = Network(lambda source, target: Random(f"{source}->{target}"))
        self._sent_us: dict[tuple[int, int], int] = {}  # of what the model of time has not touched yet
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
        """The clock furthest on."""
        return max(self._clocks_us.values())

    @property
    def is_cut(self) -> bool:
        """Whether a cut is in force."""
        return bool(self._network.rules)

    def make(self, move: Move) -> None:
        """Let this happen."""
        node, self._during = move.node, move.during
        for command in move.commands:
            self._strike(command)
        if move.what == "wait":
            for each in self._ids:
                self._clocks_us[each] += move.us
            self._delayed()
        elif move.what == "restart":
            self._restarts -= 1
            self._clocks_us[node] = self.now_us
            self._strike(f"restart {node}")
        elif move.what == "fire":
            due = self._nodes[node].next_timer()
            assert due is not None
            self._clocks_us[node] = max(self._clocks_us[node], due[0])
            self._delayed(node)
            self._feed(node, due[1])
        elif move.what == "deliver":
            self._arrive(lambda message: (message.source, message.target) == (move.source, node))
        while not self._restarts and self._arrive(lambda message: message.target not in self._nodes):
            pass  # what is on its way to a node that cannot come up again is lost

    def end(self, why: str) -> None:
        """The last record."""
        self._record(End(self.now_us, why))

    # what commands do: see NodeHandles

    def kill(self, node: int) -> bool:
        """Crash it."""
        del self._nodes[node]
        self._record(Process(self.now_us, node, "killed", self._lives[node]))
        return True

    def restart(self, node: int) -> bool:
        """A new life with what safe storage held."""
        self._lives[node] += 1
        incarnation = self._lives[node]
        self._nodes[node] = Node(self._protocol, node, self._ids, self._header.timing, self._parameters)
        self._record(Process(self.now_us, node, "started", incarnation))
        self._feed(node, Started(as_lists(self._stores[node]), incarnation, self._serials[node]))
        return True

    def reach(self, node: int) -> Literal["reached", "down"]:
        """Whether it is up."""
        return "reached" if node in self._nodes else "down"

    def tell(self, node: int, told: CommandInput) -> None:
        """At once."""
        self._feed(node, told)

    # the course of a run

    def _record(self, record: Record) -> None:
        self._log.append(record)

    def _strike(self, command: str) -> None:
        outcome = self._control.execute(parse(command))
        assert outcome.changed, outcome.text

    def _arrive(self, wanted: Callable[[Message], bool]) -> bool:
        """Let the first such message arrive; whether there is one."""
        found = self._network.take(wanted)
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

    def _feed(self, node: int, given: Started | Message | Fired | CommandInput) -> None:
        """One step, and what strikes within it."""
        step = self._nodes[node].step(given, self._clocks_us[node])
        self._record(step)
        self._stores[node] = step.kept(self._stores[node])
        if step.sent:
            self._serials[node] = step.sent[-1].serial + 1
        for place, message in enumerate(step.sent):
            for command in (command for sent, command in self._during if sent == place):
                self._strike(command)
            if node in self._nodes:
                self._send(message)
            else:
                self._drop(message, "unsent")
        if step.failed:
            del self._nodes[node]
            self._record(Process(self.now_us, node, "failed", self._lives[node]))

    def _send(self, message: Message) -> None:
        sending = self._network.send(message, 0)  # what arrives when is said by the moves
        for record in () if sending is None else records_of(message, sending, self.now_us):
            self._record(record)
        if sending is None:
            self._sent_us[message.source, message.serial] = self._clocks_us[message.source]

    def _drop(self, message: Message, why: str, by: tuple[int, ...] = ()) -> None:
        self._record(Routed(self.now_us, message.source, message.serial, "dropped", why, by))

    def _delayed(self, fires: int | None = None) -> None:
        """Record the messages that the model of time touches now: that ``fires`` did not wait for, or are late."""
        if not BREAKS[self._timeouts]:
            return
        for _, _, message in self._network.flying():
            key = (message.source, message.serial)
            if key not in self._sent_us:
                continue
            late = self.now_us - self._sent_us[key] > self._header.timing.tm_us
            missed = self._timeouts == "any" and fires in (message.source, message.target)
            if missed or (late and self._timeouts == "ordered"):
                del self._sent_us[key]
                self._record(Routed(self.now_us, message.source, message.serial, "delayed", by=(1,)))
