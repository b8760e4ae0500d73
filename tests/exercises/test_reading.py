"""Reading an exercise's folder: whatever can be found wrong before anybody is set it is told, all of it."""

from pathlib import Path

import pytest

from lab.exercises.exercise import FREE
from lab.exercises.library import exercise_called, exercise_named
from lab.exercises.reading import ExerciseError, read_exercise
from tests.exercises.made import HEAD, SETUP, TASK, made, write_exercise


def test_an_exercise_is_what_its_files_say(tmp_path: Path) -> None:
    """Points without those that a teacher gives; commands with those that are always allowed."""
    tasks = TASK + '[[task]]\npoints = 3\nexplain = "Why?"\n'
    exercise = made(tmp_path, tasks, hints="# Task 1\n\n## Costs 1\n\nPause one.\n")
    assert (exercise.name, exercise.points, len(exercise.tasks)) == ("made", 2, 2)
    assert [task.way for task in exercise.tasks] == ["reach", "explain"]
    assert exercise.tasks[0].hints[0].costs == 1
    assert exercise.allowed == ("pause", "resume", "kill", "restart", "cut", *FREE)


QUESTION = '[[task]]\npoints = 1\nquestion = "Who?"\n'


@pytest.mark.parametrize(
    ("tasks", "said"),
    [
        ("task = []\n", "there is no [[task]]"),
        ("[[task]]\npoints = 1\n", "say one of reach, script, question, explain"),
        (TASK + 'explain = "x"\n', "it has reach and explain"),
        ('[[task]]\npoints = 0\nreach = "all normal"\n', "points = 0: from 1 to 10"),
        ('[[task]]\npoints = 1\nreach = "coordinators = 2"\n', "task 1: "),
        ('[[task]]\npoints = 1\nreach = "9 normal"\n', "there is no node 9"),
        ('[[task]]\npoints = 1\nreach = "violation A9.9"\n', "A9.9"),
        ('[[task]]\npoints = 1\nscript = "kill 5"\n', "a condition only expects"),
        ('[[task]]\npoints = 1\nscript = "# nothing"\n', "the script is empty"),
        (QUESTION, "either an answer, or record"),
        (QUESTION + 'answer = "4"\nrecord = "all normal"\n', "either an answer, or record"),
        (QUESTION + 'answer = "4"\nchoices = ["3", "5"]\n', "not among the choices"),
        (TASK + 'before = "all normal"\n', "belong to a question"),
        (TASK + "ponits = 2\n", "ponits"),
        ("[[task]\n", "exercise.toml"),
        ('[[task]]\npoints = "two"\nreach = "all normal"\n', "Expected `int`"),
    ],
)
def test_what_is_wrong_with_a_task_is_told(tmp_path: Path, tasks: str, said: str) -> None:
    """With the file, and the number of the task."""
    with pytest.raises(ExerciseError) as found:
        made(tmp_path, tasks)
    assert said in str(found.value)
    assert str(tmp_path) in str(found.value)


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (HEAD.replace("level = 1", "level = 9"), "first steps"),
        (HEAD.replace('"kill"', '"kil"'), "there is no command kil; did you mean kill?"),
        (HEAD.replace('["A1.1"]', "[]"), "teaches is empty"),
        (HEAD.replace("bring about", "do"), "Invalid enum value"),
    ],
)
def test_what_is_wrong_with_the_head_is_told(tmp_path: Path, head: str, said: str) -> None:
    """As a user can mend it."""
    with pytest.raises(ExerciseError) as found:
        read_exercise(write_exercise(tmp_path / "made", head=head))
    assert said in str(found.value)


def test_all_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    """Of the set-up, the texts and the head."""
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


def test_hints_may_not_cost_more_than_there_is_to_be_had(tmp_path: Path) -> None:
    """Else the last one would be free."""
    with pytest.raises(ExerciseError, match="cost more than the 2 points"):
        made(tmp_path, hints="# Task 1\n\n## Costs 2\n\nx\n\n## Costs 1\n\ny\n")


def test_tasks_and_instructions_are_as_many(tmp_path: Path) -> None:
    """Who reads knows what to do for each point."""
    folder = write_exercise(tmp_path / "made", instructions="# A test\n")
    with pytest.raises(ExerciseError, match="it has 0 tasks, and"):
        read_exercise(folder)


@pytest.mark.parametrize(
    "named", ["../library/two-coordinators", "/etc", "..", "", "two-coordinators/", "\x1b[2J"]
)
def test_a_name_out_of_a_recording_is_no_path(named: str) -> None:
    """It is looked up among those that there are, and nowhere else."""
    with pytest.raises(ExerciseError, match="there is no exercise"):
        exercise_called(named)


def test_a_user_may_name_a_folder(tmp_path: Path) -> None:
    """With a slash in it, as a path has."""
    folder = write_exercise(tmp_path / "mine")
    assert exercise_named(f"{folder}").name == "mine"
    with pytest.raises(ExerciseError, match=r"there is no exercise\.toml in it"):
        exercise_named(f"{tmp_path}/")
