"""The host: the network between the node processes, their supervisor, and the one who writes it all down.

Everything passes here, one line at a time: a step that arrives is recorded, shown to the director, and only
then are its messages routed. So the order of the records is a linear extension of happens-before, and a
fault can strike between two messages of one step. The tasks here wait for sockets and for time; what they
get they hand to the ``Switch`` and to ``LiveNodes``, which do not wait, and then call ``_settle``.
``Reception`` has the sockets of the nodes.
"""

import contextlib
import gc
import os
import signal
import socket
import sys
import time
from pathlib import Path

import msgspec
import trio
from msgspec.structs import replace

from lab.journal import End, Writer
from lab.protocols import find_protocol
from lab.script import At, CommandError, Director, parse
from lab.worlds.config import Ready, Refused, RunConfig, header_of
from lab.worlds.control import Control
from lab.worlds.live.feed import Feed
from lab.worlds.live.nodes import LiveNodes
from lab.worlds.live.reception import Reception
from lab.worlds.live.switch import Switch
from lab.worlds.live.wire import Fork, Forked, LineBuffer, Seen, Signal
from lab.worlds.orders import Order, Reply
from lab.worlds.runs import RunFolder, RunInfo

__all__ = ["run_host"]

_CHUNK = 1 << 18
_BURIAL_WITHIN_S = 2.0
_encode = msgspec.json.Encoder().encode
_decode_report = msgspec.json.Decoder(Forked | Seen).decode


def run_host(config: RunConfig, spawner: socket.socket) -> int:
    """Run the host to its end; the exit status of its process. What it says first goes to standard output."""
    try:
        folder = RunFolder(config.run)
    except OSError as error:
        _say(Refused(f"the run's folder cannot be made: {error}"))
        return 2
    try:
        writer = Writer(Path(config.recording), header_of(config, find_protocol(config.protocol)))
    except OSError as error:
        _say(Refused(f"the recording cannot be written to {config.recording}: {error.strerror}"))
        folder.remove()
        return 2
    host = _Host(config, spawner, folder, writer)
    try:
        trio.run(host.run)
    finally:
        _await_end(spawner)
        folder.remove()
    if host.failure:
        print(host.failure, file=sys.stderr)
    return 1 if host.failure else 0


def _await_end(spawner: socket.socket) -> None:
    """The warm parent ends once every node has: then nobody writes to the run's folder any more."""
    spawner.settimeout(_BURIAL_WITHIN_S)
    with spawner, contextlib.suppress(OSError):
        spawner.shutdown(socket.SHUT_WR)
        while spawner.recv(_CHUNK):
            pass


def _say(first: Ready | Refused) -> None:
    os.write(1, _encode(first) + b"\n")


