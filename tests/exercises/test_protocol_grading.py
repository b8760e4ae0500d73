"""Grading of repaired protocols: real repairs, apparent repairs, and attempts to cheat."""

import re
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from lab.cli.campaign_report import print_finding
from lab.exercises.assessment import Assessment
from lab.exercises.exercise import Exercise
from lab.exercises.exercise_reader import ExerciseError, read_exercise, resolve_exercise
from lab.exercises.exercise_validation import check_exercise
from lab.exercises.file_grading import grade_file
from lab.exercises.protocol_grading import BreakingRun
from lab.recording.reader import open_recording
from lab.recording.records import End, Link
from lab.worlds.loading.config import RunConfig, header_of
from lab.worlds.loading.targets import load_protocol
from tests.exercises.exercise_files import shipped_with
from tests.profile import amount, sampled

MOST_RUNS = {"mend-the-commit": 40, "mend-the-ring": 60}
"""Of a first task, where 20 do not find the error of each wrong repair."""
REPAIRS = shipped_with('kind = "repair"\n')
IMPORTS = "from lab.kernel import on, procedure\nfrom lab.protocols import Bully, Election, TwoPhaseCommit\n"


def bully() -> Exercise:
    """The exercise whose file runs fastest."""
    return resolve_exercise("mend-the-bully")


def points_of(exercise: Exercise, path: Path, code: str, seed: int = 1) -> tuple[int, str]:
    """Return the points for a file with this code, and why there are no more."""
    path.write_text(IMPORTS + code, "utf-8")
    graded = grade_file(exercise, path, seed)
    return graded.points, next((result.why for result in graded.results if result.why), "")


def with_runs(exercise: Exercise, first: int, later: int) -> Exercise:
    """Return the exercise with at most so many runs for its first task, and for each later one."""
    tasks = tuple(
        replace(task, repair=replace(task.repair, runs=min(task.repair.runs, later if number else first)))
        for number, task in enumerate(exercise.tasks)
        if task.repair is not None
    )
    assert len(tasks) == len(exercise.tasks)
    return replace(exercise, tasks=tasks)


@pytest.mark.timeout(900)  # thousands of steps, each in another process: slow where other work runs
@pytest.mark.parametrize("name", REPAIRS)
def test_the_solution_repairs(name: str) -> None:
    """It earns all points."""
    exercise = with_runs(resolve_exercise(name), amount(quick=4, soak=1_000), amount(quick=2, soak=1_000))
    results = grade_file(exercise, exercise.folder / "solution.py", 1).results
    assert [result.state for result in results] == ["done"] * len(exercise.tasks), results


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", REPAIRS)
def test_a_wrong_repair_earns_nothing(name: str) -> None:
    """Nor does the unchanged file: its error is found within some runs."""
    exercise = with_runs(resolve_exercise(name), amount(quick=MOST_RUNS.get(name, 20), soak=1_000), 8)
    assert exercise.starting_file is not None
    for path in (exercise.starting_file, *sampled(sorted(exercise.folder.glob("wrong-*.py")), 3)):
        assert grade_file(exercise, path, 1).points == 0, path.name


@pytest.mark.soak
@pytest.mark.parametrize("name", REPAIRS)
def test_the_check_of_a_repair_exercise(name: str) -> None:
    """It finds no problem, with all the runs that the tasks demand."""
    assert list(check_exercise(resolve_exercise(name))) == []


@pytest.mark.soak
@pytest.mark.parametrize("name", REPAIRS)
@pytest.mark.parametrize("seed", range(2, 22))
def test_the_unchanged_file_earns_nothing_with_any_seed(name: str, seed: int) -> None:
    """Its error is found whatever runs are drawn."""
    exercise = resolve_exercise(name)
    assert exercise.starting_file is not None
    assert grade_file(exercise, exercise.starting_file, seed).points == 0


