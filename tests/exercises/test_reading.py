"""Reading an exercise's folder reports every mistake in it."""

from pathlib import Path

import pytest

from lab.exercises.exercise import FREE
from lab.exercises.exercise_reader import ExerciseError, find_exercise, read_exercise, resolve_exercise
from tests.exercises.exercise_files import HEAD, SETUP, TASK, make_exercise, write_exercise


def test_an_exercise_is_read_from_its_files(tmp_path: Path) -> None:
    """Points exclude those that a teacher gives; commands include those that are always allowed."""
    tasks = TASK + '[[task]]\npoints = 3\nexplain = "Why?"\n'
    exercise = make_exercise(tmp_path, tasks, hints="# Task 1\n\n## Costs 1\n\nPause one.\n")
    assert (exercise.name, exercise.points, len(exercise.tasks)) == ("made", 2, 2)
    assert [task.way for task in exercise.tasks] == ["reach", "explain"]
    assert exercise.tasks[0].hints[0].costs == 1
    assert exercise.allowed == ("pause", "resume", "kill", "restart", "cut", *FREE)


@pytest.mark.parametrize(
    ("task", "answer", "reason"),
    [
        ('question = "Which node leads?"\nanswer = "5"', "Node 5.", ""),
        ('question = "Which node leads?"\nanswer = "5"', "4", ""),
        ('question = "Which node leads?"\nanswer = "5"', "none", ""),
        ('question = "Which node leads?"\nanswer = "5"', "55", "there is no node 55: the nodes are 1, 2, 3, 4, 5"),
        ('question = "Which nodes follow?"\nanswer = "1 2"', "12", ""),
        ('question = "How many nodes?"\nanswer = "5"', "55", ""),
        (
            'question = "How many nodes?"\nanswer = "5"',
            "5 more",
            "5 more is no whole number: type digits, without a sign or a unit",
        ),
        (
            'question = "For how long, in whole seconds?"\nanswer = "15"',
            "15.054",
            "15.054 is no whole number: type digits, without a sign or a unit",
        ),
        (
            'question = "For how long, in whole seconds?"\nanswer = "15"',
            "14s",
            "14s is no whole number: type digits, without a sign or a unit",
        ),
        (
            'question = "How many dollars?"\nanswer = "4350"',
            "4,35",
            "4,35 is no whole number: type digits, without a sign or a unit",
        ),
        ('question = "How many dollars?"\nanswer = "4350"', "$4,250", ""),
        ('question = "Who?"\nchoices = ["bully", "ring"]\nanswer = "ring"', "bully", ""),
        (
            'question = "Who?"\nchoices = ["bully", "ring"]\nanswer = "ring"',
            "rign",
            "rign is none of the choices, bully, ring; did you mean ring?",
        ),
        ('question = "When?"\nrecord = "all normal"', "0", ""),
        ('question = "When?"\nrecord = "all normal"', "record 99", ""),
        ('question = "When?"\nrecord = "all normal"', "100", "there is no record 100: type a number from 0 to 99"),
        (
            'question = "When?"\nrecord = "all normal"',
            "soon",
            "there is no record soon: type a number from 0 to 99",
        ),
        ('question = "When?"\nrecord = "all normal"', "-1", "there is no record -1: type a number from 0 to 99"),
    ],
)
def test_impossible_answers_are_known_without_the_right_one(
    tmp_path: Path, task: str, answer: str, reason: str
) -> None:
    """A record or a node that is not there; nothing else."""
    exercise = make_exercise(tmp_path, f"[[task]]\npoints = 1\n{task}\n")
    assert exercise.tasks[0].reason_impossible(answer, (1, 2, 3, 4, 5), 99) == reason


def test_a_choice_may_be_named_by_its_place(tmp_path: Path) -> None:
    """As in the dialog, unless one of them is a number."""
    for options, typed, meant in (
        ('["bully", "ring"]', "2", "ring"),
        ('["bully", "ring"]', "3", "3"),
        ('["bully", "ring"]', "ring", "ring"),
        ('["4", "5"]', "2", "2"),
    ):
        last = options.strip("[]").split(", ")[-1]
        exercise = make_exercise(
            tmp_path, f'[[task]]\npoints = 1\nquestion = "Who?"\nchoices = {options}\nanswer = {last}\n'
        )
        assert exercise.tasks[0].option_named(typed) == meant


QUESTION = '[[task]]\npoints = 1\nquestion = "Who?"\n'


