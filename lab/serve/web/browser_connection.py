"""One TCP connection of a browser; until a terminal is open, it counts as half open.

Half-open connections are limited in number, as those without a log-in are over SSH, and in time: a page is loaded
in a moment, and a client that sends a request or reads a reply very slowly is cut off.
"""

import asyncio

from aiohttp import web
from aiohttp.web_protocol import RequestHandler
from aiohttp.web_request import BaseRequest

from lab.serve.rates import HalfOpen
from lab.serve.server_context import ServerContext
from lab.text import sanitize

__all__ = ["BrowserConnection"]

_IDLE_S = 5.0
_NO_REQUEST = "lab: not a valid browser request\n"


class BrowserConnection(RequestHandler):
    """A connection. ``half_open`` holds those without a terminal."""

    def __init__(
        self, manager: web.Server, context: ServerContext, half_open: "HalfOpen[BrowserConnection]"
    ) -> None:
        self._context = context
        self._half_open = half_open
        self._deadline: asyncio.TimerHandle | None = None
        self.address = ""
        loop = asyncio.get_running_loop()
        super().__init__(manager, loop=loop, keepalive_timeout=_IDLE_S, auto_decompress=False)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.address = str((transport.get_extra_info("peername") or ("?",))[0])
        self._deadline = asyncio.get_running_loop().call_later(self._context.limits.login_s, self._abort)
        self._half_open.add(self)

    def connection_lost(self, exc: BaseException | None) -> None:
        self.keep_open()
        super().connection_lost(exc)

    def keep_open(self) -> None:
        """Lift the limits: a terminal is open."""
        self._half_open.discard(self)
        if self._deadline is not None:
            self._deadline.cancel()

    def close_soon(self) -> None:
        """Close the connection shortly: the terminal has gone."""
        self._deadline = asyncio.get_running_loop().call_later(_IDLE_S, self._abort)

    def evict(self) -> None:
        """Close the connection: another one needs its place."""
        self._log("too many connections without a log-in: the oldest is closed")
        self._abort()

    def handle_error(
        self,
        request: BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Log an invalid request as refused, not as an error of the server."""
        if status >= 500:
            return super().handle_error(request, status, exc, message)
        self._log(f"not a valid browser request: {sanitize(message or '', 80)}")
        answer = web.Response(status=status, text=_NO_REQUEST)
        answer.force_close()
        return answer

    def _abort(self) -> None:
        if isinstance(self.transport, asyncio.Transport):
            self.transport.abort()

    def _log(self, text: str) -> None:
        self._context.log.write("refused", text, address=self.address)