class _Host:
    def __init__(self, config: RunConfig, spawner: socket.socket, folder: RunFolder, writer: Writer) -> None:
        self._config = config
        self._folder = folder
        self._writer = writer
        self._director = Director()
        for line in config.commands:
            scripted = parse(line)
            self._director.add(scripted if scripted.trigger else replace(scripted, trigger=At(0)))
        self._origin_ns = time.monotonic_ns()
        spawner.setblocking(False)
        self._spawner = spawner
        self._orders = b""
        self._switch = Switch(
            writer,
            self._director,
            config.seed,
            config.link.latency_us,
            config.link.jitter_us,
            self._now_us,
        )
        self._feed = Feed(writer, self._execute_order)
        self._reception = Reception(self._switch, self._settle)
        self._nodes = LiveNodes(
            config.nodes,
            self._switch,
            folder.safe,
            self._origin_ns,
            self._reception.port,
            self._now_us,
            self._order,
            self._reception.drain,
        )
        self._reception.nodes = self._nodes
        self._control = Control(
            self._nodes,
            self._switch.network,
            writer,
            config.timing.tm_us - config.link.latency_us - config.link.jitter_us,
            self._switch.record,
            self._now_us,
        )
        self._switch.execute = self._control.execute
        self._timer_lot = trio.lowlevel.ParkingLot()
        self._timer_us: float = 0
        self._ending: str | None = None
        self.failure = ""

    async def run(self) -> None:
        """Serve until something ends the run; then end every node, and complete the recording."""
        async with trio.open_nursery() as services:
            await services.start(self._feed.serve, str(self._folder.socket))
            try:
                async with trio.open_nursery() as self._tasks:
                    self._begin()
            finally:
                self._finish()

    def _begin(self) -> None:
        for task in (self._read_spawner, self._watch_timers, self._watch_signals, self._watch_owner):
            self._tasks.start_soon(task)
        self._tasks.start_soon(self._reception.receive, self._tasks)
        self._nodes.fork_all()
        self._folder.publish(
            RunInfo(
                self._config.run,
                os.getpid(),
                self._config.protocol,
                self._config.nodes,
                self._writer.header.began,
                str(self._writer.path),
                str(self._folder.socket),
            )
        )
        self._settle()
        gc.freeze()
        _say(Ready(str(self._folder.socket), os.getpid()))

    def _finish(self) -> None:
        with contextlib.suppress(OSError):
            self._spawner.shutdown(socket.SHUT_WR)  # the warm parent takes every node with it
        with contextlib.suppress(OSError):
            if not self.failure:
                self._writer.append(End(self._now_us(), self._ending or "the host failed"))
            self._writer.close()
        self._feed.end()

    def _end(self, why: str) -> None:
        if self._ending is None:
            self._ending = why
            self._tasks.cancel_scope.cancel()

    # what the tasks share

    def _now_us(self) -> int:
        return (time.monotonic_ns() - self._origin_ns) // 1000

    def _settle(self) -> None:
        """Let out what has been done since the last time: to the file first, then to nodes and clients."""
        try:
            self._writer.flush()
        except OSError as error:
            self.failure = f"the recording cannot be written: {error.strerror}"
            self._end(self.failure)
            return  # what is not written down does not happen
        while self._switch.touched:
            _, connection = self._switch.touched.popitem()
            if not connection.writing and not connection.flush():
                connection.writing = True
                self._tasks.start_soon(self._reception.write_rest, connection)
        self._flush_orders()
        self._feed.grown()
        if self._next_due_us() < self._timer_us:
            self._timer_lot.unpark_all()

    def _execute_order(self, order: Order) -> Reply:
        if order.end:
            self._end("ended by its driver")
            return Reply(order.id, True, True, "the run ends")
        try:
            scripted = parse(order.command)
        except CommandError as error:
            return Reply(order.id, False, False, str(error))
        if scripted.trigger is not None:
            self._director.add(scripted)
            for due in self._director.after(None, self._writer):
                self._control.execute(due)
            self._settle()
            return Reply(order.id, True, True, f"waits: {scripted.source}")
        outcome = self._control.execute(scripted)
        self._settle()
        return Reply(order.id, not outcome.refused, outcome.changed, outcome.text)

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
                self._end("the process that nodes are forked from has ended")
                return
            for line in buffer.feed(data):
                report = _decode_report(line)
                if isinstance(report, Forked):
                    self._nodes.forked(report)
                else:
                    self._nodes.seen(report)
            self._settle()

    # time, and whatever else ends the run

    def _next_due_us(self) -> float:
        dues = (self._switch.network.next_due_us(), self._director.next_due_us(), self._config.for_us)
        return min((due for due in dues if due is not None), default=float("inf"))

    async def _watch_timers(self) -> None:
        while True:
            now_us = self._now_us()
            if self._config.for_us is not None and now_us >= self._config.for_us:
                self._end("its time was up")
                return
            for scripted in self._director.due(now_us):
                self._control.execute(scripted)
            self._switch.deliver_due()
            self._timer_us = float("inf")
            self._settle()
            self._timer_us = self._next_due_us()
            with trio.move_on_after(max(0.0, (self._timer_us - self._now_us()) / 1e6)):
                await self._timer_lot.park()

    async def _watch_signals(self) -> None:
        with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as received:
            async for number in received:
                self._end(f"signal {signal.Signals(number).name}")

    async def _watch_owner(self) -> None:
        async with trio.lowlevel.FdStream(os.dup(0)) as owner:
            while await owner.receive_some(4096):
                pass
        self._end("whoever started it has ended")
