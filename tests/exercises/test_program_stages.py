"""Exercises in any language: right programs pass, wrong ones are found, and no slow machine costs points."""

import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from msgspec.structs import replace

from lab.exercises.assessment import Result
from lab.exercises.exercise import Exercise, ExerciseTask, ProgramStage
from lab.exercises.exercise_reader import SHIPPED, ExerciseError, find_exercise, names, read_exercise
from lab.exercises.file_grading import grade_file, try_stages
from lab.exercises.handout import write_handout
from lab.exercises.program_grading import (
    LiveEvidence,
    ProgramCampaigns,
    UnjudgedError,
    confined_program,
    describe_first_note,
    describe_misbehaviour,
)
from lab.kernel import Step, Wrote
from lab.recording.reader import open_recording
from lab.recording.records import Process, Record
from tests.profile import SOAK

T = TypeVar("T")

PROGRAMS = [name for name in names() if find_exercise(name).is_program]
ATTEMPTS = [
    (name, path.name)
    for name in PROGRAMS
    for path in sorted((SHIPPED / name).iterdir())
    if path.name.startswith(("my_", "solution", "wrong-")) and path.suffix in (".py", ".js")
]
QUICK = [("elect-in-any-language", "solution.js" if shutil.which("node") else "solution.py")]
"""A live run takes its time: the others are tried in the profile ``soak``."""
SHORT = "5s"
"""Long enough for what the clients of a workload see, and for what no program may do at any speed."""
_TRIES = 5


def elect() -> Exercise:
    return find_exercise("elect-in-any-language")


def passes(exercise: Exercise, file: str) -> int:
    """Return how many stages the file must pass, by its name."""
    kind, _, rest = Path(file).stem.partition("-")
    if kind == "solution" and not rest:
        return len(exercise.tasks)
    number = int(rest.partition("-")[0]) if kind in ("solution", "wrong") else 0
    return number - 1 if kind == "wrong" else number


def shortened(exercise: Exercise, runs: int, first_lasts: str = "") -> Exercise:
    """Return the exercise with so many runs at most in each stage, and perhaps shorter ones in the first."""
    tasks: list[ExerciseTask] = []
    for task in exercise.tasks:
        assert task.program is not None
        fewer = min(runs, task.program.runs)
        lasts = task.program.lasts if tasks else first_lasts or task.program.lasts
        tasks.append(replace(task, program=replace(task.program, runs=fewer, visible_runs=fewer, lasts=lasts)))
    return replace(exercise, tasks=tuple(tasks))


def on_a_quiet_machine(grade: Callable[[], T]) -> T:
    """Grade again if the machine was too slow to judge."""
    for _ in range(_TRIES):
        try:
            return grade()
        except UnjudgedError:
            continue
    pytest.skip("the machine is too busy to judge programs")


def need_language(file: str) -> None:
    if file.endswith(".js") and shutil.which("node") is None:
        pytest.skip("node is not installed")


@pytest.mark.live
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("name", "file"), ATTEMPTS if SOAK else QUICK)
def test_each_attempt_passes_the_stages_in_its_name(name: str, file: str) -> None:
    """In Python and in JavaScript; a stage that fails has all of its runs."""
    need_language(file)
    exercise = find_exercise(name)
    graded = exercise if SOAK else shortened(exercise, 1)
    results = on_a_quiet_machine(lambda: grade_file(graded, exercise.folder / file, 1).results)
    passed = passes(exercise, file)
    assert [result.state for result in results[:passed]] == ["done"] * passed, results
    assert {result.state for result in results[passed:]} <= {"missed"}, results
    assert all(result.why for result in results[passed:])


def test_each_has_attempts_in_two_languages_and_wrong_ones() -> None:
    assert PROGRAMS == ["broadcast-in-any-language", "elect-in-any-language", "raft-in-any-language"]
    for name in PROGRAMS:
        exercise = find_exercise(name)
        files = {path.name for path in exercise.folder.iterdir()}
        assert {"solution.py", "solution.js", "solution-1.py"} <= files
        assert [path.name for path in exercise.starting_files] == ["my_node.py", "my_node.js"]
        assert any(file.startswith("wrong-") for file in files)
        for path in exercise.starting_files:
            assert path.stat().st_mode & stat.S_IXUSR, "the setup names it as a program"


# what no program may do


