"""``lab exercise``: solve and grade exercises."""

import os
import secrets
import shlex
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from msgspec import Struct, field
from rich.table import Table
from typer import Argument, Option

from lab.cli.campaign_report import print_finding
from lab.cli.documents import Document, Json, print_json
from lab.cli.junit import JUnitCase, JUnitSuite, write_junit
from lab.cli.options import Junit, announce_sandbox, command, command_group, writable_report, write_whole
from lab.cli.progress import Progress
from lab.cli.terminal import (
    EXIT_NOT_AS_EXPECTED,
    UsageError,
    print_facts,
    print_paragraphs,
    print_table,
    print_wrapped,
    require_terminal,
)
from lab.exercises.assessment import Result
from lab.exercises.attempts import NAME, LocalClusters, StudentFolder, login_name
from lab.exercises.draws import describe_draw, draw_seed
from lab.exercises.exercise import LEVELS, Exercise, Way
from lab.exercises.exercise_reader import (
    SHIPPED,
    ExerciseError,
    all_exercises,
    drawn_for,
    find_exercise,
    names,
    read_exercise,
    resolve_exercise,
)
from lab.exercises.exercise_validation import check_exercise
from lab.exercises.file_grading import TriedStage, grade_file, try_stages
from lab.exercises.grading import (
    UNPROVED,
    Grade,
    as_csv,
    as_gradescope,
    best_grades,
    format_results,
    grade_recordings,
    report_part,
    restrict_to_student,
)
from lab.exercises.handout import HEAD, fill, write_handout
from lab.exercises.program_grading import LiveEvidence
from lab.exercises.protocol_grading import BreakingRun
from lab.foreign_file import LARGEST_TEXT, read_foreign, read_foreign_text
from lab.output import print_line
from lab.places import exercises_folder
from lab.text import sanitize
from lab.tui.terminal.guard import run_guarded
from lab.units import format_count
from lab.worlds.loading.settings import seed_of
from lab.worlds.loading.targets import split_target

group = command_group(
    "exercise",
    "Solve and grade exercises.\n\nEach exercise gives you a cluster of your own, and asks you to bring "
    "about, predict, find or explain a behaviour, or to repair or write a protocol. [bold]lab exercise "
    "list[/bold] shows them all. To host them for a class: [bold]lab serve[/bold].",
)


def complete_exercise(incomplete: str) -> list[tuple[str, str]]:
    """Return the built-in exercises with their titles."""
    try:
        return [(each.name, each.title) for each in all_exercises() if each.name.startswith(incomplete)]
    except ExerciseError:
        return []


Named = Annotated[
    str,
    Argument(
        metavar="NAME|./DIR",
        help="An exercise by name, or the folder of your own: ./DIR.",
        autocompletion=complete_exercise,
    ),
]
Student = Annotated[str | None, Option(metavar="NAME", help="Name of the student. Default: your login name.")]
Folder = Annotated[
    Path | None,
    Option("--exercises", metavar="DIR", help="Use the exercises in this folder instead of the built-in ones."),
]
HomeFolder = Annotated[
    Path | None,
    Option("--home", metavar="DIR", help="Folder for attempts and progress. Default: in lab's data folder."),
]


_STUDENT_EDITION = (
    "the students' edition; install the teacher's from the source code (LAB_EDITION=teacher pip install .), "
    "or name a folder there: ./lab/exercises/library/NAME"
)


class ExerciseSummary(Struct, frozen=True):
    """An exercise; ``teaches`` are its topics."""

    name: str
    title: str
    kind: str
    level: int
    teaches: tuple[str, ...]
    points: int


class ExerciseListDocument(Document, frozen=True):
    """The exercises."""

    exercises: tuple[ExerciseSummary, ...]


@group.command("list")
def list_(exercises: Folder = None, json: Json = False) -> int:
    """List the exercises: level, task, topics and points of each."""
    found = _exercises(exercises)
    if json:
        listed = (
            ExerciseSummary(each.name, each.title, each.kind, each.level, tuple(each.teaches), each.points)
            for each in found
        )
        print_json(ExerciseListDocument(tuple(listed)))
        return 0
    table = Table(box=None, pad_edge=False, expand=os.isatty(1))
    for column, ratio in (("name", None), ("title", 3), ("kind", None), ("points", None), ("teaches", 2)):
        table.add_column(column, no_wrap=True, overflow="ellipsis", ratio=ratio)
    for level, text in LEVELS.items():
        rows = [each for each in found if each.level == level]
        if rows:
            table.add_row(text, style="bold")
        for each in rows:
            teaches = sanitize(", ".join(each.teaches))
            table.add_row(f"  {each.name}", sanitize(each.title), each.kind, str(each.points), teaches)
    print_table(table)
    return 0


