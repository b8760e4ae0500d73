"""Hosts forked from this process: they run, end and fail like hosts with an interpreter of their own."""

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.kernel import Timing
from lab.recording.reader import open_recording
from lab.recording.records import End, Link
from lab.worlds.launch import ForkedHost, HostFailedError, preload
from lab.worlds.loading.config import RunConfig, new_run_name
from tests.waiting import wait_for
from tests.worlds.live import is_gone, left_of_session

pytestmark = pytest.mark.live

HALF_A_SECOND_US = 500_000


def config(folder: Path, name: str, end_us: int | None = None) -> RunConfig:
    """Return a run of three nodes."""
    timing = Timing(80_000, 40_000)
    file = str(folder / f"{name}.jsonl")
    return RunConfig(new_run_name("bully"), "bully", (1, 2, 3), timing, {}, Link(), 1, file, end_us=end_us)


@pytest.fixture(scope="module", autouse=True)
def _warm() -> None:
    preload()


@pytest.fixture
def hosts() -> Iterator[list[ForkedHost]]:
    """Start hosts, and end them after the test."""
    started: list[ForkedHost] = []
    yield started
    for host in started:
        host.end()
        host.close()


def test_a_run_that_ends_by_itself(tmp_path: Path, hosts: list[ForkedHost]) -> None:
    """Its recording is complete, and its status is 0, at every call."""
    host = ForkedHost(config(tmp_path, "run", HALF_A_SECOND_US))
    hosts.append(host)
    host.ready()
    assert host.process.poll() is None
    assert (host.wait(), host.process.poll(), host.wait()) == (0, 0, 0)
    lines = open_recording(tmp_path / "run.jsonl")
    assert isinstance(lines.record(len(lines) - 1), End)
    lines.close()


def test_a_wait_times_out(tmp_path: Path, hosts: list[ForkedHost]) -> None:
    """With the exception of subprocess."""
    host = ForkedHost(config(tmp_path, "run"))
    hosts.append(host)
    host.ready()
    with pytest.raises(subprocess.TimeoutExpired):
        host.process.wait(0.01)


def test_each_has_its_own_owner(tmp_path: Path, hosts: list[ForkedHost]) -> None:
    """The first one ends when its owner asks, though a later one was forked after it."""
    first, second = ForkedHost(config(tmp_path, "first")), ForkedHost(config(tmp_path, "second"))
    hosts += [first, second]
    pids = [first.ready().pid, second.ready().pid]
    assert first.end() == ""
    assert is_gone(pids[0]) == []
    assert left_of_session(pids[1])


def test_one_that_is_killed(tmp_path: Path, hosts: list[ForkedHost]) -> None:
    """A waiting caller gets an error, and the feed ends."""
    host = ForkedHost(config(tmp_path, "run"))
    hosts.append(host)
    pid = host.ready().pid
    host.process.kill()
    wait_for(lambda: host.process.poll() == -signal.SIGKILL, "the host to be gone")
    with pytest.raises(HostFailedError, match="was killed"):
        host.wait()
    assert is_gone(pid) == []


def test_one_that_cannot_run(tmp_path: Path, hosts: list[ForkedHost]) -> None:
    """It gives the reason."""
    host = ForkedHost(config(tmp_path / "nowhere", "run"))
    hosts.append(host)
    with pytest.raises(HostFailedError, match="the recording cannot be written"):
        host.ready()
