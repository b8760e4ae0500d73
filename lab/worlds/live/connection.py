"""One node's connection, on the host's side."""

import socket

from lab.kernel import CommandInput, Message
from lab.worlds.host.lines import LineBuffer

__all__ = ["MOST_PENDING", "Connection"]

MOST_PENDING = 8 << 20
"""So many bytes may wait for a node that does not read; messages beyond are lost."""


class Connection:
    """A connected node process.

    ``handed`` are the messages written to it that no step has consumed yet, ``told`` the commands: they die
    with it.
    ``standing``: a pause has struck. What the process still had on its way to the host, and the rest of the
    step that the pause struck in, then wait in ``backlog`` and ``unsent`` until it goes on.
    """

    def __init__(self, node: int, incarnation: int, pid: int, peer: socket.socket) -> None:
        self.node = node
        self.incarnation = incarnation
        self.pid = pid
        self.socket = peer
        self.buffer = LineBuffer()
        self.handed: dict[tuple[int, int], list[Message]] = {}
        self.told: list[CommandInput] = []
        self.standing = False
        self.backlog: list[bytes] = []
        self.unsent: list[Message] = []
        self.writing = False
        self._out: list[bytes] = []
        self._out_size = 0

    def put(self, line: bytes) -> bool:
        """Queue a line for the node; False where too much waits already."""
        if self._out_size > MOST_PENDING:
            return False
        self._out += (line, b"\n")
        self._out_size += len(line) + 1
        return True

    def flush(self) -> bool:
        """Write what the socket takes now; whether that was all."""
        if not self._out:
            return True
        data = b"".join(self._out)
        try:
            sent = self.socket.send(data)
        except BlockingIOError:
            sent = 0
        except OSError:
            sent = len(data)  # it is going down; its end is reported elsewhere
        self._out = [data[sent:]] if sent < len(data) else []
        self._out_size = len(data) - sent
        return not self._out

    def consumed(self, source: int, serial: int) -> Message | None:
        """A step took this message in; the message, or None where it was never handed over."""
        copies = self.handed.get((source, serial))
        if copies is None:
            return None
        message = copies.pop()
        if not copies:
            del self.handed[source, serial]
        return message
