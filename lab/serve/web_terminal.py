"""A browser's WebSocket as the stream of a terminal session.

The browser sends keys as bytes and the window's size as JSON. It receives output as bytes, and a proper close when
the session has ended. While output waits to be sent, the session's output is held back. So a browser that reads
nothing costs one piece of output and what its connection buffers.
"""

import asyncio
import contextlib
from functools import partial

import msgspec
from aiohttp import WSMsgType, web
from msgspec import Struct

from lab.serve.server_context import ServerContext
from lab.serve.terminal_session import TerminalSession, size_of

_TERMINAL = "xterm-256color"
_HEARTBEAT_S = 30.0
_CLOSE_WITHIN_S = 2.0
_LARGEST_MESSAGE = 1 << 16


class _Size(Struct):
    columns: int
    rows: int


_decode_size = msgspec.json.Decoder(_Size).decode


def new_socket() -> web.WebSocketResponse:
    """Create a WebSocket that detects dead browsers and refuses large messages."""
    return web.WebSocketResponse(heartbeat=_HEARTBEAT_S, timeout=_CLOSE_WITHIN_S, max_msg_size=_LARGEST_MESSAGE)


class SocketStream:
    """A ``ClientStream``. ``run`` lasts until the browser or the session ends."""

    def __init__(self, socket: web.WebSocketResponse, context: ServerContext, student: str, address: str) -> None:
        self._socket = socket
        self._context = context
        self._log_refused = partial(context.log.write, "refused", student=student, address=address)
        self._session = TerminalSession(context, student, address)
        self._unsent = b""
        self._ended = False
        self._wake = asyncio.Event()
        self._may_read = asyncio.Event()
        self._may_read.set()

    # for the session

    def write(self, data: bytes, /) -> None:
        self._unsent += data
        self._session.hold("socket", True)
        self._wake.set()

    def pause_reading(self) -> None:
        self._may_read.clear()

    def resume_reading(self) -> None:
        self._may_read.set()

    def exit(self, status: int, /) -> None:
        """End; the status is not sent to a browser."""
        self._ended = True
        self._wake.set()
        self._may_read.set()

    def is_closing(self) -> bool:
        return self._ended or self._socket.closed

    # for the browser

    async def run(self) -> None:
        """Pass input and output on until one side has gone."""
        tasks = {asyncio.create_task(self._listen()), asyncio.create_task(self._show())}
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._ended = True
            self._session.hang_up()
            for task in tasks:
                task.cancel()
        await asyncio.wait(tasks)
        await self._socket.close()
        for task in done:
            task.result()

    async def refuse(self, why: str) -> None:
        """Show this reason instead of a session."""
        with contextlib.suppress(ConnectionError):
            await self._socket.send_bytes(f"lab: {why}\r\n".encode())
        await self._socket.close()

    async def _listen(self) -> None:
        has_begun = False
        while True:
            await self._may_read.wait()
            try:
                message = await self._socket.receive(None if has_begun else self._context.limits.unused_s)
            except TimeoutError:
                self._log_refused("a connection without a session")
                return
            if message.type is WSMsgType.BINARY and has_begun:
                self._session.type(message.data)
            elif message.type is WSMsgType.TEXT:
                try:
                    size = _decode_size(message.data)
                except msgspec.DecodeError:
                    self._log_refused("an invalid window size")
                    return
                self._session.resize(size_of(size.columns, size.rows))
                if not has_begun:
                    has_begun = True
                    self._session.begin(self, _TERMINAL, "")
            else:
                return

    async def _show(self) -> None:
        with contextlib.suppress(ConnectionError):  # the browser has gone
            while not self._ended or self._unsent:
                await self._wake.wait()
                self._wake.clear()
                data, self._unsent = self._unsent, b""
                if data:
                    await self._socket.send_bytes(data)
                if not self._unsent:
                    self._session.hold("socket", False)
