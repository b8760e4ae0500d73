"""A browser as the server sees it: requests and WebSockets, valid and invalid."""

import asyncio
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pyte
from msgspec import Struct

from tests.serve.lab_server import Server
from tests.tui.terminal_screen import text_on
from tests.waiting import WAIT_S

__all__ = ["FORM", "Answer", "BrowserTerminal", "WebClient", "raw"]

FORM = "application/x-www-form-urlencoded"


class Answer(Struct):
    """A response. ``cookie`` is the whole Set-Cookie header."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def cookie(self) -> str:
        return self.headers.get("Set-Cookie", "")

    @property
    def token(self) -> str:
        """The browser's token."""
        found = re.match(r"lab=([\w-]{43});", self.cookie)
        assert found is not None, (self.status, self.text)
        return found[1]


class WebClient:
    """Sends requests with this token as its cookie, and this Origin; by default the server's own."""

    def __init__(self, server: Server | str, token: str = "", origin: str = "", **headers: str) -> None:
        self.page = server if isinstance(server, str) else server.page()
        self._headers = {name.replace("_", "-"): text for name, text in headers.items()}
        if origin != "none":
            self._headers["Origin"] = origin or self.page.rstrip("/")
        if token:
            self._headers["Cookie"] = f"lab={token}"

    def get(self, path: str = "/") -> Answer:
        return asyncio.run(self.ask("GET", path))

    def post(self, path: str, body: bytes = b"", kind: str = FORM) -> Answer:
        return asyncio.run(self.ask("POST", path, body, kind))

    def log_in(self, code: str) -> Answer:
        return self.post("/log-in", f"code={code}".encode())

    async def ask(self, method: str, path: str, body: bytes = b"", kind: str = "") -> Answer:
        """Send any request; redirects are not followed."""
        headers = {**self._headers, **({"Content-Type": kind} if kind else {})}
        async with (
            aiohttp.ClientSession() as client,
            client.request(
                method, self.page.rstrip("/") + path, data=body or None, headers=headers, allow_redirects=False
            ) as answer,
        ):
            return Answer(answer.status, dict(answer.headers), await answer.text())

    @asynccontextmanager
    async def terminal(
        self, size: str = '{"columns": 120, "rows": 40}', is_packed: bool = True
    ) -> AsyncIterator["BrowserTerminal"]:
        """Open a terminal of this size, compressed as by browsers.

        Raises aiohttp.WSServerHandshakeError if it is refused.
        """
        packing = 15 if is_packed else 0
        async with (
            aiohttp.ClientSession() as client,
            client.ws_connect(
                f"{self.page}terminal", headers=self._headers, compress=packing, max_msg_size=0
            ) as opened,
        ):
            if size:
                await opened.send_str(size)
            yield BrowserTerminal(opened)


class BrowserTerminal:
    """A terminal of 120 by 40: its screen, and its input."""

    def __init__(self, opened: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = opened
        self._screen = pyte.Screen(120, 40)
        self._stream = pyte.ByteStream(self._screen)

    @property
    def transport(self) -> asyncio.Transport:
        """The transport of the connection, to break it."""
        connection = self.socket._conn
        assert connection is not None
        transport = connection.transport
        assert isinstance(transport, asyncio.Transport)
        return transport

    async def type(self, keys: str) -> None:
        await self.socket.send_bytes(keys.encode())

    def text(self) -> str:
        """Return the visible text."""
        return text_on(self._screen)

    async def sees(self, *texts: str) -> str:
        """Wait until the screen shows all of these at once; return its text."""
        ends_s = asyncio.get_running_loop().time() + WAIT_S
        shown = self.text()
        while not all(text in shown for text in texts):
            left_s = ends_s - asyncio.get_running_loop().time()
            try:
                message = await self.socket.receive(max(left_s, 0.01))
            except TimeoutError:
                raise AssertionError(f"{texts} not within {WAIT_S:g} s; seen is\n{shown}") from None
            assert message.type is aiohttp.WSMsgType.BINARY, f"no {texts}; {message}; seen is\n{shown}"
            self._stream.feed(message.data)
            shown = self.text()
        return shown

    async def closed(self) -> int | None:
        """Wait for the end, and process the output until then; return the close code."""
        async with asyncio.timeout(WAIT_S):
            async for message in self.socket:
                self._stream.feed(message.data)
        return self.socket.close_code


def raw(server: Server, sent: bytes) -> bytes:
    """Send these bytes; return everything received until the server hangs up."""
    _, _, port = server.page().rstrip("/").rpartition(":")
    with socket.create_connection(("127.0.0.1", int(port)), WAIT_S) as line:
        line.sendall(sent)
        answered = b""
        try:
            while data := line.recv(65536):
                answered += data
        except ConnectionResetError:
            pass  # it was answered before all was sent
        return answered
