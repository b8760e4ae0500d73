"""Check the run that a session requests: an attempt at an exercise of this server, and nothing else.

The configuration comes from a student's process, and is not trusted. It must equal the one that the server builds
for this exercise and student, down to the name of the recording. So only a teacher's protocol file is ever
executed, and nothing is written outside the student's folder, nor over an earlier recording.
"""

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace

from lab.exercises.attempt import attempt_config
from lab.exercises.exercise import Exercise
from lab.exercises.student_folder import recording_of
from lab.serve.limits import Limits
from lab.worlds.config import RunConfig

__all__ = ["refusal_reason"]

_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,39}")
_MOST_ATTEMPTS = 9999


def refusal_reason(
    config: RunConfig, student: str, home: Path, exercises: Mapping[str, Exercise], limits: Limits
) -> str:
    """Return why this run is refused, for the student; empty if it is allowed."""
    attempt = config.exercise
    exercise = None if attempt is None else exercises.get(attempt.name)
    if attempt is None or exercise is None or exercise.repairs is not None:
        return "this server runs only the exercises in the list"
    if len(config.nodes) > limits.nodes:
        return f"{len(config.nodes)} nodes: the limit is {limits.nodes}; tell your teacher"
    if not 1 <= attempt.attempt <= _MOST_ATTEMPTS:
        return f"the limit of {_MOST_ATTEMPTS} attempts is reached; tell your teacher"
    recording = recording_of(home, exercise.name, attempt.attempt)
    expected = replace(attempt_config(exercise, student, attempt.attempt, recording), run=config.run)
    if not _RUN.fullmatch(config.run) or msgspec.json.encode(config) != msgspec.json.encode(expected):
        return f"not a valid attempt of yours at {exercise.name}"
    if recording.exists():
        return f"attempt {attempt.attempt} at {exercise.name} already exists"
    return ""
