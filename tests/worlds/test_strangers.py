"""Garbage at the nodes' port: the host survives with bounded memory, and elections continue."""

import contextlib
import errno
import random
import socket
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from lab.recording.records import Process
from tests.profile import amount
from tests.waiting import wait_for
from tests.worlds.live import STEADY, LiveRun

pytestmark = pytest.mark.live

MOST_GROWTH = 120 << 20
"""64 strangers with a megabyte each, and some room."""

LINES = [
    b"\n",
    b"\n" * 1000,
    b"hello\n",
    b"\xff\xfe\x00\x80\n",
    b"{}\n",
    b"[" * 200_000 + b"\n",
    b'{"node":1,"life":1,"token":' + b"[" * 200_000 + b"\n",
    b'{"node":1,"life":1,"token":"wrong"}\n',
    '{"node":1,"life":1,"token":"wröng"}\n'.encode(),
    b'{"node":1,"life":1,"token":"\\u0000"}\n',
    b'{"node":1,"life":2,"token":"wrong"}\n',
    b'{"node":99,"life":1,"token":""}\n',
    b'{"node":-1,"life":-1,"token":""}\n',
    b'{"node":1e99,"life":1,"token":""}\n',
    b'{"node":' + b"9" * 5000 + b',"life":1,"token":""}\n',
    b'{"node":1,"life":1}\n{"node":1,"life":1}\n',
    b'{"record":"step","at_us":1,"node":1,"life":1,"input":{"type":"fired","procedure":"x"}}\n',
    b"x" * 3_000_000,
]


@contextlib.contextmanager
def _under_attack(folder: Path) -> Iterator[LiveRun]:
    """A settled run that must still be able to elect and to restart a node after the attack."""
    with LiveRun(folder, timing=STEADY) as run:
        run.settled(5)
        host = psutil.Process(run.ready.pid)
        before = host.memory_info().rss
        yield run
        assert run.host.process.poll() is None, run.host.stderr_text()
        run.order("kill 5")
        run.settled(4)
        run.order("restart 5")
        run.settled(5)
        assert host.memory_info().rss - before < MOST_GROWTH
        assert "Traceback" not in run.host.stderr_text()
        assert [record.event for record in run.tail.of(Process)] == ["started"] * 5 + ["killed", "started"]


def _send(run: LiveRun, data: bytes) -> bytes:
    """Send data as a stranger, close half, and read the reply, which must be empty."""
    with run.connect() as stranger:
        try:
            stranger.sendall(data)
            stranger.shutdown(socket.SHUT_WR)
            return stranger.recv(100)
        except OSError as error:  # the host may have hung up already
            if error.errno not in (errno.ECONNRESET, errno.EPIPE, errno.ENOTCONN):
                raise
            return b""


def test_every_kind_of_nonsense(tmp_path: Path) -> None:
    """A line of each kind; the host answers none."""
    with _under_attack(tmp_path) as run:
        assert [_send(run, line) for line in LINES] == [b""] * len(LINES)


def test_random_bytes(tmp_path: Path) -> None:
    """And mutations of a proper Hello."""
    chance = random.Random("strangers")
    hello = b'{"node":1,"life":1,"token":"0123456789abcdef0123456789abcdef"}\n'
    with _under_attack(tmp_path) as run:
        for _ in range(amount(quick=25, soak=150)):
            _send(run, chance.randbytes(chance.randrange(2000)) + b"\n" * chance.randrange(2))
            mutated = bytearray(hello)
            for _ in range(chance.randrange(1, 6)):
                mutated[chance.randrange(len(mutated))] = chance.randrange(256)
            _send(run, bytes(mutated))


def test_300_silent_connections(tmp_path: Path) -> None:
    """They stay open; a restarted node gets in, because the oldest of them is closed."""
    with contextlib.ExitStack() as stack, _under_attack(tmp_path) as run:
        strangers = [stack.enter_context(run.connect()) for _ in range(300)]
        for stranger in strangers[::3]:
            with contextlib.suppress(OSError):
                stranger.sendall(b'{"node":1,')
        host = psutil.Process(run.ready.pid)
        wait_for(lambda: host.num_fds() < 120, "most are hung up on", every_s=0.05)
        assert strangers[0].recv(1) == b""


@pytest.mark.parametrize("size", [1 << 19, 1 << 21])
def test_many_lines_without_end(tmp_path: Path, size: int) -> None:
    """Each sends this much without a newline, and stays."""
    with contextlib.ExitStack() as stack, _under_attack(tmp_path) as run:
        for _ in range(amount(quick=70, soak=100)):  # more than may be connected
            stranger = stack.enter_context(run.connect())
            with contextlib.suppress(OSError):
                stranger.sendall(b"x" * size)
