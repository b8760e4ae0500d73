"""The run configuration of an attempt at an exercise."""

from pathlib import Path

from msgspec.structs import replace

from lab.exercises.exercise import Exercise
from lab.recording.records import ExerciseAttempt
from lab.scenario.file import World
from lab.scenario.run_scenario import config_of
from lab.worlds.config import RunConfig

__all__ = ["attempt_config", "world_of"]


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
