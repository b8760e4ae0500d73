"""Each student has an exercise of their own, so that what another one did brings nothing."""

import itertools
import re
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from lab.exercises.answer_keys import key_problems
from lab.exercises.attempts import attempt_config
from lab.exercises.draws import DrawTable, describe_draw, draw, first_values, is_possible
from lab.exercises.exercise import Exercise
from lab.exercises.exercise_reader import ExerciseError, drawn_as, drawn_for, find_exercise, read_exercise
from lab.exercises.exercise_validation import check_exercise, fill_script, read_commands, run_in_sandbox
from lab.exercises.grading import grade_recording
from lab.exercises.handout import write_handout
from lab.recording.records import ExerciseAttempt
from lab.script.scope import CommandError
from lab.worlds.loading.config import header_of
from lab.worlds.loading.targets import load_protocol
from tests.exercises.attempts import chained, read_lines, run_attempt, solution_of, write_lines
from tests.exercises.exercise_files import HEAD, SETUP, shipped_exercises, shipped_with, write_exercise
from tests.profile import sampled

_DRAWING = shipped_with("[draw]\n")
_QUESTION = """
[draw]
seed = "1-9999"
"heir leader" = [["4", "5"], ["5", "6"], ["6", "7"]]

[[task]]
points = 1
question = "Which node leads?"
answer = "{leader}"
explains = "{leader} is above {heir}."

[task.key]
at = "when all normal"
value = "2.coordinator"
"""


def _anna_and_another(name: str) -> tuple[Exercise, Exercise]:
    """Return an exercise as anna gets it, and as the first student with other values, the seed apart."""
    exercise = find_exercise(name)
    anna = drawn_for(exercise, "anna")
    others = (drawn_for(exercise, f"student-{number}") for number in range(20))
    return anna, next(each for each in others if _but_seed(each) != _but_seed(anna) or len(each.drawn) == 1)


def _but_seed(exercise: Exercise) -> dict[str, str]:
    return {name: value for name, value in exercise.drawn.items() if name != "seed"}


def _made(folder: Path) -> Exercise:
    setup = SETUP.replace('nodes = "5"', 'nodes = "1,2,3,{heir},{leader}"\nseed = "{seed}"')
    return read_exercise(write_exercise(folder / "made", _QUESTION, head=HEAD, setup=setup))


def test_each_exercise_draws_whose_attempts_are_runs() -> None:
    """But for the example of the guide. Where a file is handed in, the hidden runs are drawn instead."""
    same = [each.name for each in shipped_exercises() if not each.draws and each.starting_file is None]
    assert same == ["two-coordinators"]


@pytest.mark.parametrize("name", sampled(_DRAWING, 3))
def test_the_answers_of_most_students_differ(name: str) -> None:
    """The number of a record differs with the seed; where nothing is asked, the commands name other nodes."""
    exercise = find_exercise(name)
    students = [drawn_for(exercise, f"student-{number}") for number in range(12)]
    pairs = list(itertools.combinations(map(_accepted_by, students), 2))
    assert sum(one != other for one, other in pairs) > len(pairs) / 2


def _accepted_by(exercise: Exercise) -> list[tuple[str, ...]]:
    return [
        (exercise.drawn["seed"],) if task.record else task.accepted_answers
        for task in exercise.tasks
        if task.way == "question"
    ]


@pytest.mark.parametrize("name", sampled(_DRAWING, 3))
def test_what_another_student_did_does_not_solve_it(name: str) -> None:
    """Anna's commands and answers earn her all points; another student they do not."""
    anna, other = _anna_and_another(name)
    commands = fill_script(anna, "\n".join(solution_of(anna))).splitlines()
    assert run_in_sandbox(anna, commands).status.is_solved
    try:
        read_commands(other, "\n".join(commands))
    except CommandError:
        return  # it names nodes that the other does not have
    assert not run_in_sandbox(other, commands).status.is_solved


def _recording(folder: Path, exercise: Exercise, drawn_student: str, student: str) -> Path:
    """Write the beginning of the attempt of ``drawn_student``, as if it were the one of ``student``."""
    drawn = drawn_for(exercise, drawn_student)
    config = attempt_config(drawn, student, 1, Path())
    path = folder / f"{exercise.name}-{drawn_student}.jsonl"
    header = header_of(config, load_protocol(drawn.setup.protocol))
    path.write_bytes(msgspec.json.encode(header) + b"\n")
    return path


