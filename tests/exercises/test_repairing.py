"""Mended protocols, graded: what mends, what only seems to, and what would get round it."""

import shutil
from pathlib import Path

import pytest

from lab.exercises.assessment import Assessment
from lab.exercises.exercise import Exercise
from lab.exercises.library import all_exercises, exercise_named
from lab.exercises.reading import ExerciseError, read_exercise
from lab.exercises.repairing import grade_repair, repair_amiss
from lab.recording.records import End, Link
from lab.worlds.config import RunConfig, header_of
from lab.worlds.targets import load_protocol

REPAIRS = [exercise.name for exercise in all_exercises() if exercise.repairs is not None]
IMPORTS = "from lab.kernel import on, procedure\nfrom lab.protocols import Bully, Election, TwoPhaseCommit\n"


def bully() -> Exercise:
    """The exercise whose file is quickest to run."""
    return exercise_named("mend-the-bully")


def points_of(exercise: Exercise, path: Path, code: str, seed: int = 1) -> tuple[int, str]:
    """What a file with this code brings, and why it brings no more."""
    path.write_text(IMPORTS + code, "utf-8")
    results = grade_repair(exercise, path, seed)
    return sum(result.points for result in results), next((result.why for result in results if result.why), "")


@pytest.mark.parametrize("name", REPAIRS)
def test_repair_is_solvable_and_by_nothing_else(name: str) -> None:
    """The solution brings all points, the file as it was and the wrong mends none."""
    assert list(repair_amiss(exercise_named(name))) == []


@pytest.mark.parametrize("name", REPAIRS)
@pytest.mark.parametrize("seed", [2, 3, 4])
def test_file_as_it_was_gets_nothing_with_any_seed(name: str, seed: int) -> None:
    """The hole is found whichever runs are drawn."""
    exercise = exercise_named(name)
    assert exercise.repairs is not None
    assert [result.points for result in grade_repair(exercise, exercise.repairs, seed)] == [0] * len(
        exercise.tasks
    )


def test_exercises_of_this_kind_grow_harder() -> None:
    """There is one on each level."""
    assert {exercise_named(name).level for name in REPAIRS} == {1, 2, 3}


def test_class_that_does_nothing_gets_nothing(tmp_path: Path) -> None:
    """Who never leads is never wrong, and of no use."""
    points, why = points_of(bully(), tmp_path / "idle.py", "class MyBully(Election):\n    pass\n")
    assert points == 0
    assert why.startswith("nothing is struck, and A2 is broken")


def test_bank_that_commits_nothing_gets_nothing(tmp_path: Path) -> None:
    """A7 and A8 would hold, and nobody would have the money."""
    code = '''
class MyCommit(TwoPhaseCommit):
    """Nothing."""

    @procedure
    async def coordinate(self, plan):
        """Not at all."""
'''
    points, why = points_of(exercise_named("mend-the-commit"), tmp_path / "idle.py", code)
    assert points == 0
    assert "transfers are committed" in why


def test_what_is_promised_is_said_by_the_exercise(tmp_path: Path) -> None:
    """A class that promises nothing, and takes all the time there is, is judged like the others."""
    broken = (
        (bully().repairs or Path())
        .read_text("utf-8")
        .replace(
            "class MyBully(Bully):\n",
            "class MyBully(Bully):\n"
            "    promises = ()\n"
            "    relies_on = {'A1.1': (4,), 'A2': (4,)}\n"
            "    settles_within_us = classmethod(lambda *given: 10**12)\n\n",
        )
    )
    points, why = points_of(bully(), tmp_path / "sly.py", broken)
    assert points == 0
    assert "A2 is broken" in why


def test_messages_are_struck_at_though_they_have_other_names(tmp_path: Path) -> None:
    """To call everything a heartbeat takes nothing out of the schedules."""
    broken = (
        (bully().repairs or Path())
        .read_text("utf-8")
        .replace(
            "class MyBully(Bully):\n", "class MyBully(Bully):\n    heartbeats = tuple(Bully.payloads.values())\n\n"
        )
    )
    assert points_of(bully(), tmp_path / "quiet.py", broken)[0] == 0


