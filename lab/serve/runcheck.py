"""What a session may have run: attempts at the exercises of this server, and nothing else.

The configuration comes from a student's process, and is trusted in nothing: it has to be what this server itself
makes of the exercise that it names, for this student, down to the name of its recording. So no protocol file is
run but a teacher's, and nothing is written outside of the student's folder, nor over what was recorded before.
"""

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace

from lab.exercises.attempt import attempt_config
from lab.exercises.exercise import Exercise
from lab.exercises.home import recording_of
from lab.serve.limits import Limits
from lab.worlds.config import RunConfig

__all__ = ["fault_of"]

_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,39}")
_MOST_ATTEMPTS = 9999


def fault_of(
    config: RunConfig, student: str, home: Path, exercises: Mapping[str, Exercise], limits: Limits
) -> str:
    """Why this is not run, for the student; nothing where it may be."""
    attempt = config.exercise
    exercise = None if attempt is None else exercises.get(attempt.name)
    if attempt is None or exercise is None or exercise.repairs is not None:
        return "only the exercises of this server are run here, those in the list"
    if len(config.nodes) > limits.nodes:
        return f"{len(config.nodes)} nodes: a cluster here has 1 to {limits.nodes}; tell your teacher"
    if not 1 <= attempt.attempt <= _MOST_ATTEMPTS:
        return f"{_MOST_ATTEMPTS} attempts are the most; tell your teacher"
    recording = recording_of(home, exercise.name, attempt.attempt)
    expected = replace(attempt_config(exercise, student, attempt.attempt, recording), run=config.run)
    if not _RUN.fullmatch(config.run) or msgspec.json.encode(config) != msgspec.json.encode(expected):
        return f"that is no attempt of yours at {exercise.name}, as it is set here"
    if recording.exists():
        return f"attempt {attempt.attempt} at {exercise.name} was made already"
    return ""
