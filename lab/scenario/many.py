"""Many runs of many scenarios: the simulated ones on all processors, of the live ones a few at a time."""

import time
from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from lab.recording.reader import NotARecordingError
from lab.scenario.file import Scenario, World
from lab.scenario.report import Finding, Report
from lab.scenario.running import LiveRun, run_simulated
from lab.worlds.campaign.workers import chunks_of, spread
from lab.worlds.config import NotRunnableError
from lab.worlds.host.forked import ForkedHost, warm_up
from lab.worlds.host.launch import HostFailedError

__all__ = ["Job", "jobs_of", "live_takes_s", "run_all"]

_LOOK_EVERY_S = 0.05
_LARGEST_CHUNK = 20
_LIVE_PER_WORKER = 8
"""Nodes wait for each other nearly all the time: so many live runs keep no processor busy."""


class Job(Struct, frozen=True):
    """A run of a scenario in a world, which is recorded in a file."""

    scenario: Scenario
    world: World
    recording: str


def jobs_of(scenarios: Sequence[Scenario], worlds: Sequence[World], runs: int, folder: Path) -> list[Job]:
    """So many runs of each scenario in each of these worlds that it is for, each run with the next seed."""
    found = []
    for world in worlds:
        for run in range(runs):
            for each in scenarios:
                if world in each.worlds:
                    numbered = f"-{run + 1}" if runs > 1 else ""
                    file = folder / f"{each.name}-{world}{numbered}.jsonl"
                    found.append(Job(replace(each, seed=each.seed + run), world, str(file)))
    return found


def run_all(jobs: Sequence[Job], workers: int) -> Iterator[Report]:
    """What came of each, as they come, in so many processes; of live runs several times as many go on at once.

    Close the iterator to end those that go on. WorkerDiedError.
    """
    simulated = tuple(job for job in jobs if job.world == "simulated")
    if simulated:
        size = max(1, min(_LARGEST_CHUNK, len(simulated) // (4 * workers)))
        yield from spread(
            partial(_simulate, simulated), chunks_of(0, len(simulated), size), min(workers, len(simulated))
        )
    yield from _live([job for job in jobs if job.world == "live"], workers * _LIVE_PER_WORKER)


def live_takes_s(jobs: Sequence[Job], workers: int) -> float:
    """About how long the live runs among them take."""
    times_us = [job.scenario.ends_us for job in jobs if job.world == "live"]
    return max(sum(times_us) / (workers * _LIVE_PER_WORKER), *times_us, 0) / 1e6


def _simulate(jobs: tuple[Job, ...], places: range) -> list[Report]:
    """In a worker."""
    found = []
    for job in (jobs[place] for place in places):
        try:
            found.append(run_simulated(job.scenario, Path(job.recording)))
        except (NotRunnableError, OSError) as error:
            found.append(_failed(job, error))
    return found


def _live(jobs: Sequence[Job], most: int) -> Iterator[Report]:
    waiting, going = deque(jobs), list[tuple[Job, LiveRun]]()
    if waiting:
        warm_up()
    try:
        while waiting or going:
            while waiting and len(going) < most:
                job = waiting.popleft()
                going.append((job, LiveRun(job.scenario, Path(job.recording), ForkedHost)))
            over = [each for each in going if each[1].is_over]
            if not over:
                time.sleep(_LOOK_EVERY_S)
            for job, run in over:
                going.remove((job, run))
                yield _reported(job, run)
    finally:
        for _, run in going:
            run.end()


def _reported(job: Job, run: LiveRun) -> Report:
    try:
        return run.report()
    except (HostFailedError, NotARecordingError) as error:
        return _failed(job, error)
    finally:
        run.end()


def _failed(job: Job, error: Exception) -> Report:
    """The report on a run that could not be done."""
    recording = job.recording if Path(job.recording).exists() else ""
    finding = Finding(0, "the run can be done", str(error))
    scenario = job.scenario
    return Report(scenario.name, scenario.path, job.world, scenario.seed, (finding,), 0, recording)
