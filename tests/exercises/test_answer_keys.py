"""An answer must follow from its run, or name its rule; ``lab exercise check`` refuses any other."""

import shutil
from pathlib import Path

import pytest

from lab.exercises.answer_keys import key_problems
from lab.exercises.exercise_reader import SHIPPED, read_exercise
from lab.exercises.exercise_validation import check_exercise
from lab.exercises.handout import write_handout
from tests.exercises.exercise_files import make_exercise, shipped_exercises

_QUESTION = '[[task]]\npoints = 1\nquestion = "Which node leads?"\nanswer = "{answer}"\n'


def _problems(folder: Path, answer: str, key: str) -> list[str]:
    return list(key_problems(make_exercise(folder, _QUESTION.replace("{answer}", answer) + key), (1, 2)))


def _with_old_key(folder: Path) -> Path:
    """Copy the exercise in which a pause of two seconds was said to make two coordinators within one."""
    copied = folder / "two-coordinators"
    shutil.copytree(SHIPPED / "two-coordinators", copied)
    for name in ("exercise.toml", "solution.script"):
        text = (copied / name).read_text("utf-8")
        changed = text.replace('answer = "only 5"', 'answer = "4 and 5"').replace('1 "only 5"', '1 "4 and 5"')
        assert changed != text
        (copied / name).write_text(changed, "utf-8")
    return copied


def test_a_key_that_does_not_follow_is_refused(tmp_path: Path) -> None:
    """4 begins its election two seconds after the pause, so after one second only 5 leads."""
    found = list(check_exercise(read_exercise(_with_old_key(tmp_path)), with_seeds=1, at_random=0))
    assert found == ["task 1: the answer given is '4 and 5', but with seed 1 'only 5' followed, at 2.0 s"]


def test_an_answer_that_no_student_could_give_is_refused(tmp_path: Path) -> None:
    """What asks for a whole number takes no other answer."""
    task = '[[task]]\npoints = 1\nquestion = "How many seconds?"\nanswer = "1.5"\nkey = { rule = ["M5"] }\n'
    (problem,) = key_problems(make_exercise(tmp_path, task), (1,))
    assert problem.startswith("task 1: the answer given is refused: 1.5 is no whole number")


def test_every_answer_of_the_library_names_what_it_follows_from() -> None:
    """Most of a run; the others of a rule, because they are about a definition or a reason."""
    keys = [task.key for each in shipped_exercises() for task in each.tasks if task.accepted_answers]
    assert len(keys) > 70
    assert all(key is not None for key in keys)
    assert sum(key is not None and not key.rule for key in keys) > 65


@pytest.mark.parametrize(
    "key",
    [
        '[task.key]\nat = "when all normal"\nvalue = "2.coordinator"\n',
        '[task.key.holds]\n5 = "5 leads"\n4 = "4 leads"\n',
        '[task.key.holds]\n5 = "when all normal: expect 5 leads within 1s"\n',
        'key = { rule = ["A1.1", "B6", "assumption 9"] }\n',
    ],
)
def test_each_form_of_a_key(tmp_path: Path, key: str) -> None:
    assert _problems(tmp_path, "5", key) == []


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("", "nothing shows that its answer is right; name what it follows from: key = { rule"),
        ('key = { rule = ["B99"] }\n', "key: unknown rule B99; did you mean B9?"),
        (
            'key = { rule = ["B6"], value = "live" }\n',
            "key: expected one of rule, value, holds, explore, scale and compare; got rule and v",
        ),
        (
            'key = { at = "when all normal" }\n',
            "key: expected one of rule, value, holds, explore, scale and compare; got none",
        ),
        ('[task.key.holds]\n4 = "4 leads"\n', "key: holds has no condition for the answer"),
        ('[task.key]\nvalue = "2.coordinator"\nat = "when 9 leads"\n', "key: there is no node 9"),
        ('[task.key]\nvalue = "2.coordinat"\n', "key: "),
        ('[task.key]\nvalue = "live"\nrun = "kil 5"\n', "key: "),
        (
            '[task.key]\nvalue = "2.coordinator"\nat = "when 4 leads"\n',
            "the answer given is '5', but with seed 1 nothing followed: this was not reached: when 4 leads",
        ),
        (
            '[task.key.holds]\n5 = "5 leads"\n4 = "4 normal"\n',
            "the answer given is '5', but with seed 1 '5' and '4' followed",
        ),
        (
            '[task.key]\nvalue = "2.coordinator"\nsetups = [{}, { nodes = "6" }]\n',
            "the answer given is '5', but with seed 1, nodes = 6 '6' followed",
        ),
        (
            '[task.key]\nvalue = "messages(EnterElection)"\nsince = "when all normal"\n',
            "the answer given is '5', but with seed 1 '0' followed",
        ),
    ],
)
def test_a_mistake_in_a_key_is_named(tmp_path: Path, key: str, problem: str) -> None:
    (found,) = _problems(tmp_path, "5", key)
    assert found.startswith(f"task 1: {problem}")


def test_a_key_is_not_in_the_students_edition(tmp_path: Path) -> None:
    """It would show the answer."""
    write_handout(SHIPPED / "two-coordinators", tmp_path / "given")
    assert "4 leads" not in (tmp_path / "given" / "exercise.toml").read_text("utf-8")
    assert read_exercise(tmp_path / "given").tasks[0].key is None
