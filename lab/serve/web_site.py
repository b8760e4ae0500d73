"""The laboratory in a browser, for those without ``ssh``: a page with a terminal, served beside SSH.

Until a terminal is open, a browser's TCP connection counts as half open. Half-open connections are limited in
number, as those without a log-in are over SSH, and in time: a page is loaded in a moment, and a client that sends
a request or reads a reply very slowly is cut off.

A terminal's connection is a WebSocket. The browser sends keys as bytes and the window's size as JSON. It receives
output as bytes, and a proper close when the session has ended. While output waits to be sent, the session's output
is held back. So a browser that reads nothing costs one piece of output and what its connection buffers.

The files in ``static`` are served to anybody, no other file is. xterm.js, which draws the terminal, is among them:
a classroom may have no internet access.
"""

import asyncio
import contextlib
import ipaddress
import time
from collections.abc import Callable, Iterable
from functools import partial
from html import escape
from pathlib import Path
from string import Template
from urllib.parse import parse_qs

import msgspec
from aiohttp import WSMsgType, web
from aiohttp.web_protocol import RequestHandler
from aiohttp.web_request import BaseRequest
from msgspec import Struct

from lab.serve.limits import HalfOpen, RateLimit
from lab.serve.server_context import ServerContext
from lab.serve.student_lists import REMOVED, InvitationError, UnknownCodeError
from lab.serve.terminal_session import TerminalSession, size_of
from lab.text import sanitize

_COOKIE = "lab"
_TOKEN_HOLDS_S = 400 * 24 * 3600
"""Browsers keep no cookie longer than this."""
_LARGEST_FORM = 4096
_MOST_FIELDS = 8
_IDLE_S = 5.0
_END_WITHIN_S = 1.0
_NO_REQUEST = "lab: not a valid browser request\n"

_TEMPLATES = Path(__file__).with_name("templates")
_STATIC = Path(__file__).with_name("static")
_STATIC_FILES = {path.relative_to(_STATIC).as_posix(): path for path in _STATIC.rglob("*") if path.is_file()}
"""Files by the name under which they are served. Names are looked up here; no path is built from a request."""
_HEADERS = {
    # xterm.js adds <style> elements of its own
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Server": "lab",
}


class Site:
    """A web server; ``port`` is where it listens."""

    def __init__(self, runner: web.AppRunner, listener: asyncio.Server) -> None:
        self._runner = runner
        self._listener = listener
        self.port: int = listener.sockets[0].getsockname()[1]

    def stop_listening(self) -> None:
        """Accept no new connections."""
        self._listener.close()

    async def close(self) -> None:
        """Close all connections."""
        await self._runner.cleanup()


async def open_site(context: ServerContext, address: str, port: int) -> Site:
    """Listen on this address, or on all if it is empty. Raises OSError."""
    application = web.Application(client_max_size=_LARGEST_FORM)
    application.add_routes(Routes(context).routes())
    application.on_response_prepare.append(_add_headers)
    runner = web.AppRunner(application, shutdown_timeout=_END_WITHIN_S)
    await runner.setup()
    manager = runner.server
    assert manager is not None
    half_open = HalfOpen[BrowserConnection](context.limits.half_open, context.limits.half_open_per_address)
    listener = await asyncio.get_running_loop().create_server(
        lambda: BrowserConnection(manager, context, half_open), address or None, port, backlog=128
    )
    return Site(runner, listener)


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
        self._log("too many connections without a log-in: the oldest is closed", "connections")
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
        self._log(f"not a valid browser request: {sanitize(message or '', 80)}", "invalid requests")
        answer = web.Response(status=status, text=_NO_REQUEST)
        answer.force_close()
        return answer

    def _abort(self) -> None:
        if isinstance(self.transport, asyncio.Transport):
            self.transport.abort()

    def _log(self, text: str, kind: str = "requests") -> None:
        self._context.log.write("refused", text, address=self.address, kind=kind)