@pytest.mark.parametrize(
    ("tasks", "error"),
    [
        ("task = []\n", "it has no [[task]]"),
        ("[[task]]\npoints = 1\n", "expected one of reach, script, question, explain"),
        (TASK + 'explain = "x"\n', "got reach and explain"),
        ('[[task]]\npoints = 0\nreach = "all normal"\n', "points = 0: expected 1 to 10"),
        ('[[task]]\npoints = 1\nreach = "coordinators = 2"\n', "task 1: "),
        ('[[task]]\npoints = 1\nreach = "9 normal"\n', "there is no node 9"),
        ('[[task]]\npoints = 1\nreach = "violation A9.9"\n', "A9.9"),
        ('[[task]]\npoints = 1\nscript = "kill 5"\n', "a condition may only contain expectations"),
        ('[[task]]\npoints = 1\nscript = "# nothing"\n', "the script is empty"),
        (QUESTION, "either an answer, or record"),
        (QUESTION + 'answer = "4"\nrecord = "all normal"\n', "either an answer, or record"),
        (QUESTION + 'answer = "4"\nchoices = ["3", "5"]\n', "not one of the choices"),
        (TASK + 'before = "all normal"\n', "belong to a question"),
        (TASK + "ponits = 2\n", "ponits"),
        ("[[task]\n", "exercise.toml"),
        ('[[task]]\npoints = "two"\nreach = "all normal"\n', "Expected `int`"),
    ],
)
def test_mistakes_in_a_task_are_reported(tmp_path: Path, tasks: str, error: str) -> None:
    """With the file, and the number of the task."""
    with pytest.raises(ExerciseError) as found:
        make_exercise(tmp_path, tasks)
    assert error in str(found.value)
    assert str(tmp_path) in str(found.value)


@pytest.mark.parametrize(
    ("head", "error"),
    [
        (HEAD.replace("level = 1", "level = 9"), "first steps"),
        (HEAD.replace('"kill"', '"kil"'), "unknown command kil; did you mean kill?"),
        (HEAD.replace('["A1.1"]', "[]"), "teaches is empty"),
        (HEAD.replace("bring about", "do"), "Invalid enum value"),
        (f"repairs = 'none.py'\n{HEAD}", "repairs: file none.py not found"),
        (f"repairs = '{1000 * 'x'}.py'\n{HEAD}", "x.py not found"),
    ],
)
def test_mistakes_in_the_head_are_reported(tmp_path: Path, head: str, error: str) -> None:
    with pytest.raises(ExerciseError) as found:
        read_exercise(write_exercise(tmp_path / "made", head=head))
    assert error in str(found.value)


def test_all_mistakes_are_reported_at_once(tmp_path: Path) -> None:
    """In the setup, the texts and the head."""
    folder = write_exercise(
        tmp_path / "made",
        head=HEAD.replace("level = 1", "level = 9"),
        hints="# Task 7\n\n## Free\n\nx\n",
    )
    with pytest.raises(ExerciseError) as found:
        read_exercise(folder)
    assert len(found.value.mistakes) == 2
    (folder / "setup.scenario").write_text(SETUP.replace("bully", "buly"))
    with pytest.raises(ExerciseError, match="did you mean bully"):
        read_exercise(folder)


def test_hints_may_not_cost_more_than_the_task_earns(tmp_path: Path) -> None:
    """Otherwise the last hint would be free."""
    with pytest.raises(ExerciseError, match="cost more than its 2 points"):
        make_exercise(tmp_path, hints="# Task 1\n\n## Costs 2\n\nx\n\n## Costs 1\n\ny\n")


def test_each_task_has_instructions(tmp_path: Path) -> None:
    folder = write_exercise(tmp_path / "made", instructions="# A test\n")
    with pytest.raises(ExerciseError, match="it has 0 tasks, but"):
        read_exercise(folder)


@pytest.mark.parametrize(
    "named", ["../library/two-coordinators", "/etc", "..", "", "two-coordinators/", "\x1b[2J"]
)
def test_a_name_from_a_recording_is_not_a_path(named: str) -> None:
    """It is looked up among the known exercises only."""
    with pytest.raises(ExerciseError, match="unknown exercise"):
        find_exercise(named)


def test_a_user_may_name_a_folder(tmp_path: Path) -> None:
    """By a path with a slash in it."""
    folder = write_exercise(tmp_path / "mine")
    assert resolve_exercise(f"{folder}").name == "mine"
    with pytest.raises(ExerciseError, match=r"it has no exercise\.toml"):
        resolve_exercise(f"{tmp_path}/")
