"""The channel between two processes: messages as JSON, one line each.

Lines have a limited length, and what decoding a stranger's line can raise is known, so that nobody can fill the
memory of the other side, or end it. Nothing here needs or loads an event loop: whoever uses an end waits for its
socket, with ``select``, trio or asyncio, or in a thread that blocks.
"""

import contextlib
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import Struct

if TYPE_CHECKING:
    import asyncio

M = TypeVar("M")

LONGEST_LINE = 1 << 20
"""In bytes; a longer line is refused from those who are not trusted."""

MOST_PENDING = 8 << 20
"""The most bytes that may wait for a reader that does not read; further lines are lost."""

GARBAGE = (ValueError, RecursionError)
"""Errors that decoding an untrusted line can raise; the second is for deep nesting."""

_CHUNK = 1 << 16
"""A larger buffer would be mapped anew for each read, which takes longer than the read."""
_encode = msgspec.json.Encoder().encode


class TooLongError(ValueError):
    """A line that is too long."""


def to_line(message: Struct) -> bytes:
    """Return the message as one line, with its newline."""
    return _encode(message) + b"\n"


class LineBuffer:
    """Collects bytes until lines are complete. ``longest`` limits the length of a line, in bytes."""

    def __init__(self, longest: float = LONGEST_LINE) -> None:
        self._longest = longest
        self._rest = b""

    @property
    def rest(self) -> bytes:
        """The line that is not complete yet."""
        return self._rest

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that ``data`` completes, without newlines. Raises TooLongError."""
        *lines, rest = data.split(b"\n")
        if lines:
            lines[0] = self._rest + lines[0]
            self._rest = rest
        else:
            self._rest += rest
        if any(len(line) > self._longest for line in (*lines[:1], self._rest)):  # a chunk has no longer one
            raise TooLongError(f"a line of more than {self._longest:,} bytes")
        return lines


class Channel:
    """One end of a channel, over a socket that blocks or does not. ``longest`` limits the length of a line."""

    def __init__(self, peer: socket.socket, longest: float = LONGEST_LINE) -> None:
        self._peer = peer
        self._buffer = LineBuffer(longest)
        self._pending: list[bytes] = []
        self._pending_size = 0

    @property
    def rest(self) -> bytes:
        """The line that is not complete yet."""
        return self._buffer.rest

    def fileno(self) -> int:
        return self._peer.fileno()

    def close(self) -> None:
        self._peer.close()

    def receive(self) -> list[bytes]:
        """Read once, and return the lines that are complete now.

        Raises EOFError if the other side has gone, or TooLongError.
        """
        try:
            return self._lines(self._peer.recv(_CHUNK))
        except BlockingIOError:
            return []
        except ConnectionError:
            raise EOFError from None

    def receive_files(self, most: int) -> tuple[list[bytes], list[int]]:
        """Like ``receive``; return also the file descriptors beside these lines.

        One call returns the descriptors of one message at most.
        """
        data, descriptors, _, _ = socket.recv_fds(self._peer, _CHUNK, most)
        return self._lines(data), descriptors

    def _lines(self, data: bytes) -> list[bytes]:
        if not data:
            raise EOFError
        return self._buffer.feed(data)

    # a socket that blocks

    def send(self, message: Struct) -> None:
        """Send a message. Raises OSError."""
        self.write(to_line(message))

    def write(self, lines: bytes) -> None:
        """Write whole lines. Raises OSError."""
        self._peer.sendall(lines)

    def send_files(self, message: Struct, descriptors: Sequence[int]) -> None:
        """Send a message with these file descriptors beside it. Raises OSError."""
        socket.send_fds(self._peer, [to_line(message)], descriptors)

    # a socket that does not block

    @property
    def is_full(self) -> bool:
        """True if too much waits already for another line."""
        return self._pending_size > MOST_PENDING

    def put(self, line: bytes) -> bool:
        """Queue a line, given without newline; return False if too much waits already."""
        if self.is_full:
            return False
        self._pending += (line, b"\n")
        self._pending_size += len(line) + 1
        return True

    def flush(self) -> bool:
        """Write what the socket takes now; return whether that was all."""
        if not self._pending:
            return True
        data = b"".join(self._pending)
        try:
            sent = self._peer.send(data)
        except BlockingIOError:
            sent = 0
        except OSError:
            sent = len(data)  # the other side has gone, as the next ``receive`` shows
        self._pending = [data[sent:]] if sent < len(data) else []
        self._pending_size = len(data) - sent
        return not self._pending


async def answer_requests(
    reader: "asyncio.StreamReader",
    writer: "asyncio.StreamWriter",
    kind: Any,
    answer: Callable[[M], Awaitable[Struct]],
    misunderstood: Struct,
) -> None:
    """Answer each request, a line that holds a ``kind``, until the other side has gone or sends an endless line.

    ``misunderstood`` is the answer to everything else. The limit of the streams is ``LONGEST_LINE``.
    """
    decode = msgspec.json.Decoder(kind).decode
    with (
        contextlib.closing(writer),
        contextlib.suppress(ConnectionError, ValueError),
    ):  # the latter: an endless line
        while line := await reader.readline():
            try:
                reply = await answer(decode(line))
            except GARBAGE:
                reply = misunderstood
            writer.write(to_line(reply))
            await writer.drain()
