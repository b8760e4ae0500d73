"""An attempt at an exercise, as a run: what its host has to know."""

from pathlib import Path

from msgspec.structs import replace

from lab.exercises.exercise import Exercise
from lab.recording.records import Exercised
from lab.scenario.file import World
from lab.scenario.running import config_of
from lab.worlds.config import RunConfig

__all__ = ["attempt_config", "world_of"]


def world_of(exercise: Exercise) -> World:
    """Live, where the set-up allows that."""
    return "live" if "live" in exercise.setup.worlds else "simulated"


def attempt_config(exercise: Exercise, student: str, attempt: int, recording: Path) -> RunConfig:
    """The run: the set-up, which the student goes on from, as long as an attempt may take.

    Its header says whose attempt it is. In simulation it goes by the clock, so that there is time to look.
    """
    world = world_of(exercise)
    return replace(
        config_of(exercise.setup, world, recording),
        remark=exercise.title,
        exercise=Exercised(exercise.name, student, attempt),
        may=exercise.allowed,
    )
