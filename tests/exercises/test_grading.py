"""Grades: the best attempt counts, a shared run does not, and other programs get files as they want them."""

import csv
import io
import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from lab.exercises.assessment import Result
from lab.exercises.grading import Grade, best_of, grade_recording, grade_recordings, only_of
from lab.exercises.home import recording_of
from lab.exercises.library import SHIPPED, exercise_called
from lab.exercises.results import as_csv, as_gradescope
from tests.exercises.attempts import RecordStore, chained, read_lines, run_attempt, solution_of, write_lines
from tests.exercises.made import made

NAME = "two-coordinators"
EXERCISES = {NAME: exercise_called(NAME)}


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> RecordStore:
    """The solution, carried out live."""
    exercise = EXERCISES[NAME]
    path = tmp_path_factory.mktemp("solved") / "run.jsonl"
    return read_lines(run_attempt(exercise, solution_of(exercise), path, end_us=5_000_000))


def owned_by(lines: RecordStore, student: str) -> RecordStore:
    """The same attempt, under another name, by one who has found out how digests are made."""
    return chained([{**lines[0], "exercise": {**lines[0]["exercise"], "student": student}}, *lines[1:]])


def test_a_solution_carried_out_live_gets_full_marks(solved: RecordStore, tmp_path: Path) -> None:
    """By re-execution of its recording."""
    grade = grade_recording(write_lines(tmp_path / "run.jsonl", solved))
    assert (grade.refused, grade.points, grade.most) == ("", 5, 5)
    assert [result.state for result in grade.results] == ["done"] * 3


def test_a_run_handed_in_by_two_is_graded_for_neither(solved: RecordStore, tmp_path: Path) -> None:
    """Who it is of nobody can tell; a copy that is handed in twice by one is no matter."""
    mine = write_lines(tmp_path / "anna.jsonl", solved)
    again = write_lines(tmp_path / "anna-again.jsonl", solved)
    other = write_lines(tmp_path / "ben.jsonl", owned_by(solved, "ben"))
    assert [grade.points for grade in grade_recordings([mine, again])] == [5, 5]
    shared = grade_recordings([mine, other])
    assert [grade.refused for grade in shared] == [
        "the same run was handed in by ben",
        "the same run was handed in by anna",
    ]
    assert [grade.points for grade in shared] == [0, 0]


def test_a_copy_is_known_though_it_was_edited(solved: RecordStore, tmp_path: Path) -> None:
    """Cut off at the end; with another name in it. Two attempts of two students are not alike."""
    mine = write_lines(tmp_path / "anna.jsonl", solved)
    renamed = owned_by(solved, "ben")
    for copy in (renamed[:-1], chained(renamed[:-40])):
        other = write_lines(tmp_path / "ben.jsonl", copy)
        assert grade_recording(other).points >= 1
        assert [grade.refused for grade in grade_recordings([other, mine])] == [
            "the same run was handed in by anna",
            "the same run was handed in by ben",
        ]
    exercise = EXERCISES[NAME]
    own = run_attempt(exercise, solution_of(exercise), tmp_path / "own.jsonl", "ben", end_us=5_000_000)
    assert [(grade.refused, grade.points) for grade in grade_recordings([own, mine])] == [("", 5), ("", 5)]


def test_a_copy_of_a_simulated_run_is_known(tmp_path: Path) -> None:
    """To the microsecond; who does another thing, or at another time, has a run of his own."""
    exercise = made(tmp_path)
    lines = read_lines(run_attempt(exercise, ["at 1001us: hint 1", "at 1s: pause 5"], tmp_path / "anna.jsonl"))
    later = run_attempt(exercise, ["at 1002us: hint 1", "at 1s: pause 5"], tmp_path / "carla.jsonl", "carla")
    renamed = owned_by(lines, "ben")
    for copy in (renamed, renamed[:-1]):
        paths = [tmp_path / "anna.jsonl", write_lines(tmp_path / "ben.jsonl", copy), later]
        assert [grade.points for grade in grade_recordings(paths, tmp_path)] == [0, 0, 2]
        assert [grade_recording(path, tmp_path).points for path in paths] == [2, 2, 2]


def test_the_name_in_a_recording_is_not_edited(solved: RecordStore, tmp_path: Path) -> None:
    """The first line is before all digests."""
    renamed = [owned_by(solved, "ben")[0], *solved[1:]]
    assert (
        "the lines before it were edited" in grade_recording(write_lines(tmp_path / "run.jsonl", renamed)).refused
    )


