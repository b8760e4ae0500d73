"""Run scenarios to their ends and report on them: one scenario in one world, or many, each any number of times.

Simulated runs use all processors; a few live runs are in progress at a time.
"""

import contextlib
import tempfile
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from lab.recording.reader import NotARecordingError, open_recording
from lab.scenario.file import Scenario, World
from lab.scenario.report import ScenarioFinding, ScenarioReport, report_of
from lab.worlds.campaign.workers import map_chunks, split_seeds
from lab.worlds.launch import HostFailedError, HostProcess
from lab.worlds.loading.config import NotRunnableError, RunConfig, new_run_name
from lab.worlds.loading.settings import usual_link
from lab.worlds.simulated.execution import run_to_end

_POLL_S = 0.05
_LARGEST_CHUNK = 20
_LIVE_PER_WORKER = 8
"""Nodes wait for each other most of the time, so several live runs share a processor."""


def config_of(scenario: Scenario, world: World, recording: Path) -> RunConfig:
    """Return the configuration for a run of the scenario in this world."""
    return RunConfig(
        new_run_name(scenario.name),
        scenario.protocol,
        scenario.nodes,
        scenario.timing,
        scenario.parameters,
        scenario.link or usual_link(scenario.timing, world == "simulated"),
        scenario.seed,
        str(recording),
        end_us=scenario.ends_us,
        world=world,
        script=scenario.script,
        first_line=scenario.first_line,
        remark=scenario.title,
        scenario=scenario.text,
        roles=scenario.roles,
        members=scenario.members,
    )


def run_simulated(scenario: Scenario, recording: Path | None = None) -> ScenarioReport:
    """Run the scenario in virtual time in this process, as fast as possible.

    If ``recording`` is None, the recording is not kept. Raises NotRunnableError and OSError.
    """
    began_s = time.monotonic()
    with _file(recording) as file:
        run_to_end(config_of(scenario, "simulated", file), scenario.ends_us, lambda now_us: "")
        return report_on(scenario, file, began_s, keep=recording is not None)


class LiveRun:
    """A live run in the background; it ends by itself, or by ``end``."""

    def __init__(
        self, scenario: Scenario, recording: Path, start: Callable[[RunConfig], HostProcess] = HostProcess
    ) -> None:
        self._scenario = scenario
        self._recording = recording
        self._began_s = time.monotonic()
        self._host = start(config_of(scenario, "live", recording))

    @property
    def is_over(self) -> bool:
        """True if the run is over, so that ``report`` does not wait."""
        return self._host.process.poll() is not None

    def report(self) -> ScenarioReport:
        """Wait for the end of the run and return the report. Raises HostFailedError."""
        self._host.ready()
        self._host.wait()
        return report_on(self._scenario, self._recording, self._began_s)

    def end(self) -> None:
        """End the run if it is in progress, and release all its resources but the recording."""
        self._host.end()
        self._host.close()


def report_on(scenario: Scenario, file: Path, began_s: float, keep: bool = True) -> ScenarioReport:
    """Return the report on a recording of a run that began at ``began_s``. Raises NotARecordingError."""
    with contextlib.closing(open_recording(file)) as store:
        report = report_of(scenario, store)
    return replace(report, recording=str(file) if keep else "", took_s=time.monotonic() - began_s)


@contextlib.contextmanager
def _file(recording: Path | None) -> Iterator[Path]:
    if recording is not None:
        yield recording
        return
    with tempfile.TemporaryDirectory(prefix="lab-") as folder:
        yield Path(folder) / "run.jsonl"


# many runs


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


def run_all(jobs: Sequence[Job], workers: int) -> Generator[ScenarioReport, None, None]:
    """Yield the reports as the runs end, on ``workers`` processes; several times as many live runs run at once.

    Close the iterator to end the runs in progress. Raises WorkerDiedError.
    """
    simulated = tuple(job for job in jobs if job.world == "simulated")
    if simulated:
        size = max(1, min(_LARGEST_CHUNK, len(simulated) // (4 * workers)))
        yield from map_chunks(
            partial(_simulate, simulated), split_seeds(0, len(simulated), size), min(workers, len(simulated))
        )
    yield from _live([job for job in jobs if job.world == "live"], workers * _LIVE_PER_WORKER)


def live_duration_s(jobs: Sequence[Job], workers: int) -> float:
    """Estimate the duration of the live runs, in seconds."""
    times_us = [job.scenario.ends_us for job in jobs if job.world == "live"]
    return max(sum(times_us) / (workers * _LIVE_PER_WORKER), *times_us, 0) / 1e6


def _simulate(jobs: tuple[Job, ...], places: range) -> list[ScenarioReport]:
    """Run these jobs; called in a worker process."""
    found = []
    for job in (jobs[place] for place in places):
        try:
            found.append(run_simulated(job.scenario, Path(job.recording)))
        except (NotRunnableError, OSError) as error:
            found.append(_failed(job, error))
    return found


def _live(jobs: Sequence[Job], most: int) -> Iterator[ScenarioReport]:
    from lab.worlds.launch import ForkedHost, preload  # noqa: PLC0415

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


def _reported(job: Job, run: LiveRun) -> ScenarioReport:
    try:
        return run.report()
    except (HostFailedError, NotARecordingError) as error:
        return _failed(job, error)
    finally:
        run.end()


def _failed(job: Job, error: Exception) -> ScenarioReport:
    """Return the report on a run that failed to run."""
    recording = job.recording if Path(job.recording).exists() else ""
    finding = ScenarioFinding(0, "the run completes", str(error))
    scenario = job.scenario
    return ScenarioReport(scenario.name, scenario.path, job.world, scenario.seed, (finding,), 0, recording)