def test_exercises_of_this_kind_grow_harder() -> None:
    """There is one on each level."""
    assert {resolve_exercise(name).level for name in REPAIRS} == {1, 2, 3}


def test_a_class_that_does_nothing_earns_nothing(tmp_path: Path) -> None:
    """A class that never elects is never wrong, and useless."""
    points, why = points_of(bully(), tmp_path / "idle.py", "class MyBully(Election):\n    pass\n")
    assert points == 0
    assert why.startswith("without any fault, A2 is broken")


def test_a_bank_that_commits_nothing_earns_nothing(tmp_path: Path) -> None:
    """It would keep A7 and A8 by never transferring any money."""
    code = '''
class MyCommit(TwoPhaseCommit):
    """Nothing."""

    @procedure
    async def coordinate(self, plan):
        """Not at all."""
'''
    points, why = points_of(resolve_exercise("mend-the-commit"), tmp_path / "idle.py", code)
    assert points == 0
    assert "transactions are committed" in why


def test_the_exercise_defines_the_promises(tmp_path: Path) -> None:
    """A class that promises nothing, or allows itself unlimited time, is judged like the others."""
    broken = (
        (bully().starting_file or Path())
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


@pytest.mark.timeout(120)
def test_fewer_nodes_have_no_more_time(tmp_path: Path) -> None:
    """A class whose bound differs with the number of nodes is judged by the exercise's bound in each run."""
    exercise = bully()
    solution = (exercise.folder / "solution.py").read_text("utf-8")
    sly = solution + (
        "\n    @classmethod\n    def settles_within_us(cls, timing, parameters, nodes):\n"
        "        return super().settles_within_us(timing, parameters, nodes) if nodes > 3 else 10**13\n"
    )
    task = exercise.tasks[0]
    assert task.repair is not None
    few = replace(task, repair=replace(task.repair, runs=5))
    (tmp_path / "sly.py").write_text(sly, "utf-8")
    (result,) = grade_file(replace(exercise, tasks=(few,)), tmp_path / "sly.py", 1).results
    assert result.why == ""


@pytest.mark.timeout(120)
def test_the_run_that_breaks_one_s_own_file_is_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Shrunk if it violates an assertion; as it is if it sends too many messages."""
    exercise = resolve_exercise("mend-the-ring")
    first, second = exercise.tasks
    assert second.repair is not None
    few = replace(second, number=1, repair=replace(second.repair, runs=3, times=0.1))
    solution = exercise.folder / "solution.py"
    graded = grade_file(replace(exercise, tasks=(few,)), solution, 1, to=tmp_path)
    (result,), evidence = graded.results, graded.evidence
    assert "times as many messages as ring" in result.why
    assert isinstance(evidence, BreakingRun)
    assert evidence.finding is None
    assert evidence.recording == tmp_path / "mend-the-ring-1-run-1.jsonl"
    assert open_recording(evidence.recording).header.seed == int(evidence.rerun.split("--seed ")[1].split()[0])
    assert f"# {result.why}\n# {evidence.rerun}\n" in evidence.script.read_text()

    wrong = exercise.folder / "wrong-only-higher-starters.py"
    graded = grade_file(replace(exercise, tasks=(first,)), wrong, 1, to=tmp_path)
    evidence = graded.evidence
    assert "A2 is broken" in graded.results[0].why
    assert isinstance(evidence, BreakingRun)
    assert evidence.finding is not None
    assert len(evidence.finding.least.faults) == 1
    assert evidence.recording == tmp_path / "mend-the-ring-1-A2.jsonl"
    print_finding(evidence.finding)
    events = capsys.readouterr().out.partition("events that led to it")[2]
    assert re.search(r"^ +\d+ +\d\.\d+  at .* kill \d$", events, re.MULTILINE), "the fault is one of them"


def test_an_error_in_the_declared_bound_is_the_students(tmp_path: Path) -> None:
    """It misses the tasks, and does not end the grading of a class."""
    faulty = (bully().starting_file or Path()).read_text("utf-8")
    code = faulty + "\n    settles_within_us = classmethod(lambda *given: 1 // 0)\n"
    points, why = points_of(bully(), tmp_path / "torn.py", code)
    assert points == 0
    assert "ZeroDivisionError" in why


def test_renamed_messages_are_still_targets_of_faults(tmp_path: Path) -> None:
    """Naming everything a heartbeat removes no faults from the schedules."""
    broken = (
        (bully().starting_file or Path())
        .read_text("utf-8")
        .replace(
            "class MyBully(Bully):\n", "class MyBully(Bully):\n    heartbeats = tuple(Bully.payloads.values())\n\n"
        )
    )
    assert points_of(bully(), tmp_path / "quiet.py", broken)[0] == 0


def test_an_error_in_the_file_is_reported_with_its_line(tmp_path: Path) -> None:
    """A file that cannot be loaded misses all tasks."""
    points, why = points_of(bully(), tmp_path / "torn.py", "class MyBully(Bully:\n")
    assert points == 0
    assert "torn.py:3" in why


def test_another_class_name_is_reported(tmp_path: Path) -> None:
    """The class must keep its name."""
    points, why = points_of(bully(), tmp_path / "renamed.py", "class Mended(Bully):\n    pass\n")
    assert points == 0
    assert "no class MyBully" in why


def test_an_exception_of_a_node_counts(tmp_path: Path) -> None:
    """The promises of the class make no difference."""
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


def test_unbounded_messages_are_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A class whose messages multiply misses the task, and does not crash the grader."""
    monkeypatch.setattr("lab.worlds.simulated.execution._RECORDS", 1_000)
    code = '''
from lab.protocols.bully import AreYouNormal


class MyBully(Bully):
    """Echoes."""

    @on(AreYouNormal)
    def on_are_you_normal(self, sender, message):
        """Everybody asks everybody."""
        for peer in self.peers:
            self.send(peer, AreYouNormal())
        return super().on_are_you_normal(sender, message)
'''
    points, why = points_of(bully(), tmp_path / "echo.py", code)
    assert points == 0
    assert why == "its messages multiply without bound"


def test_the_same_seed_gives_the_same_grade() -> None:
    exercise = with_runs(bully(), 2, 1)
    wrong = exercise.folder / "wrong-the-old-coordinator.py"
    assert grade_file(exercise, wrong, 7) == grade_file(exercise, wrong, 7)


def test_progress_is_reported() -> None:
    lines: list[str] = []
    grade_file(bully(), bully().starting_file or Path(), 1, lines.append)
    assert lines[0] == "0 of 150 runs for task 1"


def test_a_repair_task_stays_open_in_an_attempt() -> None:
    """The file is graded; a run of it decides nothing."""
    exercise = bully()
    setup = exercise.setup
    config = RunConfig("", setup.protocol, setup.nodes, setup.timing, {}, Link(), 1, "", world="simulated")
    header = header_of(config, load_protocol(setup.protocol))
    assessment = Assessment(exercise, header)
    for record in (header, End(1, "its time limit was reached")):
        assessment.observe(record)
    assert [result.state for result in assessment.results] == ["open"] * len(exercise.tasks)
    assert assessment.status.points == 0


@pytest.mark.parametrize(
    ("was", "becomes", "error"),
    [
        (
            'promises = ["A1.1", "A2"]',
            'promises = ["A9"]',
            "unknown A9; expected one of A1.1, A1.2, A2, highest, M7",
        ),
        ('faults = ["kill"]', 'faults = ["fire"]', "unknown fire; expected one of kill"),
        ('like = "bully"', 'like = "wolf"', "unknown wolf"),
        ("nodes = [2, 5]", "nodes = [5, 2]", "nodes from-to"),
        ('repairs = "my_bully.py"\n', "", "with repairs = FILE.py every task"),
    ],
)
def test_mistakes_in_a_repair_are_reported(tmp_path: Path, was: str, becomes: str, error: str) -> None:
    """To the author of the exercise."""
    folder = tmp_path / "mine"
    shutil.copytree(bully().folder, folder)
    head = (folder / "exercise.toml").read_text("utf-8")
    assert was in head
    (folder / "exercise.toml").write_text(head.replace(was, becomes), "utf-8")
    with pytest.raises(ExerciseError) as wrong:
        read_exercise(folder)
    assert error in str(wrong.value)


CHEATS = {
    "patches the grader": "import lab.exercises.protocol_grading as r\nr._failure_text = lambda *_: ''\n{faulty}",
    "renames the answer": "from lab.protocols.bully import Bully as MyBully\n",
    "inherits the answer": "from lab.protocols import Bully\n\nclass MyBully(Bully):\n    pass\n",
    "is another answer": "from lab.protocols import BullyTanenbaum\n\nclass MyBully(BullyTanenbaum):\n    pass\n",
    "loads the answer anew": (
        "import sys\nfor name in [n for n in sys.modules if n.startswith('lab.protocols')]:\n"
        "    del sys.modules[name]\nfrom lab.protocols.bully import Bully\n\nclass MyBully(Bully):\n    pass\n"
    ),
    "searches for the answer": (
        "import gc\nfrom lab.protocols import Bully\nfrom lab.protocols.bully import AreYouNormal\n"
        "found = [f for f in gc.get_objects() if getattr(f, '__name__', '') == 'coordinator_timeout']\n"
        "found += [f for f in gc.get_objects() if getattr(f, '__name__', '') == '_silence_ends_us']\n"
        "assert all(f.__code__.co_filename.endswith('my_bully.py') for f in found), found\n"
        "\nclass MyBully(Bully):\n    pass\n"
    ),
    "excuses itself by timers that seem late": (
        "from lab.kernel import Fired, Node, Step, Wait\nfrom msgspec.structs import replace\n"
        "take_step, timer, LATE = Node.step, Node.next_timer, Wait('tick', 1, '', 0, 1)\n"
        "def step(self, given, now_us, draws=()):\n"
        "    self._tick_us = now_us + 150_000\n"
        "    ticks = isinstance(given, Fired) and given.procedure == 'tick'\n"
        "    made = Step(now_us, self.id, self._incarnation, given, began=self.waits()) if ticks "
        "else take_step(self, given, now_us, draws)\n"
        "    return replace(made, began=(*made.began, LATE))\n"
        "def next_timer(self):\n"
        "    due = timer(self)\n"
        "    return due if due and due[0] <= self._tick_us else (self._tick_us, Fired('tick'))\n"
        "Node.step, Node.next_timer = step, next_timer\n{faulty}"
    ),
    "ends the grader": "import os\nos._exit(0)\n",
    "never ends": "while True:\n    pass\n",
    "leaves a child": "import os\nif os.fork() == 0:\n    while True:\n        pass\n{faulty}",
}


@pytest.mark.parametrize("code", CHEATS.values(), ids=CHEATS.keys())
def test_a_cheat_earns_nothing(tmp_path: Path, code: str) -> None:
    """The judge is out of its reach, and so is the answer."""
    faulty = (bully().starting_file or Path()).read_text("utf-8")
    path = tmp_path / "cheat.py"
    path.write_text(code.replace("{faulty}", faulty), "utf-8")
    results = grade_file(bully(), path, 1).results
    assert [result.points for result in results] == [0, 0, 0][: len(results)]
    assert results[0].why


def test_a_link_to_the_solution_earns_nothing(tmp_path: Path) -> None:
    """What was handed in is the link, which the student could make without ever reading the file."""
    link = tmp_path / "mended.py"
    link.symlink_to(bully().folder / "solution.py")
    results = grade_file(bully(), link, 1).results
    assert [result.points for result in results] == [0, 0, 0]
    assert "symbolic link" in results[0].why