@pytest.mark.parametrize("name", sampled(_DRAWING, 3, 1))
def test_a_copied_recording_is_refused(tmp_path: Path, name: str) -> None:
    """Grading says which values it has, and which the student has."""
    anna, other = _anna_and_another(name)
    exercise = find_exercise(name)
    number = next(n for n in range(20) if drawn_for(exercise, f"student-{n}").drawn == other.drawn)
    own = _recording(tmp_path, exercise, "anna", "anna")
    assert grade_recording(own).refused == ""
    copied = grade_recording(_recording(tmp_path, exercise, f"student-{number}", "anna")).refused
    assert copied.startswith("it was drawn for another student, or in another course: it has ")
    assert copied.endswith(f"{describe_draw(other.drawn)}, but anna has {describe_draw(anna.drawn)}")


def test_an_own_attempt_earns_all_points(tmp_path: Path) -> None:
    """It is drawn again from the student's name, and graded; under another student's name it is not."""
    exercise = drawn_for(find_exercise("when-did-two-lead"), "anna")
    commands = fill_script(exercise, "\n".join(solution_of(exercise))).splitlines()
    path = run_attempt(exercise, commands, tmp_path / "run.jsonl", end_us=36_000_000)
    grade = grade_recording(path)
    assert (grade.refused, grade.points) == ("", exercise.points)
    (header, *rest) = read_lines(path)
    header["exercise"]["student"] = "ben"
    renamed = grade_recording(write_lines(tmp_path / "renamed.jsonl", chained([header, *rest])))
    assert renamed.refused.startswith("it was drawn for another student")


@pytest.mark.parametrize("name", _DRAWING)
def test_no_name_is_left_in_the_texts(name: str) -> None:
    """A name in braces that is not drawn would be shown to the student."""
    anna = drawn_for(find_exercise(name), "anna")
    texts = [anna.intro, anna.setup.text]
    for task in anna.tasks:
        texts += [task.text, task.question, task.explanation, *task.options, *(hint.text for hint in task.hints)]
    assert not [text for text in texts if re.search(r"\{[a-z_0-9]+\}", text)]


def test_a_draw_follows_from_the_names_and_the_nonce() -> None:
    """The same student always gets the same; another course, another exercise or another student does not."""
    table: DrawTable = {"seed": "1-999999", "a b": (("1", "2"), ("3", "4"))}
    mine = draw(table, "ring", "anna", b"secret")
    assert mine == draw(table, "ring", "anna", b"secret")
    others = [
        draw(table, "ring", "anna", b""),
        draw(table, "ring", "ben", b"secret"),
        draw(table, "bully", "anna", b"secret"),
    ]
    assert mine not in others
    assert (mine["a"], mine["b"]) in (("1", "2"), ("3", "4"))
    assert first_values(table) == {"seed": "1", "a": "1", "b": "2"}


def test_every_value_is_drawn_for_somebody() -> None:
    table = {"victim": ("1", "2", "3", "4", "5")}
    assert {draw(table, "x", f"s{number}", b"")["victim"] for number in range(100)} == set("12345")


def test_a_header_shows_only_what_can_be_drawn(tmp_path: Path) -> None:
    """A viewer shows the texts with the values of the header, unless nobody can have these."""
    exercise = _made(tmp_path)
    drawn = {"seed": "77", "heir": "5", "leader": "6"}
    assert drawn_as(exercise, ExerciseAttempt("made", "anna", 1, drawn)).drawn == drawn
    for wrong in ({"leader": "7"}, {"seed": "0"}, {"seed": "kill 5"}, {"x": "1"}):
        assert not is_possible(exercise.draws, drawn | wrong)
        assert drawn_as(exercise, ExerciseAttempt("made", "anna", 1, drawn | wrong)) is exercise


def test_the_key_must_follow_for_every_student(tmp_path: Path) -> None:
    """The check draws for several students."""
    exercise = _made(tmp_path)
    for number in range(6):
        assert list(key_problems(drawn_for(exercise, f"student-{number}"), (1,))) == []
    path = exercise.folder / "exercise.toml"
    path.write_text(path.read_text().replace('answer = "{leader}"', 'answer = "5"'))
    (exercise.folder / "solution.script").write_text('at 2s: answer 1 "5"\n')
    (exercise.folder / "wrong-heir.script").write_text('at 2s: answer 1 "1"\n')
    found = list(check_exercise(read_exercise(exercise.folder), with_seeds=0, at_random=0))
    assert found
    expected = (
        r"task 1: the answer given is '5', but with seed \d+ '([67])' followed, at \d+ ms, "
        r"with seed \d+, heir \d, leader \1"
    )
    assert all(re.fullmatch(expected, each) for each in found)


