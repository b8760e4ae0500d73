"""A student's folder: what was reached is noted, by several processes at once, and no trouble with it wipes it."""

import multiprocessing
from pathlib import Path

import pytest

from lab.durable import write_durably
from lab.exercises.assessment import Result
from lab.exercises.home import Home
from lab.exercises.library import exercise_called, names

NAME, OTHER = "two-coordinators", "first-election"
SOLVED_AT = "2026-01-01T00:00:00+00:00"


def reached(points: int, *, is_over: bool = False) -> tuple[Result, ...]:
    """Results with one task done, and one that is open, if the attempt goes on."""
    return Result(1, "done", points), Result(2, "missed" if is_over else "open")


def note(home: Home, name: str = NAME, attempt: int = 1, points: int = 2, *, is_over: bool = False) -> None:
    """Note an attempt."""
    home.note(exercise_called(name), attempt, reached(points, is_over=is_over), SOLVED_AT)


def test_two_terminals_lose_nothing_of_each_other(tmp_path: Path) -> None:
    """Each has read the file before the other has written."""
    one, other = Home(tmp_path, "anna"), Home(tmp_path, "anna")
    note(one, NAME)
    note(other, OTHER)
    note(one, NAME, attempt=2, points=1)
    for home in (one, Home(tmp_path, "anna")):
        assert {name: standing.points for name, standing in home.standings.items()} == {NAME: 2, OTHER: 2}
        assert home.standing(NAME).attempts == 2


def _note_all(folder: Path, mine: list[str]) -> None:
    home = Home(folder, "anna")
    for name in mine:
        note(home, name)


def test_processes_that_note_at_once_lose_nothing(tmp_path: Path) -> None:
    """Each change is made of what is there."""
    shares = [names()[place::4] for place in range(4)]
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_note_all, args=(tmp_path, share)) for share in shares]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4
    assert sorted(Home(tmp_path, "anna").standings) == names()


def test_a_read_that_fails_wipes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has no file descriptor left is told so; what is noted stays."""
    note(Home(tmp_path, "anna"))
    home = Home(tmp_path, "anna")

    def fail(path: Path) -> bytes:
        raise OSError(24, "Too many open files")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_bytes", fail)
        with pytest.raises(OSError, match="Too many"):
            note(home, OTHER)
        with pytest.raises(OSError, match="Too many"):
            Home(tmp_path, "anna")
    note(home, OTHER)
    assert sorted(Home(tmp_path, "anna").standings) == [OTHER, NAME]


@pytest.mark.parametrize("said", [b'{"standings"', b"\xff\xfe", b'{"standings": [1]}'])
def test_progress_that_cannot_be_understood_is_kept_aside(tmp_path: Path, said: bytes) -> None:
    """It is begun anew, once there is something to note."""
    file = tmp_path / "progress.json"
    file.write_bytes(said)
    home = Home(tmp_path, "anna")
    assert (home.standings, file.read_bytes()) == ({}, said)
    note(home)
    assert (tmp_path / "progress.json.bad").read_bytes() == said
    assert Home(tmp_path, "anna").standing(NAME).points == 2


def test_attempt_that_is_over_is_not_what_the_student_is_at(tmp_path: Path) -> None:
    """It may be noted when the next one has begun already."""
    home = Home(tmp_path, "anna")
    note(home, NAME)
    note(home, OTHER)
    note(home, NAME, points=3, is_over=True)
    assert home.doing is not None
    assert (home.doing.exercise, home.standing(NAME).points) == (OTHER, 3)


def test_file_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    """The old one is there, and no half of the new one."""
    (tmp_path / "file").mkdir()
    with pytest.raises(OSError, match="file"):
        write_durably(tmp_path / "file", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