class TaskSummary(Struct, frozen=True):
    """A task: its instructions are Markdown. ``way``: how it is done; a teacher grades ``explain``.

    ``asks`` is the question, or what is to be explained; ``options`` are those of a question that has some.
    """

    task: int
    title: str
    way: Way
    points: int
    text: str
    asks: str
    options: tuple[str, ...] = field(name="choices")


class ExerciseShowDocument(Document, frozen=True):
    """An exercise: its tasks and allowed commands; ``solution`` is null without ``--solution``."""

    name: str
    title: str
    kind: str
    level: int
    teaches: tuple[str, ...]
    points: int
    intro: str
    tasks: tuple[TaskSummary, ...]
    allowed: tuple[str, ...]
    folder: str
    solution: str | None


@group.command()
def show(
    name: Named,
    solution: Annotated[bool, Option("--solution", help="Print the solution too.")] = False,
    student: Annotated[
        str | None, Option(metavar="NAME", help="Show what is drawn for this student. Default: your login name.")
    ] = None,
    data: Annotated[
        Path | None,
        Option("--data", metavar="DIR", help="With --student: the data folder of the class's server."),
    ] = None,
    json: Json = False,
) -> int:
    """Print an exercise: its tasks, the allowed commands, and the points of each task.

    In many exercises each student has node ids, times or seeds of their own. What is printed are yours, as lab
    exercise start has them; or those of --student: at home, or with --data in the class of that server.
    """
    exercise = resolve_exercise(name)
    if data is not None and student is None:
        raise UsageError("--data needs a student: --student NAME")
    who = login_name() if student is None else _student_name(student)
    exercise = drawn_for(exercise, who, b"" if data is None else _nonce_in(data))
    path = _solution_of(exercise) if solution else None
    text = None if path is None else fill(read_foreign_text(path), exercise.script_values)
    if json:
        print_json(_describe(exercise, text))
        return 0
    _print_exercise(exercise, _drawn_values(exercise, solution), who)
    if text is not None:
        print_line()
        print_line(f"The solution, {path}:")
        print_line()
        for line in text.splitlines():
            print_line(f"    {line}")
    return 0


def _nonce_in(data: Path) -> bytes:
    from lab.serve.data_folder import read_nonce  # noqa: PLC0415 - few need it

    nonce = read_nonce(data)
    if not nonce:
        raise UsageError(f"--data {data} has no nonce; name the data folder of lab serve, which it prints")
    return nonce


def _drawn_values(exercise: Exercise, solution: bool) -> dict[str, str]:
    """Return the drawn values, without the solution only those that the student is shown: others are answers."""
    if solution:
        return exercise.drawn
    paths = (exercise.folder / name for name in ("instructions.md", "setup.scenario"))
    texts = "".join(read_foreign_text(path) for path in paths if path.is_file())
    return {name: value for name, value in exercise.drawn.items() if f"{{{name}}}" in texts}


def _print_exercise(exercise: Exercise, drawn: dict[str, str], student: str = "") -> None:
    print_line(exercise.title)
    print_line()
    print_paragraphs(exercise.intro)
    for task in exercise.tasks:
        by = ", graded by the teacher" if task.way == "explain" else ""
        print_line(f"{task.number}. {task.title} ({format_count(task.points, 'point')}{by})")
        print_line()
        print_paragraphs(task.text)
        if asks := task.question or task.explain:
            print_paragraphs(f"Question: {asks}")
        for option in task.options:
            print_line(f"  - {sanitize(option)}")
        if task.options:
            print_line()
    whose = f"for {student}; " if student else ""
    each_has_own = f" ({whose}each student has their own: --student NAME)"
    print_facts(
        [
            ("kind", exercise.kind),
            ("level", LEVELS[exercise.level]),
            ("teaches", exercise.describe_topics()),
            ("allowed", ", ".join(exercise.may)),
            ("drawn", describe_draw(drawn) + each_has_own if drawn else ""),
            ("folder", str(exercise.folder)),
        ]
    )


def _describe(exercise: Exercise, solution: str | None) -> ExerciseShowDocument:
    return ExerciseShowDocument(
        name=exercise.name,
        title=exercise.title,
        kind=exercise.kind,
        level=exercise.level,
        teaches=exercise.teaches,
        points=exercise.points,
        intro=exercise.intro,
        tasks=tuple(
            TaskSummary(
                task.number,
                task.title,
                task.way,
                task.points,
                task.text,
                " ".join((task.question or task.explain).split()),
                task.options,
            )
            for task in exercise.tasks
        ),
        allowed=exercise.may,
        folder=str(exercise.folder),
        solution=solution,
    )


