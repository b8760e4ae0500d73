"""The feed: what clients get, which requests they may send, and that a stalled one delays nobody."""

import contextlib
import itertools
import random
import socket
from pathlib import Path
from typing import Literal

import msgspec
import psutil
import pytest

from lab.kernel import Step
from lab.recording.reader import FileRecords
from lab.recording.records import End, Header, Keyframe, decode
from lab.worlds.launch import FeedClient
from tests.profile import amount
from tests.waiting import WAIT_S, wait_for
from tests.worlds.live import STEADY, LiveRun
from tests.worlds.protocols import Flood

pytestmark = pytest.mark.live


def test_from_the_first_record(tmp_path: Path) -> None:
    """A client gets the recording, byte for byte, to its end."""
    with LiveRun(tmp_path, nodes=(1, 2, 3)) as run:
        run.settled(3)
        client = FeedClient(run.ready.socket, "viewer", "first")
        run.order("kill 3")
        run.settled(2)
        run.host.end()
        got = list(client.lines())
        client.close()
        assert got == run.path.read_bytes().splitlines()
        assert isinstance(decode(got[-1]), End)


def test_from_a_keyframe_and_from_the_end(tmp_path: Path) -> None:
    """The header, and then the records from the last snapshot on, or only new ones."""
    with LiveRun(tmp_path, nodes=(1, 2), protocol=Flood, parameters={"outstanding": 5}) as run:
        wait_for(lambda: run.tail.read().of(Keyframe), "a keyframe")
        starts: tuple[Literal["keyframe", "end"], ...] = ("keyframe", "end")
        for start in starts:
            client = FeedClient(run.ready.socket, "viewer", start)
            before = run.path.stat().st_size
            lines = client.lines()
            header, first, second = (decode(next(lines)) for _ in range(3))
            client.close()
            assert isinstance(header, Header)
            if start == "keyframe":
                assert isinstance(first, Keyframe)
                assert first.snapshot is not None, "a difference would have no base here"
                assert first.snapshot.record >= 999
            else:
                # other records may have come between the look at the file and the attachment, not many
                assert not isinstance(first, Header)
                whole = run.path.read_bytes()
                assert whole.index(msgspec.json.encode(first)) >= before - (1 << 20)
            assert not isinstance(second, Header)


def test_two_drivers_and_a_viewer(tmp_path: Path) -> None:
    """Both drivers' commands are executed, and each gets its own replies; the viewer's are refused."""
    with LiveRun(tmp_path, nodes=(1, 2, 3), timing=STEADY) as run:
        run.settled(3)
        first, second = FeedClient(run.ready.socket), FeedClient(run.ready.socket)
        viewer = FeedClient(run.ready.socket, "viewer")
        for _ in range(3):
            assert first.command("pause 1").text == "1 paused"
            run.process_is(1, "paused")
            assert second.command("resume 1").text == "1 resumed"
            run.process_is(1, "running")
        refused = viewer.command("kill 1")
        assert (refused.ok, refused.changed) == (False, False)
        assert refused.text.startswith("viewers cannot give commands")
        assert run.cluster.nodes[1].process == "running"
        for client in (first, second, viewer):
            client.close()


def test_a_driver_ends_the_run(tmp_path: Path) -> None:
    """``end`` does what Ctrl-C does; a viewer cannot send it."""
    with LiveRun(tmp_path, nodes=(1, 2)) as run:
        run.settled(2)
        for role in ("viewer", "driver"):
            raw = _attach(run, {"role": role, "start": "end"})
            raw.sendall(b'{"id":1,"end":true}\n')
            replies = b""
            while b'"reply"' not in replies:
                replies += raw.recv(1 << 16)
            raw.close()
            assert (b'"ok":true' in replies) == (role == "driver")
        run.ended()
        end = run.tail.read().records[-1]
        assert isinstance(end, End)
        assert end.why == "ended by its driver"


def _attach(run: LiveRun, attach: dict[str, str] | None = None) -> socket.socket:
    raw = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    raw.connect(run.ready.socket)
    raw.settimeout(10)
    if attach is not None:
        raw.sendall(msgspec.json.encode(attach) + b"\n")
    return raw


def test_a_client_that_never_reads_holds_up_nobody(tmp_path: Path) -> None:
    """During a flood the host's memory is bounded and the nodes continue; then the client catches up."""
    with LiveRun(tmp_path, nodes=(1, 2, 3), protocol=Flood, parameters={"outstanding": 10}) as run:
        stalled = FeedClient(run.ready.socket, "viewer", "first")
        wait_for(lambda: run.path.stat().st_size > 3 << 20, "3 MB")
        host = psutil.Process(run.ready.pid)
        before = host.memory_info().rss
        most = amount(quick=12, soak=100)  # more than 8 MB later than the first measurement
        wait_for(lambda: run.path.stat().st_size > most << 20, f"{most} MB", 20 * WAIT_S)
        after = host.memory_info().rss
        assert after - before < 8 << 20
        print(f"{most} MB of records: the host had {before >> 20} MB, and has {after >> 20} MB")
        run.host.end()
        run.ended()
        got = 0
        for line in stalled.lines():
            got += len(line) + 1
        stalled.close()
        assert 0 < got <= run.path.stat().st_size, "the host waits a second for it, and then goes"


