"""A session's portal to its cluster: what may be run is, what may not is refused, and the bounds hold."""

import asyncio
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from lab.journal import Link, open_recording
from lab.kernel import Timing
from lab.serve.children import Children, start_zygote
from lab.serve.clusters import Clusters
from lab.serve.control import serve_control
from lab.serve.desk import Desk
from lab.serve.limits import Limits
from lab.serve.log import Log
from lab.serve.orders import Room
from lab.serve.portal import Portal
from lab.worlds.config import RunConfig
from lab.worlds.host.launch import HostFailedError, HostRefusedError
from tests.waiting import wait_for

_MIB = 1 << 20


def _config(home: Path, name: str) -> RunConfig:
    recording = str(home / "attempts" / f"{name}.jsonl")
    return RunConfig(name, "bully", (1, 2, 3), Timing(100_000, 50_000), {}, Link(), 1, recording)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A student's folder."""
    (tmp_path / "attempts").mkdir()
    return tmp_path


def _at_the_server(
    home: Path, ask: Callable[[Portal], None], limits: Limits | None = None, file_bytes: int = 16 * _MIB
) -> list[dict[str, str]]:
    """Run ``ask`` as a session would, against the server's side of it; what was logged."""
    log = Log(home / "log")

    async def serve() -> None:
        children = Children(*start_zygote(), gone=lambda: None)
        with_sockets = {"XDG_RUNTIME_DIR": str(sockets), "HOME": str(home)}
        room = Room(with_sockets, str(home), 1024 * _MIB, file_bytes, 0)
        clusters = Clusters(children, limits or Limits(), log, lambda _: room)
        ours, its = socket.socketpair()
        clusters.come("anna")
        control = asyncio.create_task(serve_control(ours, "anna", clusters, Desk(log)))
        try:
            await asyncio.to_thread(ask, Portal(its))
        finally:
            its.close()
            clusters.leave("anna")
            await clusters.end_all()
            control.cancel()
            await children.close()

    with tempfile.TemporaryDirectory(prefix="lab", dir="/tmp") as sockets:
        asyncio.run(serve())
    log.close()
    return [msgspec.json.decode(line, type=dict[str, str]) for line in (home / "log").read_bytes().splitlines()]


def test_a_cluster_is_started_named_and_ended(home: Path) -> None:
    """Another one takes its place; its recording is complete."""

    def ask(portal: Portal) -> None:
        assert portal.running() is None
        assert portal.end() == ""
        ready = portal.start(_config(home, "first"))
        assert Path(ready.socket).exists()
        running = portal.running()
        assert running is not None
        assert (running.run, running.protocol, running.nodes) == ("first", "bully", (1, 2, 3))
        portal.start(_config(home, "second"))
        assert b'"end"' in (home / "attempts" / "first.jsonl").read_bytes().splitlines()[-1]
        running = portal.running()
        assert running is not None
        assert running.run == "second"
        assert portal.end() == ""
        assert portal.running() is None

    log = _at_the_server(home, ask)
    assert [line["event"] for line in log] == ["run", "run ended", "run", "run ended"]
    with_records = open_recording(home / "attempts" / "second.jsonl")
    assert sum(1 for _ in with_records.records()) > 1
    with_records.close()


def test_a_file_of_the_students_is_not_run(home: Path) -> None:
    """Nor loaded: not a line of it."""
    own = home / "mine.py"
    own.write_text(f"open({str(home / 'ran')!r}, 'w')\n")

    def ask(portal: Portal) -> None:
        for target in (str(own), f"{own}:Mine", f"field above {own}"):
            with pytest.raises(HostRefusedError, match="only the protocols that come with the program"):
                portal.start(replace(_config(home, "own"), protocol=target))
        with pytest.raises(HostRefusedError, match="does not lie in your folder"):
            portal.start(replace(_config(home, "out"), recording="/tmp/lab-out.jsonl"))

    log = _at_the_server(home, ask)
    assert not (home / "ran").exists()
    assert not Path("/tmp/lab-out.jsonl").exists()
    assert [line["event"] for line in log] == ["run refused"] * 4


def test_a_host_that_cannot_start_says_why(home: Path) -> None:
    """As it would offline."""

    def ask(portal: Portal) -> None:
        gone = str(home / "attempts" / "gone.jsonl")
        with pytest.raises(HostRefusedError, match=r"gone\.jsonl"):
            portal.start(replace(_config(home, "branch"), world="simulated", parent=gone, at=1))

    _at_the_server(home, ask)


def test_a_recording_has_a_largest_size(home: Path) -> None:
    """The run ends there, and the server says why."""
    config = replace(_config(home, "large"), commands=("when all normal kill coordinator",))

    def ask(portal: Portal) -> None:
        portal.start(config)
        wait_for(lambda: portal.running() is None, "the run has ended")

    log = _at_the_server(home, ask, file_bytes=20_000)
    assert "File too large" in log[-1]["text"]
    assert (home / "attempts" / "large.jsonl").stat().st_size <= 20_000


def test_so_many_clusters_and_no_more(home: Path) -> None:
    """Where none can make room."""

    def ask(portal: Portal) -> None:
        with pytest.raises(HostFailedError, match="as many clusters as this machine bears"):
            portal.start(_config(home, "one"))

    _at_the_server(home, ask, Limits(clusters=0))


def test_a_server_that_has_gone_is_named(home: Path) -> None:
    """To the student, who can connect again."""
    ours, its = socket.socketpair()
    ours.close()
    with its, pytest.raises(HostFailedError, match="connect again in a while"):
        Portal(its).running()