def _solution_of(exercise: Exercise) -> Path:
    path = exercise.folder / ("solution.py" if exercise.starting_file else "solution.script")
    if exercise.edition == "student":
        raise UsageError(f"{exercise.folder} has no solution: it is {_STUDENT_EDITION}")
    if not path.is_file():
        raise UsageError(f"{path} does not exist; write the solution, and check it with: lab exercise check")
    return path


@group.command(
    epilog="""Examples:\n
    lab exercise start\n
    lab exercise start two-coordinators\n
    lab exercise start two-coordinators --student anna --home anna"""
)
def start(
    name: Annotated[
        str | None,
        Argument(
            metavar="[NAME|./DIR]",
            help="An exercise. Default: choose from a list.",
            autocompletion=complete_exercise,
        ),
    ] = None,
    student: Student = None,
    home: HomeFolder = None,
    exercises: Folder = None,
) -> int:
    """Start an attempt at an exercise.

    The text is shown next to a cluster of your own. Tasks are ticked off as you complete them. Hints are given one
    at a time; each states its cost in points. Every attempt is recorded, and the best one counts: hand in the
    recording, which lab exercise grade re-executes.

    If the exercise is to repair or to write a protocol or a program, the file to begin with is copied to the
    current folder; of a program, one for each of some languages.
    """
    exercise = None if name is None else resolve_exercise(name, exercises or SHIPPED)
    found = [exercise] if exercise is not None and "/" in (name or "") else _exercises(exercises)
    if exercise is not None and exercise.starting_file is not None:
        return _copy_starting_files(exercise)
    require_terminal("lab exercise show NAME")
    from lab.tui.apps.classroom_app import show_classroom  # noqa: PLC0415 - loads the interface

    own = _home(student, home)
    clusters = LocalClusters()
    try:
        return run_guarded(
            lambda: show_classroom(own, clusters, found, first="" if exercise is None else exercise.name)
        )
    finally:
        clusters.end()
        _print_attempts_folder(own)


def _copy_starting_files(exercise: Exercise) -> int:
    """Copy the files to begin with to the current folder, and print the exercise."""
    stem = exercise.name.replace("-", "_")
    copies = {Path(f"{stem}{file.suffix}"): file for file in exercise.starting_files}
    for own in copies:
        if own.exists():
            raise UsageError(f"{own} exists already; continue with it, or move it away to start again")
    for own, file in copies.items():
        own.write_bytes(read_foreign(file, LARGEST_TEXT))
        if exercise.is_program:
            own.chmod(own.stat().st_mode | stat.S_IXUSR)
    own = next(iter(copies))
    _print_exercise(exercise, _drawn_values(exercise, solution=False))
    properties = split_target(exercise.setup.protocol)[1]
    options = f" --properties {shlex.quote(properties)}" if properties else ""
    print_line()
    if exercise.is_in_stages:
        choice = [*map(str, copies), *["a file in another language"] * exercise.is_program]
        print_line(f"Write into {' or '.join(choice)}. Try it with: lab exercise try {exercise.name} {own}")
    else:
        print_line(f"The file to repair is {own}. Check it with: lab check {own}{options}")
    print_line(f"Grade it with: lab exercise grade {own} --exercise {exercise.name}")
    return 0


class StageSummary(Struct, frozen=True):
    """A stage: ``passed``, ``broken``, or ``not tried``; then its earlier stage is broken.

    ``judged`` has the number of runs in which each promise was judged. ``recording`` and ``script`` are the files
    of a run that breaks it, shrunk if it is simulated, and ``again`` is the command that makes it; empty if no run
    shows why.
    """

    task: int
    title: str
    state: str
    points: int
    runs: int
    judged: dict[str, int]
    why: str
    recording: str
    script: str
    rerun: str


class ExerciseTryDocument(Document, frozen=True):
    """The visible campaigns of an exercise in stages; ``points`` of the stages passed, ``of`` all."""

    exercise: str
    file: str
    points: int
    of: int
    stages: tuple[StageSummary, ...]