class Routes:
    """The handlers of all requests."""

    def __init__(self, context: ServerContext) -> None:
        self._context = context
        self._browsers = context.admission.browsers
        self._wrong_codes = RateLimit(context.limits.wrong_codes_per_minute, time.monotonic)

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
        student = self._browsers.student_with(_token_of(request))
        if self._browsers.is_removed(_token_of(request)):
            return self._log_in_page(REMOVED, status=403)
        return self._log_in_page() if student is None else _page("terminal", 200, student=escape(student))

    async def _static(self, request: web.Request) -> web.StreamResponse:
        path = _STATIC_FILES.get(request.match_info["name"])
        if path is None:
            raise web.HTTPNotFound
        return web.FileResponse(path)

    async def _log_in(self, request: web.Request) -> web.StreamResponse:
        self._expect_our_page(request)
        code = (await _form(request)).get("code", "").strip()
        return self._enrol(request, lambda: self._browsers.enrol(code), code)

    async def _guest(self, request: web.Request) -> web.StreamResponse:
        self._expect_our_page(request)
        if self._context.new_guests.is_exceeded(_address_of(request)):
            self._refuse(request, "too many guests", "guests")
            return self._log_in_page("too many guests from your address; try again in a minute", status=429)
        return self._enrol(request, self._browsers.enrol_guest, "")

    def _enrol(self, request: web.Request, enrol: Callable[[], tuple[str, str]], code: str) -> web.StreamResponse:
        try:
            student, token = enrol()
        except UnknownCodeError as error:
            self._refuse(request, str(error), "codes")
            if self._wrong_codes.is_exceeded(_address_of(request)):
                many = "too many wrong codes from your address; check yours letter by letter: a valid one works"
                return self._log_in_page(many, code, 429)
            return self._log_in_page(str(error), code, 403)
        except InvitationError as error:
            self._refuse(request, str(error), "codes")
            return self._log_in_page(str(error), code, 403)
        except OSError as error:
            self._log("fault", request, f"the log-in could not be stored: {error}")
            return self._log_in_page("the server cannot write to its disk; tell your teacher", code, 503)
        address = _address_of(request)
        self._context.log.announce("enrolled", "registered a browser", student=student, address=address)
        if code:
            self._context.hub.greet(student, "this browser is now registered; the code is used up")
        answer = web.Response(status=303, headers={"Location": "/"})
        secure = _came_by_https(request)
        answer.set_cookie(_COOKIE, token, max_age=_TOKEN_HOLDS_S, httponly=True, samesite="Strict", secure=secure)
        return answer

    async def _log_out(self, request: web.Request) -> web.StreamResponse:
        self._expect_our_page(request)
        student = self._browsers.student_with(_token_of(request))
        if student is not None:
            try:
                self._browsers.forget(_token_of(request))
            except OSError as error:
                self._log("fault", request, f"the log-out could not be stored: {error}")
                raise web.HTTPServiceUnavailable(text="the server cannot write to its disk\n") from None
            self._log("log-out", request, "a browser", student)
        answer = web.Response(status=303, headers={"Location": "/"})
        answer.del_cookie(_COOKIE, path="/")
        return answer

    async def _terminal(self, request: web.Request) -> web.StreamResponse:
        self._expect_our_page(request)
        student = self._browsers.student_with(_token_of(request))
        if student is None:
            self._refuse(request, "a terminal without a log-in", "terminals")
            raise web.HTTPForbidden(text="log in first\n")
        address = _address_of(request)
        # it detects dead browsers, and refuses large messages
        socket = web.WebSocketResponse(
            heartbeat=_HEARTBEAT_S, timeout=_CLOSE_WITHIN_S, max_msg_size=_LARGEST_MESSAGE
        )
        await socket.prepare(request)
        stream = SocketStream(socket, self._context, student, address)
        if self._context.logins.is_exceeded(student):
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
        """Build the log-in page. ``error`` says what is wrong with ``code``, which the form keeps."""
        guests = _read("guests") if self._context.admission.is_open else ""
        wrong = f'<p role="alert">{escape(error)}</p>' if error else ""
        return _page("log-in", status, wrong=wrong, code=escape(code), guests=guests)

    def _expect_our_page(self, request: web.Request) -> None:
        if not _is_from_our_page(request):
            origin = sanitize(request.headers.get("Origin", "nowhere"), 80)
            self._refuse(request, f"{request.path}, requested by a page of {origin}", "requests by other pages")
            raise web.HTTPForbidden(text="only a page of this server may request this\n")

    def _refuse(self, request: web.Request, text: str, kind: str = "requests") -> None:
        self._context.log.write("refused", text, address=_address_of(request), kind=kind)

    def _log(self, event: str, request: web.Request, text: str, student: str = "") -> None:
        self._context.log.write(event, text, student=student, address=_address_of(request))


# requests


def _address_of(request: web.Request) -> str:
    """Return the client's address, also behind a proxy on this machine, which appends it to the header."""
    address = request.remote or "?"
    if _is_proxy(address):
        _, _, added = request.headers.getall("X-Forwarded-For", [""])[-1].rpartition(",")
        with contextlib.suppress(ValueError):
            # a zone after % may be any text
            return str(ipaddress.ip_address(added.strip().partition("%")[0]))
    return address


def _came_by_https(request: web.Request) -> bool:
    """Return whether a proxy on this machine received the request by HTTPS; the server itself has no HTTPS."""
    return _is_proxy(request.remote or "") and request.headers.get("X-Forwarded-Proto") == "https"


def _is_from_our_page(request: web.Request) -> bool:
    """Return whether a page of this host sent the request; browsers set the Origin header truthfully."""
    host = request.headers.get("Host")  # ``request.host`` would do a lookup if the header is missing
    return request.headers.get("Origin") in (f"http://{host}", f"https://{host}")


def _token_of(request: web.Request) -> str:
    """Return what the browser gives as its token; it may be any text."""
    return request.cookies.get(_COOKIE, "")


def _is_proxy(address: str) -> bool:
    return address in ("127.0.0.1", "::1")


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


# pages


async def _add_headers(request: web.Request, answer: web.StreamResponse) -> None:
    """Add the headers of all responses."""
    answer.headers.update(_HEADERS)
    is_static = request.path.startswith("/static/")
    answer.headers["Cache-Control"] = "no-cache" if is_static else "no-store"


def _page(name: str, status: int, **words: str) -> web.Response:
    text = Template(_read(name)).substitute(words)
    return web.Response(text=text, status=status, content_type="text/html")


def _read(name: str) -> str:
    return (_TEMPLATES / f"{name}.html").read_text("utf-8")


# terminals


_TERMINAL = "xterm-256color"
_HEARTBEAT_S = 30.0
_CLOSE_WITHIN_S = 2.0
_LARGEST_MESSAGE = 1 << 16


class _Size(Struct):
    columns: int
    rows: int


_decode_size = msgspec.json.Decoder(_Size).decode


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
