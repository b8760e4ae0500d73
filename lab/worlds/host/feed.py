"""The feed: sends the recording's lines to every attached client as they are written, and accepts commands.

Each client is served from the recording file at its own pace, so a slow or stalled client costs no memory and
delays nobody: it falls behind, and catches up. A client begins with one ``Attach`` line.
"""

import os
import socket
from collections.abc import Callable

import msgspec
import trio

from lab.recording.writer import Writer
from lab.worlds.feed_protocol import Attach, FeedRequest, Reply
from lab.worlds.json_lines import GARBAGE, LineBuffer, TooLongError, to_line

MOST_CLIENTS = 64
_CHUNK = 1 << 18
_GATHER_S = 0.01
"""The wait after a wake-up before sending, so that lines that arrive meanwhile go in the same chunk."""
_ATTACH_WITHIN_S = 5.0
"""A client that has not sent its ``Attach`` by then is disconnected."""

_decode_attach = msgspec.json.Decoder(Attach).decode
_decode_request = msgspec.json.Decoder(FeedRequest).decode


class Feed:
    """Serves the clients. ``execute`` executes a request; call ``notify_clients`` after each flush of the writer.

    ``status_line`` is a line that is no record, such as a ``Clock``. It is sent to each new client, and to all
    when it changes.
    """

    def __init__(self, writer: Writer, execute: Callable[[FeedRequest], Reply]) -> None:
        self._writer = writer
        self._execute = execute
        self._waiting = trio.lowlevel.ParkingLot()
        self._file = os.open(writer.path, os.O_RDONLY | os.O_CLOEXEC)
        self._clients = 0
        self._ended = False
        self._gone = trio.Event()
        self.status_line = b""

    def notify_clients(self) -> None:
        """Wake the clients: the recording has more lines."""
        self._waiting.unpark_all()

    def end(self) -> None:
        """Send the clients what is left, and then disconnect them."""
        self._ended = True
        self._waiting.unpark_all()

    async def serve(self, path: str, *, task_status: trio.TaskStatus[None]) -> None:
        """Listen on a Unix socket until ``end`` was called and every client has got what is left."""
        listening = trio.socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        await listening.bind(path)
        listening.listen(16)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._accept, listening, nursery)
            task_status.started()
            while not self._ended:
                await self._waiting.park()
            self._leave()
            with trio.move_on_after(1.0):
                await self._gone.wait()
            nursery.cancel_scope.cancel()

    async def _accept(self, listening: trio.socket.SocketType, nursery: trio.Nursery) -> None:
        while True:
            client, _ = await listening.accept()
            if self._clients >= MOST_CLIENTS:
                client.close()
            else:
                nursery.start_soon(self._client, trio.SocketStream(client))

    async def _client(self, stream: trio.SocketStream) -> None:
        self._clients += 1
        try:
            async with stream:
                await _Client(self, stream).run()
        except* (trio.BrokenResourceError, trio.ClosedResourceError, TooLongError):
            pass  # it disconnected or is no client; an exception group, as its two tasks are in a nursery
        finally:
            self._clients -= 1
            self._leave()

    def _leave(self) -> None:
        if self._ended and not self._clients:
            self._gone.set()

    def read(self, offset: int) -> bytes:
        """Return whole lines of the recording from that offset; empty if there are no more yet."""
        most = self._writer.size - offset
        data = os.pread(self._file, min(most, _CHUNK), offset)
        while len(data) < most and not data.endswith(b"\n"):
            end = data.rfind(b"\n")
            if end >= 0:
                return data[: end + 1]
            data += os.pread(self._file, min(most - len(data), _CHUNK), offset + len(data))
        return data

    def start_of(self, attach: Attach) -> tuple[bytes, int]:
        """Return what to send first, and from which offset of the recording to continue."""
        header, newline, _ = self.read(0).partition(b"\n")
        if attach.start == "first":
            return b"", 0
        if attach.start == "end":
            return header + newline, self._writer.size
        return header + newline, self._writer.keyframe_offset or len(header) + 1

    async def wait(self) -> bool:
        """Wait for more lines; return False if there will be none."""
        if self._ended:
            return False
        await self._waiting.park()
        if not self._ended:
            await trio.sleep(_GATHER_S)
        return True

    def execute(self, request: FeedRequest, role: str) -> Reply:
        """Execute a request of a client in that role."""
        if role != "driver":
            return Reply.refused("viewers cannot give commands; attach without --viewer", request.id)
        reply = self._execute(request)
        self.notify_clients()
        return reply


class _Client:
    def __init__(self, feed: Feed, stream: trio.SocketStream) -> None:
        self._feed = feed
        self._stream = stream
        self._buffer = LineBuffer()
        self._lines: list[bytes] = []
        self._replies: list[bytes] = []

    async def run(self) -> None:
        line = None
        with trio.move_on_after(_ATTACH_WITHIN_S):
            line = await self._line()
        if line is None:
            return
        try:
            attach = _decode_attach(line)
        except GARBAGE as error:
            text = f"the first line must be an attach request: {error}"
            await self._stream.send_all(to_line(Reply.refused(text)))
            return
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._read_requests, attach.role, nursery)
            header, offset = self._feed.start_of(attach)
            await self._stream.send_all(header)
            await self._follow(offset)
            nursery.cancel_scope.cancel()

    async def _follow(self, offset: int) -> None:
        more, sent_aside = True, b""
        while more:
            data = self._feed.read(offset)
            offset += len(data)
            if self._feed.status_line != sent_aside:
                sent_aside = self._feed.status_line
                data += sent_aside
            if self._replies:
                data += b"".join(self._replies)
                self._replies.clear()
            if data:
                await self._stream.send_all(data)
            else:
                more = await self._feed.wait()

    async def _read_requests(self, role: str, nursery: trio.Nursery) -> None:
        while True:
            line = await self._line()
            if line is None:
                nursery.cancel_scope.cancel()
                return
            try:
                reply = self._feed.execute(_decode_request(line), role)
            except GARBAGE as error:
                reply = Reply.refused(f"not a request: {error}")
            if len(self._replies) < 1000:
                self._replies.append(to_line(reply))
            self._feed.notify_clients()

    async def _line(self) -> bytes | None:
        while not self._lines:
            data = await self._stream.receive_some(65536)
            if not data:
                return None
            self._lines = self._buffer.feed(data)
        return self._lines.pop(0)
