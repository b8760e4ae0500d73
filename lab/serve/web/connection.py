"""One TCP connection of a browser: as long as there is no terminal at its end, it is one of those at the door.

Those are bounded in number, as connections without a log-in are over SSH, and in time: a page is there in a
moment, and whoever sends a request letter by letter, or takes an answer so, is cut off.
"""

import asyncio

from aiohttp import web
from aiohttp.web_protocol import RequestHandler
from aiohttp.web_request import BaseRequest

from lab.serve.house import House
from lab.serve.rates import HalfOpen
from lab.text import sanitize

__all__ = ["Connection"]

_IDLE_S = 5.0
_NO_REQUEST = "lab: that is no request of a browser\n"


class Connection(RequestHandler):
    """``at_door`` has those without a terminal."""

    def __init__(self, manager: web.Server, house: House, at_door: "HalfOpen[Connection]") -> None:
        self._house = house
        self._at_door = at_door
        self._until: asyncio.TimerHandle | None = None
        self.address = ""
        loop = asyncio.get_running_loop()
        super().__init__(manager, loop=loop, keepalive_timeout=_IDLE_S, auto_decompress=False)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Somebody knocks."""
        super().connection_made(transport)
        self.address = str((transport.get_extra_info("peername") or ("?",))[0])
        self._until = asyncio.get_running_loop().call_later(self._house.limits.login_s, self._abort)
        self._at_door.add(self)

    def connection_lost(self, exc: BaseException | None) -> None:
        """It has gone."""
        self.come_in()
        super().connection_lost(exc)

    def come_in(self) -> None:
        """There is a terminal at its end: it may stay."""
        self._at_door.discard(self)
        if self._until is not None:
            self._until.cancel()

    def leave(self) -> None:
        """The terminal has gone; what its browser takes of the rest, it takes at once."""
        self._until = asyncio.get_running_loop().call_later(_IDLE_S, self._abort)

    def give_way(self) -> None:
        """It has kept a place for long enough that others need."""
        self._log("too many connections without a log-in: the oldest makes room")
        self._abort()

    def handle_error(
        self,
        request: BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """What is no request is no fault of ours."""
        if status >= 500:
            return super().handle_error(request, status, exc, message)
        self._log(f"no request of a browser: {sanitize(message or '', 80)}")
        answer = web.Response(status=status, text=_NO_REQUEST)
        answer.force_close()
        return answer

    def _abort(self) -> None:
        if isinstance(self.transport, asyncio.Transport):
            self.transport.abort()

    def _log(self, text: str) -> None:
        self._house.log.say("refused", text, address=self.address)
