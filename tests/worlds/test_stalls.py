"""Scheduling stalls of real processes are recorded; pauses, slow disks and simulated time are none."""

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from lab.kernel import Step, Timing
from lab.recording.records import Header, Routed, Stall
from tests.properties.recorded import judged
from tests.recording.samples import eventful
from tests.waiting import never, wait_for
from tests.worlds.live import QUICK, STEADY, LiveRun
from tests.worlds.protocols import Scribe

STOPPED_S = 1.0


@contextlib.contextmanager
def _stopped(*pids: int) -> Iterator[None]:
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in reversed(pids):
            os.kill(pid, signal.SIGCONT)


def _wait(seconds: float) -> None:
    """Let time pass: nothing can be seen of a run that is stopped."""
    never(lambda: False, "", seconds)


def _stalls(run: LiveRun, node: int | None, least_us: int) -> list[Stall]:
    """Return the recorded stalls of a process that lasted so long at least."""
    return [each for each in run.tail.read().of(Stall) if each.node == node and each.lasted_us >= least_us]


@pytest.mark.live
def test_a_stopped_host_records_its_stall(tmp_path: Path) -> None:
    """Before all else that it does then; with the time in which it did nothing, and no node did what it sends."""
    with LiveRun(tmp_path, nodes=(1, 2, 3), timing=STEADY) as run:
        run.settled(3)
        with _stopped(run.session):
            _wait(STOPPED_S)
        (stall,) = wait_for(lambda: _stalls(run, None, round(STOPPED_S * 9e5)), "the stall")
        records = run.tail.records
        place = records.index(stall)
        wait_for(
            lambda: any(
                each.at_us < stall.at_us for each in run.tail.read().records[place:] if isinstance(each, Step)
            ),
            "the nodes went on",
        )
        run.settled(3)
        assert all(getattr(each, "at_us", 0) <= stall.began_us for each in records[:place])
        of_host = [each for each in records[place:] if not isinstance(each, Step | Stall | Header)]
        assert all(each.at_us >= stall.at_us for each in of_host)
        judge = judged(records)
        assert not any(violation.is_failure for violation in judge.violations)
        assert 8 in judge.broken_at(place)


@pytest.mark.live
def test_a_node_reports_its_stall(tmp_path: Path) -> None:
    """Its process is stopped while nobody watches it, as if the machine had no time for it."""
    with LiveRun(tmp_path, nodes=(1, 2, 3), timing=STEADY) as run:
        run.settled(3)
        pid = run.pid(2)
        parent = psutil.Process(pid).ppid()
        with _stopped(parent):
            with _stopped(pid):
                _wait(STOPPED_S)
            (stall,) = wait_for(lambda: _stalls(run, 2, round(STOPPED_S * 8e5)), "the stall")
        steps = [each for each in run.tail.read().of(Step) if each.node == 2]
        assert not [each for each in steps if stall.began_us < each.at_us < stall.at_us]
        assert 9 in judged(run.tail.records).broken_at(run.tail.records.index(stall))


@pytest.mark.live
@pytest.mark.parametrize("by_command", [True, False], ids=["command", "signal"])
def test_a_pause_is_no_stall(tmp_path: Path, by_command: bool) -> None:
    """Whoever pauses the process: that is recorded as what it is."""
    with LiveRun(tmp_path, nodes=(1, 2, 3), timing=STEADY) as run:
        run.settled(3)
        pid = run.pid(3)
        if by_command:
            run.order("pause 3")
            run.process_is(3, "paused")
            run.settled(2)
            run.order("resume 3")
        else:
            with _stopped(pid):
                run.process_is(3, "paused")
                run.settled(2)
        run.process_is(3, "running")
        run.settled(3)
        paused, resumed = (each for each in run.processes(3) if each.event in ("paused", "resumed"))
        assert not [
            each for each in _stalls(run, 3, 0) if each.began_us < resumed.at_us and each.at_us > paused.at_us
        ]


@pytest.mark.live
def test_a_slow_disk_is_no_stall(tmp_path: Path) -> None:
    """The node waits for it, and is scheduled in time."""
    with LiveRun(tmp_path, nodes=(1, 2), protocol=Scribe, timing=STEADY, parameters={"every_us": 5_000}) as run:
        run.process_is(2, "running")
        slow_us = 10 * STEADY.tp_us
        run.order(f"slow-disk 2 {slow_us}us")
        run.until(lambda cluster: any(fault.touched > 3 for fault in cluster.faults.values()), "slow writes")
        assert not _stalls(run, 2, slow_us // 2)


def _spin() -> None:
    while True:
        pass


@pytest.mark.live
def test_a_busy_machine_does_not_fill_the_recording(tmp_path: Path) -> None:
    """Processes that compute leave none of the processors alone, and Tp is shorter than a time slice."""
    busy = [multiprocessing.get_context("fork").Process(target=_spin, daemon=True) for _ in range(8)]
    for each in busy:
        each.start()
    try:
        with LiveRun(tmp_path, nodes=(1, 2, 3), timing=Timing(QUICK.tm_us, 1_000)) as run:
            wait_for(lambda: run.cluster.at_us > 3_000_000, "three seconds")
            cluster, stalls = run.cluster, run.tail.of(Stall)
            assert stalls
            assert len(stalls) <= 8 * 4 * cluster.at_us / 1e6, "a few a second, for each process"
    finally:
        for each in busy:
            each.kill()
            each.join()


def test_a_simulated_run_has_none() -> None:
    """Virtual time goes on with the host."""
    records = eventful().records
    assert any(isinstance(each, Routed) for each in records)
    assert not any(isinstance(each, Stall) for each in records)
