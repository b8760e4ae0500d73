"""Grades: the best attempt counts, a shared run is refused, and the exported files fit other programs."""

import csv
import io
import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from lab.exercises.assessment import Result
from lab.exercises.attempts import recording_of
from lab.exercises.exercise_reader import SHIPPED, drawn_for, find_exercise
from lab.exercises.grading import (
    Grade,
    as_csv,
    as_gradescope,
    best_grades,
    grade_recording,
    grade_recordings,
    restrict_to_student,
)
from tests.exercises.attempts import RawRecords, chained, read_lines, run_attempt, solution_of, write_lines
from tests.exercises.exercise_files import make_exercise

NAME = "two-coordinators"
EXERCISES = {NAME: find_exercise(NAME)}


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> RawRecords:
    """A live run of the solution."""
    exercise = EXERCISES[NAME]
    path = tmp_path_factory.mktemp("solved") / "run.jsonl"
    return read_lines(run_attempt(exercise, solution_of(exercise), path, end_us=5_000_000))


def owned_by(lines: RawRecords, student: str) -> RawRecords:
    """The attempt under another name, with its digests recomputed."""
    return chained([{**lines[0], "exercise": {**lines[0]["exercise"], "student": student}}, *lines[1:]])


@pytest.mark.live
def test_a_live_run_of_the_solution_earns_all_points(solved: RawRecords, tmp_path: Path) -> None:
    grade = grade_recording(write_lines(tmp_path / "run.jsonl", solved))
    assert (grade.refused, grade.points, grade.most) == ("", 5, 5)
    assert [result.state for result in grade.results] == ["done"] * 3


@pytest.mark.live
def test_a_run_handed_in_by_two_students_is_refused_for_both(solved: RawRecords, tmp_path: Path) -> None:
    """Its author is unknown. One student may hand in a copy twice."""
    mine = write_lines(tmp_path / "anna.jsonl", solved)
    again = write_lines(tmp_path / "anna-again.jsonl", solved)
    other = write_lines(tmp_path / "ben.jsonl", owned_by(solved, "ben"))
    assert [grade.points for grade in grade_recordings([mine, again])] == [5, 5]
    shared = grade_recordings([mine, other])
    assert [grade.refused for grade in shared] == [
        "ben handed in the same run",
        "anna handed in the same run",
    ]
    assert [grade.points for grade in shared] == [0, 0]


@pytest.mark.live
def test_an_edited_copy_is_recognized(solved: RawRecords, tmp_path: Path) -> None:
    """Truncated, or with another name in it. Attempts of two students differ."""
    mine = write_lines(tmp_path / "anna.jsonl", solved)
    renamed = owned_by(solved, "ben")
    for copy in (renamed[:-1], chained(renamed[:-40])):
        other = write_lines(tmp_path / "ben.jsonl", copy)
        assert grade_recording(other).points >= 1
        assert [grade.refused for grade in grade_recordings([other, mine])] == [
            "anna handed in the same run",
            "ben handed in the same run",
        ]
    exercise = EXERCISES[NAME]
    own = run_attempt(exercise, solution_of(exercise), tmp_path / "own.jsonl", "ben", end_us=5_000_000)
    assert [(grade.refused, grade.points) for grade in grade_recordings([own, mine])] == [("", 5), ("", 5)]


@pytest.mark.live
def test_a_copy_of_a_simulated_run_is_recognized(tmp_path: Path) -> None:
    """Another command, or another time of a command, makes another run."""
    exercise = make_exercise(tmp_path)
    lines = read_lines(run_attempt(exercise, ["at 1001us: hint 1", "at 1s: pause 5"], tmp_path / "anna.jsonl"))
    later = run_attempt(exercise, ["at 1002us: hint 1", "at 1s: pause 5"], tmp_path / "carla.jsonl", "carla")
    renamed = owned_by(lines, "ben")
    for copy in (renamed, renamed[:-1]):
        paths = [tmp_path / "anna.jsonl", write_lines(tmp_path / "ben.jsonl", copy), later]
        assert [grade.points for grade in grade_recordings(paths, tmp_path)] == [0, 0, 2]
        assert [grade_recording(path, tmp_path).points for path in paths] == [2, 2, 2]


@pytest.mark.live
def test_the_name_in_a_recording_cannot_be_edited(solved: RawRecords, tmp_path: Path) -> None:
    """All digests depend on the first line."""
    renamed = [owned_by(solved, "ben")[0], *solved[1:]]
    assert (
        "the lines before it were edited" in grade_recording(write_lines(tmp_path / "run.jsonl", renamed)).refused
    )