@group.command(
    name="try",
    epilog="""Examples:\n
    lab exercise try write-the-ring write_the_ring.py\n
    lab exercise try elect-in-any-language elect_in_any_language.js\n
    lab exercise try write-the-ring write_the_ring.py --seed 2""",
)
def try_(
    name: Named,
    file: Annotated[Path, Argument(metavar="FILE", help="Your file.")],
    seed: Annotated[str, Option(metavar="NUMBER", help="Seed of the first run; the others follow.")] = "1",
    json: Json = False,
) -> int:
    """Try the stages of an exercise in which you write a protocol or a program.

    The visible campaign of each stage is run, up to the first that is not passed: simulated runs of small
    clusters, with the faults that the stage names. What breaks a stage is shrunk to the few events that matter,
    and recorded. A stage with a promise that was judged in no run is not passed. A program runs live, in a
    sandbox (lab guide sandbox): there are fewer runs, which are not shrunk.

    Your grade comes from a hidden campaign, with other seeds, times and numbers of nodes: lab exercise grade.

    Exit status: 0 all stages are passed, 1 one is not, 2 usage error, 130 Ctrl-C.
    """
    exercise = resolve_exercise(name)
    if not exercise.is_in_stages:
        raise UsageError(f"{exercise.name} has no stages; lab exercise show {exercise.name} says how to do it")
    _require_file(file, exercise)
    number = seed_of(seed)
    if not json:
        announce_sandbox()
    stages = list[TriedStage]()
    with Progress(f"trying {file.name}") as progress:
        for stage in try_stages(exercise, file, number, Path(), progress.report):
            stages.append(stage)
            if not json:
                with progress.hidden():
                    _print_stage(stage)
    points = sum(stage.points for stage in stages)
    if json:
        summaries = tuple(map(_summarize_stage, stages))
        print_json(ExerciseTryDocument(exercise.name, str(file), points, exercise.points, summaries))
    else:
        print_line(f"{points} of {exercise.points} points, if the hidden campaigns find nothing more:")
        print_line(f"    lab exercise grade {shlex.quote(str(file))} --exercise {exercise.name}")
    return 0 if all(stage.is_passed for stage in stages) else EXIT_NOT_AS_EXPECTED


def _state_of(stage: TriedStage) -> str:
    if stage.result is None:
        return "not tried"
    return "passed" if stage.is_passed else "broken"


def _print_stage(stage: TriedStage) -> None:
    """Print what the campaign of a stage found, and how to look at it."""
    task, result = stage.task, stage.result
    heading = f"{task.number}. {task.title}: {_state_of(stage)}"
    if result is None:
        print_line(f"{heading}, an earlier stage is broken")
        return
    if result.shortfall is None:
        judged = ", ".join(f"{name} judged in {runs}" for name, runs in result.judged.items())
        print_line(f"{heading} in {format_count(result.runs, 'run')} ({judged})")
        return
    print_line(heading)
    print_wrapped(f"    {sanitize(result.shortfall.why, 400)}")
    if stage.evidence is not None:
        _print_evidence(stage.evidence)
        print_line()


def _print_evidence(evidence: BreakingRun | LiveEvidence) -> None:
    if isinstance(evidence, BreakingRun) and evidence.finding is not None:
        print_finding(evidence.finding)
    print_line(f"recorded: {evidence.recording}")
    print_line(f"replay:   lab replay {shlex.quote(str(evidence.recording))}")
    print_line(f"again:    {evidence.rerun}")


def _summarize_stage(stage: TriedStage) -> StageSummary:
    result, evidence = stage.result, stage.evidence
    shortfall = None if result is None else result.shortfall
    return StageSummary(
        task=stage.task.number,
        title=stage.task.title,
        state=_state_of(stage),
        points=stage.points,
        runs=0 if result is None else result.runs,
        judged={} if result is None else result.judged,
        why="" if shortfall is None else shortfall.why,
        recording="" if evidence is None else str(evidence.recording),
        script="" if evidence is None else str(evidence.script),
        rerun="" if evidence is None else evidence.rerun,
    )


class ExerciseProgress(Struct, frozen=True):
    """The best attempt at an exercise: its points ``of`` the most there are."""

    name: str
    points: int
    of: int
    attempts: int
    solved: bool


class StatusDocument(Document, frozen=True):
    """The progress of a student in each exercise."""

    student: str
    exercises: tuple[ExerciseProgress, ...]


