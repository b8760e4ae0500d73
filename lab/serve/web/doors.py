"""What can be asked for: the page, log-in by code or as a guest, log-out, and the socket of a terminal."""

import time
from collections.abc import Callable, Iterable
from urllib.parse import parse_qs

from aiohttp import web

from lab.serve.border import GUEST
from lab.serve.house import House
from lab.serve.invites import InvitationError
from lab.serve.rates import Rate
from lab.serve.web.caller import TOKEN, address_of, came_by_https, is_from_our_page, token_of
from lab.serve.web.connection import Connection
from lab.serve.web.line import SocketLine, new_socket
from lab.serve.web.pages import STATIC_FILES, log_in_page, terminal_page
from lab.text import sanitize

__all__ = ["LARGEST_FORM", "Doors"]

LARGEST_FORM = 4096
_MOST_FIELDS = 8
_TOKEN_HOLDS_S = 400 * 24 * 3600
"""Browsers keep nothing for longer."""


class Doors:
    """All of them."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._browsers = house.admission.browsers
        self._guests = Rate(house.limits.logins_per_minute, time.monotonic)

    def routes(self) -> Iterable[web.AbstractRouteDef]:
        """What is behind which path."""
        return [
            web.get("/", self._page),
            web.post("/log-in", self._log_in),
            web.post("/guest", self._guest),
            web.post("/log-out", self._log_out),
            web.get("/terminal", self._terminal),
            web.get("/static/{name:.*}", self._static),
        ]

    async def _page(self, request: web.Request) -> web.StreamResponse:
        student = self._browsers.student_with(token_of(request))
        return self._door() if student is None else terminal_page(student)

    async def _static(self, request: web.Request) -> web.StreamResponse:
        path = STATIC_FILES.get(request.match_info["name"])
        if path is None:
            raise web.HTTPNotFound
        return web.FileResponse(path)

    async def _log_in(self, request: web.Request) -> web.StreamResponse:
        self._expect_our_page(request)
        code = (await _form(request)).get("code", "").strip()
        if self._house.refusals.too_often(address_of(request)):
            self._refuse(request, "too many codes")
            return self._door("too many codes were tried from here; try again in a minute", code, 429)
        return self._enrol(request, lambda: self._browsers.enrol(code), code)

    async def _guest(self, request: web.Request) -> web.StreamResponse:
        self._expect_our_page(request)
        if self._guests.too_often(address_of(request)):
            self._refuse(request, "too many guests")
            return self._door("too many guests came from here; try again in a minute", status=429)
        return self._enrol(request, self._browsers.enrol_guest, "")

    def _enrol(self, request: web.Request, enrol: Callable[[], tuple[str, str]], code: str) -> web.StreamResponse:
        try:
            student, token = enrol()
        except InvitationError as error:
            self._refuse(request, f"code {sanitize(code, 40)}: {error}")
            return self._door(str(error), code, 403)
        except OSError as error:
            self._log("fault", request, f"the log-in could not be written down: {error}")
            return self._door("the server cannot write to its disk; tell your teacher", code, 503)
        self._log("enrolled", request, "a browser", student)
        answer = _to_the_page()
        answer.set_cookie(
            TOKEN,
            token,
            max_age=_TOKEN_HOLDS_S,
            path="/",
            httponly=True,
            samesite="Strict",
            secure=came_by_https(request),
        )
        return answer

    async def _log_out(self, request: web.Request) -> web.StreamResponse:
        self._expect_our_page(request)
        student = self._browsers.student_with(token_of(request))
        if student is not None:
            try:
                self._browsers.forget(token_of(request))
            except OSError as error:
                self._log("fault", request, f"the log-out could not be written down: {error}")
                raise web.HTTPServiceUnavailable(text="the server cannot write to its disk\n") from None
            self._log("log-out", request, "a browser", student)
        answer = _to_the_page()
        answer.del_cookie(TOKEN, path="/")
        return answer

    async def _terminal(self, request: web.Request) -> web.StreamResponse:
        self._expect_our_page(request)
        student = self._browsers.student_with(token_of(request))
        if student is None:
            self._refuse(request, "a terminal without a log-in")
            raise web.HTTPForbidden(text="log in first\n")
        address = address_of(request)
        socket = new_socket()
        await socket.prepare(request)
        line = SocketLine(socket, self._house, student, address)
        if self._house.logins.too_often(address if student.startswith(GUEST) else student):
            self._refuse(request, f"too many log-ins of {student}")
            await line.refuse("too many log-ins; try again in a minute")
            return socket
        self._log("log-in", request, "a browser", student)
        connection = request.protocol
        assert isinstance(connection, Connection)
        connection.come_in()
        try:
            await line.run()
        finally:
            connection.leave()
        return socket

    def _door(self, told: str = "", code: str = "", status: int = 200) -> web.Response:
        return log_in_page(self._house.admission.is_open, told, code, status)

    def _expect_our_page(self, request: web.Request) -> None:
        if not is_from_our_page(request):
            origin = sanitize(request.headers.get("Origin", "nowhere"), 80)
            self._refuse(request, f"{request.path}, asked for by a page of {origin}")
            raise web.HTTPForbidden(text="this is to be asked for by a page of this server\n")

    def _refuse(self, request: web.Request, text: str) -> None:
        self._log("refused", request, text)

    def _log(self, event: str, request: web.Request, text: str, student: str = "") -> None:
        self._house.log.say(event, text, student=student, address=address_of(request))


def _to_the_page() -> web.Response:
    return web.Response(status=303, headers={"Location": "/"})


async def _form(request: web.Request) -> dict[str, str]:
    """The fields of a form, the first of each name."""
    if request.content_type != "application/x-www-form-urlencoded":
        raise web.HTTPUnsupportedMediaType(text="send the form of the page\n")
    try:
        body = await request.read()
        fields = parse_qs(body.decode("ascii", "replace"), max_num_fields=_MOST_FIELDS)
    except (ValueError, web.RequestPayloadError):
        raise web.HTTPBadRequest(text="send the form of the page\n") from None
    return {name: values[0] for name, values in fields.items()}
