"""A session's control socket: allowed runs start, others are refused, and the limits hold."""

import asyncio
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import cast

import msgspec
import pytest
from msgspec.structs import replace

from lab.exercises.attempts import attempt_config, recording_of
from lab.exercises.exercise_reader import SHIPPED, find_exercise
from lab.recording.reader import open_recording
from lab.serve.broadcast_hub import BroadcastHub
from lab.serve.children import ChildEnvironment, Children, start_fork_server
from lab.serve.cluster_pool import ClusterPool
from lab.serve.comments import CommentBook
from lab.serve.data_folder import DataFolder, ServerLog
from lab.serve.lecture_branches import LectureBranches
from lab.serve.limits import Limits
from lab.serve.session_control import ControlClient, serve_control
from lab.worlds.launch import HostFailedError, HostRefusedError
from lab.worlds.loading.config import RunConfig
from tests.waiting import wait_for

pytestmark = pytest.mark.live

_MIB = 1 << 20


_NAME = "two-coordinators"
_EXERCISES = {_NAME: find_exercise(_NAME)}


def _config(home: Path, attempt: int = 1, student: str = "anna") -> RunConfig:
    return attempt_config(_EXERCISES[_NAME], student, attempt, recording_of(home, _NAME, attempt))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A student's folder."""
    (tmp_path / "attempts").mkdir()
    return tmp_path


def _at_the_server(
    home: Path, ask: Callable[[ControlClient], None], limits: Limits | None = None, file_bytes: int = 16 * _MIB
) -> list[dict[str, str]]:
    """Run ``ask`` as a session, against the server's side of the socket; return the log."""
    log = ServerLog(home / "log")

    async def serve() -> None:
        children = Children(*start_fork_server(SHIPPED), on_exit=lambda: None)
        with_sockets = {"XDG_RUNTIME_DIR": str(sockets), "HOME": str(home)}
        room = ChildEnvironment(with_sockets, str(home), 1024 * _MIB, file_bytes, 0)
        clusters = ClusterPool(children, _EXERCISES, limits or Limits(), log, lambda _: room)
        branches = LectureBranches(DataFolder(home / "data"), children, limits or Limits(), log, lambda _: room)
        ours, its = socket.socketpair()
        comments = CommentBook(home / "comments.json")
        clusters.student_entered("anna")
        control = asyncio.create_task(serve_control(ours, "anna", clusters, branches, BroadcastHub(log), comments))
        try:
            await asyncio.to_thread(ask, ControlClient(its))
        finally:
            its.close()
            clusters.student_left("anna")
            await clusters.end_all()
            control.cancel()
            await children.close()

    with tempfile.TemporaryDirectory(prefix="lab", dir="/tmp") as sockets:
        asyncio.run(serve())
    log.close()
    return [msgspec.json.decode(line, type=dict[str, str]) for line in (home / "log").read_bytes().splitlines()]


def test_a_cluster_is_started_reported_and_ended(home: Path) -> None:
    """Another one replaces it; its recording is complete."""

    def ask(client: ControlClient) -> None:
        assert client.running() is None
        assert client.end() == ""
        ready = client.start(_config(home))
        assert Path(ready.socket).exists()
        running = client.running()
        assert running is not None
        assert (running.protocol, running.nodes) == ("bully", (1, 2, 3, 4, 5))
        client.start(_config(home, 2))
        assert b'"end"' in recording_of(home, _NAME, 1).read_bytes().splitlines()[-1]
        running = client.running()
        assert running is not None
        assert Path(running.recording) == recording_of(home, _NAME, 2)
        assert client.end() == ""
        assert client.running() is None

    log = _at_the_server(home, ask)
    assert [line["event"] for line in log] == ["run", "run ended", "run", "run ended"]
    with_records = open_recording(recording_of(home, _NAME, 2))
    assert sum(1 for _ in with_records.records()) > 1
    with_records.close()


def test_a_student_s_file_is_not_run(home: Path) -> None:
    """It is not even loaded."""
    own = home / "mine.py"
    own.write_text(f"open({str(home / 'ran')!r}, 'w')\n")

    def ask(client: ControlClient) -> None:
        for target in (str(own), f"{own}:Mine", f"field above {own}"):
            with pytest.raises(HostRefusedError, match="not a valid attempt of yours"):
                client.start(replace(_config(home), protocol=target))
        with pytest.raises(HostRefusedError, match="not a valid attempt of yours"):
            client.start(replace(_config(home), recording="/tmp/lab-out.jsonl"))

    log = _at_the_server(home, ask)
    assert not (home / "ran").exists()
    assert not Path("/tmp/lab-out.jsonl").exists()
    assert [line["event"] for line in log] == ["run refused"] * 4


def test_another_student_s_attempt_is_refused(home: Path) -> None:
    """In their name or in their folder; and ``running`` reports only the student's own."""

    def ask(client: ControlClient) -> None:
        for config in (_config(home, student="ben"), _config(home.parent / "ben"), _config(home / ".." / "ben")):
            with pytest.raises(HostRefusedError, match="not a valid attempt of yours"):
                client.start(config)
        assert client.running() is None

    _at_the_server(home, ask)
    assert not (home.parent / "ben").exists()


def test_an_invalid_request_is_answered(home: Path) -> None:
    """A broken session affects no other."""
    ours, its = socket.socketpair()
    log = ServerLog(home / "log")

    async def serve() -> None:
        children, room = cast(Children, None), ChildEnvironment({}, str(home), 0, 0, 0)
        clusters = ClusterPool(children, {}, Limits(), log, lambda _: room)
        branches = LectureBranches(DataFolder(home / "data"), children, Limits(), log, lambda _: room)
        comments = CommentBook(home / "comments.json")
        control = asyncio.create_task(serve_control(ours, "anna", clusters, branches, BroadcastHub(log), comments))
        reader, writer = await asyncio.open_unix_connection(sock=its)
        for line in (b"{}", b"\xff\x00", b'{"type":"start"}', b"[" * 5000):
            writer.write(line + b"\n")
            assert b"the server does not understand this" in await reader.readline()
        writer.write(b'{"type":"which run"}\n')
        assert b'"failure":""' in await reader.readline()
        writer.close()
        await control

    asyncio.run(serve())
    log.close()


def test_the_size_of_a_recording_is_limited(home: Path) -> None:
    """The run ends there, and the server says why."""

    def ask(client: ControlClient) -> None:
        client.start(_config(home))
        wait_for(lambda: client.running() is None, "the run has ended")

    log = _at_the_server(home, ask, file_bytes=20_000)
    assert "File too large" in log[-1]["text"]
    assert recording_of(home, _NAME, 1).stat().st_size <= 20_000


def test_the_number_of_clusters_is_limited(home: Path) -> None:
    """If none can be evicted."""

    def ask(client: ControlClient) -> None:
        with pytest.raises(HostFailedError, match="reached its limit of clusters"):
            client.start(_config(home))

    _at_the_server(home, ask, Limits(clusters=0))


def test_a_server_that_has_gone_is_reported(home: Path) -> None:
    """The student can connect again."""
    ours, its = socket.socketpair()
    ours.close()
    with its, pytest.raises(HostFailedError, match="connect again later"):
        ControlClient(its).running()