@group.command()
def status(student: Student = None, home: HomeFolder = None, exercises: Folder = None, json: Json = False) -> int:
    """Print your progress in each exercise."""
    own, found = _home(student, home), _exercises(exercises)
    progresses = [(each, own.progress_of(each.name)) for each in found]
    if json:
        rows = (
            ExerciseProgress(
                each.name, progress.points, each.points, progress.attempts, bool(progress.first_solved)
            )
            for each, progress in progresses
        )
        print_json(StatusDocument(own.student, tuple(rows)))
        return 0
    table = Table(box=None, pad_edge=False)
    for column in ("exercise", "points", "of", "attempts", ""):
        table.add_column(
            column, no_wrap=True, justify="right" if column in ("points", "of", "attempts") else "left"
        )
    begun = [(each, progress) for each, progress in progresses if progress.attempts]
    for each, progress in begun:
        text = "solved" if progress.first_solved else ""
        table.add_row(each.name, str(progress.points), str(each.points), str(progress.attempts), text)
    if begun:
        print_table(table)
    reached = sum(progress.points for _, progress in progresses)
    most = sum(each.points for each in found)
    print_line(f"{own.student}: {reached} of {most} points, {len(begun)} of {len(found)} exercises started")
    _print_attempts_folder(own)
    return 0


def _print_attempts_folder(own: StudentFolder) -> None:
    if any(own.attempts.iterdir()):
        print_line(f"The recordings of your attempts, to hand in, are in {own.attempts}")


class GradeOptions(Struct, frozen=True):
    """The options of ``lab exercise grade``."""

    named: Annotated[
        list[Path], Argument(metavar="RECORDING|FILE|DIR…", help="The submissions: files, or folders of them.")
    ]
    exercise: Annotated[
        str | None,
        Option(
            "--exercise",
            metavar="NAME",
            help="The exercise that FILE is for.",
            autocompletion=complete_exercise,
        ),
    ] = None
    student: Annotated[
        str | None,
        Option(metavar="NAME", help="Grade only submissions of this student; with FILE, in runs drawn for them."),
    ] = None
    every: Annotated[
        bool,
        Option("--every", help="Grade every attempt, not only the best of each student."),
    ] = False
    csv: Annotated[Path | None, Option(metavar="FILE", help="Also write the grades as a spreadsheet.")] = None
    gradescope: Annotated[
        Path | None, Option(metavar="FILE", help="Also write Gradescope's results.json, for one student.")
    ] = None
    sealed_by: Annotated[
        Path | None,
        Option(
            "--sealed-by",
            metavar="DIR",
            help="Refuse recordings that the server with this data folder has not sealed.",
        ),
    ] = None
    data: Annotated[
        Path | None,
        Option(
            "--data",
            metavar="DIR",
            help="With FILE and --student: the data folder of the class's server, whose nonce draws the runs.",
        ),
    ] = None
    home: Annotated[
        Path | None,
        Option(
            "--home",
            metavar="DIR",
            help="With one FILE of yours: the folder for your progress. Default: in lab's data folder.",
        ),
    ] = None
    exercises: Folder = None
    json: Json = False


class TaskGrade(Struct, frozen=True):
    """A task: ``done``, ``failed`` or another state, its points ``of`` the most, and why."""

    task: int
    title: str
    state: str
    points: int
    of: int
    hints: int
    why: str


class GradeSummary(Struct, frozen=True):
    """The grade of an attempt. ``refused`` says why it is not graded; else it is empty.

    ``proof``: ``sealed`` by a server, or ``unproved``. ``truncated``: the recording has no end.
    """

    file: str
    exercise: str
    student: str
    attempt: int
    points: int
    of: int
    proof: str
    truncated: bool
    refused: str
    tasks: tuple[TaskGrade, ...]


class GradeDocument(Document, frozen=True):
    """The grades of the submissions: of each student the best attempt, or with ``--every`` every one."""

    grades: tuple[GradeSummary, ...]


