"""Exercises whose setup names a file of properties: they are read, judged by these alone, graded and repaired."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.exercises.assessment import Result
from lab.exercises.attempts import StudentFolder, record_progress
from lab.exercises.exercise import Exercise
from lab.exercises.exercise_reader import ExerciseError, read_exercise
from lab.exercises.exercise_validation import check_exercise, run_in_sandbox
from lab.exercises.file_grading import grade_file
from lab.exercises.grading import grade_recording, grade_recordings
from lab.properties.registry import register
from lab.tui.source import FileSource
from tests.exercises.attempts import run_attempt
from tests.exercises.exercises_with_properties import (
    BROKEN,
    PROPERTIES,
    REPAIRED,
    TICKETS,
    assertions_restored,
    make_own,
    make_repair,
)

PAUSE = "when all normal: pause 5"
LENIENT = TICKETS.replace("return taken.claim(after.ticket, after.id)", "return True")


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    with assertions_restored():
        yield


def _states(results: tuple[Result, ...]) -> list[str]:
    return [result.state for result in results]


# reading


def test_it_may_teach_them(tmp_path: Path) -> None:
    """Each with its short name, or else with what it states."""
    assert make_own(tmp_path / "terms").describe_topics() == (
        "one_leader_per_term (at most one node leads a term, which is a version of the definition), "
        "the_first_leads (only the first leads), A1.1 (one coordinator)"
    )


@pytest.mark.parametrize(
    ("condition", "error"),
    [
        ('script = "expect no violation one_leder_per_term"', "did you mean one_leader_per_term?"),
        ('reach = "violation the_last_leads"', "unknown assertion the_last_leads; the assertions are A1.1, "),
        (
            'script = "expect no violation A9"',
            "bully does not promise A9, so there is no verdict on it; it promises ",
        ),
        ('reach = "violation K1"', "the_first_leads"),
        ('question = "When?"\nrecord = "violation A9"', "bully does not promise A9"),
    ],
)
def test_a_condition_names_what_is_judged(tmp_path: Path, condition: str, error: str) -> None:
    """A property of the setup, or an assertion that its protocol promises."""
    with pytest.raises(ExerciseError) as wrong:
        make_own(tmp_path / "terms", f"[[task]]\npoints = 2\n{condition}\n")
    assert error in str(wrong.value)


@pytest.mark.parametrize(
    ("properties", "error"),
    [
        ("x = 1\n", "leading.py declares no property: write a function with @invariant; see lab guide properties"),
        ("x = \n", "leading.py:1: SyntaxError: invalid syntax"),
        (PROPERTIES.replace("the_first_leads", "highest"), "highest is the name of a built-in assertion"),
    ],
)
def test_a_mistake_in_the_file_is_reported(tmp_path: Path, properties: str, error: str) -> None:
    """As in a scenario, with the line of the setup."""
    with pytest.raises(ExerciseError) as wrong:
        make_own(tmp_path / "terms", properties=properties)
    assert "setup.scenario:3:1: " in str(wrong.value)
    assert error in str(wrong.value)


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    make_own(tmp_path / "terms")
    (tmp_path / "terms" / "leading.py").unlink()
    with pytest.raises(
        ExerciseError,
        match=r"setup\.scenario:3:1: there is no file .*leading\.py; name one of your Python files: properties = ",
    ):
        read_exercise(tmp_path / "terms")


# attempts


def test_an_attempt_is_judged_by_them(tmp_path: Path) -> None:
    """Only what was judged holds."""
    exercise = make_own(tmp_path / "terms")
    found = run_in_sandbox(exercise, [PAUSE])
    violated = next(result.record for result in found.results if result.task == 2)
    assert _states(found.results) == ["done", "done", "missed", "done"]
    right = f'at 4s: answer 3 "{violated}"'
    assert _states(run_in_sandbox(exercise, [PAUSE, right]).results) == ["done"] * 4
    assert _states(run_in_sandbox(exercise, []).results) == ["done", "missed", "missed", "missed"]
    early = run_in_sandbox(exercise, [f"at 1us: kill {node}" for node in exercise.setup.nodes])
    assert early.results[0].why == "one_leader_per_term is not judged: no term was led"
    assert _states(early.results) == ["missed"] * 4


def test_an_error_in_a_property_is_the_reason(tmp_path: Path) -> None:
    """A teacher sees it in ``lab exercise check``."""
    exercise = make_own(
        tmp_path / "terms", properties=PROPERTIES.replace("after.definition.version", "after.term")
    )
    (task, *_) = run_in_sandbox(exercise, [PAUSE]).results
    assert task.state == "missed"
    assert task.why.startswith("one_leader_per_term is not judged: an error in its code: leading.py:9: ")
    (exercise.folder / "solution.script").write_text(f"{PAUSE}\n")
    problems = list(check_exercise(exercise, 0, 0))
    assert (
        "solution.script: task 1 is missed: one_leader_per_term is not judged: an error in its code: "
        in problems[0]
    )


@pytest.mark.live
def test_an_attempt_is_graded_by_them(tmp_path: Path) -> None:
    """By re-execution; its progress is found from the recording in the same way."""
    exercise = make_own(tmp_path / "terms")
    home = StudentFolder(tmp_path / "anna", "anna")
    _, path = home.next_attempt("terms")
    run_attempt(exercise, [PAUSE], path)
    grade = grade_recording(path, tmp_path)
    assert (grade.refused, grade.points, grade.most) == ("", 6, 7)
    assert _states(grade.results) == ["done", "done", "missed", "done"]
    record_progress(home, path, {"terms": exercise})
    assert home.progress_of("terms").points == 6


@pytest.mark.live
def test_of_two_exercises_each_is_judged_by_its_own(tmp_path: Path) -> None:
    """They are about the same protocol, and their properties have the same names."""
    strict = PROPERTIES.replace('f"term {after.definition.version}"', '"any term"')
    exercises = [
        make_own(tmp_path / "terms"),
        make_own(tmp_path / "strict", properties=strict),
    ]
    points = {"terms": 6, "strict": 3}
    paths = [run_attempt(each, [PAUSE], tmp_path / f"{each.name}.jsonl") for each in exercises]
    for order in (exercises, exercises[::-1]):
        for each in order:
            assert run_in_sandbox(each, [PAUSE]).status.points == points[each.name]
    for grades in (grade_recordings(paths, tmp_path), grade_recordings(paths[::-1], tmp_path)):
        assert {grade.exercise: grade.points for grade in grades} == points
    for each, path in zip(exercises, paths, strict=True):
        home = StudentFolder(tmp_path / "anna", "anna")
        record_progress(home, path, {each.name: each for each in exercises})
        assert home.progress_of(each.name).points == points[each.name]


@pytest.mark.live
def test_the_interface_judges_an_attempt_by_them(tmp_path: Path) -> None:
    """Also if another exercise about the same protocol was read, or listed, after it."""
    exercise = make_own(tmp_path / "terms")
    path = run_attempt(exercise, [PAUSE], tmp_path / "run.jsonl")
    register("bully", ())
    source = FileSource(path)
    source.assess(exercise)
    assert source.attempt is not None
    for record in source.store.records():
        source._observe(record)
    assert source.attempt.last.points == 6
    words = {verdict.assertion: verdict.word for verdict in source.judge.verdicts()}
    assert (words["one_leader_per_term"], words["the_first_leads"]) == ("holds", "excused")
    source.close()


# repairs


@pytest.fixture
def tickets(tmp_path: Path) -> Exercise:
    """Return an exercise to repair a protocol, with properties in a file beside it."""
    return make_repair(tmp_path / "tickets")


def _graded(exercise: Exercise, folder: Path, code: str, name: str = "mine.py") -> Result:
    """Grade this code, of a student with a folder of their own."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(code)
    (result,) = grade_file(exercise, folder / name, 1).results
    return result


