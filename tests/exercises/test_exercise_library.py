"""The built-in exercises: each can be solved, none by accident, and together they teach everything."""

import re
from pathlib import Path

import pytest

from lab.exercises.exercise import KINDS, LEVELS, RULES, describe_topic
from lab.exercises.exercise_reader import SHIPPED, drawn_for, find_exercise, names
from lab.exercises.exercise_validation import (
    check_exercise,
    fill_script,
    random_commands,
    read_commands,
    run_in_sandbox,
)
from lab.guide.contents import find_page
from lab.properties.assertions import ASSERTIONS
from tests.exercises.attempts import solution_of
from tests.exercises.exercise_files import HEAD, make_exercise, shipped_exercises, write_exercise
from tests.profile import SOAK, amount, sampled

_ASSERTIONS = ("A1.1", "A1.2", "A2", "A3.1", "A3.2", "A4", "A5", "A6", "A7", "A8", "A9", "K1")
_ASSUMPTIONS = [f"assumption {number}" for number in range(1, 10)]


_PLAYED = [name for name in names() if (SHIPPED / name / "solution.script").exists()]
"""The others are repaired, see ``test_protocol_grading``."""
_CHECKED = sampled(_PLAYED, 3)
"""With wrong attempts, which take several times as long as the solution."""


@pytest.mark.parametrize("name", [name for name in _PLAYED if SOAK or name not in _CHECKED])
def test_it_can_be_solved(name: str) -> None:
    """Its solution earns all points."""
    exercise = find_exercise(name)
    commands = read_commands(exercise, fill_script(exercise, "\n".join(solution_of(exercise))))
    assert run_in_sandbox(exercise, commands).status.is_solved


@pytest.mark.parametrize("name", _CHECKED)
def test_it_can_be_solved_but_not_by_accident(name: str) -> None:
    """Its solution earns all points; doing nothing, the wrong scripts and random commands do not."""
    is_fully = name in sampled(_PLAYED, 6)
    seeds, scripts = amount(quick=0, soak=20), amount(quick=int(is_fully), soak=100)
    draws = amount(quick=int(is_fully), soak=20)
    found = check_exercise(find_exercise(name), with_seeds=seeds, at_random=scripts, with_draws=draws)
    assert list(found) == []


def test_together_they_teach_every_assertion_and_every_assumption() -> None:
    """And every group of rules, on all levels and of all kinds; at least twenty exercises."""
    found = shipped_exercises()
    assert len(found) >= 20
    taught = {what for each in found for what in each.teaches}
    assert {what for what in (*_ASSERTIONS, *_ASSUMPTIONS) if what not in taught} == set()
    assert {rule[0] for rule in RULES} == {what[0] for what in taught if what in RULES}
    assert {each.kind for each in found} == set(KINDS)
    assert sum(task.way == "explain" for each in found for task in each.tasks) >= 3
    assert {each.level for each in found} == set(LEVELS)


def test_everything_they_teach_exists() -> None:
    """Assertions, assumptions, and rules by letter and number."""
    for each in shipped_exercises():
        for what in each.teaches:
            known = what in ASSERTIONS or what in _ASSUMPTIONS or re.fullmatch(r"[A-Z]\d+|section \d+", what)
            assert known, f"{each.name}: {what}"


@pytest.mark.parametrize("name", names())
def test_the_texts_are_short_and_complete(name: str) -> None:
    """They fit the pane beside the cluster; every failure has a reason and every task a hint."""
    exercise = find_exercise(name)
    assert len(exercise.title) <= 60
    for task in exercise.tasks:
        assert task.text, task.title
        assert task.explanation or task.way in ("explain", "repair"), task.title
    assert any(task.hints for task in exercise.tasks)
    for path in (SHIPPED / name).glob("*.md"):
        text = path.read_text("utf-8")
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text)
        assert not re.search(r"\bbox(es)?\b", text), "a node is a row on a low screen"
        assert "` again)" not in text, "another node may be selected meanwhile"


@pytest.mark.parametrize("name", names())
def test_no_right_answer_is_refused_as_impossible(name: str) -> None:
    exercise = find_exercise(name)
    for task in exercise.tasks:
        for answer in (*task.accepted_answers, *task.options):
            if task.way == "question" and not task.record:
                assert not task.reason_impossible(answer, exercise.setup.nodes, 0), (task.title, answer)


@pytest.mark.parametrize("name", names())
def test_no_example_is_a_right_answer(name: str) -> None:
    """Whatever is drawn; what stands in the instructions only shows how to answer."""
    for student in ("anna", "ben", "carla", "dora", "emil", "fay"):
        exercise = drawn_for(find_exercise(name), student)
        texts = "\n".join((exercise.intro, *(task.text for task in exercise.tasks)))
        for number, example in re.findall(r':answer (\d+) "([^"]+)"', texts):
            assert not exercise.tasks[int(number) - 1].accepts(example), (student, number, example)


def test_an_exercise_that_solves_itself_is_reported(tmp_path: Path) -> None:
    """So is one that random commands solve, one that accepts a wrong script, and one without a solution."""
    itself = make_exercise(tmp_path, '[[task]]\npoints = 1\nreach = "all normal"\n')
    assert list(check_exercise(itself)) == [
        "solution.script is missing: nothing shows that the exercise can be solved"
    ]
    (itself.folder / "solution.script").write_text("when all normal: kill 1\n")
    assert "doing nothing earns 1 of 1 points" in list(check_exercise(itself))
    chance = make_exercise(tmp_path, '[[task]]\npoints = 1\nreach = "live <= 4"\n')
    (chance.folder / "wrong-two.script").write_text("when all normal: kill 1 2\n")
    found = list(check_exercise(chance))
    assert "wrong-two.script earns 1 of 1 points" in found
    assert any(problem.startswith("random commands solve it: at ") for problem in found)


def test_a_wrong_solution_is_reported(tmp_path: Path) -> None:
    """It does not earn all points, or uses commands that are not allowed."""
    exercise = make_exercise(tmp_path)
    (exercise.folder / "solution.script").write_text("when all normal: kill 1\n")
    assert any("solution.script: task 1 is missed" in problem for problem in check_exercise(exercise))
    (exercise.folder / "solution.script").write_text("when all normal: wipe 1\n")
    assert any("wipe is not allowed in this exercise" in problem for problem in check_exercise(exercise))


def test_random_commands_are_allowed_ones(tmp_path: Path) -> None:
    """Of every allowed kind."""
    verbs = ["kill", "slow", "delay", "lose", "partition", "cut", "hold", "heal", "reorder", "duplicate"]
    head = HEAD.replace('["pause", "resume", "kill", "restart", "cut"]', str(verbs).replace("'", '"'))
    write_exercise(tmp_path / "made", head=head)
    exercise = find_exercise("made", tmp_path)
    given = {command.split()[2] for seed in range(60) for command in random_commands(exercise, seed)}
    assert given == set(verbs)
    for seed in range(60):
        read_commands(exercise, "\n".join(random_commands(exercise, seed)))


def test_every_topic_is_described() -> None:
    """Of every exercise; and every rule of the guide's page has one."""
    for exercise in shipped_exercises():
        for topic in exercise.teaches:
            assert describe_topic(topic).endswith(")"), topic
    listed = set(re.findall(r"^\| ([A-Z]\d+) \|", find_page("algorithms").text, re.MULTILINE))
    assert {rule for rule in listed if not rule.startswith("A")} <= RULES.keys()
    assert describe_topic("Z9") == "Z9"
