"""Progress is derived from a recording and stored once, with the time of the solution."""

import shutil
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from lab.exercises.assessment import Result
from lab.exercises.attempts import StudentFolder, record_progress, recording_of
from lab.exercises.exercise import Exercise
from lab.exercises.exercise_reader import find_exercise
from lab.recording.reader import NotARecordingError, open_recording
from tests.exercises.attempts import run_attempt, solution_of

pytestmark = pytest.mark.live

_NAME = "two-coordinators"


@pytest.fixture(scope="module")
def exercise() -> Exercise:
    """An exercise that is solved in seconds."""
    return find_exercise(_NAME)


@pytest.fixture(scope="module")
def solved(exercise: Exercise, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Anna's first attempt at it; run once."""
    return run_attempt(exercise, solution_of(exercise), tmp_path_factory.mktemp("solved") / "run.jsonl")


def _put(solved: Path, home: StudentFolder) -> Path:
    path = recording_of(home.folder, _NAME, 1)
    shutil.copyfile(solved, path)
    return path


def test_the_time_is_that_of_the_solution(exercise: Exercise, solved: Path, tmp_path: Path) -> None:
    """Not the time at which the recording was read."""
    home = StudentFolder(tmp_path, "anna")
    record_progress(home, _put(solved, home), {_NAME: exercise})
    again = StudentFolder(tmp_path, "anna").progress_of(_NAME)
    assert (again.points, again.attempts) == (exercise.points, 1)
    lines = open_recording(solved)
    after = datetime.fromisoformat(again.first_solved) - datetime.fromisoformat(lines.header.began)
    lines.close()
    assert timedelta() < after < timedelta(seconds=7)


def test_a_finished_attempt_does_not_replace_the_current_one(
    exercise: Exercise, solved: Path, tmp_path: Path
) -> None:
    """Its points are kept."""
    home = StudentFolder(tmp_path, "anna")
    recording = _put(solved, home)
    home.note(exercise, 2, (Result(1, "open"), Result(2, "open"), Result(3, "open")))
    record_progress(home, recording, {_NAME: exercise})
    again = StudentFolder(tmp_path, "anna")
    assert again.current is not None
    assert again.current.attempt == 2
    assert again.progress_of(_NAME).points == exercise.points


def test_an_attempt_of_another_student_is_ignored(exercise: Exercise, solved: Path, tmp_path: Path) -> None:
    """So is a run of no known exercise; a file that is no recording is an error."""
    for name, known in (("ben", {_NAME: exercise}), ("anna", {})):
        home = StudentFolder(tmp_path / name, name)
        record_progress(home, _put(solved, home), known)
        assert not home.all_progress
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    with pytest.raises(NotARecordingError):
        record_progress(StudentFolder(tmp_path, "anna"), empty, {_NAME: exercise})
