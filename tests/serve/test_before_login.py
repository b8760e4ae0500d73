"""Before log-in: no amount of input from strangers keeps a student out or breaks anything."""

import asyncio
import contextlib
import resource
import socket
from collections.abc import Iterator

import asyncssh
import pytest

from lab.serve.limits import Limits
from tests.profile import sampled
from tests.serve.conftest import School
from tests.serve.lab_server import Client, Server, connected
from tests.waiting import WAIT_S, wait_for


@contextlib.contextmanager
def _held(server: Server, number: int) -> Iterator[list[socket.socket]]:
    """Hold open this many silent connections."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(connected(server)) for _ in range(number)]


@pytest.mark.parametrize(
    "garbage",
    sampled(
        [
            pytest.param(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", id="http"),
            pytest.param(b"\x00" * 70_000, id="zeros"),
            pytest.param(b"SSH-2.0-\x1b]0;x\x07\r\n" + b"\xff" * 4096, id="codes"),
            pytest.param(b"SSH-1.5-old\r\n", id="old"),
            pytest.param(b"x" * 300_000, id="long"),
        ],
        2,
    ),
)
def test_other_protocols_are_dropped(server: Server, anna: Client, garbage: bytes) -> None:
    """And the server continues."""
    with connected(server) as stranger, contextlib.suppress(OSError):
        stranger.settimeout(WAIT_S)
        stranger.sendall(garbage)
        stranger.shutdown(socket.SHUT_WR)
        while stranger.recv(4096):
            pass
    assert anna.run("help").returncode == 0


@pytest.mark.parametrize(
    "user",
    ["\x1b]0;owned\x07\x1b[2J", "x" * 5000, "../../etc/passwd", "a\nb", "\u202eabc", "é" * 600],
    ids=["codes", "long", "path", "lines", "backwards", "letters"],
)
def test_a_user_name_is_logged_sanitized(
    server: Server, anna: Client, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``cat`` of the log does no harm to a terminal."""

    async def knock() -> None:
        with contextlib.suppress(asyncssh.Error, OSError):
            async with asyncssh.connect(
                "127.0.0.1", server.port, username=user, client_keys=[key], known_hosts=None, config=None
            ):
                pass

    monkeypatch.setattr("asyncssh.connection.saslprep", str)  # a client that minds no rule
    key = asyncssh.generate_private_key("ssh-ed25519")
    asyncio.run(knock())
    assert anna.run("help").returncode == 0
    written = (server.data / "log").read_bytes()
    assert not set(written) & (set(range(32)) - {10})
    assert "\u202e" not in written.decode()
    assert max(map(len, written.splitlines())) < 2000


def test_a_connection_without_a_session_is_closed(server: Server, school: School) -> None:
    """``ssh -N`` would only occupy a place."""
    done = Client(server, school.ben, "-N").run()
    assert "this server offers only the laboratory: omit -N" in done.stderr


def test_unused_channels_are_limited_and_keep_no_connection_open(server: Server, school: School) -> None:
    """A client can open thousands without a session in them; one with a session keeps its connection."""

    def connect() -> contextlib.AbstractAsyncContextManager[asyncssh.SSHClientConnection]:
        return asyncssh.connect(
            "127.0.0.1", server.port, client_keys=[str(school.ben)], known_hosts=None, config=None
        )

    async def ask() -> int:
        opened = 0
        async with connect() as using, connect() as holding:
            process = await using.create_process(term_type="xterm", encoding=None)
            await process.stdout.read(1000)
            with contextlib.suppress(asyncssh.ChannelOpenError):
                for _ in range(20):
                    channel = asyncssh.SSHClientChannel(
                        holding, asyncio.get_running_loop(), "strict", None, "strict", 1 << 21, 1 << 15
                    )
                    await channel._open(b"session")
                    opened += 1
            await asyncio.wait_for(holding.wait_closed(), 3 * Limits().unused_s)
            assert not using.is_closed()
            process.stdin.write(b"q")
            await asyncio.wait_for(process.wait(), WAIT_S)
            assert process.exit_status == 0
        return opened

    assert asyncio.run(ask()) == 4


def test_a_client_with_an_unlimited_window_that_reads_nothing_is_bounded(server: Server, school: School) -> None:
    """Output that the system's buffers cannot hold stays in the terminal, not in the server's memory."""

    async def ask() -> None:
        async with asyncssh.connect(
            "127.0.0.1", server.port, client_keys=[str(school.ben)], known_hosts=None, config=None
        ) as connection:
            process = await connection.create_process(term_type="xterm", window=1 << 31, encoding=None)
            await process.stdout.read(1000)
            transport = connection._transport
            assert isinstance(transport, asyncio.Transport)
            transport.pause_reading()
            assert await asyncio.to_thread(server.flood) < 24 << 20
            connection.abort()

    asyncio.run(ask())
    wait_for(lambda: "ben: 0 sessions" in Client(server, school.ben).run("status").stdout, "the session has ended")


def test_a_thousand_half_open_connections_keep_nobody_out(server: Server, anna: Client) -> None:
    """The oldest are closed, and a student from the same address can log in."""
    with _held(server, 1000) as strangers:
        assert anna.run("help").returncode == 0
        first = strangers[0]
        first.settimeout(WAIT_S)
        with contextlib.suppress(ConnectionResetError):
            while first.recv(4096):
                pass
        server.logged("refused", "too many connections without a log-in")
    assert anna.run("help").returncode == 0
