"""A node's connection, on the host's side."""

import socket

from lab.kernel import CommandInput, Message
from lab.worlds.host.line_buffer import LineBuffer

MOST_PENDING = 8 << 20
"""The most bytes that may wait for a node that does not read; further messages are lost."""


class Connection:
    """A connected node process.

    ``delivered`` are the messages written to it that no step has consumed yet, ``commands`` the protocol commands.
    Both are lost when it dies. ``paused`` is set as soon as the node is paused, even before its process is seen
    to have stopped. From then on until the node resumes, lines from the process wait in ``backlog``, and messages
    of the step that the pause interrupted wait in ``unsent``.
    """

    def __init__(self, node: int, incarnation: int, pid: int, peer: socket.socket) -> None:
        self.node = node
        self.incarnation = incarnation
        self.pid = pid
        self.socket = peer
        self.buffer = LineBuffer()
        self.delivered: dict[tuple[int, int], list[Message]] = {}
        self.commands: list[CommandInput] = []
        self.paused = False
        self.backlog: list[bytes] = []
        self.unsent: list[Message] = []
        self.writing = False
        self._out: list[bytes] = []
        self._out_size = 0

    def put(self, line: bytes) -> bool:
        """Queue a line for the node; return False if too much waits already."""
        if self._out_size > MOST_PENDING:
            return False
        self._out += (line, b"\n")
        self._out_size += len(line) + 1
        return True

    def flush(self) -> bool:
        """Write what the socket takes now; return whether that was all."""
        if not self._out:
            return True
        data = b"".join(self._out)
        try:
            sent = self.socket.send(data)
        except BlockingIOError:
            sent = 0
        except OSError:
            sent = len(data)  # the process is ending; the fork server reports that
        self._out = [data[sent:]] if sent < len(data) else []
        self._out_size = len(data) - sent
        return not self._out

    def consumed(self, source: int, serial: int) -> Message | None:
        """Remove and return the message that a step took in; None if it was never delivered."""
        copies = self.delivered.get((source, serial))
        if copies is None:
            return None
        message = copies.pop()
        if not copies:
            del self.delivered[source, serial]
        return message
