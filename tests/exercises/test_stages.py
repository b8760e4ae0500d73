"""Exercises in stages: each attempt passes as many as its name says, and what is no attempt passes none."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from lab.exercises.draws import draw_seed
from lab.exercises.exercise import Exercise, Stage
from lab.exercises.exercise_reader import SHIPPED, ExerciseError, find_exercise, names, read_exercise
from lab.exercises.exercise_validation import check_exercise
from lab.exercises.file_grading import TriedStage, grade_file, try_stages
from lab.exercises.handout import write_handout
from lab.exercises.protocol_grading import BreakingRun
from lab.protocols import OWN_PROTOCOLS
from lab.worlds.loading.user_module import TargetError
from tests.profile import amount, sampled

IN_STAGES = [name for name in names() if find_exercise(name).is_in_stages and not find_exercise(name).is_program]
FULLY = "write-the-ring"
"""The exercise with which the profile ``quick`` tries all attempts; of the others, it tries one in three."""
HEAD = '''"""An attempt."""

from lab.kernel import Payload, on
from lab.protocols import Election, Ring, Status


'''
FIFTEEN_LINES = '''
class ILead(Payload, frozen=True):
    """Follow me."""


class MyRing(Election):
    """Everybody leads, and says so to all others."""

    def started(self) -> None:
        """Lead."""
        self.status, self.coordinator = Status.NORMAL, self.id
        for peer in self.peers:
            self.send(peer, ILead())

    @on(ILead)
    def on_i_lead(self, sender: int, message: ILead) -> None:
        """Follow a higher node."""
        self.coordinator = max(sender, self.coordinator or 0)
'''


def attempts_at(*exercises: str) -> list[tuple[str, str]]:
    """Return the attempts in the folders of these exercises: (exercise, file)."""
    return [
        (name, path.name)
        for name in exercises
        for path in sorted((SHIPPED / name).glob("*.py"))
        if path.name.startswith(("my_", "solution", "wrong-"))
    ]


ATTEMPTS = [*attempts_at(FULLY), *sampled(attempts_at(*(name for name in IN_STAGES if name != FULLY)), 3)]


def ring() -> Exercise:
    return find_exercise(FULLY)


def passes(exercise: Exercise, file: str) -> int:
    """Return how many stages the file must pass, by its name."""
    if file == "solution.py":
        return len(exercise.tasks)
    kind, _, rest = file.removesuffix(".py").partition("-")
    number = int(rest.partition("-")[0]) if kind in ("solution", "wrong") else 0
    return number - 1 if kind == "wrong" else number


def with_runs(exercise: Exercise, most: dict[int, int], otherwise: int) -> Exercise:
    """Return the exercise with fewer runs: the most for each stage by its number."""

    def fewer(stage: Stage, number: int) -> Stage:
        runs = min(stage.runs, most.get(number, otherwise))
        return replace(stage, runs=runs, visible=replace(stage.visible, runs=min(stage.visible.runs, runs)))

    tasks = [
        replace(task, stage=fewer(task.stage, task.number)) for task in exercise.tasks if task.stage is not None
    ]
    return replace(exercise, tasks=tuple(tasks))


def tried(exercise: Exercise, file: Path, to: Path) -> list[TriedStage]:
    return list(try_stages(exercise, file, 1, to))


@pytest.mark.timeout(900)  # hundreds of steps, each in another process: slow where other work runs
@pytest.mark.parametrize(("name", "file"), ATTEMPTS)
def test_each_attempt_passes_the_stages_in_its_name(name: str, file: str) -> None:
    """The last solution passes all, the file to begin with none; a stage that fails has all of its runs."""
    exercise = find_exercise(name)
    passed = passes(exercise, file)
    runs = amount(quick=3, soak=1_000)
    shorter = with_runs(exercise, {passed + 1: 1_000}, runs)
    results = grade_file(shorter, exercise.folder / file, 1).results
    assert [result.state for result in results[:passed]] == ["done"] * passed, results
    assert {result.state for result in results[passed:]} <= {"missed"}
    assert all(result.why for result in results[passed:])


def test_there_are_four_of_them_and_each_has_wrong_attempts() -> None:
    assert IN_STAGES == ["cheapest-commit", "write-raft", "write-the-ring", "write-two-phase-commit"]
    for name in IN_STAGES:
        exercise = find_exercise(name)
        assert {f"solution-{number}.py" for number in range(1, len(exercise.tasks))} <= {
            path.name for path in exercise.folder.iterdir()
        }
        assert list(exercise.folder.glob("wrong-*.py"))


def test_both_commits_are_judged_by_the_same_properties() -> None:
    """An exercise is whole by itself, so it has its own copy."""
    one, other = ((SHIPPED / name / "atomicity.py").read_text() for name in IN_STAGES if "commit" in name)
    assert one == other


# the visible campaign


def test_a_first_attempt_finds_its_counterexample(tmp_path: Path) -> None:
    """Fifteen lines break the first stage in their first runs; what broke them is shrunk to two nodes."""
    (tmp_path / "mine.py").write_text(HEAD + FIFTEEN_LINES)
    first, *others = tried(ring(), tmp_path / "mine.py", tmp_path)
    assert first.result is not None
    assert first.result.runs <= 5
    assert isinstance(first.evidence, BreakingRun)
    assert first.evidence.finding is not None
    assert len(first.evidence.finding.least.nodes) == 2
    assert first.evidence.recording.is_file()
    assert "MyRing" in first.evidence.recording.read_text()
    assert str(first.evidence.finding.violation) in first.evidence.script.read_text()
    assert [stage.result for stage in others] == [None] * 3


def test_a_passed_stage_counts_its_runs(tmp_path: Path) -> None:
    """Each of its promises was judged; the next stage is broken, and earns nothing."""
    exercise = with_runs(ring(), {2: 40}, 5)
    first, second, *_ = tried(exercise, exercise.folder / "solution-1.py", tmp_path)
    assert first.is_passed
    assert first.result is not None
    assert first.result.runs == 5
    assert all(1 <= runs <= 5 for runs in first.result.judged.values())
    assert (first.points, second.points) == (3, 0)
    assert second.result is not None
    assert second.result.shortfall is not None
    assert second.result.shortfall.why.startswith("A2 is broken")


def test_what_judges_nothing_is_not_passed(tmp_path: Path) -> None:
    """No transaction is ever begun, so nothing contradicts the promises, and nothing fulfils them."""
    exercise = with_runs(find_exercise("write-two-phase-commit"), {}, 3)
    assert exercise.starting_file is not None
    skeleton = exercise.starting_file.read_text()
    idle = skeleton.replace("        self.begun += 1\n", "        self.refuses = False\n")
    (tmp_path / "idle.py").write_text(idle)
    (first, *_) = tried(exercise, tmp_path / "idle.py", tmp_path)
    assert first.result is not None
    assert first.result.shortfall is not None
    assert first.result.shortfall.why == "unrefused_commits was judged in none of 3 runs"
    assert grade_file(exercise, tmp_path / "idle.py", 1).points == 0


# what is no attempt

NO_ATTEMPTS = {
    "empty": ("", "has no class MyRing, and no other protocol"),
    "syntax error": (HEAD + "class MyRing(Election:\n", "mine.py:7"),
    "forbidden module": (
        "import random\n" + HEAD + FIFTEEN_LINES.replace('"""Lead."""', '"""Lead."""\n        random.random()'),
        "random",
    ),
    "reads a file": (
        HEAD + FIFTEEN_LINES.replace('"""Lead."""', '"""Lead."""\n        open("/etc/hosts")'),
        "open",
    ),
    "never loaded": ("while True:\n    pass\n", "mine.py:1: TimeoutError"),
    "imports the answer": (HEAD + "class MyRing(Ring):\n    pass\n", "A2 is broken"),
    "never ends": (
        HEAD + FIFTEEN_LINES.replace('"""Lead."""', '"""Lead."""\n        while True:\n            pass'),
        "it fails",
    ),
    "raises": (
        HEAD + FIFTEEN_LINES.replace('"""Lead."""', '"""Lead."""\n        raise ValueError("no")'),
        "it fails",
    ),
}


@pytest.mark.parametrize(("code", "why"), NO_ATTEMPTS.values(), ids=NO_ATTEMPTS.keys())
def test_what_is_no_attempt_earns_nothing(tmp_path: Path, code: str, why: str) -> None:
    """And the reason is given, with the line if it has one."""
    (tmp_path / "mine.py").write_text(code)
    results = grade_file(with_runs(ring(), {}, 2), tmp_path / "mine.py", 1).results
    assert [result.points for result in results] == [0] * 4
    assert why in results[0].why


@pytest.mark.parametrize("kind", ["empty", "syntax error", "forbidden module"])
def test_what_cannot_be_loaded_is_not_tried(tmp_path: Path, kind: str) -> None:
    code, why = NO_ATTEMPTS[kind]
    (tmp_path / "mine.py").write_text(code)
    with pytest.raises(TargetError) as error:
        tried(ring(), tmp_path / "mine.py", tmp_path)
    assert why in str(error.value)


# the hidden campaign


def test_the_hidden_runs_differ_from_student_to_student() -> None:
    """They follow from the name and the nonce of the course."""
    seeds = {draw_seed("write-the-ring", name, nonce) for name in ("anna", "ben") for nonce in (b"one", b"two")}
    assert len(seeds) == 4
    assert draw_seed("write-the-ring", "anna", b"one") in seeds


def test_students_get_no_solution_and_can_try(tmp_path: Path) -> None:
    """They get the file to begin with and the properties; explanations of stages would be the solution."""
    given = tmp_path / "given"
    write_handout(find_exercise("cheapest-commit").folder, given)
    assert sorted(path.name for path in given.glob("*.py")) == ["atomicity.py", "my_commit.py"]
    exercise = with_runs(read_exercise(given), {}, amount(quick=4, soak=8))
    assert [task.explanation for task in exercise.tasks] == [""] * 3
    (first, *_) = tried(exercise, given / "my_commit.py", tmp_path)
    assert not first.is_passed
    assert first.evidence is not None


# the check of the exercise


def make_short(folder: Path) -> Path:
    """Write an exercise with the first stage of the ring, in few runs."""
    made = folder / "short"
    made.mkdir()
    for name in ("setup.scenario", "my_ring.py", "wrong-1-follows-what-it-has-seen.py"):
        shutil.copy(ring().folder / name, made / name)
    shutil.copy(ring().folder / "solution-1.py", made / "solution.py")
    head, first, *_ = (ring().folder / "exercise.toml").read_text().split("[[task]]")
    first = first.replace("runs = 60, nodes = [2, 7]", "runs = 6, nodes = [3, 4], visible = { runs = 3 }")
    (made / "exercise.toml").write_text(f"{head}[[task]]{first}")
    (made / "instructions.md").write_text("# Short\n\n## 1. Once round\n\nAs in the ring.\n")
    return made


@pytest.mark.timeout(300)
def test_the_check_of_an_exercise_in_stages(tmp_path: Path) -> None:
    """It reports a solution that fails, an attempt that passes, and files that are missing or have no stage."""
    made = make_short(tmp_path)
    assert list(check_exercise(read_exercise(made))) == []
    (made / "wrong-1-follows-what-it-has-seen.py").rename(made / "wrong-follows.py")
    shutil.copy(made / "solution.py", made / "wrong-1-nothing.py")
    shutil.copy(made / "my_ring.py", made / "solution.py")
    found = list(check_exercise(read_exercise(made)))
    assert "wrong-follows.py: name the stage that it fails, 1 to 1: wrong-2-follows.py" in found
    assert "wrong-1-nothing.py passes stage 1, but it should pass none of 1" in found
    assert any(problem.startswith("solution.py fails stage 1: A2 is broken") for problem in found)
    assert any(problem.startswith("solution.py fails the visible stage 1: A2 is broken") for problem in found)
    for path in (*made.glob("wrong-*"), made / "solution.py"):
        path.unlink()
    assert [problem.partition(":")[0] for problem in check_exercise(read_exercise(made))] == [
        "solution.py is missing",
        "wrong-*.py is missing",
    ]


@pytest.mark.parametrize(
    ("was", "becomes", "error"),
    [
        ("faults = []", 'faults = ["fire"]', "stage: unknown fire"),
        ('"highest"]', '"lowest"]', "stage: unknown lowest"),
        ("runs = 3 }", "runs = 0 }", "visible: expected at least one run"),
        ("runs = 3 }", 'runs = 3, faults = ["loss"] }', "visible: loss is not among its faults"),
        ("faults = []", 'faults = [], events = ["burn {any}"]', "burn"),
        ("faults = []", 'faults = ["kill"], events = ["kill {any}"]', "leave out one"),
        ("faults = []", "faults = [], messages = 2.0", "messages are counted for each command"),
        ('writes = "my_ring.py"\n', "", "stage and program require a file to begin with"),
        ('writes = "my_ring.py"', 'writes = "mine.py"', "writes: file mine.py not found"),
        ('writes = "my_ring.py"', 'writes = "my_ring.py"\nrepairs = "my_ring.py"', "leave out one"),
    ],
)
def test_mistakes_in_a_stage_are_reported(tmp_path: Path, was: str, becomes: str, error: str) -> None:
    """To the author of the exercise."""
    made = make_short(tmp_path)
    head = (made / "exercise.toml").read_text()
    assert was in head
    (made / "exercise.toml").write_text(head.replace(was, becomes))
    with pytest.raises(ExerciseError) as wrong:
        read_exercise(made)
    assert error in str(wrong.value)


@pytest.fixture(autouse=True)
def own_protocols_restored() -> Iterator[None]:
    """Forget the protocols that were loaded."""
    known = dict(OWN_PROTOCOLS)
    yield
    OWN_PROTOCOLS.clear()
    OWN_PROTOCOLS.update(known)
