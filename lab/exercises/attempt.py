"""What an attempt at an exercise runs as: its run configuration, and the interface that starts its cluster."""

from pathlib import Path
from typing import Protocol

from msgspec.structs import replace

from lab.exercises.exercise import Exercise
from lab.recording.records import ExerciseAttempt
from lab.scenario.file import World
from lab.scenario.run_scenario import config_of
from lab.worlds.host.launch import HostProcess
from lab.worlds.host.runs import RunInfo
from lab.worlds.loading.config import HostReady, RunConfig


def world_of(exercise: Exercise) -> World:
    """Return the live world if the setup supports it, else the simulated one."""
    return "live" if "live" in exercise.setup.worlds else "simulated"


def attempt_config(exercise: Exercise, student: str, attempt: int, recording: Path) -> RunConfig:
    """Build the configuration: the exercise's setup, for as long as an attempt may take.

    The header names the student and the attempt. A simulated attempt is paced by the clock, so that there is time
    to look at it.
    """
    world = world_of(exercise)
    return replace(
        config_of(exercise.setup, world, recording),
        remark=exercise.title,
        exercise=ExerciseAttempt(exercise.name, student, attempt),
        may=exercise.allowed,
    )


class Clusters(Protocol):
    """Starts and ends clusters, one at a time. All calls block."""

    def start(self, config: RunConfig) -> HostReady:
        """Start a run, and wait until it serves its feed. A run in progress ends first.

        Raises HostFailedError.
        """

    def end(self) -> str:
        """End the run, and wait for its end; return why it failed, if it did."""

    def running(self) -> RunInfo | None:
        """Return the run in progress, which an earlier session may have started."""


class LocalClusters:
    """Hosts that this process starts, and that end with it."""

    def __init__(self) -> None:
        self._host: HostProcess | None = None

    def start(self, config: RunConfig) -> HostReady:
        self.end()
        self._host = HostProcess(config)
        return self._host.ready()

    def end(self) -> str:
        host, self._host = self._host, None
        if host is None:
            return ""
        failed = host.end()
        host.close()
        return failed

    def running(self) -> RunInfo | None:
        """Return None: no run outlives the process that started it."""
        return None
