"""The live host: the tasks that wait for the sockets of a live world, and for time.

Each task passes what it waited for to ``LiveWorld``, which never waits, and then calls ``commit``.
"""

import contextlib
import errno
import socket

import msgspec
import trio

from lab.recording.records import TIME_LIMIT_REACHED
from lab.recording.writer import Writer
from lab.worlds.fork_server import Forked, NotForked, ProcessChange, decode_report
from lab.worlds.host.host import Host, earliest_us
from lab.worlds.host.runs import RunFolder
from lab.worlds.json_lines import GARBAGE, Channel
from lab.worlds.live.connections import Connection, ProgramLog
from lab.worlds.live.live_world import LiveWorld
from lab.worlds.live.wire import Hello
from lab.worlds.loading.config import InitialCommands, RunConfig, load_protocols

_JOIN_TIMEOUT_S = 2.0
_HELLO_TIMEOUT_S = 5.0
_MOST_UNIDENTIFIED = 64
_encode = msgspec.json.Encoder().encode
_decode_hello = msgspec.json.Decoder(Hello).decode


class LiveHost(Host):
    """The host of a live run. ``fork_server`` is the connection to the process that forks the nodes."""

    world: LiveWorld

    def __init__(self, config: RunConfig, folder: RunFolder, writer: Writer, fork_server: socket.socket) -> None:
        super().__init__(config, folder, writer)
        begun = InitialCommands.of(config)
        fork_server.setblocking(False)
        self._fork_socket = fork_server
        self._fork_server = Channel(fork_server)
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._listening.setblocking(False)
        port: int = self._listening.getsockname()[1]
        until_us = None if config.confined is None else config.end_us
        self.world = LiveWorld(load_protocols(config), writer, folder.storage, port, until_us)
        begun.add_to(self.world.director)
        self._unidentified: dict[socket.socket, trio.CancelScope] = {}
        self._timer_wakeup = trio.lowlevel.ParkingLot()
        self._timer_us: float = 0

    def begin(self) -> None:
        for task in (self._read_fork_server, self._accept_nodes, self._watch_timers, self._watch_schedule):
            self.tasks.start_soon(task)
        self.world.fork_all()

    def flush(self) -> None:
        """Write what is queued for the nodes and the fork server."""
        unflushed, requests = self.world.unflushed, self.world.requests
        while unflushed:
            _, connection = unflushed.popitem()
            if not connection.writing and not connection.flush():
                connection.writing = True
                self.tasks.start_soon(self._write_rest, connection)
        for request in requests:
            self._fork_server.put(_encode(request))
        requests.clear()
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
                    self.world.on_forked(report)
                elif isinstance(report, ProcessChange):
                    self.world.on_process_change(report)
                elif isinstance(report, NotForked):
                    self.end(f"a node could not be started: {report.text}")
            self.commit()

    # the nodes

    async def _accept_nodes(self) -> None:
        while True:
            await trio.lowlevel.wait_readable(self._listening)
            try:
                peer, _ = self._listening.accept()
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE):
                    limit = "raise the limit of open files: ulimit -n 4096"
                    self.end(f"a node could not be started: {error.strerror}; {limit}")
                    return
                continue
            peer.setblocking(False)
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if len(self._unidentified) >= _MOST_UNIDENTIFIED:
                next(iter(self._unidentified.values())).cancel()  # a genuine node would have sent its Hello by now
            self._unidentified[peer] = trio.CancelScope(deadline=trio.current_time() + _HELLO_TIMEOUT_S)
            self.tasks.start_soon(self._serve_peer, peer)

    async def _serve_peer(self, peer: socket.socket) -> None:
        connection = None
        try:
            with self._unidentified[peer]:
                connection = await self._greet(peer)
        except (EOFError, OSError, *GARBAGE):
            pass  # not a node of this run
        finally:
            del self._unidentified[peer]
        if connection is not None:
            self.commit()
            await self._read_node(connection)
        trio.lowlevel.notify_closing(peer)
        peer.close()

    async def _greet(self, peer: socket.socket) -> Connection | ProgramLog | None:
        """Read the ``Hello``; return None if it is not of a node that is expected."""
        channel, lines = Channel(peer), list[bytes]()
        while not lines:
            await trio.lowlevel.wait_readable(peer)
            lines = channel.receive()
        return self.world.on_hello(_decode_hello(lines[0]), peer)

    async def _read_node(self, connection: Connection | ProgramLog) -> None:
        while True:
            await trio.lowlevel.wait_readable(connection)
            is_open = self.world.read(connection)
            self.commit()
            if not is_open:
                return

    async def _write_rest(self, connection: Connection) -> None:
        """Write the rest of a node's queue as its socket takes more."""
        incarnations = self.world.incarnations
        with contextlib.suppress(trio.ClosedResourceError):
            while incarnations.get(connection.id) is connection and connection.fileno() >= 0:
                await trio.lowlevel.wait_writable(connection)
                if connection.flush():
                    break
        connection.writing = False

    # time

    def _next_due_us(self) -> float:
        network, director = self.world.network, self.world.director
        due_us = earliest_us(
            network.next_due_us(), director.next_due_us, self.world.init_due_us, self.config.end_us
        )
        return float("inf") if due_us is None else due_us

    async def _watch_timers(self) -> None:
        while True:
            if self.config.end_us is not None and self.now_us() >= self.config.end_us:
                self.end(TIME_LIMIT_REACHED)
                return
            self.world.execute_due()
            self.world.fail_uninitialized()
            self.world.deliver_due()
            self._timer_us = float("inf")
            self.commit()
            self._timer_us = self._next_due_us()
            with trio.move_on_after(max(0.0, (self._timer_us - self.now_us()) / 1e6)):
                await self._timer_wakeup.park()

    async def _watch_schedule(self) -> None:
        while True:
            await trio.sleep(self.world.expect_turn())
            if self.world.record_stall():
                self.commit()
