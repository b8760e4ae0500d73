"""The nodes' sockets, on the host's side: accepting connections, reading, and writing what is left over."""

import contextlib
import select
import socket
from collections.abc import Callable

import msgspec
import trio

from lab.worlds.live.connection import Connection, Hello
from lab.worlds.live.nodes import LiveNodes
from lab.worlds.live.router import NotAStepError, Router
from lab.worlds.processes.json_lines import GARBAGE, Channel, TooLongError

_HELLO_TIMEOUT_S = 5.0
_MOST_UNIDENTIFIED = 64
_decode_hello = msgspec.json.Decoder(Hello).decode


class NodeSockets:
    """Listen on ``port`` of 127.0.0.1, and read from the nodes. Set ``nodes`` before ``receive``.

    ``commit`` is called after every chunk that was taken in.
    """

    nodes: LiveNodes

    def __init__(self, router: Router, commit: Callable[[], None]) -> None:
        self._router = router
        self._commit = commit
        self._unidentified: dict[socket.socket, trio.CancelScope] = {}
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._listening.setblocking(False)
        self.port: int = self._listening.getsockname()[1]

    async def receive(self, tasks: trio.Nursery) -> None:
        """Accept connections, forever."""
        while True:
            await trio.lowlevel.wait_readable(self._listening)
            try:
                peer, _ = self._listening.accept()
            except OSError:
                continue
            peer.setblocking(False)
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if len(self._unidentified) >= _MOST_UNIDENTIFIED:
                next(iter(self._unidentified.values())).cancel()  # a genuine node would have sent its Hello by now
            self._unidentified[peer] = trio.CancelScope(deadline=trio.current_time() + _HELLO_TIMEOUT_S)
            tasks.start_soon(self._serve_peer, peer)

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
            self._commit()
            await self._read_node(connection)
        trio.lowlevel.notify_closing(peer)
        peer.close()

    async def _greet(self, peer: socket.socket) -> Connection | None:
        """Read the ``Hello``; return None if it is not of a node that is expected."""
        channel, lines = Channel(peer), list[bytes]()
        while not lines:
            await trio.lowlevel.wait_readable(peer)
            lines = channel.receive()
        hello = _decode_hello(lines[0])
        connection = Connection(peer, hello)
        return connection if self.nodes.on_hello(hello, connection) else None

    async def _read_node(self, connection: Connection) -> None:
        while True:
            await trio.lowlevel.wait_readable(connection)
            if not self._receive(connection):
                return
            self._commit()

    def _receive(self, connection: Connection) -> bool:
        """Take in what the node's socket holds now, at most a chunk; return False at its end."""
        try:
            for line in connection.receive():
                if connection.paused or self._router.connections.get(connection.node) is connection:
                    self._router.receive(connection, line)
        except (EOFError, OSError):
            return False
        except (NotAStepError, TooLongError) as error:
            self.nodes.fail(connection, error)
            return False
        return True

    def drain(self, connection: Connection) -> None:
        """Take in all that a node's socket holds."""
        while connection.fileno() >= 0 and select.select([connection], [], [], 0)[0]:
            if not self._receive(connection):
                return

    async def write_rest(self, connection: Connection) -> None:
        """Write the rest of a node's queue as its socket takes more."""
        with contextlib.suppress(trio.ClosedResourceError):
            while self._router.connections.get(connection.node) is connection and connection.fileno() >= 0:
                await trio.lowlevel.wait_writable(connection)
                if connection.flush():
                    break
        connection.writing = False
