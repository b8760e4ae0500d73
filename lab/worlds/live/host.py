"""The live host: the network between the node processes, and their supervisor.

Everything passes here, one line at a time: a step that arrives is recorded, shown to the director, and only
then are its messages routed. So the order of the records is a linear extension of happens-before, and a
fault can strike between two messages of one step. The tasks here wait for sockets and for time; what they
get they hand to the ``Switch`` and to ``LiveNodes``, which do not wait, and then call ``settle``.
``Reception`` has the sockets of the nodes.
"""

import contextlib
import socket
import time

import msgspec
import trio

from lab.recording.writer import Writer
from lab.script import Director
from lab.worlds.config import Begun, RunConfig
from lab.worlds.control import Control
from lab.worlds.host.host import Host, earliest_us
from lab.worlds.host.lines import LineBuffer
from lab.worlds.live.nodes import LiveNodes
from lab.worlds.live.reception import Reception
from lab.worlds.live.switch import Switch
from lab.worlds.live.wire import Fork, Forked, Seen, Signal
from lab.worlds.routing import network_of, spare_of
from lab.worlds.runs import RunFolder
from lab.worlds.targets import load_protocol

__all__ = ["LiveHost"]

_CHUNK = 1 << 18
_BURIAL_WITHIN_S = 2.0
_encode = msgspec.json.Encoder().encode
_decode_report = msgspec.json.Decoder(Forked | Seen).decode


class LiveHost(Host):
    """``spawner`` is the connection to the warm parent, which forks the nodes."""

    def __init__(self, config: RunConfig, folder: RunFolder, writer: Writer, spawner: socket.socket) -> None:
        super().__init__(config, folder, writer)
        begun = Begun.of(config)
        self._origin_ns = time.monotonic_ns()
        self.director = Director(self.now_us, writer)
        begun.add_to(self.director)
        spawner.setblocking(False)
        self._spawner = spawner
        self._orders = b""
        self._switch = Switch(writer, self.director, network_of(writer.header), self.now_us)
        self._reception = Reception(self._switch, self.settle)
        self._nodes = LiveNodes(
            config.nodes,
            self._switch,
            folder.safe,
            self._origin_ns,
            self._reception.port,
            self.now_us,
            self._order,
            self._reception.drain,
        )
        self._reception.nodes = self._nodes
        self.control = Control(
            load_protocol(config.protocol),
            self._nodes,
            self._switch.network,
            self.director,
            writer,
            spare_of(writer.header),
            self._switch.record,
            self.now_us,
        )
        self._switch.execute = self.control.execute
        self._timer_lot = trio.lowlevel.ParkingLot()
        self._timer_us: float = 0

    def now_us(self) -> int:
        """Real time since the run began."""
        return (time.monotonic_ns() - self._origin_ns) // 1000

    def begin(self) -> None:
        """Fork the nodes."""
        for task in (self._read_spawner, self._watch_timers):
            self.tasks.start_soon(task)
        self.tasks.start_soon(self._reception.receive, self.tasks)
        self._nodes.fork_all()

    def let_out(self) -> None:
        """To the nodes, and to the warm parent."""
        while self._switch.touched:
            _, connection = self._switch.touched.popitem()
            if not connection.writing and not connection.flush():
                connection.writing = True
                self.tasks.start_soon(self._reception.write_rest, connection)
        self._flush_orders()
        if self._next_due_us() < self._timer_us:
            self._timer_lot.unpark_all()

    def finish(self) -> None:
        """Let the warm parent take every node with it."""
        with contextlib.suppress(OSError):
            self._spawner.shutdown(socket.SHUT_WR)

    def gone(self) -> None:
        """The warm parent ends once every node has: then nobody writes to the run's folder any more."""
        self._spawner.settimeout(_BURIAL_WITHIN_S)
        with self._spawner, contextlib.suppress(OSError):
            self._spawner.shutdown(socket.SHUT_WR)
            while self._spawner.recv(_CHUNK):
                pass

    # the warm parent

    def _order(self, order: Fork | Signal) -> None:
        self._orders += _encode(order) + b"\n"

    def _flush_orders(self) -> None:
        if self._orders:
            try:
                sent = self._spawner.send(self._orders)
            except BlockingIOError:
                sent = 0
            except OSError:
                sent = len(self._orders)  # the warm parent is gone, which its end of file tells
            self._orders = self._orders[sent:]

    async def _read_spawner(self) -> None:
        buffer = LineBuffer()
        while True:
            data = b""
            await trio.lowlevel.wait_readable(self._spawner)
            with contextlib.suppress(ConnectionError):
                data = self._spawner.recv(_CHUNK)
            if not data:
                self.end("the process that nodes are forked from has ended")
                return
            for line in buffer.feed(data):
                report = _decode_report(line)
                if isinstance(report, Forked):
                    self._nodes.forked(report)
                else:
                    self._nodes.seen(report)
            self.settle()

    # time

    def _next_due_us(self) -> float:
        due_us = earliest_us(self._switch.network.next_due_us(), self.director.next_due_us, self.config.end_us)
        return float("inf") if due_us is None else due_us

    async def _watch_timers(self) -> None:
        while True:
            now_us = self.now_us()
            if self.config.end_us is not None and now_us >= self.config.end_us:
                self.end("its time was up")
                return
            for scripted in self.director.due(now_us):
                self.control.execute(scripted)
            self._switch.deliver_due()
            self._timer_us = float("inf")
            self.settle()
            self._timer_us = self._next_due_us()
            with trio.move_on_after(max(0.0, (self._timer_us - self.now_us()) / 1e6)):
                await self._timer_lot.park()