@pytest.mark.live
def test_grading_one_student_refuses_attempts_of_others(solved: RawRecords, tmp_path: Path) -> None:
    """An attempt that was refused before keeps its reason."""
    grade = grade_recording(write_lines(tmp_path / "run.jsonl", solved))
    assert restrict_to_student("anna", [grade]) == [grade]
    (other,) = restrict_to_student("ben", [grade])
    assert (other.points, other.results) == (0, ())
    assert other.refused == "it is anna's attempt, not ben's"
    assert restrict_to_student("ben", [replace(grade, refused="edited")])[0].refused == "edited"


def test_an_unreadable_recording_is_identified_by_its_path(tmp_path: Path) -> None:
    """A system crash may leave empty files: each is reported for its student."""
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
    assert len(best_grades(grades)) == 4


def test_a_run_of_no_exercise_is_refused(tmp_path: Path) -> None:
    """With advice; so is a file that is no recording."""
    refused = grade_recording(SHIPPED.parents[2] / "recordings" / "two-coordinators.jsonl").refused
    assert "lab exercise start" in refused
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
    """Of equal ones the first; a refused one only if there is no other."""
    grades = [grade_of(1, attempt=1), grade_of(3, attempt=2), grade_of(3, attempt=3), grade_of(2, "ben")]
    refused = replace(grade_of(3, "cleo"), refused="edited", results=())
    found = best_grades([*grades, refused, replace(refused, student="anna", attempt=0)])
    assert [(each.student, each.attempt, each.points) for each in found] == [
        ("anna", 2, 3),
        ("ben", 1, 2),
        ("cleo", 1, 0),
    ]


def test_of_equal_attempts_a_sealed_one_counts_with_the_latest_texts() -> None:
    """A text earns no points, so the best attempt may lack it; its own is kept."""
    first, second = grade_of(2, attempt=1), replace(grade_of(2, attempt=2), sealed=True)
    third = replace(grade_of(1, attempt=3), texts={4: "because", 5: "so"})
    (best,) = best_grades([first, replace(second, texts={4: "", 5: "thus"}), third])
    assert (best.attempt, best.proof, best.texts) == (2, "sealed", {4: "because", 5: "thus"})


@pytest.mark.live
def test_the_explanations_are_those_of_the_students_own_draw(tmp_path: Path) -> None:
    """Gradescope shows them to the student."""
    exercise = find_exercise("the-nine-assumptions")
    drawn = drawn_for(exercise, "bea")
    assert drawn.drawn != exercise.drawn
    grade = grade_recording(run_attempt(exercise, [], tmp_path / "bea.jsonl", "bea", end_us=1_000_000))
    assert grade.explanations == {task.number: task.explanation_after("") for task in drawn.tasks}
    assert grade.explanations != {task.number: task.explanation_after("") for task in exercise.tasks}
    assert list(grade.texts) == [6]


def test_formulas_in_cells_are_quoted() -> None:
    """In names, reasons and answers."""
    grade = replace(grade_of(2, "=cmd"), refused="@sum\x1b[2J")
    rows = list(csv.DictReader(io.StringIO(as_csv([grade]))))
    assert rows[0]["student"] == "'=cmd"
    assert rows[0]["refused"] == "'@sum\\x1b[2J"
    assert (rows[0]["points"], rows[0]["of"], rows[0]["minutes"]) == ("", "5", "1.0")


def test_a_text_for_the_teacher_keeps_its_lines(tmp_path: Path) -> None:
    exercise = make_exercise(tmp_path, '[[task]]\npoints = 3\nexplain = "Why?"\n')
    text = 'It "was"\n\x1bpaused'
    grade = Grade("1.jsonl", "made", "anna", 1, (Result(1, "done", answer=text),), texts={1: text})
    rows = list(csv.DictReader(io.StringIO(as_csv([grade, replace(grade, texts={})]))))
    assert rows[1]["text 1"] == ""
    assert rows[0]["text 1"] == 'It "was"\n\\x1bpaused'
    (test,) = json.loads(as_gradescope([grade], {"made": exercise}))["tests"]
    assert test["output"] == 'It "was"\n\\x1bpaused'


def test_gradescope_s_results_add_up() -> None:
    """The score is the sum of the tests; each test is within its own maximum."""
    found = json.loads(as_gradescope([grade_of(2)], EXERCISES))
    assert found["score"] == 2
    assert [test["status"] for test in found["tests"]] == ["passed", "passed", "failed"]
    assert sum(test["max_score"] for test in found["tests"]) == EXERCISES[NAME].points
    for test in found["tests"]:
        assert 0 <= test["score"] <= test["max_score"]
        assert {"name", "number", "output", "output_format", "visibility"} <= test.keys()
    refused = json.loads(as_gradescope([grade_of(0, refused="edited")], EXERCISES))
    assert (refused["score"], refused["tests"][0]["output"]) == (0, "not graded: edited")
