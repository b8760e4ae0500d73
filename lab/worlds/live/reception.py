"""The sockets of the nodes, on the host's side: who connects, what they say, and what they do not read yet."""

import contextlib
import socket
from collections.abc import Callable

import msgspec
import trio

from lab.worlds.host.lines import GARBAGE, LineBuffer, TooLongError
from lab.worlds.live.connection import Connection
from lab.worlds.live.nodes import LiveNodes
from lab.worlds.live.switch import NotAStepError, Switch
from lab.worlds.live.wire import Hello

__all__ = ["Reception"]

_CHUNK = 1 << 18
_HELLO_WITHIN_S = 5.0
_MOST_STRANGERS = 64
_decode_hello = msgspec.json.Decoder(Hello).decode


class Reception:
    """Listens on ``port`` of 127.0.0.1. ``settle`` is called after every piece taken in; set ``nodes`` first."""

    nodes: LiveNodes

    def __init__(self, switch: Switch, settle: Callable[[], None]) -> None:
        self._switch = switch
        self._settle = settle
        self._strangers: dict[socket.socket, trio.CancelScope] = {}
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._listening.setblocking(False)
        self.port: int = self._listening.getsockname()[1]

    async def receive(self, tasks: trio.Nursery) -> None:
        """Meet whoever connects, for ever."""
        while True:
            await trio.lowlevel.wait_readable(self._listening)
            try:
                peer, _ = self._listening.accept()
            except OSError:
                continue
            peer.setblocking(False)
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if len(self._strangers) >= _MOST_STRANGERS:
                next(iter(self._strangers.values())).cancel()  # a node of ours would have said Hello by now
            self._strangers[peer] = trio.CancelScope(deadline=trio.current_time() + _HELLO_WITHIN_S)
            tasks.start_soon(self._meet, peer)

    async def _meet(self, peer: socket.socket) -> None:
        connection = None
        try:
            with self._strangers[peer]:
                connection = await self._hello(peer)
        except (OSError, *GARBAGE):
            pass  # whoever that was, it is no node of ours
        finally:
            del self._strangers[peer]
        if connection is not None:
            self._settle()
            await self._read_node(connection)
        trio.lowlevel.notify_closing(peer)
        peer.close()

    async def _hello(self, peer: socket.socket) -> Connection | None:
        buffer = LineBuffer()
        lines: list[bytes] = []
        while not lines:
            await trio.lowlevel.wait_readable(peer)
            data = peer.recv(4096)
            if not data:
                return None
            lines = buffer.feed(data)
        hello = _decode_hello(lines[0])
        connection = Connection(hello.node, hello.incarnation, 0, peer)
        return connection if self.nodes.hello(hello, connection) else None

    async def _read_node(self, connection: Connection) -> None:
        while True:
            await trio.lowlevel.wait_readable(connection.socket)
            if not self._receive(connection):
                return
            self._settle()

    def _receive(self, connection: Connection) -> bool:
        """Take in what the node's socket holds now, at most a chunk; False at its end."""
        try:
            data = connection.socket.recv(_CHUNK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        try:
            for line in connection.buffer.feed(data):
                if connection.standing or self._switch.connections.get(connection.node) is connection:
                    self._switch.take(connection, line)
        except (NotAStepError, TooLongError) as error:
            self.nodes.fail(connection, error)
            return False
        return bool(data)

    def drain(self, connection: Connection) -> None:
        """Take in all that a node's socket holds."""
        before = -1
        while len(connection.backlog) + self._switch.cluster.record != before:
            before = len(connection.backlog) + self._switch.cluster.record
            if not self._receive(connection):
                return

    async def write_rest(self, connection: Connection) -> None:
        """A node does not read: wait until its socket takes more."""
        with contextlib.suppress(trio.ClosedResourceError):
            while self._switch.connections.get(connection.node) is connection and connection.socket.fileno() >= 0:
                await trio.lowlevel.wait_writable(connection.socket)
                if connection.flush():
                    break
        connection.writing = False
