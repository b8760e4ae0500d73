"""The routes: the page and its files, log-in by code or as a guest, log-out, and the terminal's WebSocket."""

import time
from collections.abc import Callable, Iterable
from urllib.parse import parse_qs

from aiohttp import web

from lab.serve.invites import InvitationError
from lab.serve.rates import RateLimit
from lab.serve.sanitizer import GUEST
from lab.serve.server_context import ServerContext
from lab.serve.web.browser_connection import BrowserConnection
from lab.serve.web.caller import TOKEN, address_of, came_by_https, is_from_our_page, token_of
from lab.serve.web.pages import STATIC_FILES, log_in_page, terminal_page
from lab.serve.web.socket_stream import SocketStream, new_socket
from lab.text import sanitize

__all__ = ["LARGEST_FORM", "Routes"]

LARGEST_FORM = 4096
_MOST_FIELDS = 8
_TOKEN_HOLDS_S = 400 * 24 * 3600
"""Browsers keep no cookie longer than this."""


class Routes:
    """The handlers of all requests."""

    def __init__(self, context: ServerContext) -> None:
        self._context = context
        self._browsers = context.admission.browsers
        self._guest_logins = RateLimit(context.limits.logins_per_minute, time.monotonic)

    def routes(self) -> Iterable[web.AbstractRouteDef]:
        """Return the handler of each path."""
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
        return self._log_in_page() if student is None else terminal_page(student)

    async def _static(self, request: web.Request) -> web.StreamResponse:
        path = STATIC_FILES.get(request.match_info["name"])
        if path is None:
            raise web.HTTPNotFound
        return web.FileResponse(path)

    async def _log_in(self, request: web.Request) -> web.StreamResponse:
        self._expect_our_page(request)
        code = (await _form(request)).get("code", "").strip()
        if self._context.refusals.is_exceeded(address_of(request)):
            self._refuse(request, "too many codes")
            return self._log_in_page(
                "too many codes were tried from your address; try again in a minute", code, 429
            )
        return self._enrol(request, lambda: self._browsers.enrol(code), code)

    async def _guest(self, request: web.Request) -> web.StreamResponse:
        self._expect_our_page(request)
        if self._guest_logins.is_exceeded(address_of(request)):
            self._refuse(request, "too many guests")
            return self._log_in_page("too many guests from your address; try again in a minute", status=429)
        return self._enrol(request, self._browsers.enrol_guest, "")

    def _enrol(self, request: web.Request, enrol: Callable[[], tuple[str, str]], code: str) -> web.StreamResponse:
        try:
            student, token = enrol()
        except InvitationError as error:
            self._refuse(request, f"code {sanitize(code, 40)}: {error}")
            return self._log_in_page(str(error), code, 403)
        except OSError as error:
            self._log("fault", request, f"the log-in could not be stored: {error}")
            return self._log_in_page("the server cannot write to its disk; tell your teacher", code, 503)
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
                self._log("fault", request, f"the log-out could not be stored: {error}")
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
        stream = SocketStream(socket, self._context, student, address)
        if self._context.logins.is_exceeded(address if student.startswith(GUEST) else student):
            self._refuse(request, f"too many log-ins of {student}")
            await stream.refuse("too many log-ins; try again in a minute")
            return socket
        self._log("log-in", request, "a browser", student)
        connection = request.protocol
        assert isinstance(connection, BrowserConnection)
        connection.keep_open()
        try:
            await stream.run()
        finally:
            connection.close_soon()
        return socket

    def _log_in_page(self, error: str = "", code: str = "", status: int = 200) -> web.Response:
        return log_in_page(self._context.admission.is_open, error, code, status)

    def _expect_our_page(self, request: web.Request) -> None:
        if not is_from_our_page(request):
            origin = sanitize(request.headers.get("Origin", "nowhere"), 80)
            self._refuse(request, f"{request.path}, requested by a page of {origin}")
            raise web.HTTPForbidden(text="only a page of this server may request this\n")

    def _refuse(self, request: web.Request, text: str) -> None:
        self._log("refused", request, text)

    def _log(self, event: str, request: web.Request, text: str, student: str = "") -> None:
        self._context.log.write(event, text, student=student, address=address_of(request))


def _to_the_page() -> web.Response:
    return web.Response(status=303, headers={"Location": "/"})


async def _form(request: web.Request) -> dict[str, str]:
    """Return the fields of the form, the first value of each."""
    if request.content_type != "application/x-www-form-urlencoded":
        raise web.HTTPUnsupportedMediaType(text="expected the form of the log-in page\n")
    try:
        body = await request.read()
        fields = parse_qs(body.decode("ascii", "replace"), max_num_fields=_MOST_FIELDS)
    except (ValueError, web.RequestPayloadError):
        raise web.HTTPBadRequest(text="expected the form of the log-in page\n") from None
    return {name: values[0] for name, values in fields.items()}
