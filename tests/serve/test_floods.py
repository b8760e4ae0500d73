"""Floods by strangers and by students: the server's memory stays within twice its start, and others can log in."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import asyncssh
import psutil
import pytest
from asyncssh.auth import lookup_client_auth

from lab.serve.limits import Limits
from tests.profile import amount
from tests.serve.conftest import School
from tests.serve.lab_server import Client, Server
from tests.serve.web_client import FORM, WebClient
from tests.waiting import WAIT_S

_CONNECTIONS = amount(quick=60, soak=3_000)
_CHANNELS = amount(quick=300, soak=20_000)
_CODES = amount(quick=600, soak=20_000)
_STORMS = amount(quick=5, soak=200)
_STORM = 40
"""Connections of the storm that are opened at once, again and again."""
_AT_ONCE = 20
_MOST_REQUESTS = Limits().requests_per_connection


@pytest.fixture(scope="module")
def server(school: School, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server for this file; at the end its log must contain no fault."""
    data = tmp_path_factory.mktemp("floods") / "data"
    with Server(data, "--log-ins", "100000", "--web", "0", class_file=school.class_file) as serving:
        # all that a log-in imports is in memory before it is measured
        assert Client(serving, school.anna).run("help").returncode == 0
        assert WebClient(serving).get().status == 200
        yield serving
        assert [line for line in serving.log() if line["event"] == "fault"] == []


@contextlib.contextmanager
def _bounded(server: Server, school: School, what: str) -> Iterator[None]:
    """Check that the server's memory does not double, and that a student can log in during and after the flood."""
    memory = psutil.Process(server.process.pid).memory_info
    before = memory().rss
    yield
    after = memory().rss
    print(f"{what}: {before / 2**20:.0f} MiB before, {after / 2**20:.0f} MiB after")
    assert after < 2 * before
    assert Client(server, school.anna).run("status").stdout.startswith("anna:")


async def _repeat(times: int, act: Callable[[], Awaitable[object]]) -> None:
    """Do this so many times, some at once."""
    free = asyncio.Semaphore(_AT_ONCE)

    async def once() -> None:
        async with free:
            await act()

    await asyncio.gather(*(once() for _ in range(times)))


class _Stranger(asyncssh.SSHClient):
    """A client that offers keys without end. ``requests`` counts its requests for a log-in."""

    def __init__(self, offer: Callable[[], asyncssh.SSHKeyPair]) -> None:
        self._offer = offer
        self.requests = 0

    def public_key_auth_requested(self) -> Any:
        self.requests += 1
        return [self._offer()]


async def _knock(server: Server, offer: Callable[[], asyncssh.SSHKeyPair], user: str = "anna") -> int:
    """Ask to log in until the server cuts the connection; return the number of requests."""
    stranger = _Stranger(offer)
    with contextlib.suppress(asyncssh.Error, OSError):
        async with asyncio.timeout(WAIT_S / 2):
            await asyncssh.connect(
                "127.0.0.1",
                server.port,
                username=user,
                client_factory=lambda: stranger,
                agent_path=None,
                client_keys=None,
                known_hosts=None,
                config=None,
            )
    return stranger.requests


def _new_pair() -> asyncssh.SSHKeyPair:
    (pair,) = asyncssh.load_keypairs([asyncssh.generate_private_key("ssh-ed25519")])
    return pair


def _forged(known: Path) -> asyncssh.SSHKeyPair:
    """Return a pair that offers this known key, and signs with another."""
    pair = _new_pair()
    pair.public_data = asyncssh.read_public_key(known.with_suffix(".pub")).public_data
    return pair


def test_unknown_keys_are_cut(server: Server, school: School) -> None:
    """After as many as a client with a full agent offers."""
    with _bounded(server, school, f"{_CONNECTIONS} connections that offer keys"):
        assert asyncio.run(_knock(server, _new_pair)) <= _MOST_REQUESTS
        asyncio.run(_repeat(_CONNECTIONS, lambda: _knock(server, _new_pair)))
    assert server.logged("refused", "unknown keys: SHA256:")