def graded_once(tmp_path: Path, code: str) -> tuple[Result, ...]:
    """Return the results of this program in one run of the first stage."""
    file = tmp_path / "mine.py"
    file.write_text(f"#!/usr/bin/env python3\n{code}")
    return on_a_quiet_machine(lambda: grade_file(shortened(elect(), 1, SHORT), file, 1).results)


@pytest.mark.live
@pytest.mark.parametrize(
    ("code", "why"),
    [
        (
            "import os\nos.fork()\n",
            "failed: the program ended by itself, with status 1; its last line of stderr: PermissionError",
        ),
        ("print('hello', flush=True)\ninput()\ninput()\n", "wrote a line that is not a message: hello"),
    ],
)
def test_misbehaviour_is_the_reason(tmp_path: Path, code: str, why: str) -> None:
    """The first that a node did; it needs no confirmation, and earns nothing."""
    results = graded_once(tmp_path, code)
    assert [result.points for result in results] == [0, 0, 0]
    assert why in results[0].why
    assert results[1].why == "an earlier task is not done"


def test_misbehaviour_is_found_in_records() -> None:
    def wrote(line: str, log: bool, *notes: str) -> Record:
        return Step(0, 2, 1, Wrote(line, log), notes=notes)

    failed = Process(9, 2, "failed", why="the program ended by itself, with status 1")
    assert describe_misbehaviour([wrote("x", False, "to nobody"), Process(9, 1, "killed")]) == ""
    assert describe_misbehaviour([wrote("Oops", True), failed]) == (
        "node 2 failed: the program ended by itself, with status 1"
    )
    found = describe_misbehaviour([wrote("x", False, "not a message: x"), failed])
    assert found == "node 2 wrote a line that is not a message: x"


