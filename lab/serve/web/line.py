"""A socket of a browser as the line to a seat.

The browser sends keys as bytes and the size of its window as JSON; it is sent bytes to show, and a proper close
when the session has ended. As long as something waits to be sent, the seat shows nothing more: what a browser that
reads nothing costs is bounded by one piece of output, and what its connection buffers.
"""

import asyncio
import contextlib

import msgspec
from aiohttp import WSMsgType, web
from msgspec import Struct

from lab.serve.border import size_of
from lab.serve.house import House
from lab.serve.seat import Seat

__all__ = ["SocketLine", "new_socket"]

_TERMINAL = "xterm-256color"
_HEARTBEAT_S = 30.0
_CLOSE_WITHIN_S = 2.0
_LARGEST_MESSAGE = 1 << 16


class _Size(Struct):
    columns: int
    rows: int


_decode_size = msgspec.json.Decoder(_Size).decode


def new_socket() -> web.WebSocketResponse:
    """One that notices a dead browser, and takes nothing large."""
    return web.WebSocketResponse(heartbeat=_HEARTBEAT_S, timeout=_CLOSE_WITHIN_S, max_msg_size=_LARGEST_MESSAGE)


class SocketLine:
    """It is a ``Line``. ``run`` lasts as long as the browser is there."""

    def __init__(self, socket: web.WebSocketResponse, house: House, student: str, address: str) -> None:
        self._socket = socket
        self._house = house
        self._student = student
        self._address = address
        self._seat = Seat(house, student, address)
        self._unsent = b""
        self._ended = False
        self._has_news = asyncio.Event()
        self._may_read = asyncio.Event()
        self._may_read.set()

    # as the seat has it

    def write(self, data: bytes, /) -> None:
        """Show this."""
        self._unsent += data
        self._seat.hold("socket", True)
        self._has_news.set()

    def pause_reading(self) -> None:
        """Take no more keys."""
        self._may_read.clear()

    def resume_reading(self) -> None:
        """Do again."""
        self._may_read.set()

    def exit(self, status: int, /) -> None:
        """End; to a browser all ends are the same."""
        self._ended = True
        self._has_news.set()
        self._may_read.set()

    def is_closing(self) -> bool:
        """Whether it has ended, or the browser has gone."""
        return self._ended or self._socket.closed

    # as the browser has it

    async def run(self) -> None:
        """Carry what is typed and what is shown, until one side has gone."""
        both = {asyncio.create_task(self._listen()), asyncio.create_task(self._show())}
        try:
            done, _ = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._ended = True
            self._seat.hang_up()
            for task in both:
                task.cancel()
        await asyncio.wait(both)
        await self._socket.close()
        for task in done:
            task.result()

    async def refuse(self, why: str) -> None:
        """Show this instead of a session."""
        with contextlib.suppress(ConnectionError):
            await self._socket.send_bytes(f"lab: {why}\r\n".encode())
        await self._socket.close()

    async def _listen(self) -> None:
        has_begun = False
        while True:
            await self._may_read.wait()
            try:
                message = await self._socket.receive(None if has_begun else self._house.limits.unused_s)
            except TimeoutError:
                self._log("a connection without a session")
                return
            if message.type is WSMsgType.BINARY and has_begun:
                self._seat.type(message.data)
            elif message.type is WSMsgType.TEXT:
                try:
                    size = _decode_size(message.data)
                except msgspec.DecodeError:
                    self._log("what is no size of a window")
                    return
                self._seat.resize(size_of(size.columns, size.rows))
                if not has_begun:
                    has_begun = True
                    self._seat.begin(self, _TERMINAL, "")
            else:
                return

    async def _show(self) -> None:
        with contextlib.suppress(ConnectionError):  # the browser has gone
            while not self._ended or self._unsent:
                await self._has_news.wait()
                self._has_news.clear()
                data, self._unsent = self._unsent, b""
                if data:
                    await self._socket.send_bytes(data)
                if not self._unsent:
                    self._seat.hold("socket", False)

    def _log(self, text: str) -> None:
        self._house.log.say("refused", text, student=self._student, address=self._address)