def test_wrong_signatures_are_counted_and_cut(server: Server, school: School) -> None:
    """A known key is public, so a client may offer it without the private half."""
    with _bounded(server, school, f"{_CONNECTIONS} connections that sign wrongly"):
        assert asyncio.run(_knock(server, lambda: _forged(school.ben))) <= _MOST_REQUESTS
        asyncio.run(_repeat(_CONNECTIONS, lambda: _knock(server, lambda: _forged(school.ben))))
    assert server.logged("refused", "user anna, no valid signature of key SHA256:")


@pytest.mark.parametrize("method", ["none", "password", "hostbased", "no such method"])
def test_requests_by_other_methods_are_counted_and_cut(
    server: Server, school: School, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They reach no code of the server's own, but the protocol's refusal does."""
    sent = 0

    def send_again(connection: Any, *, next_method: bool = False) -> None:
        nonlocal sent
        sent += 1
        connection._auth = lookup_client_auth(connection, b"none")
        connection._auth._method = method.encode()

    monkeypatch.setattr("asyncssh.connection.SSHClientConnection.try_next_auth", send_again)
    with _bounded(server, school, f"requests by {method}"):
        asyncio.run(_knock(server, _new_pair))
    assert 2 <= sent <= _MOST_REQUESTS + 1
    assert server.logged("refused", f"cut after {_MOST_REQUESTS} requests")


def test_questions_about_a_known_key_are_cut(
    server: Server, school: School, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client may ask whether a key is right, and never sign: no request is refused."""

    async def ask_again(auth: Any) -> None:
        auth._conn.try_next_auth()

    monkeypatch.setattr("asyncssh.auth._ClientPublicKeyAuth._send_signed_request", ask_again)
    with _bounded(server, school, "questions about a known key"):
        assert asyncio.run(_knock(server, lambda: _forged(school.ben))) <= _MOST_REQUESTS


def test_wrong_codes_by_ssh_and_browser_keep_nobody_out(server: Server, school: School) -> None:
    """The server's address budget is spent, and a valid code works."""
    guesser = WebClient(server)

    async def guess() -> None:
        await _repeat(_CODES, lambda: guesser.ask("POST", "/log-in", b"code=abcd-abcd-abcd-abcd", FORM))
        assert (await guesser.ask("POST", "/log-in", b"code=abcd-abcd-abcd-abcd", FORM)).status == 429
        await _repeat(_CONNECTIONS, lambda: _knock(server, _new_pair, "abcd-abcd-abcd-abcd"))

    with _bounded(server, school, f"{_CODES} wrong codes by browser and {_CONNECTIONS} connections with one"):
        asyncio.run(guess())
    assert guesser.log_in(server.invite("ada")).status == 303


def test_channels_one_after_the_other_are_bounded(server: Server, school: School) -> None:
    """Commands are logged once, and then counted; a connection without a session is closed after some seconds."""

    async def run_all() -> None:
        left = _CHANNELS
        while left:
            async with _connection(server, school.ben) as connection:
                with contextlib.suppress(asyncssh.Error):
                    while left:
                        assert (await connection.run("help")).exit_status in (0, None)
                        left -= 1

    with _bounded(server, school, f"{_CHANNELS} channels"):
        asyncio.run(run_all())
    assert sum(line["event"] == "ssh command" for line in server.log()) < _CHANNELS / 10


def test_channels_at_once_are_bounded(server: Server, school: School) -> None:
    """A connection has a few, however many are requested; one that does not stop asking is cut."""
    refused = 0

    async def run_all() -> None:
        async with _connection(server, school.ben) as connection:

            async def open_one() -> None:
                nonlocal refused
                try:
                    await connection.create_process("status", stdin=asyncssh.PIPE)
                except (asyncssh.Error, OSError):
                    refused += 1

            await asyncio.gather(*(open_one() for _ in range(_CHANNELS)))

    with _bounded(server, school, f"{_CHANNELS} channels at once"):
        asyncio.run(run_all())
    assert refused > _CHANNELS / 2


def _connection(server: Server, key: Path) -> contextlib.AbstractAsyncContextManager[asyncssh.SSHClientConnection]:
    return asyncssh.connect("127.0.0.1", server.port, client_keys=[str(key)], known_hosts=None, config=None)


def test_log_ins_during_a_storm_of_connections(server: Server, school: School) -> None:
    """A student logs in while another client at the same address opens hundreds of connections per second."""

    async def storm() -> None:
        strangers: list[asyncio.StreamWriter] = []

        async def connect() -> None:
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", server.port)
                writer.write(b"SSH-2.0-storm\r\n")
                strangers.append(writer)

        async def rage() -> None:
            while True:
                await asyncio.gather(*(connect() for _ in range(_STORM)))

        raging = asyncio.create_task(rage())
        try:
            for _ in range(_STORMS):
                done = await asyncio.to_thread(Client(server, school.anna).run, "status")
                assert done.stdout.startswith("anna:"), (len(strangers), done.stderr)
        finally:
            raging.cancel()
            for writer in strangers:
                writer.close()
        print(f"{len(strangers)} connections, meanwhile {_STORMS} log-ins")

    with _bounded(server, school, "a storm of connections"):
        asyncio.run(storm())


_SESSIONS = amount(quick=3, soak=40)


@pytest.mark.serve
def test_one_session_more_than_the_limit_is_refused(tmp_path: Path) -> None:
    """All others continue, and the next one that leaves makes room."""
    keys = [asyncssh.generate_private_key("ssh-ed25519") for _ in range(_SESSIONS + 1)]
    class_file = tmp_path / "class"
    class_file.write_text("".join(f"{_public(key)} student-{number}\n" for number, key in enumerate(keys)))

    async def fill(server: Server) -> None:
        async with contextlib.AsyncExitStack() as stack:
            sessions = [await stack.enter_async_context(_session(server, key)) for key in keys[:-1]]
            for session in sessions:
                await _shows(session, "lab exercises")
            async with _session(server, keys[-1]) as further:
                await _shows(further, f"lab: the server is full, with {_SESSIONS} sessions; try again later")
            for session in sessions:
                session.stdin.write(b"zz")
                await _shows(session, "filter: zz")
            sessions[0].close()
            await asyncio.to_thread(server.logged, "session ended", "", "student-0")
            async with _session(server, keys[-1]) as further:
                await _shows(further, "lab exercises")

    with Server(tmp_path / "data", "--sessions", str(_SESSIONS), class_file=class_file) as server:
        memory = psutil.Process(server.process.pid).memory_info
        before = memory().rss
        asyncio.run(fill(server))
        assert memory().rss < 2 * before
        assert server.logged("refused", "the server is full", f"student-{_SESSIONS}")


@contextlib.asynccontextmanager
async def _session(server: Server, key: asyncssh.SSHKey) -> AsyncIterator[asyncssh.SSHClientProcess[bytes]]:
    """Begin a session at a terminal."""
    async with asyncssh.connect(
        "127.0.0.1", server.port, client_keys=[key], known_hosts=None, config=None
    ) as connection:
        yield await connection.create_process(term_type="xterm", term_size=(120, 40), encoding=None)


async def _shows(process: asyncssh.SSHClientProcess[bytes], text: str) -> None:
    """Wait until this text is shown."""
    output = b""
    async with asyncio.timeout(WAIT_S):
        while text.encode() not in output:
            data = await process.stdout.read(1 << 16)
            assert data, output
            output += data


def _public(key: asyncssh.SSHKey) -> str:
    return " ".join(key.export_public_key("openssh").decode().split()[:2])
