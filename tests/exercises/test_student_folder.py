"""A student's folder: several processes update progress at once, and no failure erases it."""

import multiprocessing
from pathlib import Path

import pytest

from lab.durable import write_durably
from lab.exercises.assessment import Result
from lab.exercises.attempts import StudentFolder
from lab.exercises.exercise_reader import find_exercise, names

NAME, OTHER = "two-coordinators", "first-election"
SOLVED_AT = "2026-01-01T00:00:00+00:00"


def reached(points: int, *, is_over: bool = False) -> tuple[Result, ...]:
    """Build results with one task done, and one open unless the attempt is over."""
    return Result(1, "done", points), Result(2, "missed" if is_over else "open")


def note(
    home: StudentFolder, name: str = NAME, attempt: int = 1, points: int = 2, *, is_over: bool = False
) -> None:
    home.note(find_exercise(name), attempt, reached(points, is_over=is_over), SOLVED_AT)


def test_two_terminals_keep_each_other_s_progress(tmp_path: Path) -> None:
    """Each reads the file before the other writes."""
    one, other = StudentFolder(tmp_path, "anna"), StudentFolder(tmp_path, "anna")
    note(one, NAME)
    note(other, OTHER)
    note(one, NAME, attempt=2, points=1)
    for home in (one, StudentFolder(tmp_path, "anna")):
        assert {name: progress.points for name, progress in home.all_progress.items()} == {NAME: 2, OTHER: 2}
        assert home.progress_of(NAME).attempts == 2


def _note_all(folder: Path, mine: list[str]) -> None:
    home = StudentFolder(folder, "anna")
    for name in mine:
        note(home, name)


def test_concurrent_updates_are_all_kept(tmp_path: Path) -> None:
    """Each update starts from the stored progress."""
    shares = [names()[place::2] for place in range(2)]
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_note_all, args=(tmp_path, share)) for share in shares]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 2
    assert sorted(StudentFolder(tmp_path, "anna").all_progress) == names()


def test_a_failed_read_erases_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a file descriptor left, reading fails with an error, and the stored progress stays."""
    note(StudentFolder(tmp_path, "anna"))
    home = StudentFolder(tmp_path, "anna")

    def fail(path: Path) -> bytes:
        raise OSError(24, "Too many open files")

    with monkeypatch.context() as patched:
        patched.setattr("lab.exercises.attempts.read_foreign", fail)
        with pytest.raises(OSError, match="Too many"):
            note(home, OTHER)
        with pytest.raises(OSError, match="Too many"):
            StudentFolder(tmp_path, "anna")
    note(home, OTHER)
    assert sorted(StudentFolder(tmp_path, "anna").all_progress) == [OTHER, NAME]


@pytest.mark.parametrize("reason", [b'{"standings"', b"\xff\xfe", b'{"standings": [1]}'])
def test_undecodable_progress_is_set_aside(tmp_path: Path, reason: bytes) -> None:
    """A new file is started at the next update."""
    file = tmp_path / "progress.json"
    file.write_bytes(reason)
    home = StudentFolder(tmp_path, "anna")
    assert (home.all_progress, file.read_bytes()) == ({}, reason)
    note(home)
    assert (tmp_path / "progress.json.bad").read_bytes() == reason
    assert StudentFolder(tmp_path, "anna").progress_of(NAME).points == 2


def test_a_finished_attempt_is_not_the_current_one(tmp_path: Path) -> None:
    """It may be noted after the next one has begun."""
    home = StudentFolder(tmp_path, "anna")
    note(home, NAME)
    note(home, OTHER)
    note(home, NAME, points=3, is_over=True)
    assert home.current is not None
    assert (home.current.exercise, home.progress_of(NAME).points) == (OTHER, 3)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    """And no part of the new one."""
    (tmp_path / "file").mkdir()
    with pytest.raises(OSError, match="file"):
        write_durably(tmp_path / "file", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_the_states_of_the_tasks_are_kept(tmp_path: Path) -> None:
    """Also of a missed task, which is no progress; a resumed attempt, assessed anew, does not undo them."""
    home, exercise = StudentFolder(tmp_path, "anna"), find_exercise(NAME)
    note(home)
    assert home.current is not None
    since = home.current.since
    for results in (reached(2, is_over=True), (Result(1, "open"), Result(2, "open")), reached(2)):
        home.note(exercise, 1, results)
        current = StudentFolder(tmp_path, "anna").current
        assert current is not None
        assert (current.states, current.done, current.since) == (("done", "missed"), 1, since)


def test_progress_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    """It has no states of tasks."""
    current = '{"exercise":"first-election","attempt":2,"done":1,"tasks":6,"since":"2026-01-01T00:00:00+00:00"}'
    all_progress = '{"first-election":{"attempts":2}}'
    (tmp_path / "progress.json").write_text(f'{{"standings":{all_progress},"doing":{current}}}')
    home = StudentFolder(tmp_path, "anna")
    assert home.current is not None
    assert (home.current.done, home.current.states) == (1, ())
    assert home.progress_of(OTHER).attempts == 2
