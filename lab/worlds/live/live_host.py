"""The live host: the network between the node processes, and their supervisor.

All traffic passes through here, one line at a time: an arriving step is recorded and shown to the director, and
only then are its messages routed. So the order of records is a linear extension of happens-before, and a fault can
strike between two messages of one step. The tasks here wait for sockets and time, pass the input to ``Router`` and
``LiveNodes``, which never wait, and then call ``commit``. ``NodeSockets`` owns the sockets of the nodes.
"""

import contextlib
import socket
import time

import msgspec
import trio

from lab.recording.writer import Writer
from lab.script.director import Director
from lab.worlds.control import Control
from lab.worlds.host.host import Host, earliest_us
from lab.worlds.host.runs import RunFolder
from lab.worlds.live.node_process import NodeJob
from lab.worlds.live.node_sockets import NodeSockets
from lab.worlds.live.nodes import LiveNodes
from lab.worlds.live.router import Router
from lab.worlds.loading.config import InitialCommands, RunConfig
from lab.worlds.loading.targets import load_protocol
from lab.worlds.processes.fork_server import Fork, Forked, NotForked, ProcessChange, Signal, decode_report
from lab.worlds.processes.json_lines import Channel
from lab.worlds.routing import network_of, spare_of

_JOIN_TIMEOUT_S = 2.0
_encode = msgspec.json.Encoder().encode


class LiveHost(Host):
    """The host of a live run. ``fork_server`` is the connection to the process that forks the nodes."""

    def __init__(self, config: RunConfig, folder: RunFolder, writer: Writer, fork_server: socket.socket) -> None:
        super().__init__(config, folder, writer)
        begun = InitialCommands.of(config)
        self._origin_ns = time.monotonic_ns()
        self.director = Director(self.now_us, writer)
        begun.add_to(self.director)
        fork_server.setblocking(False)
        self._fork_socket = fork_server
        self._fork_server = Channel(fork_server)
        self._router = Router(writer, self.director, network_of(writer.header), self.now_us)
        self._node_sockets = NodeSockets(self._router, self.commit)
        self._nodes = LiveNodes(
            config.nodes,
            self._router,
            folder.storage,
            self._origin_ns,
            self._node_sockets.port,
            self.now_us,
            self._request_fork_server,
            self._node_sockets.drain,
        )
        self._node_sockets.nodes = self._nodes
        self.control = Control(
            load_protocol(config.protocol),
            self._nodes,
            self._router.network,
            self.director,
            writer,
            spare_of(writer.header),
            self._router.record,
            self.now_us,
        )
        self._router.execute = self.control.execute
        self._timer_wakeup = trio.lowlevel.ParkingLot()
        self._timer_us: float = 0

    def now_us(self) -> int:
        """Return the real time since the run began."""
        return (time.monotonic_ns() - self._origin_ns) // 1000

    def begin(self) -> None:
        for task in (self._read_fork_server, self._watch_timers):
            self.tasks.start_soon(task)
        self.tasks.start_soon(self._node_sockets.receive, self.tasks)
        self._nodes.fork_all()

    def flush(self) -> None:
        """Write what is queued for the nodes and the fork server."""
        while self._router.unflushed:
            _, connection = self._router.unflushed.popitem()
            if not connection.writing and not connection.flush():
                connection.writing = True
                self.tasks.start_soon(self._node_sockets.write_rest, connection)
        self._fork_server.flush()
        if self._next_due_us() < self._timer_us:
            self._timer_wakeup.unpark_all()

    def shutdown(self) -> None:
        """Tell the fork server to end; it kills every node first."""
        with contextlib.suppress(OSError):
            self._fork_socket.shutdown(socket.SHUT_WR)

    def join(self) -> None:
        """Wait for the fork server to end, so that no process writes to the run's folder any more."""
        self.shutdown()
        self._fork_socket.settimeout(_JOIN_TIMEOUT_S)
        with self._fork_socket, contextlib.suppress(EOFError, OSError):
            while True:
                self._fork_server.receive()

    # the fork server

    def _request_fork_server(self, request: Fork[NodeJob] | Signal) -> None:
        self._fork_server.put(_encode(request))

    async def _read_fork_server(self) -> None:
        while True:
            await trio.lowlevel.wait_readable(self._fork_server)
            try:
                lines = self._fork_server.receive()
            except EOFError:
                self.end("the process that nodes are forked from has ended")
                return
            for line in lines:
                report = decode_report(line)
                if isinstance(report, Forked):
                    self._nodes.on_forked(report)
                elif isinstance(report, ProcessChange):
                    self._nodes.on_process_change(report)
                elif isinstance(report, NotForked):
                    self.end(f"a node could not be forked: {report.text}")
            self.commit()

    # time

    def _next_due_us(self) -> float:
        due_us = earliest_us(self._router.network.next_due_us(), self.director.next_due_us, self.config.end_us)
        return float("inf") if due_us is None else due_us

    async def _watch_timers(self) -> None:
        while True:
            now_us = self.now_us()
            if self.config.end_us is not None and now_us >= self.config.end_us:
                self.end("its time was up")
                return
            for scripted in self.director.due(now_us):
                self.control.execute(scripted)
            self._router.deliver_due()
            self._timer_us = float("inf")
            self.commit()
            self._timer_us = self._next_due_us()
            with trio.move_on_after(max(0.0, (self._timer_us - self.now_us()) / 1e6)):
                await self._timer_wakeup.park()