def test_the_students_edition_opens_with_the_answer_that_was_drawn(tmp_path: Path) -> None:
    """Not with that of another student."""
    _made(tmp_path)
    write_handout(tmp_path / "made", tmp_path / "given")
    given = read_exercise(tmp_path / "given")
    drawn = drawn_as(given, ExerciseAttempt("given", "anna", 1, {"seed": "5", "heir": "6", "leader": "7"}))
    (task,) = drawn.tasks
    assert [answer for answer in ("4", "5", "6", "7") if task.accepts(answer)] == ["7"]
    assert task.explanation_after("7") == "7 is above 6."


_CASES = """
[draw]
lost = ["OK", "ELECTION"]
"heir leader" = [["4", "5"], ["5", "6"]]

[[task]]
points = 1
by = "lost"
question = "A message is lost. Which node leads?"
choices = ["{leader}", "{heir}"]
key = { rule = ["B6"] }

[task.case.OK]
answer = "{leader}"
explains = "The OK does not matter."

[task.case.ELECTION]
question = "An ELECTION is lost. Which node leads?"
answer = "{heir}"
explains = "{leader} did not hear of it."
"""


def test_a_task_may_differ_with_what_is_drawn(tmp_path: Path) -> None:
    """What its case says replaces the rest; in the students' edition each case is locked for itself."""
    teacher = read_exercise(write_exercise(tmp_path / "made", _CASES))
    write_handout(tmp_path / "made", tmp_path / "given")
    given = read_exercise(tmp_path / "given")
    assert "did not hear of it" not in (tmp_path / "given" / "exercise.toml").read_text("utf-8")
    for exercise in (teacher, given):
        found = {}
        for values in ({"lost": "OK"}, {"lost": "ELECTION"}):
            attempt = ExerciseAttempt(exercise.name, "anna", 1, {**values, "heir": "5", "leader": "6"})
            (task,) = drawn_as(exercise, attempt).tasks
            (answer,) = filter(task.accepts, task.options)
            found[task.question] = answer, task.explanation_after(answer)
        assert found == {
            "A message is lost. Which node leads?": ("6", "The OK does not matter."),
            "An ELECTION is lost. Which node leads?": ("5", "6 did not hear of it."),
        }


@pytest.mark.parametrize(
    ("before", "after", "mistake"),
    [
        ('by = "lost"\n', "", 'task 1: by = "NAME" and [task.case.VALUE] belong together'),
        ('by = "lost"', 'by = "found"', "task 1: by = 'found': expected a name that is drawn from a list"),
        ('by = "lost"', "by = 5", "task 1: by = 5: expected a name that is drawn from a list"),
        (
            "[task.case.OK]",
            "[task.case.KO]",
            "task 1: case: expected one for each of ELECTION, OK; got ELECTION, KO",
        ),
        (
            'lost = ["OK", "ELECTION"]',
            'lost = "1-9"',
            "task 1: by = 'lost': expected a name that is drawn from a list",
        ),
        ("[task.case.OK]\nanswer", "[task.case]\nOK", "task 1: case: expected a table for each value"),
    ],
)
def test_a_mistake_in_a_case_is_named(tmp_path: Path, before: str, after: str, mistake: str) -> None:
    assert before in _CASES
    with pytest.raises(ExerciseError) as raised:
        read_exercise(write_exercise(tmp_path / "made", _CASES.replace(before, after)))
    assert mistake in " ".join(raised.value.mistakes)


@pytest.mark.parametrize(
    ("table", "mistake"),
    [
        ('Victim = ["1", "2"]', "'Victim' is not a name"),
        ('victim = "1"', "'1' is not a range of numbers: 1-9999"),
        ('victim = "9-1"', "'9-1' is not a range"),
        ('victim = ["1"]', "victim needs at least two values"),
        ('"a b" = [["1", "2"], ["3"]]', "a b needs at least two values to draw from, each with a text for each"),
        ('a = ["1", "2"]\n"a b" = [["1", "2"], ["3", "4"]]', "a is drawn twice"),
        ("victim = 5", "Expected `str | array`"),
    ],
)
def test_a_mistake_in_what_is_drawn_is_named(tmp_path: Path, table: str, mistake: str) -> None:
    tasks = f'[draw]\n{table}\n[[task]]\npoints = 1\nreach = "all normal"\n'
    with pytest.raises(ExerciseError) as raised:
        read_exercise(write_exercise(tmp_path / "made", tasks))
    assert mistake in " ".join(raised.value.mistakes)


def test_an_attempt_names_what_was_drawn() -> None:
    """So that a grader can tell why a copy is refused."""
    exercise = drawn_for(find_exercise(_DRAWING[0]), "anna")
    attempt = attempt_config(exercise, "anna", 1, Path()).exercise
    assert attempt is not None
    assert attempt.drawn == exercise.drawn != first_values(exercise.draws)
    assert replace(attempt, drawn={}) == ExerciseAttempt(exercise.name, "anna", 1)
