"""What an attempt came to is read from its recording, and noted once, with the time at which it was reached."""

import shutil
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from lab.exercises.assessment import Result
from lab.exercises.exercise import Exercise
from lab.exercises.home import Home, recording_of
from lab.exercises.library import exercise_called
from lab.exercises.noting import note_recording
from lab.recording.reader import NotARecordingError, open_recording
from tests.exercises.attempts import run_attempt, solution_of

_NAME = "two-coordinators"


@pytest.fixture(scope="module")
def exercise() -> Exercise:
    """One that is solved in seconds."""
    return exercise_called(_NAME)


@pytest.fixture(scope="module")
def solved(exercise: Exercise, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """anna's first attempt at it; made once."""
    return run_attempt(exercise, solution_of(exercise), tmp_path_factory.mktemp("solved") / "run.jsonl")


def _put(solved: Path, home: Home) -> Path:
    path = recording_of(home.folder, _NAME, 1)
    shutil.copyfile(solved, path)
    return path


def test_it_is_solved_when_it_was_solved(exercise: Exercise, solved: Path, tmp_path: Path) -> None:
    """Not when somebody read that."""
    home = Home(tmp_path, "anna")
    note_recording(home, _put(solved, home), {_NAME: exercise})
    again = Home(tmp_path, "anna").standing(_NAME)
    assert (again.points, again.attempts) == (exercise.points, 1)
    lines = open_recording(solved)
    after = datetime.fromisoformat(again.first_solved) - datetime.fromisoformat(lines.header.began)
    lines.close()
    assert timedelta() < after < timedelta(seconds=7)


def test_an_attempt_that_is_over_hides_none_that_goes_on(exercise: Exercise, solved: Path, tmp_path: Path) -> None:
    """Its points are kept; the student is at the next one still."""
    home = Home(tmp_path, "anna")
    recording = _put(solved, home)
    home.note(exercise, 2, (Result(1, "open"), Result(2, "open"), Result(3, "open")))
    note_recording(home, recording, {_NAME: exercise})
    again = Home(tmp_path, "anna")
    assert again.doing is not None
    assert again.doing.attempt == 2
    assert again.standing(_NAME).points == exercise.points


def test_another_s_is_passed_over(exercise: Exercise, solved: Path, tmp_path: Path) -> None:
    """So is what is no attempt at one of these exercises; what is no recording is an error."""
    for name, known in (("ben", {_NAME: exercise}), ("anna", {})):
        home = Home(tmp_path / name, name)
        note_recording(home, _put(solved, home), known)
        assert not home.standings
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    with pytest.raises(NotARecordingError):
        note_recording(Home(tmp_path, "anna"), empty, {_NAME: exercise})