@command(
    group,
    epilog="""Examples:\n
    lab exercise grade two-coordinators-001.jsonl\n
    lab exercise grade handed-in/ --csv grades.csv\n
    lab exercise grade submission/ --student anna --gradescope results.json\n
    lab exercise grade bully.py --exercise mend-the-bully\n
    lab exercise grade elect.js --exercise elect-in-any-language""",
)
def grade(options: GradeOptions) -> int:
    """Grade submissions by re-executing them.

    A recording is refused if its exercise was drawn for another student, if its inputs do not reproduce its steps,
    if it has a fault that no recorded command caused, if a command is not allowed in the exercise, or if two
    students submit the same run. The last is only detected if all students are graded in one call. To grade one
    student alone, as Gradescope does, --student NAME refuses the recordings of others.

    A FILE repairs or is a protocol, or is a program. It is executed in a sandbox (lab guide sandbox), in runs that
    nobody knows in advance; those of a program are live, and take some minutes. With --student and --data they
    follow from the student's name and the course's nonce, so the grade can be repeated.

    Without --student, the result of one FILE counts as yours: it is kept in your own progress, where the best one
    counts (lab exercise status), and the run that breaks a protocol is recorded in the current folder. Of several
    files, and with --student, nothing is kept.

    A recording made on a student's own machine is unproved: it can be made up without running any node. Those that
    lab serve makes are sealed. If the class worked on your server, --sealed-by with its data folder gives points
    for these only.

    Exit status: 0 all were graded, 1 one was refused, 2 usage error, 130 Ctrl-C.
    """
    folder = options.exercises or SHIPPED
    _check_options(options)
    if options.exercise is not None:
        return _grade_files(options, options.exercise, folder)
    recordings = _recordings(options.named)
    exercises = {name: find_exercise(name, folder) for name in names(folder)}
    with Progress("grading", "recording", len(recordings)) as progress:

        def report_progress(graded: float, file: str) -> None:
            progress(int(graded), file, graded / len(recordings))

        if options.sealed_by is None:
            grades = grade_recordings(recordings, folder, report_progress)
        else:
            from lab.serve.gradebook import grade_sealed  # noqa: PLC0415 - few need it

            grades = grade_sealed(recordings, folder, options.sealed_by, report_progress)
    if options.student is not None:
        grades = restrict_to_student(options.student, grades)
    shown = grades if options.every else best_grades(grades)
    students = {grade.student for grade in shown if grade.student and not grade.refused}
    if options.gradescope is not None and len(students) > 1:
        raise UsageError(
            f"--gradescope takes one student; these are of {', '.join(sorted(students))}: add --student NAME"
        )
    if options.json:
        print_json(GradeDocument(tuple(_summarize_grade(grade, exercises) for grade in shown)))
    else:
        _print_grades(shown, exercises)
    if options.csv is not None:
        write_whole(options.csv, as_csv(shown).encode())
    if options.gradescope is not None:
        write_whole(options.gradescope, as_gradescope(best_grades(grades), exercises))
    return EXIT_NOT_AS_EXPECTED if any(grade.refused for grade in shown) else 0


class CheckedExercise(Struct, frozen=True):
    """An exercise, and what is wrong with it."""

    name: str
    correct: bool
    mistakes: tuple[str, ...]


class ExerciseCheckDocument(Document, frozen=True):
    """The exercises that were checked."""

    exercises: tuple[CheckedExercise, ...]


@group.command()
def check(
    named: Annotated[
        list[str] | None,
        Argument(metavar="[NAME|./DIR]…", help="Exercises. Default: all.", autocompletion=complete_exercise),
    ] = None,
    junit: Junit = None,
    json: Json = False,
) -> int:
    """Check that exercises are correct.

    The answer of each question must follow from the run that it names, under several seeds, and whatever is drawn
    for a student. The solution must earn all points. An empty attempt and each wrong attempt in the exercise's
    folder must earn none, and random commands must not solve it. In an exercise in stages, solution-2.py must pass
    two of them and no more, and wrong-2-….py must fail the second.

    Exit status: 0 all are correct, 1 one is not, 2 usage error, 130 Ctrl-C.
    """
    found = [resolve_exercise(each) for each in named] if named else all_exercises()
    if any(each.edition == "student" for each in found):
        raise UsageError(f"nothing shows that these exercises can be solved: this is {_STUDENT_EDITION}")
    report = writable_report(junit)
    checked_exercises = list[CheckedExercise]()
    with Progress("checking exercises", "exercise", len(found)) as progress:

        def report_progress(checked: float, name: str) -> None:
            progress(int(checked), name, checked / len(found))

        for number, exercise in enumerate(found):
            report_share = report_part(report_progress, number, exercise.name)
            mistakes = tuple(check_exercise(exercise, report_progress=report_share))
            checked_exercises.append(CheckedExercise(exercise.name, not mistakes, mistakes))
            if not json:
                with progress.hidden():
                    print_line(f"{exercise.name}: {'correct' if not mistakes else 'INCORRECT'}")
                    for mistake in mistakes:
                        print_line(f"  {mistake}")
    incorrect = sum(not each.correct for each in checked_exercises)
    cases = [JUnitCase("exercises", each.name, each.mistakes) for each in checked_exercises]
    write_junit(report, [JUnitSuite("exercise check", cases)])
    if json:
        print_json(ExerciseCheckDocument(tuple(checked_exercises)))
    else:
        print_line(f"{format_count(len(found), 'exercise')}, {incorrect or 'none'} incorrect")
    return EXIT_NOT_AS_EXPECTED if incorrect else 0


class HandoutExercise(Struct, frozen=True):
    """An exercise of the students' edition, and its folder."""

    name: str
    folder: str


