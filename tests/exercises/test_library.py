"""The exercises that come with the program: each can be solved, none by accident, and they teach it all."""

import re
from pathlib import Path

import pytest

from lab.exercises.checking import check_exercise, random_commands
from lab.exercises.exercise import KINDS, LEVELS
from lab.exercises.library import SHIPPED, all_exercises, exercise_called, names
from lab.exercises.trying import commands_in
from lab.properties import ASSERTIONS
from tests.exercises.made import HEAD, made, write_exercise

_ASSERTIONS = ("A1.1", "A1.2", "A2", "A3.1", "A3.2", "A4", "A5", "A6", "A7", "A8", "A9", "K1")
_ASSUMPTIONS = [f"assumption {number}" for number in range(1, 10)]


@pytest.mark.parametrize("name", names())
def test_it_can_be_solved_and_not_by_accident(name: str) -> None:
    """The solution brings all; nothing, and what is known to be wrong, none; chance does not solve it."""
    assert list(check_exercise(exercise_called(name), with_seeds=2, at_random=4)) == []


def test_together_they_teach_every_assertion_and_every_assumption() -> None:
    """From first steps to hard, in all kinds; at least twenty."""
    found = all_exercises()
    assert len(found) >= 20
    taught = {what for each in found for what in each.teaches}
    assert {what for what in (*_ASSERTIONS, *_ASSUMPTIONS) if what not in taught} == set()
    assert {each.kind for each in found} == set(KINDS)
    assert sum(task.way == "explain" for each in found for task in each.tasks) >= 3
    assert {each.level for each in found} == set(LEVELS)


def test_what_they_say_to_teach_there_is() -> None:
    """Assertions, assumptions, and rules by their letters and numbers."""
    for each in all_exercises():
        for what in each.teaches:
            known = what in ASSERTIONS or what in _ASSUMPTIONS or re.fullmatch(r"[A-Z]\d+|section \d+", what)
            assert known, f"{each.name}: {what}"


@pytest.mark.parametrize("name", names())
def test_the_texts_are_short_and_whole(name: str) -> None:
    """They stand in a pane beside the cluster; whoever fails is told why, and can be helped."""
    exercise = exercise_called(name)
    assert len(exercise.title) <= 60
    for task in exercise.tasks:
        assert task.text, task.title
        assert task.explains or task.way in ("explain", "repair"), task.title
    assert any(task.hints for task in exercise.tasks)
    for path in (SHIPPED / name).glob("*.md"):
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", path.read_text("utf-8"))


def test_an_exercise_that_solves_itself_is_found_out(tmp_path: Path) -> None:
    """Also one that chance solves, one that takes a wrong try for right, and one without a solution."""
    itself = made(tmp_path, '[[task]]\npoints = 1\nreach = "all normal"\n')
    assert list(check_exercise(itself)) == ["there is no solution.script: nobody knows whether it can be solved"]
    (itself.folder / "solution.script").write_text("when all normal: kill 1\n")
    assert "who does nothing gets 1 of 1" in list(check_exercise(itself))
    chance = made(tmp_path, '[[task]]\npoints = 1\nreach = "live <= 4"\n')
    (chance.folder / "wrong-two.script").write_text("when all normal: kill 1 2\n")
    found = list(check_exercise(chance))
    assert "wrong-two.script gets 1 of 1" in found
    assert any(said.startswith("it was solved at random: at ") for said in found)


def test_a_solution_that_is_none_is_found_out(tmp_path: Path) -> None:
    """It brings not all, or has commands that are not allowed."""
    exercise = made(tmp_path)
    (exercise.folder / "solution.script").write_text("when all normal: kill 1\n")
    assert any("solution.script: task 1 is missed" in said for said in check_exercise(exercise))
    (exercise.folder / "solution.script").write_text("when all normal: wipe 1\n")
    assert any("wipe is not for this exercise" in said for said in check_exercise(exercise))


def test_commands_at_random_are_allowed_ones(tmp_path: Path) -> None:
    """Of every kind that there may be."""
    verbs = ["kill", "slow", "delay", "lose", "partition", "cut", "hold", "heal", "reorder", "duplicate"]
    head = HEAD.replace('["pause", "resume", "kill", "restart", "cut"]', str(verbs).replace("'", '"'))
    write_exercise(tmp_path / "made", head=head)
    exercise = exercise_called("made", tmp_path)
    given = {command.split()[2] for seed in range(60) for command in random_commands(exercise, seed)}
    assert given == set(verbs)
    for seed in range(60):
        commands_in(exercise, "\n".join(random_commands(exercise, seed)))