def test_what_is_no_program_earns_nothing(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("print(1)\n")
    results = grade_file(elect(), tmp_path / "mine.py", 1).results
    assert [(result.state, result.points) for result in results] == [("missed", 0)] * 3
    assert "its first line must name its interpreter" in results[0].why
    (tmp_path / "link.py").symlink_to(elect().folder / "solution.py")
    assert "link" in grade_file(elect(), tmp_path / "link.py", 1).results[0].why


# the visible campaign


@pytest.mark.live
@pytest.mark.timeout(900)
def test_what_breaks_a_stage_is_recorded(tmp_path: Path) -> None:
    """With the command that makes such a run again, of the student's own file."""
    exercise = shortened(find_exercise("broadcast-in-any-language"), 1, SHORT)
    file = tmp_path / "mine.py"
    shutil.copy(exercise.starting_files[0], file)
    lines: list[str] = []
    first, *others = on_a_quiet_machine(lambda: list(try_stages(exercise, file, 2, tmp_path, lines.append)))
    assert not first.is_passed
    assert isinstance(first.evidence, LiveEvidence)
    assert first.evidence.recording == tmp_path / "broadcast-in-any-language-1-broadcast.jsonl"
    assert open_recording(first.evidence.recording).header.protocol.name == "program"
    assert f"{file}' " in first.evidence.rerun
    assert " --workload broadcast " in first.evidence.rerun
    assert first.evidence.rerun in first.evidence.script.read_text()
    assert [stage.result for stage in others] == [None]
    assert lines[-1] == "1 of 1 run for task 1"


# the schedules


def test_the_hidden_schedules_follow_from_the_seed(tmp_path: Path) -> None:
    """They differ between students and tasks; their events come when the programs have started, and in order."""
    exercise = elect()
    with confined_program(exercise, exercise.folder / "solution.py") as handed_in:

        def schedules(seed: int, task: int) -> list[object]:
            return list(ProgramCampaigns(exercise, handed_in, seed).schedules(exercise.tasks[task]))

        assert schedules(1, 2) == schedules(1, 2)
        assert schedules(1, 2) != schedules(2, 2)
        assert len(schedules(1, 2)) == 8
        for schedule in ProgramCampaigns(exercise, handed_in, 3).schedules(exercise.tasks[2]):
            assert schedule.end_us == 10_000_000
            first, second = schedule.faults
            assert first.command == "when all normal kill coordinator"
            assert second.command in {f"kill {node}" for node in schedule.nodes}
            assert 2_000_000 <= first.at_us <= second.at_us <= 4_000_000


# what authors may get wrong


def make_exercise(folder: Path, program: str, head: str = 'writes = "my_node.py"') -> Path:
    """Write an exercise with one stage, of this table."""
    made = folder / "mine"
    made.mkdir()
    for name in ("my_node.py", "my_node.js", "lens.py", "setup.scenario"):
        shutil.copy(elect().folder / name, made)
    (made / "exercise.toml").write_text(
        f'title = "Mine"\nkind = "program"\nlevel = 1\nteaches = ["A2"]\n{head}\n\n'
        f"[[task]]\npoints = 1\nprogram = {program}\n"
    )
    (made / "instructions.md").write_text("# Mine\n\n## 1. Elect\n\nElect.\n")
    return made


@pytest.mark.parametrize(
    ("program", "mistake"),
    [
        ("{}", "expected promises or a workload, at least one run, and nodes from-to"),
        ('{ promises = ["A9"] }', "unknown A9; expected one of A1.1, A2"),
        ('{ promises = ["A2"], faults = ["wipe"] }', "unknown wipe; expected one of kill, pause"),
        ('{ promises = ["A2"], faults = ["kill"], events = ["kill 1"] }', "it has both faults"),
        ('{ promises = ["A2"], events = ["kil {any}"] }', "kil"),
        (
            '{ promises = ["A2"], for = "4s" }',
            'for = "4s": at least 7.4s, so that what follows a fault can be judged',
        ),
        ('{ promises = ["A2"], events = ["kill 1"], for = "8s" }', "at least 9s"),
        ('{ promises = ["A2"], for = "soon" }', "soon"),
        ('{ workload = "brodcast" }', "did you mean broadcast?"),
        ('{ workload = "echo", rate = 0 }', "rate = 0: expected 1 to 1,000"),
        ('{ promises = ["A2"], nodes = [5, 3] }', "nodes from-to"),
    ],
)
def test_mistakes_in_a_stage(tmp_path: Path, program: str, mistake: str) -> None:
    with pytest.raises(ExerciseError) as error:
        read_exercise(make_exercise(tmp_path, program))
    assert mistake in str(error.value)


@pytest.mark.parametrize(
    ("head", "mistake"),
    [
        ('kind_ = "x"', "kind_"),
        ('writes = "other.py"', "writes: file other.py not found"),
        ('repairs = "my_node.py"', "with repairs = FILE.py every task needs repair"),
        ("may = []", "stage and program require a file to begin with: writes = FILE"),
    ],
)
def test_mistakes_in_its_head(tmp_path: Path, head: str, mistake: str) -> None:
    with pytest.raises(ExerciseError) as error:
        read_exercise(make_exercise(tmp_path, '{ promises = ["A2"] }', head))
    assert mistake in str(error.value)


def test_a_program_needs_a_setup_with_a_program(tmp_path: Path) -> None:
    made = make_exercise(tmp_path, '{ promises = ["A2"] }')
    (made / "setup.scenario").write_text('title = "x"\nprotocol = "bully"\nfor = "9s"\n---\nat 1s: say "x"\n')
    with pytest.raises(ExerciseError) as error:
        read_exercise(made)
    assert 'the setup has a protocol; it needs program = "./my_node.py"' in str(error.value)


def test_students_get_the_files_to_begin_with(tmp_path: Path) -> None:
    """In every language, executable, and the lens; no solution, whatever its language."""
    write_handout(elect().folder, tmp_path / "given")
    given = read_exercise(tmp_path / "given")
    files = {path.name for path in given.folder.iterdir()}
    assert {"my_node.py", "my_node.js", "lens.py"} <= files
    assert not any(name.startswith(("solution", "wrong-")) for name in files)
    assert [task.explanation for task in given.tasks] == [""] * 3
    assert isinstance(given.tasks[0].program, ProgramStage)


def test_what_was_noted_of_a_program_is_a_reason() -> None:
    """The first note; without a line of any node, that there is none."""
    log, line = Step(0, 1, 1, Wrote("starting", log=True)), Step(1, 1, 1, Wrote("{}"))
    noted = Step(2, 2, 1, Wrote("{}"), notes=("lab_state: normal is no status",))
    assert describe_first_note([log]) == "; no node wrote a line: is the output flushed after each?"
    assert describe_first_note([log, line]) == ""
    assert describe_first_note([line, noted]) == "; noted at node 2: lab_state: normal is no status"
    shown = Step(1, 1, 1, Wrote("{}"), notes=("term 0",))
    assert describe_first_note([shown, noted]) == "; noted at node 2: lab_state: normal is no status"