def test_error_in_the_file_is_told_with_its_line(tmp_path: Path) -> None:
    """What cannot be loaded is missed, and the student is told where to look."""
    points, why = points_of(bully(), tmp_path / "torn.py", "class MyBully(Bully:\n")
    assert points == 0
    assert "torn.py:3" in why


def test_other_class_name_is_told(tmp_path: Path) -> None:
    """The class keeps its name."""
    points, why = points_of(bully(), tmp_path / "renamed.py", "class Mended(Bully):\n    pass\n")
    assert points == 0
    assert "no class MyBully" in why


def test_error_of_a_node_counts(tmp_path: Path) -> None:
    """A node that fails by an error of its own is no mend, whatever it promises."""
    code = '''
class MyBully(Bully):
    """Breaks."""

    def started(self):
        """Break."""
        raise ValueError("out of luck")
'''
    points, why = points_of(bully(), tmp_path / "breaks.py", code)
    assert points == 0
    assert "out of luck" in why


def test_messages_without_end_are_stopped(tmp_path: Path) -> None:
    """A class whose messages multiply is missed, and does not take the grader with it."""
    code = '''
from lab.protocols.bully import AreYouNormal


class MyBully(Bully):
    """Echoes."""

    @on(AreYouNormal)
    def is_normal(self, sender, message):
        """Everybody asks everybody."""
        for peer in self.peers:
            self.send(peer, AreYouNormal())
        return super().is_normal(sender, message)
'''
    points, why = points_of(bully(), tmp_path / "echo.py", code)
    assert points == 0
    assert why == "its messages multiply without end"


def test_same_seed_gives_the_same_grade() -> None:
    """A grade can be made again."""
    exercise = bully()
    wrong = exercise.folder / "wrong-the-old-coordinator.py"
    assert grade_repair(exercise, wrong, 7) == grade_repair(exercise, wrong, 7)


def test_progress_is_told() -> None:
    """Whoever waits sees how far it has come."""
    told: list[str] = []
    grade_repair(bully(), bully().repairs or Path(), 1, told.append)
    assert told[0] == "task 1: 0 of 150 runs"


def test_repair_stays_open_in_an_attempt() -> None:
    """What is graded is the file: a run of it decides nothing."""
    exercise = bully()
    setup = exercise.setup
    config = RunConfig("", setup.protocol, setup.nodes, setup.timing, {}, Link(), 1, "", world="simulated")
    header = header_of(config, load_protocol(setup.protocol))
    assessment = Assessment(exercise, header)
    for record in (header, End(1, "its time was up")):
        assessment.observe(record)
    assert [result.state for result in assessment.results] == ["open"] * len(exercise.tasks)
    assert assessment.stand.points == 0


@pytest.mark.parametrize(
    ("was", "becomes", "told"),
    [
        ('promises = ["A1.1", "A2"]', 'promises = ["A9"]', "A9 is none of A1.1, A1.2, A2"),
        ('faults = ["kill"]', 'faults = ["fire"]', "fire is none of kill"),
        ('like = "bully"', 'like = "wolf"', "wolf is none of"),
        ("nodes = [2, 5]", "nodes = [5, 2]", "nodes from-to"),
        ('repairs = "my_bully.py"\n', "", "with repairs = FILE.py every task"),
    ],
)
def test_mistakes_in_a_repair_are_told(tmp_path: Path, was: str, becomes: str, told: str) -> None:
    """The author of an exercise is told what is wrong with it, before anybody is set it."""
    folder = tmp_path / "mine"
    shutil.copytree(bully().folder, folder)
    head = (folder / "exercise.toml").read_text("utf-8")
    assert was in head
    (folder / "exercise.toml").write_text(head.replace(was, becomes), "utf-8")
    with pytest.raises(ExerciseError) as wrong:
        read_exercise(folder)
    assert told in str(wrong.value)