class HandoutDocument(Document, frozen=True):
    """The students' edition that was written; ``grade_with`` is the folder for lab exercise grade --exercises."""

    folder: str
    exercises: tuple[HandoutExercise, ...]
    grade_with: str


@group.command(
    epilog="""Examples:\n
    lab exercise handout exercises/ --to handout/\n
    lab exercise handout ./mine --to handout/"""
)
def handout(
    folder: Annotated[Path, Argument(metavar="DIR", help="The folder of an exercise, or a folder of exercises.")],
    to: Annotated[Path, Option("--to", metavar="DIR", help="The folder to write the students' edition to.")],
    json: Json = False,
) -> int:
    """Write the students' edition of your exercises: without solutions, with locked answers.

    It has neither solutions nor wrong attempts, notes or comments. Right answers are recognized, but are not in
    the files. Conditions are encoded, which only prevents reading them by accident. Students begin with lab
    exercise start --exercises DIR. Keep your own folder for grading.
    """
    found = [read_exercise(folder.resolve())] if (folder / HEAD).exists() else _exercises(folder)
    for each in found:
        if each.edition == "student":
            raise UsageError(f"{each.folder} is the students' edition already; name your own folder")
        if (to / each.name).exists():
            raise UsageError(f"{to / each.name} exists already; remove it, or name another folder: --to DIR")
    for each in found:
        write_handout(each.folder, to / each.name)
        read_exercise(to / each.name)
    own = str(found[0].folder.parent)
    if json:
        exercises = (HandoutExercise(each.name, str(to / each.name)) for each in found)
        print_json(HandoutDocument(str(to), tuple(exercises), own))
    else:
        print_line(f"{format_count(len(found), 'exercise')} written to {to}; grade with --exercises {own}")
    return 0


# grading


def _summarize_grade(grade: Grade, exercises: dict[str, Exercise]) -> GradeSummary:
    tasks = () if grade.refused else _task_grades(exercises[grade.exercise], grade.results)
    return GradeSummary(
        grade.recording,
        grade.exercise,
        grade.student,
        grade.attempt,
        grade.points,
        grade.most,
        grade.proof,
        grade.cut_off,
        grade.refused,
        tasks,
    )


def _task_grades(exercise: Exercise, results: Sequence[Result]) -> tuple[TaskGrade, ...]:
    return tuple(
        TaskGrade(task.number, task.title, result.state, result.points, task.points, result.hints, result.why)
        for task, result in zip(exercise.tasks, results, strict=True)
    )


def _grade_files(options: GradeOptions, name: str, folder: Path) -> int:
    """Grade files with a protocol or a program, under fresh random seeds, or under those of a student."""
    exercise = resolve_exercise(name, folder)
    if exercise.starting_file is None:
        raise UsageError(f"{exercise.name} expects no FILE; grade recordings, without --exercise")
    student = "" if options.student is None else _student_name(options.student)
    nonce = b"" if options.data is None else _nonce_in(options.data)
    own = _own_progress(options)
    announce_sandbox()
    as_json = options.json
    solved, grades = True, list[GradeSummary]()
    for path in options.named:
        _require_file(path, exercise)
        seed = draw_seed(exercise.name, student, nonce) if student else secrets.randbits(48)
        with Progress(f"grading {path.name}") as progress:
            graded = grade_file(exercise, path, seed, progress.report, None if own is None or as_json else Path())
        results, points = graded.results, graded.points
        solved = solved and all(result.state == "done" for result in results)
        tasks = _task_grades(exercise, results)
        grades.append(
            GradeSummary(str(path), exercise.name, student, 0, points, exercise.points, "", False, "", tasks)
        )
        if own is not None:
            own.note_file(exercise, results)
        if as_json:
            continue
        print_line(f"{path}: {points} of {exercise.points}")
        for task, result in zip(exercise.tasks, results, strict=True):
            why = f": {sanitize(result.why, 300)}" if result.why else ""
            print_line(f"  {task.number}. {task.title}: {result.state}, {result.points} of {task.points}{why}")
        if graded.evidence is not None:
            _print_evidence(graded.evidence)
        if own is not None:
            best = own.progress_of(exercise.name)
            attempts = format_count(best.attempts, "attempt")
            print_line(f"best of {attempts}: {best.points} of {exercise.points} (lab exercise status)")
    if as_json:
        print_json(GradeDocument(tuple(grades)))
    return 0 if solved else EXIT_NOT_AS_EXPECTED