def test_catching_up_while_the_run_goes_on(tmp_path: Path) -> None:
    """A client stalled for thousands of records misses none; heartbeats continue all the time."""
    parameters = {"check_every_us": 2_000, "coordinator_timeout_us": 9_000_000}
    with LiveRun(tmp_path, nodes=(1, 2, 3, 4, 5), timing=STEADY, parameters=parameters) as run:
        run.settled(5)
        stalled = FeedClient(run.ready.socket, "viewer", "first")
        run.until(lambda cluster: cluster.record > 6_000, "6,000 records", 30)
        beats = [step.at_us for step in run.tail.of(Step) if step.node == 5 and len(step.sent) == 4]
        assert max(later - at for at, later in itertools.pairwise(beats)) < 1_000_000
        lines = stalled.lines()
        got = [next(lines) for _ in range(6_000)]
        stalled.close()
        opened = FileRecords(run.path)
        assert got == [opened.raw(number) for number in range(6_000)]
        opened.close()


NONSENSE = [
    b"\n",
    b"hello\n",
    b"\xff\xfe\x00\n",
    b"{}\n",
    b'{"id":1,"command":"\xff"}\n',
    b'{"id":1,"command":"\\ud800"}\n',
    b'{"id":' + b"9" * 3000 + b"}\n",
    b'{"id":1,"x":' + b"[" * 60_000 + b"\n",
    b'{"id":1,"command":"' + b"kill " * 1000 + b'"}\n',
    b'{"id":1,"command":"at ' + b"9" * 900 + b's kill 1"}\n',
    b'{"id":1,"command":"delay all ' + b"9" * 900 + b's"}\n',
    b'{"id":1,"command":"lose all ' + b"9" * 900 + b'%"}\n',
    b'{"id":1,"command":"kill ' + b"9" * 900 + b'"}\n',
    b'{"id":1,"command":"\\u001b[31mkill\\u0000"}\n',
]


@pytest.mark.parametrize("first", [True, False])
def test_nonsense_is_refused(tmp_path: Path, first: bool) -> None:
    """Instead of Attach, and after it: refused with a message, and the run continues."""
    chance = random.Random("feed")
    nonsense = [
        *NONSENSE,
        *(chance.randbytes(chance.randrange(1, 300)).replace(b"\n", b"") + b"\n" for _ in range(60)),
    ]
    with LiveRun(tmp_path, nodes=(1, 2, 3)) as run:
        run.settled(3)
        for line in nonsense:
            raw = _attach(run, None if first else {"role": "driver", "start": "end"})
            raw.sendall(line)
            replies = b""
            while b'{"record":"reply"' not in replies and (more := raw.recv(1 << 16)):
                replies += more
            raw.close()
            assert b'"ok":false,"changed":false' in replies or b'"text":"there is no node 9' in replies, line[:80]
        assert run.order("kill 3").changed
        run.settled(2)


def test_lines_without_end_and_clients_that_break_off(tmp_path: Path) -> None:
    """A line of 3 MB ends the connection; disconnecting in mid-line, or with unread records, disturbs nobody."""
    with LiveRun(tmp_path, nodes=(1, 2, 3)) as run:
        run.settled(3)
        host = psutil.Process(run.ready.pid)
        before = host.memory_info().rss
        for attach in (None, {"role": "driver", "start": "first"}):
            for _ in range(20):
                raw = _attach(run, attach)
                raw.sendall(b'{"id":1,"comm')
                raw.close()
                raw = _attach(run, attach)
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    raw.sendall(b"x" * (3 << 20))
                raw.close()
        assert host.memory_info().rss - before < 40 << 20
        run.order("kill 3")
        run.settled(2)


def test_300_clients(tmp_path: Path) -> None:
    """Clients that do not attach are disconnected after a while, which makes room; memory is bounded."""
    with LiveRun(tmp_path, nodes=(1, 2, 3)) as run:
        run.settled(3)
        host = psutil.Process(run.ready.pid)
        before = host.memory_info().rss
        silent = [_attach(run) for _ in range(100)]
        many = [_attach(run) for _ in range(200)]
        for raw in many:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                raw.sendall(b'{"role":"viewer","start":"first"}\n')
        run.until(lambda cluster: cluster.record > 100, "records go on")

        def heard() -> bool:
            try:
                client = FeedClient(run.ready.socket, start="end")
            except OSError:
                return False
            try:
                return client.command("heal").ok
            except OSError:
                return False
            finally:
                client.close()

        wait_for(heard, "a driver gets in", every_s=0.2)
        assert host.memory_info().rss < 2 * before
        for raw in (*silent, *many):
            raw.close()
        run.order("kill 3")
        run.settled(2)
