"""The server for browsers: who may log in, and that nothing else is available."""

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import psutil
import pytest

from lab.serve.data_folder import DataFolder, ServerLog
from lab.serve.student_lists import Browsers, Invitations, RemovedStudents
from tests.profile import amount
from tests.serve.conftest import School
from tests.serve.lab_server import Client, Server, alive
from tests.serve.web_client import Answer, BrowserTerminal, WebClient, raw
from tests.waiting import never, wait_for

_PROTECTED = {
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Server": "lab",
}


@pytest.fixture(scope="module")
def server(school: School, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server for the tests of this file; at the end its log must contain no fault."""
    data = tmp_path_factory.mktemp("web") / "data"
    with Server(data, "--log-ins", "1000", "--web", "0", class_file=school.class_file) as serving:
        yield serving
        assert [line for line in serving.log() if line["event"] == "fault"] == []
        assert serving.process.poll() is None


def _enrolled(server: Server, student: str) -> WebClient:
    """Return a browser that has logged in as this student."""
    return WebClient(server, WebClient(server).log_in(server.invite(student)).token)


def _refused(answer: Answer, error: str) -> None:
    """Check that this is the log-in page with this error."""
    assert answer.status == 403
    assert error in answer.text
    assert '<form method="post" action="/log-in">' in answer.text
    assert not answer.cookie


def test_a_code_registers_a_browser(server: Server) -> None:
    """Once; no script reads its token, no other page sends it, and only a hash is stored."""
    code = server.invite_by_command("carla")
    assert "abcd-efgh-jkmn-pqrs" in WebClient(server).get().text
    answer = WebClient(server).log_in(code.upper().replace("-", ""))
    assert (answer.status, answer.headers["Location"]) == (303, "/")
    token, *attributes = answer.cookie.split("; ")
    assert token == f"lab={answer.token}"
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(attributes)
    assert "Secure" not in attributes
    assert "<title>carla</title>" in WebClient(server, answer.token).get().text
    kept = server.data / "browsers"
    assert " carla " in kept.read_text()
    assert answer.token not in kept.read_text()
    assert kept.stat().st_mode & 0o777 == 0o600
    _refused(WebClient(server).log_in(code), "the code was already used; ask your teacher for a new one")
    assert server.logged("refused", "the code was already used")["address"] == "127.0.0.1"


def test_a_code_works_for_a_key_or_a_browser(server: Server, school: School) -> None:
    """Not for both."""
    code = server.invite("dora")
    WebClient(server).log_in(code)
    done = Client(server, school.stranger, user=code).run("status")
    assert done.returncode == 255
    assert "the code was already used; ask your teacher for a new one" in done.stderr


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("", "not a valid code"),
        ("abcd-abcd-abcd-abcd", "unknown code"),
        ("../../etc/passwd", "not a valid code"),
        ("%ff%00%22%3E%3Cscript%3Ealert(1)%3C/script%3E", "not a valid code"),
        ("$code ${x} {code}", "not a valid code"),
    ],
)
def test_a_wrong_code_is_explained(server: Server, code: str, error: str) -> None:
    """The form keeps the code, escaped."""
    answer = WebClient(server).log_in(code)
    _refused(answer, error)
    assert "<script>" not in answer.text
    assert server.logged("refused", error)


def test_a_registered_browser_is_announced_in_its_terminal(server: Server) -> None:
    """Once: the next session does not repeat it."""
    browser = _enrolled(server, "wanda")

    async def open_twice() -> None:
        async with browser.terminal() as terminal:
            await terminal.sees("lab exercises", "this browser is now registered", "(Esc dismisses)")
            await terminal.type("q")
            await terminal.closed()
        async with browser.terminal() as terminal:
            await terminal.sees("lab exercises", "begins an attempt")
            assert "registered" not in terminal.text()

    asyncio.run(open_twice())


def test_guesses_are_rate_limited(server: Server) -> None:
    """By client address; a proxy on this machine appends it to the header. A valid code is never refused."""
    guesser = WebClient(server, X_Forwarded_For="192.0.2.1, 203.0.113.9")
    responses = [guesser.log_in("abcd-abcd-abcd-abcd") for _ in range(121)]
    assert {each.status for each in responses[:120]} == {403}
    assert responses[120].status == 429
    assert "too many wrong codes from your address" in responses[120].text
    of_guesser = [line for line in server.log() if line.get("address") == "203.0.113.9"]
    assert [line["text"] for line in of_guesser] == [
        "unknown code; check for a typing error, or ask your teacher for a new one"
    ]
    assert guesser.log_in(server.invite("nora")).status == 303
    assert WebClient(server).log_in("abcd-abcd-abcd-abcd").status == 403


def test_behind_https_the_cookie_is_secure(server: Server) -> None:
    """A proxy on this machine reports the scheme."""
    came = WebClient(
        server, X_Forwarded_Proto="https", X_Forwarded_For="198.51.100.7", origin="https://lab.example"
    )
    came._headers["Host"] = "lab.example"
    answer = came.log_in(server.invite("emil"))
    assert "Secure" in answer.cookie.split("; ")
    assert server.logged("enrolled", student="emil")["address"] == "198.51.100.7"


@pytest.mark.parametrize("origin", ["none", "null", "http://evil.example", "http://127.0.0.1:1", "http://[", "é"])
def test_a_page_from_elsewhere_gets_nothing(server: Server, origin: str) -> None:
    """No terminal, no log-in, no log-out; the log names the page."""
    known = _enrolled(server, "finn")
    code = server.invite("gina")
    foreign = WebClient(server, known._headers["Cookie"].removeprefix("lab="), origin=origin)
    for path in ("/log-in", "/guest", "/log-out"):
        assert foreign.post(path, f"code={code}".encode()).status == 403
    assert _no_terminal(foreign) == 403
    assert "<title>finn</title>" in known.get().text
    assert server.logged("refused", "/terminal, requested by a page of")
    assert WebClient(server).log_in(code).status == 303


def _no_terminal(surfer: WebClient) -> int:
    """Return the status with which a terminal is refused."""

    async def ask() -> None:
        async with surfer.terminal():
            pass

    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        asyncio.run(ask())
    return refused.value.status


@pytest.mark.parametrize("token", ["", "x", "A" * 43, "é" * 43, "../" * 14 + "A", '"; Path=/', "\udcff" * 43])
def test_without_a_log_in_there_is_only_the_log_in_page(server: Server, token: str) -> None:
    """Also with an invalid cookie."""
    surfer = WebClient(server)
    surfer._headers["Cookie"] = f"lab={token}"
    answer = surfer.get()
    assert (answer.status, "<title>lab</title>" in answer.text) == (200, True)
    assert _no_terminal(surfer) == 403
    assert surfer.post("/log-out").status == 303
    assert server.logged("refused", "a terminal without a log-in")


def test_every_response_is_isolated(server: Server) -> None:
    """No frames, no foreign content, and no caching of pages."""
    for path, status in (("/", 200), ("/static/terminal.js", 200), ("/terminal", 403), ("/nothing", 404)):
        answer = WebClient(server).get(path)
        assert answer.status == status
        assert _PROTECTED.items() <= answer.headers.items()
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self';")
        assert answer.headers["Cache-Control"] == ("no-cache" if "static" in path else "no-store")
    assert WebClient(server).post("/").status == 405


@pytest.mark.parametrize(
    "path",
    [
        "/static/../templates/log-in.html",
        "/static/%2e%2e/doors.py",
        "/static/..%2fdoors.py",
        "/static/xterm/../../doors.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/",
        "/static/xterm/",
        "/static/%00",
        "/static/" + "a" * 300,
        "/../../../../etc/passwd",
        "//etc/passwd",
        "/static/..\\doors.py",
        "http://elsewhere.example/static/../doors.py",
    ],
)
def test_no_path_leads_to_another_file(server: Server, path: str) -> None:
    """Nor to a list of files."""
    answered = raw(server, f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    assert answered.split()[1] in (b"400", b"403", b"404"), answered
    assert b"import " not in answered
    assert b"root:" not in answered


_POST = b"POST /log-in HTTP/1.1\r\nHost: x\r\nOrigin: http://x\r\nConnection: close\r\n"
_FORM = b"Content-Type: application/x-www-form-urlencoded\r\n"


@pytest.mark.parametrize(
    "sent",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\x00" * 100 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n\x00: \xff\r\n\r\n",
        b"GET / HTTP/9.9\r\nHost: x\r\n\r\n",
        b"GET /terminal HTTP/1.1\r\nHost: \xff\xfe\r\nOrigin: http://\xff\xfe\r\nConnection: close\r\n\r\n",
        b"GET /terminal HTTP/1.0\r\nOrigin: http://\r\n\r\n",
        b"GET /terminal HTTP/1.1\r\nHost: [\r\nOrigin: http://[\r\nConnection: close\r\n\r\n",
        b"GET /terminal HTTP/1.1\r\nHost: x\r\nOrigin: http://x\r\nCookie: \xff=\xff\r\nConnection: close\r\n\r\n",
        b"GET /" + b"a" * 20000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nCookie: lab=" + b"a" * 20000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\n" + b"a: b\r\n" * 2000 + b"\r\n",
        _POST + b"Content-Length: -1\r\n\r\n",
        _POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        _POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        _POST + b"Content-Type: text/plain\r\nContent-Length: 5\r\n\r\ncode=",
        _POST + b"Content-Type: multipart/form-data\r\nContent-Length: 5\r\n\r\ncode=",
        _POST + b"Content-Type: application/x-www-form-urlencoded; charset=nil\r\nContent-Length: 5\r\n\r\ncode=",
        _POST + _FORM + b"Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\ncode=",
        _POST + _FORM + b"Content-Length: 4\r\n\r\n\xff\xfe\x00=",
        _POST + _FORM + b"Transfer-Encoding: chunked\r\n\r\n4\r\ncode\r\nzz\r\n",
        _POST + _FORM + b"Content-Length: 40\r\n\r\n" + b"a=b&" * 10,
        _POST + _FORM + b"Content-Length: 9999\r\n\r\n" + b"code=" + b"a" * 9994,
    ],
    ids=range(23),
)
def test_garbage_is_answered_and_costs_nothing(server: Server, sent: bytes) -> None:
    """With an HTTP status, without a traceback; the log has no fault, and the next request works."""
    answered = raw(server, sent)
    assert answered == b"" or answered.split()[1][:1] == b"4", answered
    assert b"Traceback" not in answered
    assert b".py" not in answered
    assert WebClient(server).get().status == 200
    assert [line for line in server.log() if line["event"] == "fault"] == []


def test_large_input_is_refused(server: Server) -> None:
    """Forms and messages."""
    assert WebClient(server).post("/log-in", b"code=" + b"a" * (1 << 19)).status == 413
    known = _enrolled(server, "hugo")

    async def send(message: str | bytes) -> int | None:
        async with known.terminal() as terminal:
            await terminal.sees("lab exercises")
            await (terminal.socket.send_str if isinstance(message, str) else terminal.socket.send_bytes)(message)  # type: ignore[arg-type]
            return await terminal.closed()

    assert asyncio.run(send(b"a" * (1 << 17))) == aiohttp.WSCloseCode.MESSAGE_TOO_BIG
    server.logged("session ended", student="hugo")
    for garbage in ("what?", '{"columns": 1e999, "rows": null}', "[" * 9999):
        assert asyncio.run(send(garbage)) == aiohttp.WSCloseCode.OK
        assert server.logged("refused", "an invalid window size", "hugo")


@pytest.mark.serve
def test_a_browser_is_known_until_its_line_is_deleted(tmp_path: Path) -> None:
    """Also after a restart; the teacher may edit the list while the server runs."""
    data = tmp_path / "data"
    with Server(data, "--web", "0") as first:
        tokens = [WebClient(first).log_in(first.invite(name)).token for name in ("anna", "ben")]
        first.end(signal.SIGKILL)
    with Server(data, "--web", "0") as second:
        anna, ben = (WebClient(second, token) for token in tokens)
        assert "<title>anna</title>" in anna.get().text
        kept = data / "browsers"
        kept.write_text("".join(line for line in kept.read_text().splitlines(True) if " anna " not in line))
        assert "<title>lab</title>" in anna.get().text
        assert _no_terminal(anna) == 403
        kept.write_text(f"{kept.read_text()}nonsense\n")
        assert "<title>ben</title>" in ben.get().text
        assert "browsers:2: 'nonsense': expected HASH NAME SINCE" in second.logged("unreadable")["text"]


def test_log_out_forgets_the_browser(server: Server) -> None:
    """And deletes the cookie."""
    known = _enrolled(server, "ines")
    answer = known.post("/log-out")
    assert (answer.status, 'lab=""; expires=' in answer.cookie) == (303, True)
    assert "<title>lab</title>" in known.get().text
    assert " ines " not in (server.data / "browsers").read_text()
    assert server.logged("log-out", student="ines")


def test_guests_log_in_to_an_open_server(tmp_path: Path, server: Server) -> None:
    """Each browser is a new guest. Other servers show no button, and refuse the request."""
    assert "guest" not in WebClient(server).get().text
    _refused(WebClient(server).post("/guest"), "this server accepts no guests")
    with Server(tmp_path / "data", "--open", "--web", "0") as open_server:
        assert "Log in as a guest" in WebClient(open_server).get().text
        for number in (1, 2):
            token = WebClient(open_server).post("/guest").token
            assert f"<title>guest-{number}</title>" in WebClient(open_server, token).get().text
        assert not (open_server.data / "browsers").exists()


async def _begin(terminal: BrowserTerminal) -> None:
    await terminal.sees("lab exercises")
    await terminal.type("one pause")
    await terminal.sees("teaches A1.1 (one coordinator)")
    await terminal.type("\r")
    await terminal.sees("5 leads")


def test_the_cluster_survives_its_browser(server: Server) -> None:
    """However the browser goes; the next one continues. The student and the log learn the earlier address."""
    known = _enrolled(server, "jana")

    async def go() -> None:
        async with known.terminal() as terminal:
            await _begin(terminal)
            terminal.transport.abort()
            await asyncio.to_thread(server.logged, "session ended", "", "jana")
        async with known.terminal() as terminal:
            await terminal.sees("resume attempt 1")
            assert not [line for line in server.log() if line["event"] == "run ended"]
            async with known.terminal() as second:
                await second.sees("you are already logged in, since", "from 127.0.0.1")
                ending = asyncio.create_task(terminal.closed())  # the server waits two seconds for the answer
                await second.type("\r")
                await second.sees("resume attempt 1")
                assert await ending == aiohttp.WSCloseCode.OK
                assert "lab: you continued in another session" in terminal.text()

    asyncio.run(go())
    assert server.logged("log-in", student="jana") == {
        **server.logged("log-in", student="jana"),
        "address": "127.0.0.1",
        "text": "a browser",
    }


def test_a_reloaded_page_is_not_asked(server: Server) -> None:
    """The ending session of the old page is waited for."""
    known = _enrolled(server, "kurt")

    async def reload() -> None:
        for _ in range(3):
            async with known.terminal() as terminal:
                assert "you are on already" not in await terminal.sees("lab exercises")

    asyncio.run(reload())


def test_a_browser_that_reads_nothing_costs_bounded_memory(server: Server) -> None:
    """The server reads no more from the session than the connection buffers; then it continues."""
    known = _enrolled(server, "lena")

    async def stall() -> None:
        async with known.terminal(is_packed=False) as terminal:
            await terminal.sees("lab exercises")
            terminal.transport.pause_reading()
            taken = await asyncio.to_thread(server.flood)
            assert 1 << 16 < taken < 16 << 20
            terminal.transport.resume_reading()
            await terminal.type("q")
            async for message in terminal.socket:
                assert message.type is aiohttp.WSMsgType.BINARY
            assert terminal.socket.close_code == aiohttp.WSCloseCode.OK

    asyncio.run(stall())


_FLOOD = amount(quick=600, soak=4_000)
"""Messages of 65 kB: even the fewer are more than the server may grow by."""


@pytest.mark.parametrize("is_packed", [True, False])
def test_a_browser_that_floods_input_costs_bounded_memory(server: Server, is_packed: bool) -> None:
    """Input is accepted at the session's pace, here none; the rest stays with the browser, or between them.

    As it is, compressed, all of it fits between them; what the server reads of that is bounded too.
    """
    student = "mona" if is_packed else "mary"
    known = _enrolled(server, student)
    memory = psutil.Process(server.process.pid).memory_info

    async def flood() -> bool:
        others = server.sessions()
        async with known.terminal(is_packed=is_packed) as terminal:
            await terminal.sees("lab exercises")
            (session,) = [each for each in server.sessions() if each not in others]
            session.suspend()
            try:
                before = memory().rss
                is_refused = await _is_refused(terminal)
                never(lambda: memory().rss > before + (32 << 20), "the server keeps what it cannot pass on", 1)
            finally:
                session.kill()
            terminal.transport.abort()
            return is_refused

    assert asyncio.run(flood()) or is_packed
    server.logged("session ended", student=student)


async def _is_refused(terminal: BrowserTerminal) -> bool:
    """Send much input; return whether the connection stops taking it."""
    try:
        for _ in range(_FLOOD):
            await asyncio.wait_for(terminal.socket.send_bytes(b"x" * 65000), 0.7)
    except TimeoutError:
        return True
    return False


@pytest.mark.serve
def test_the_end_of_the_server_is_shown(tmp_path: Path) -> None:
    """In the terminal, with a proper close; no process is left."""
    with Server(tmp_path / "data", "--web", "0") as ending:
        known = _enrolled(ending, "anna")

        async def watch() -> None:
            async with known.terminal() as terminal:
                await _begin(terminal)
                running = ending.processes()
                os.kill(ending.process.pid, signal.SIGTERM)
                assert await terminal.closed() == aiohttp.WSCloseCode.OK
                assert "lab: the server is shutting down; your progress is saved" in terminal.text()
            await asyncio.to_thread(ending.process.wait, 30)
            assert not alive(running)

        asyncio.run(watch())
        assert ending.process.returncode == 0


@pytest.mark.serve
def test_kill_9_leaves_no_process_behind(tmp_path: Path) -> None:
    """As over SSH."""
    with Server(tmp_path / "data", "--web", "0") as killed:
        known = _enrolled(killed, "anna")

        async def watch() -> None:
            async with known.terminal() as terminal:
                await _begin(terminal)
                running = killed.processes()
                killed.process.kill()
                await asyncio.to_thread(wait_for, lambda: not alive(running), "nothing is left")

        asyncio.run(watch())


def test_the_address_for_browsers_is_printed(server: Server) -> None:
    """At the start, and with each code."""
    assert f"or, in a browser:              {server.page()}" in server.output()
    assert "students connect with:" in server.output()


def test_a_code_that_cannot_be_stored_admits_nobody(tmp_path: Path) -> None:
    """The code is used up first: a crash in between costs an invitation, and no list is half written."""
    folder = DataFolder(tmp_path / "data")
    log = ServerLog(folder.log)
    browsers = Browsers(folder, False, log, RemovedStudents(folder, log))
    ((_, code),) = Invitations(folder.invites).invite(["anna"], 1)
    (folder.path / "browsers").mkdir()
    with pytest.raises(OSError, match="Is a directory"):
        browsers.enrol(code)
    assert browsers.names() == set()
    log.close()