def test_who_is_graded_alone_is_graded_for_what_is_his_own(solved: RecordStore, tmp_path: Path) -> None:
    """What is another's is refused, and brings nothing; what was refused before says why."""
    grade = grade_recording(write_lines(tmp_path / "run.jsonl", solved))
    assert only_of("anna", [grade]) == [grade]
    (other,) = only_of("ben", [grade])
    assert (other.points, other.results) == (0, ())
    assert other.refused == "it is an attempt of anna, and not of ben"
    assert only_of("ben", [replace(grade, refused="edited")])[0].refused == "edited"


def test_what_cannot_be_read_is_known_by_its_path(tmp_path: Path) -> None:
    """As a machine that went down leaves files that are empty: each is its student's, and none is lost."""
    grades = []
    for student in ("anna", "ben"):
        path = recording_of(tmp_path / student, NAME, 3)
        path.parent.mkdir(parents=True)
        path.touch()
        grades.append(grade_recording(path))
    assert [(each.student, each.exercise, each.attempt) for each in grades] == [
        ("anna", NAME, 3),
        ("ben", NAME, 3),
    ]
    assert all("is empty" in each.refused for each in grades)
    for place in ("one", "two"):
        (tmp_path / f"{place}.jsonl").touch()
        grades.append(grade_recording(tmp_path / f"{place}.jsonl"))
    assert len(best_of(grades)) == 4


def test_a_run_of_no_exercise_is_refused(tmp_path: Path) -> None:
    """With what to do; so is what is no recording."""
    said = grade_recording(SHIPPED.parents[2] / "recordings" / "two-coordinators.jsonl").refused
    assert "lab exercise start" in said
    (tmp_path / "x.jsonl").write_text("hello\n")
    assert grade_recording(tmp_path / "x.jsonl").refused


def grade_of(points: int, student: str = "anna", attempt: int = 1, refused: str = "") -> Grade:
    """A grade of the first exercise."""
    results = tuple(
        Result(task, "done" if task <= points else "missed", int(task <= points), 9, answer="=1+1")
        for task in (1, 2, 3)
    )
    return Grade(
        "r.jsonl", NAME, student, attempt, results, 5, "2026-01-01T00:00:00+00:00", 60_000_000, refused=refused
    )


def test_the_best_attempt_counts() -> None:
    """Of equal ones the first; one that is refused only where there is no other."""
    grades = [grade_of(1, attempt=1), grade_of(3, attempt=2), grade_of(3, attempt=3), grade_of(2, "ben")]
    refused = replace(grade_of(3, "cleo"), refused="edited", results=())
    found = best_of([*grades, refused, replace(refused, student="anna", attempt=0)])
    assert [(each.student, each.attempt, each.points) for each in found] == [
        ("anna", 2, 3),
        ("ben", 1, 2),
        ("cleo", 1, 0),
    ]


def test_a_spreadsheet_takes_no_cell_for_a_formula() -> None:
    """A name, a reason, an answer: whatever begins like one gets a quote before it."""
    grade = replace(grade_of(2, "=cmd"), refused="@sum\x1b[2J")
    rows = list(csv.DictReader(io.StringIO(as_csv([grade], EXERCISES))))
    assert rows[0]["student"] == "'=cmd"
    assert rows[0]["refused"] == "'@sum\\x1b[2J"
    assert (rows[0]["points"], rows[0]["of"], rows[0]["minutes"]) == ("", "5", "1.0")


def test_gradescope_s_results_add_up() -> None:
    """A test for each task; the score is their sum, and each is within its own."""
    found = json.loads(as_gradescope([grade_of(2)], EXERCISES))
    assert found["score"] == 2
    assert [test["status"] for test in found["tests"]] == ["passed", "passed", "failed"]
    assert sum(test["max_score"] for test in found["tests"]) == EXERCISES[NAME].points
    for test in found["tests"]:
        assert 0 <= test["score"] <= test["max_score"]
        assert {"name", "number", "output", "output_format", "visibility"} <= test.keys()
    refused = json.loads(as_gradescope([grade_of(0, refused="edited")], EXERCISES))
    assert (refused["score"], refused["tests"][0]["output"]) == (0, "not graded: edited")
