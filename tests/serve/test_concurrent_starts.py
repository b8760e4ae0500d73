"""Concurrent starts of clusters: the limits hold, and no recording is overwritten."""

import asyncio
import contextlib
from pathlib import Path
from typing import cast

import pytest

from lab.exercises.attempts import attempt_config, recording_of
from lab.exercises.exercise_reader import find_exercise
from lab.recording.records import ExerciseAttempt
from lab.serve.children import ChildEnvironment, Children
from lab.serve.cluster_pool import ClusterPool
from lab.serve.data_folder import ServerLog
from lab.serve.limits import Limits
from lab.worlds.host.runs import RunInfo
from lab.worlds.launch import HostFailedError, HostProcess, HostRefusedError
from lab.worlds.loading.config import HostReady, RunConfig
from tests.waiting import WAIT_S

_NAME = "two-coordinators"
_EXERCISE = find_exercise(_NAME)


class _Host:
    """A stub of a cluster that takes some turns of the event loop to start and to end."""

    most = 0
    going = 0

    def __init__(self, config: RunConfig) -> None:
        Path(config.recording).write_text("")
        self.child = self
        self.ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.attempt: ExerciseAttempt | None = config.exercise
        self.label = config.recording
        self.info = RunInfo("run", 1, "bully", (1,), "now", config.recording, "socket")
        self.ready = HostReady("socket", 1)

    @classmethod
    async def start(cls, children: Children, config: RunConfig, room: ChildEnvironment) -> "_Host":
        await _some_turns()
        cls.going += 1
        cls.most = max(cls.most, cls.going)
        return cls(config)

    async def end(self) -> str:
        await _some_turns()
        type(self).going -= 1
        self.ended.set_result(0)
        return ""


async def _some_turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


class _Class:
    """A ``ClusterPool`` with students' folders in this folder."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self._folder = folder
        self.log = ServerLog(folder / "log")
        self.clusters = ClusterPool(
            cast(Children, None),
            {_NAME: _EXERCISE},
            limits,
            self.log,
            lambda name: ChildEnvironment({}, str(folder / name), 0, 0, 0),
        )

    async def start(self, student: str, attempt: int = 1) -> HostReady:
        """Start the student's cluster, as a session would."""
        recording = recording_of(self._folder / student, _NAME, attempt)
        recording.parent.mkdir(parents=True, exist_ok=True)
        self.clusters.student_entered(student)
        config = attempt_config(_EXERCISE, student, attempt, recording)
        return await asyncio.wait_for(self.clusters.start(student, config), WAIT_S)


@pytest.fixture(autouse=True)
def _hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.serve.cluster_pool.ClusterProcess", _Host)
    monkeypatch.setattr(_Host, "most", 0)
    monkeypatch.setattr(_Host, "going", 0)


def test_concurrent_starts_get_as_many_clusters_as_allowed(tmp_path: Path) -> None:
    """The others are told to try again."""

    async def crowd() -> list[HostReady | BaseException]:
        return await asyncio.gather(*(here.start(f"s{number}") for number in range(9)), return_exceptions=True)

    here = _Class(tmp_path, Limits(clusters=3))
    found = asyncio.run(crowd())
    here.log.close()
    assert [isinstance(each, HostReady) for each in found] == [True] * 3 + [False] * 6
    assert all(isinstance(each, HostReady | HostFailedError) for each in found)
    assert _Host.most == 3


def test_concurrent_starts_evict_different_clusters(tmp_path: Path) -> None:
    """Clusters without a session, the oldest first, each only once."""

    async def crowd() -> set[str]:
        for name in ("a", "b", "c"):
            await here.start(name)
            here.clusters.student_left(name)
        await asyncio.gather(here.start("x"), here.start("y"))
        return set(here.clusters.all())

    here = _Class(tmp_path, Limits(clusters=3))
    left = asyncio.run(crowd())
    here.log.close()
    assert left == {"c", "x", "y"}


def test_an_attempt_started_twice_at_once_is_recorded_once(tmp_path: Path) -> None:
    """If the connection drops while the first start waits, the first one is kept."""

    async def twice() -> tuple[HostReady | BaseException, HostReady | BaseException]:
        found = await asyncio.gather(here.start("anna"), here.start("anna"), return_exceptions=True)
        assert here.clusters.running("anna") is not None
        return found

    here = _Class(tmp_path, Limits())
    first, second = asyncio.run(twice())
    here.log.close()
    assert isinstance(first, HostReady)
    assert isinstance(second, HostRefusedError)
    assert str(second) == f"attempt 1 at {_NAME} already exists"


@pytest.mark.live
def test_the_host_itself_overwrites_no_recording(tmp_path: Path) -> None:
    """Earlier checks make no difference."""
    recording = tmp_path / "run.jsonl"
    recording.write_text("as it was")
    with contextlib.closing(HostProcess(attempt_config(_EXERCISE, "anna", 1, recording))) as host:
        with pytest.raises(HostRefusedError, match="File exists"):
            host.ready()
        host.process.wait()
    assert recording.read_text() == "as it was"