def _check_options(options: GradeOptions) -> None:
    """Raise UsageError if options do not go together."""
    if options.exercise is None:
        if options.data is not None:
            raise UsageError("--data is for a FILE; recordings of a class are graded with --sealed-by DIR")
        if options.home is not None:
            raise UsageError("--home is for a FILE; name the exercise that it is for: --exercise NAME")
        return
    if options.sealed_by is not None:
        raise UsageError("a FILE has no seal; leave out --sealed-by")
    if (options.student is None) != (options.data is None):
        raise UsageError("a FILE is graded with --student NAME and --data DIR, or with neither")
    if options.home is not None and not _is_own(options):
        raise UsageError("--home is for one FILE of yours, without --student")


def _is_own(options: GradeOptions) -> bool:
    """Return whether this grades one file, and nobody else's as far as the options say."""
    return options.student is None and len(options.named) == 1


def _own_progress(options: GradeOptions) -> StudentFolder | None:
    """Return where the result of the file is kept; None if it is not the user's own, or there is no such place."""
    if not _is_own(options):
        return None
    if options.home is not None:
        return _home(None, options.home)
    name = login_name()
    try:
        return StudentFolder(exercises_folder(name), name)
    except OSError:  # a grader may run where nothing can be written
        return None


def _require_file(path: Path, exercise: Exercise) -> None:
    if not path.exists() and (path.suffix == ".py" or exercise.is_program):
        raise UsageError(f"{path}: No such file; lab exercise start {exercise.name} writes the file to begin with")
    if exercise.is_program:
        if not path.is_file():
            raise UsageError(f"{path} is not a file; {exercise.name} expects the file of a program")
    elif path.suffix != ".py" or not path.is_file():
        raise UsageError(f"{path} is not a Python file; {exercise.name} expects FILE.py")


def _recordings(named: list[Path]) -> list[Path]:
    found: list[Path] = []
    for path in named:
        if path.suffix == ".py" or (path.is_file() and path.suffix not in ("", ".jsonl")):
            raise UsageError(
                f"{path} is no recording, NAME.jsonl; for a protocol or a program, "
                "name the exercise that it is for: --exercise NAME"
            )
        # a link that the teacher names is followed; one that was handed in is not
        named_file = Path(os.path.realpath(path)) if path.is_symlink() else path
        inside = sorted(path.rglob("*.jsonl")) if path.is_dir() else [named_file]
        if not inside:
            raise UsageError(f"{path} contains no recordings: files NAME.jsonl")
        if not path.exists():
            raise UsageError(f"{path} does not exist; name a recording, or a folder of recordings")
        found += inside
    return found


def _print_grades(grades: list[Grade], exercises: dict[str, Exercise]) -> None:
    table = Table(box=None, pad_edge=False)
    for column in ("student", "exercise", "attempt", "points", "of", "proof", ""):
        table.add_column(column, no_wrap=column != "")
    for grade in grades:
        points = "" if grade.refused else str(grade.points)
        remark = f"not graded: {sanitize(grade.refused)}" if grade.refused else ""
        if grade.cut_off:
            remark = "truncated: by a crash, or by editing"
        who = (sanitize(grade.student), sanitize(grade.exercise or grade.recording, 60), str(grade.attempt or ""))
        table.add_row(*who, points, str(grade.most or ""), grade.proof, remark)
        if len(grades) == 1 and not grade.refused:
            for line in format_results(grade, exercises[grade.exercise]):
                table.add_row("", f"  {line}")
    print_table(table)
    refused = sum(bool(grade.refused) for grade in grades)
    graded = format_count(len(grades) - refused, "attempt")
    print_line()
    print_line(f"{graded} graded" + (f", {refused} refused" if refused else ""))
    if any(grade.proof == "unproved" for grade in grades):
        print_wrapped(f"unproved: {UNPROVED}")


# the student, and the exercises


def _exercises(folder: Path | None) -> list[Exercise]:
    if folder is not None and not names(folder):
        raise UsageError(f"{folder} contains no exercises: folders with an exercise.toml")
    return all_exercises(folder or SHIPPED)


def _student_name(name: str) -> str:
    if NAME.fullmatch(name) is None:
        raise UsageError(
            f"--student {sanitize(name, 40)}: use at most 32 letters, digits, dots or dashes: --student anna"
        )
    return name


def _home(student: str | None, home: Path | None) -> StudentFolder:
    name = login_name() if student is None else _student_name(student)
    try:
        return StudentFolder(home or exercises_folder(name), name)
    except OSError as error:
        raise UsageError(
            f"cannot create the folder {error.filename}: {error.strerror}; name another: --home DIR"
        ) from None
