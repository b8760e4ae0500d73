"""Limits on one address, one browser and one connection, tested with small limits in this process."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import msgspec
import pytest

from lab.serve.admission import Admission
from lab.serve.children import Children
from lab.serve.data_folder import DataFolder, ServerLog
from lab.serve.limits import Limits
from lab.serve.server_context import ServerContext
from lab.serve.student_lists import Invitations
from lab.serve.web_site import open_site
from tests.serve.web_client import FORM, Answer, WebClient

_REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n"
_FORM = (
    b"POST /log-in HTTP/1.1\r\nHost: x\r\nOrigin: http://x\r\nContent-Length: 99\r\n"
    b"Content-Type: application/x-www-form-urlencoded\r\n\r\ncode="
)


class _Place:
    """A site without students."""

    def __init__(self, context: ServerContext, port: int) -> None:
        self.context = context
        self.port = port
        self.page = f"http://127.0.0.1:{port}/"

    def logged(self) -> list[str]:
        """Return the lines of the log."""
        lines = self.context.folder.log.read_bytes().splitlines()
        return [msgspec.json.decode(line, type=dict[str, str]).get("text", "") for line in lines]

    async def log_in(self) -> Answer:
        """Log in with a valid code."""
        ((_, code),) = Invitations(self.context.folder.invites).invite(["anna"], 1)
        return await WebClient(self.page).ask("POST", "/log-in", f"code={code}".encode(), FORM)

    async def enrolled(self) -> WebClient:
        """Return a known browser."""
        return WebClient(self.page, (await self.log_in()).token)


@asynccontextmanager
async def _site(path: Path, limits: Limits) -> AsyncIterator[_Place]:
    folder = DataFolder(path / "data")
    log = ServerLog(folder.log)
    admission = Admission(folder, None, True, log)
    nobody = cast(Children, None)
    context = ServerContext(folder, path, limits, log, admission, nobody, [])
    site = await open_site(context, "127.0.0.1", 0)
    try:
        yield _Place(context, site.port)
    finally:
        site.stop_listening()
        await site.close()
        log.close()


async def _until_cut(port: int, sent: bytes, drip: bytes = b"") -> bytes:
    """Send this, then that repeatedly, until the server hangs up; return the response."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    response = asyncio.create_task(reader.read())
    async with asyncio.timeout(10):
        while not response.done():
            writer.write(drip)
            await asyncio.wait({response}, timeout=0.02)
    writer.close()
    try:
        return response.result()
    except ConnectionResetError:
        return b""


@pytest.mark.parametrize(
    ("sent", "drip"),
    [
        (b"", b""),
        (_REQUEST, b""),
        (_REQUEST, b"a: b\r\n"),
        (_FORM, b""),
        (_FORM, b"a"),
        (_REQUEST + b"\r\n", b""),
        (_REQUEST + b"\r\n", _REQUEST + b"\r\n"),
    ],
    ids=["silence", "half a head", "a head by drops", "half a form", "a form by drops", "a page", "many pages"],
)
def test_a_connection_without_a_terminal_is_cut_off(tmp_path: Path, sent: bytes, drip: bytes) -> None:
    """However busy it is; the log shows no fault."""

    async def come() -> None:
        async with _site(tmp_path, Limits(login_s=0.3)) as place:
            await _until_cut(place.port, sent, drip)
            assert place.logged() == []

    asyncio.run(come())


def test_a_client_that_reads_nothing_is_cut_off(tmp_path: Path) -> None:
    """It requests the largest file many times, and does not read it."""

    async def come() -> None:
        async with _site(tmp_path, Limits(login_s=0.3)) as place:
            with socket.create_connection(("127.0.0.1", place.port)) as line:
                line.sendall((b"GET /static/xterm/xterm.mjs HTTP/1.1\r\nHost: x\r\n\r\n") * 50)
                line.settimeout(0)
                await asyncio.sleep(0.6)  # nothing is to be seen of it before all is read
                taken = await asyncio.to_thread(_drained, line)
                assert taken < 50 * 344970

    asyncio.run(come())


def _drained(line: socket.socket) -> int:
    line.settimeout(5)
    taken = 0
    try:
        while data := line.recv(1 << 20):
            taken += len(data)
    except ConnectionResetError:
        pass
    return taken


def test_too_many_half_open_connections_are_evicted(tmp_path: Path) -> None:
    """The oldest is closed; one with a terminal stays."""

    async def come() -> None:
        limits = Limits(half_open=3, half_open_per_address=3)
        async with _site(tmp_path, limits) as place, (await place.enrolled()).terminal("") as terminal:
            oldest, *others = [await asyncio.open_connection("127.0.0.1", place.port) for _ in range(4)]
            assert await oldest[0].read() == b""
            assert place.logged().count("too many connections without a log-in: the oldest is closed") == 1
            assert not terminal.socket.closed
            assert not any(reader.at_eof() for reader, _ in others)
            for _, writer in (oldest, *others):
                writer.close()

    asyncio.run(come())


def test_a_terminal_without_a_size_is_closed(tmp_path: Path) -> None:
    """Nothing is started for it, whatever it sends."""

    async def come() -> None:
        async with (
            _site(tmp_path, Limits(unused_s=0.2)) as place,
            (await place.enrolled()).terminal("") as terminal,
        ):
            await terminal.closed()
            assert place.logged()[-1] == "a connection without a session"
        async with _site(tmp_path, Limits()) as place, (await place.enrolled()).terminal("") as terminal:
            await terminal.type("keys before a size")
            await terminal.closed()

    asyncio.run(come())


def test_the_rate_of_log_ins_is_limited(tmp_path: Path) -> None:
    """As over SSH; the terminal says why."""

    async def come() -> None:
        async with _site(tmp_path, Limits(logins_per_minute=2, unused_s=0.05)) as place:
            anna = await place.enrolled()
            for message in ("", "", "lab: too many log-ins; try again in a minute"):
                async with anna.terminal("") as terminal:
                    await terminal.closed()
                    assert terminal.text().strip() == message
            assert "too many log-ins of anna" in place.logged()

    asyncio.run(come())


def test_new_guests_of_an_address_are_limited(tmp_path: Path) -> None:
    """Each one has a folder. Known guests, who may share the address, are not affected."""

    async def come() -> None:
        async with _site(tmp_path, Limits(guests_per_minute=2, logins_per_minute=2, unused_s=0.05)) as place:
            guests = [await WebClient(place.page).ask("POST", "/guest", b"", FORM) for _ in range(3)]
            assert [each.status for each in guests] == [303, 303, 429]
            assert "too many guests from your address" in guests[2].text
            for known in guests[:2]:
                for _ in range(2):
                    async with WebClient(place.page, known.token).terminal("") as terminal:
                        await terminal.closed()
                        assert "too many" not in terminal.text()

    asyncio.run(come())


@pytest.mark.parametrize("in_the_way", ["browsers", ".browsers.lock"])
def test_a_full_disk_is_reported(tmp_path: Path, in_the_way: str) -> None:
    """To the student and in the log; nobody is admitted."""

    async def come() -> None:
        async with _site(tmp_path, Limits()) as place:
            (place.context.folder.path / in_the_way).mkdir()
            response = await place.log_in()
            assert (response.status, response.cookie) == (503, "")
            assert "the server cannot write to its disk; tell your teacher" in response.text
            assert any("the log-in could not be stored" in line for line in place.logged())

    asyncio.run(come())
