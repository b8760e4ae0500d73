"""Hosts that are forked from this process: they run, end and fail as those of their own interpreter do."""

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.kernel import Timing
from lab.recording.reader import open_recording
from lab.recording.records import End, Link
from lab.worlds.config import RunConfig, new_run_name
from lab.worlds.host.forked import ForkedHost, warm_up
from lab.worlds.host.launch import HostFailedError
from tests.waiting import wait_for
from tests.worlds.live import is_gone, left_of_session

HALF_A_SECOND_US = 500_000


def config(folder: Path, name: str, end_us: int | None = None) -> RunConfig:
    """A run of three nodes."""
    timing = Timing(80_000, 40_000)
    file = str(folder / f"{name}.jsonl")
    return RunConfig(new_run_name("bully"), "bully", (1, 2, 3), timing, {}, Link(), 1, file, end_us=end_us)


@pytest.fixture(scope="module", autouse=True)
def _warm() -> None:
    """As whoever starts many does."""
    warm_up()


@pytest.fixture
def hosts() -> Iterator[list[ForkedHost]]:
    """They are ended, whatever becomes of the test."""
    started: list[ForkedHost] = []
    yield started
    for host in started:
        host.end()
        host.close()


def test_a_run_that_ends_by_itself(tmp_path: Path, hosts: list[ForkedHost]) -> None:
    """Its recording is complete, and its status 0, however often it is asked for."""
    host = ForkedHost(config(tmp_path, "run", HALF_A_SECOND_US))
    hosts.append(host)
    host.ready()
    assert host.process.poll() is None
    assert (host.wait(), host.process.poll(), host.wait()) == (0, 0, 0)
    lines = open_recording(tmp_path / "run.jsonl")
    assert isinstance(lines.record(len(lines) - 1), End)
    lines.close()


def test_one_that_is_waited_for_too_long(tmp_path: Path, hosts: list[ForkedHost]) -> None:
    """As subprocess tells it."""
    host = ForkedHost(config(tmp_path, "run"))
    hosts.append(host)
    host.ready()
    with pytest.raises(subprocess.TimeoutExpired):
        host.process.wait(0.01)


def test_each_has_its_own_owner(tmp_path: Path, hosts: list[ForkedHost]) -> None:
    """The one that was started first ends when it is to, though a later one was forked beside it."""
    first, second = ForkedHost(config(tmp_path, "first")), ForkedHost(config(tmp_path, "second"))
    hosts += [first, second]
    pids = [first.ready().pid, second.ready().pid]
    assert first.end() == ""
    assert is_gone(pids[0]) == []
    assert left_of_session(pids[1])


def test_one_that_is_killed(tmp_path: Path, hosts: list[ForkedHost]) -> None:
    """Whoever waits for it is told, and its feed ends."""
    host = ForkedHost(config(tmp_path, "run"))
    hosts.append(host)
    pid = host.ready().pid
    host.process.kill()
    wait_for(lambda: host.process.poll() == -signal.SIGKILL, "the host to be gone")
    with pytest.raises(HostFailedError, match="was killed"):
        host.wait()
    assert is_gone(pid) == []


def test_one_that_cannot_run(tmp_path: Path, hosts: list[ForkedHost]) -> None:
    """It says why."""
    host = ForkedHost(config(tmp_path / "nowhere", "run"))
    hosts.append(host)
    with pytest.raises(HostFailedError, match="the recording cannot be written"):
        host.ready()