def test_a_repair_is_judged_by_them(tickets: Exercise, tmp_path: Path) -> None:
    assert _graded(tickets, tmp_path / "anna", REPAIRED).points == 4
    broken = _graded(tickets, tmp_path / "ben", BROKEN)
    assert (broken.points, broken.state) == (0, "missed")
    assert broken.why.startswith("no_ticket_twice is broken: 1, taken by node ")


@pytest.mark.parametrize("place", ["ticket_properties.py", "broken.py", "inside"])
def test_properties_of_a_student_s_own_make_no_difference(tickets: Exercise, tmp_path: Path, place: str) -> None:
    """In that file itself; other files of the student's are not there."""
    folder = tmp_path / "ben"
    folder.mkdir()
    code = BROKEN
    if place == "inside":
        code = BROKEN + LENIENT
    else:
        (folder / place).write_text(LENIENT)
        code = f"from {place.removesuffix('.py')} import no_ticket_twice\n{BROKEN}"
    broken = _graded(tickets, folder, code)
    assert broken.points == 0
    assert ("no_ticket_twice is broken: " if place == "inside" else "Error: ") in broken.why
    assert _graded(tickets, tmp_path / "anna", REPAIRED).points == 4


@pytest.mark.parametrize(
    ("was", "becomes", "why"),
    [
        ("self.count += 1", "return", "no_ticket_twice was judged in none of 20 runs"),
        ("ticket", "number", "no_ticket_twice was judged in none of 20 runs"),
        (
            "1000 * self.count + self.id",
            "str(self.id)",
            "no_ticket_twice cannot be judged: ticket_properties.py:7: TypeError: ",
        ),
    ],
    ids=["nothing is done", "a field has another name", "a field has another type"],
)
def test_what_cannot_be_judged_earns_nothing(
    tickets: Exercise, tmp_path: Path, was: str, becomes: str, why: str
) -> None:
    """A green light is earned."""
    result = _graded(
        tickets,
        tmp_path / "ben",
        REPAIRED.replace(was, becomes).replace("ticket: int = 0", "ticket: int | str = 0"),
    )
    assert result.points == 0
    assert why in result.why


def test_only_the_solution_earns_points(tickets: Exercise) -> None:
    (tickets.folder / "solution.py").write_text(REPAIRED)
    (tickets.folder / "wrong-from-one-on.py").write_text(BROKEN.replace("self.count += 1", "self.count = 1"))
    assert list(check_exercise(tickets)) == []


def test_a_repair_promises_what_the_setup_declares(tmp_path: Path, tickets: Exercise) -> None:
    head = tickets.folder / "exercise.toml"
    head.write_text(head.read_text().replace('promises = ["no_ticket_twice"]', 'promises = ["no_ticket_trice"]'))
    with pytest.raises(ExerciseError, match="repair: unknown no_ticket_trice; expected one of no_ticket_twice"):
        read_exercise(tickets.folder)
