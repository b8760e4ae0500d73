"""Run many scenarios many times: simulated runs on all processors, live runs a few at a time."""

import time
from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from lab.recording.reader import NotARecordingError
from lab.scenario.file import Scenario, World
from lab.scenario.report import Report, ScenarioFinding
from lab.scenario.run_scenario import LiveRun, run_simulated
from lab.worlds.campaign.workers import map_seeds, split_seeds
from lab.worlds.config import NotRunnableError
from lab.worlds.host.forked_host import ForkedHost, preload
from lab.worlds.host.launch import HostFailedError

__all__ = ["Job", "jobs_of", "live_duration_s", "run_all"]

_POLL_S = 0.05
_LARGEST_CHUNK = 20
_LIVE_PER_WORKER = 8
"""Nodes wait for each other most of the time, so several live runs share a processor."""


class Job(Struct, frozen=True):
    """A run of a scenario in a world. ``recording`` is the path of its file."""

    scenario: Scenario
    world: World
    recording: str


def jobs_of(scenarios: Sequence[Scenario], worlds: Sequence[World], runs: int, folder: Path) -> list[Job]:
    """Return ``runs`` jobs for each scenario in each of these worlds that it supports, with consecutive seeds."""
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
    """Yield the reports as the runs end, on ``workers`` processes; several times as many live runs run at once.

    Close the iterator to end the runs in progress. Raises WorkerDiedError.
    """
    simulated = tuple(job for job in jobs if job.world == "simulated")
    if simulated:
        size = max(1, min(_LARGEST_CHUNK, len(simulated) // (4 * workers)))
        yield from map_seeds(
            partial(_simulate, simulated), split_seeds(0, len(simulated), size), min(workers, len(simulated))
        )
    yield from _live([job for job in jobs if job.world == "live"], workers * _LIVE_PER_WORKER)


def live_duration_s(jobs: Sequence[Job], workers: int) -> float:
    """Estimate the duration of the live runs, in seconds."""
    times_us = [job.scenario.ends_us for job in jobs if job.world == "live"]
    return max(sum(times_us) / (workers * _LIVE_PER_WORKER), *times_us, 0) / 1e6


def _simulate(jobs: tuple[Job, ...], places: range) -> list[Report]:
    """Run these jobs; called in a worker process."""
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
        preload()
    try:
        while waiting or going:
            while waiting and len(going) < most:
                job = waiting.popleft()
                going.append((job, LiveRun(job.scenario, Path(job.recording), ForkedHost)))
            over = [each for each in going if each[1].is_over]
            if not over:
                time.sleep(_POLL_S)
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
    """Return the report on a run that failed to run."""
    recording = job.recording if Path(job.recording).exists() else ""
    finding = ScenarioFinding(0, "the run completes", str(error))
    scenario = job.scenario
    return Report(scenario.name, scenario.path, job.world, scenario.seed, (finding,), 0, recording)
