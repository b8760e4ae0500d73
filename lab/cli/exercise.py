"""``lab exercise``: solve and grade exercises."""

import getpass
import os
import re
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from msgspec import Struct
from rich.table import Table

from lab.cli.options import Json, complete_exercise, write_whole
from lab.cli.program import app
from lab.cli.terminal import (
    EXIT_NOT_AS_EXPECTED,
    EXIT_USAGE,
    UsageError,
    print_table,
    print_wrapped,
    progress_line,
    require_terminal,
)
from lab.exercises.attempt import LocalClusters
from lab.exercises.exercise import LEVELS, Exercise, describe_topic
from lab.exercises.exercise_reader import (
    SHIPPED,
    ExerciseError,
    all_exercises,
    find_exercise,
    names,
    resolve_exercise,
)
from lab.exercises.exercise_validation import check_exercise
from lab.exercises.grading import (
    Grade,
    as_csv,
    as_gradescope,
    best_grades,
    format_results,
    grade_recordings,
    restrict_to_student,
)
from lab.exercises.repair_grading import grade_repair
from lab.exercises.student_folder import NAME, StudentFolder
from lab.places import exercises_folder
from lab.text import sanitize
from lab.units import format_count

exercise = typer.Typer()
app.add_typer(
    exercise,
    name="exercise",
    help="Solve and grade exercises.\n\nEach gives you a cluster of your own: cause, predict, find, repair or "
    "explain a behaviour. [bold]lab exercise list[/bold] shows them all. "
    "For a class, over SSH: [bold]lab serve[/bold].",
)

Named = Annotated[
    str,
    typer.Argument(
        metavar="NAME|./DIR",
        help="An exercise by name, or the folder of your own: ./DIR.",
        autocompletion=complete_exercise,
    ),
]
Student = Annotated[
    str | None, typer.Option(metavar="NAME", help="Name of the student. Default: your login name.")
]
HomeFolder = Annotated[
    Path | None,
    typer.Option("--home", metavar="DIR", help="Folder for attempts and progress. Default: in lab's data folder."),
]
Folder = Annotated[
    Path | None,
    typer.Option(
        "--exercises", metavar="DIR", help="Use the exercises in this folder instead of the built-in ones."
    ),
]


@exercise.callback(invoke_without_command=True)
def exercise_alone(context: typer.Context) -> None:
    """Print the help if there is no command."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@exercise.command("list")
def list_(exercises: Folder = None, json: Json = False) -> int:
    """List the exercises: level, task, topics and points of each."""
    return print_list(exercises, json)


@exercise.command()
def show(
    name: Named, solution: Annotated[bool, typer.Option("--solution", help="Print the solution too.")] = False
) -> int:
    """Print an exercise: its tasks, the allowed commands, and the points of each task."""
    return print_exercise(name, solution)


@exercise.command(
    epilog="""Examples:\n
    lab exercise start\n
    lab exercise start two-coordinators\n
    lab exercise start two-coordinators --student anna --home anna"""
)
def start(
    name: Annotated[
        str | None,
        typer.Argument(
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

    If the exercise is to repair a protocol, the faulty file is copied to the current folder.
    """
    return start_exercise(name, student, home, exercises)


@exercise.command()
def status(student: Student = None, home: HomeFolder = None, exercises: Folder = None, json: Json = False) -> int:
    """Print your progress in each exercise."""
    return print_status(student, home, exercises, json)


@exercise.command(
    epilog="""Examples:\n
    lab exercise grade two-coordinators-001.jsonl\n
    lab exercise grade handed-in/ --csv grades.csv\n
    lab exercise grade submission/ --student anna --gradescope results.json\n
    lab exercise grade bully.py --exercise mend-the-bully"""
)
def grade(
    named: Annotated[
        list[Path],
        typer.Argument(metavar="RECORDING|FILE.py|DIR…", help="The submissions: files, or folders of them."),
    ],
    exercise_: Annotated[
        str | None,
        typer.Option(
            "--exercise",
            metavar="NAME",
            help="The exercise that FILE.py repairs.",
            autocompletion=complete_exercise,
        ),
    ] = None,
    student: Annotated[
        str | None, typer.Option(metavar="NAME", help="Grade only submissions of this student.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--every", help="Grade every attempt, not only the best of each student.")
    ] = False,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the grades as a spreadsheet.")
    ] = None,
    gradescope: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write Gradescope's results.json, for one student.")
    ] = None,
    exercises: Folder = None,
) -> int:
    """Grade submissions by re-executing them.

    A recording is refused if its inputs do not reproduce its steps, if it contains an effect without a command, if
    a command is not allowed in the exercise, or if two students submit the same run. To detect the latter, grade
    all students in one call; to grade one student alone, as Gradescope does, --student NAME refuses the recordings
    of others. A recording from a student's own machine is only as trustworthy as that machine; students cannot
    edit the recordings that lab serve keeps.

    Exit status: 0 all were graded, 1 one was refused, 2 usage error, 130 Ctrl-C.
    """
    return grade_all(GradeRequest(named, exercise_, every, student, csv, gradescope, exercises))


@exercise.command()
def check(
    named: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME|./DIR]…", help="Exercises. Default: all.", autocompletion=complete_exercise),
    ] = None,
) -> int:
    """Check that exercises are correct.

    The solution must earn all points; an empty attempt, known wrong attempts and random attempts must not.

    Exit status: 0 all are correct, 1 one is not, 2 usage error, 130 Ctrl-C.
    """
    return check_exercises(named or [])


@contextmanager
def exit_on_mistakes() -> Iterator[None]:
    """Print the mistakes in an exercise, one per line, and exit."""
    try:
        yield
    except ExerciseError as error:
        for mistake in error.mistakes:
            print(f"lab: {sanitize(mistake)}", file=sys.stderr)
        raise SystemExit(EXIT_USAGE) from None


def print_list(folder: Path | None, as_json: bool) -> int:
    """Print all exercises, the easy ones first."""
    found = _exercises(folder)
    if as_json:
        rows = [
            {
                "name": each.name,
                "title": each.title,
                "kind": each.kind,
                "level": each.level,
                "teaches": each.teaches,
                "points": each.points,
            }
            for each in found
        ]
        print(msgspec.json.encode({"exercises": rows}).decode())
        return 0
    table = Table(box=None, pad_edge=False, expand=os.isatty(1))
    for column, ratio in (("name", None), ("title", 3), ("kind", None), ("points", None), ("teaches", 2)):
        table.add_column(column, no_wrap=True, overflow="ellipsis", ratio=ratio)
    for level, text in LEVELS.items():
        rows_of = [each for each in found if each.level == level]
        if rows_of:
            table.add_row(text, style="bold")
        for each in rows_of:
            teaches = sanitize(", ".join(each.teaches))
            table.add_row(f"  {each.name}", sanitize(each.title), each.kind, str(each.points), teaches)
    print_table(table)
    return 0


def print_exercise(named: str, solution: bool) -> int:
    """Print an exercise and the points of each task."""
    with exit_on_mistakes():
        exercise = resolve_exercise(named)
    print(f"{sanitize(exercise.title)}\n")
    _print_text(exercise.intro)
    for task in exercise.tasks:
        by = ", graded by the teacher" if task.way == "explain" else ""
        print(f"{task.number}. {sanitize(task.title)} ({format_count(task.points, 'point')}{by})\n")
        _print_text(task.text)
    facts = [
        ("kind", exercise.kind),
        ("level", LEVELS[exercise.level]),
        ("teaches", ", ".join(map(describe_topic, exercise.teaches))),
        ("allowed", ", ".join(exercise.may)),
        ("folder", str(exercise.folder)),
    ]
    for what, text in facts:
        if text:
            print(f"{what:12} {sanitize(text)}")
    if solution:
        path = exercise.folder / ("solution.py" if exercise.repairs else "solution.script")
        print(f"\nThe solution, {path}:\n")
        for line in path.read_text("utf-8").splitlines():
            print(f"    {sanitize(line)}")
    return 0


def _print_text(text: str) -> None:
    for paragraph in filter(None, text.split("\n\n")):
        print_wrapped(sanitize(" ".join(paragraph.split())))
        print()


def start_exercise(named: str | None, student: str | None, home: Path | None, folder: Path | None) -> int:
    """Start an attempt at the exercise; without one, show the list."""
    with exit_on_mistakes():
        exercise = None if named is None else resolve_exercise(named, folder or SHIPPED)
        found = [exercise] if exercise is not None and "/" in (named or "") else _exercises(folder)
    if exercise is not None and exercise.repairs is not None:
        return _copy_repair_file(exercise, exercise.repairs)
    require_terminal("lab exercise show NAME")
    from lab.tui.apps.classroom_app import show_classroom  # noqa: PLC0415 - loads the interface
    from lab.tui.terminal.guard import run_guarded  # noqa: PLC0415

    own = _home(student, home)
    clusters = LocalClusters()
    try:
        return run_guarded(
            lambda: show_classroom(own, clusters, found, first="" if exercise is None else exercise.name)
        )
    finally:
        clusters.end()
        _print_attempts_folder(own)


def _copy_repair_file(exercise: Exercise, file: Path) -> int:
    """Copy the file to repair to the current folder, and print the exercise."""
    own = Path(f"{exercise.name.replace('-', '_')}.py")
    if own.exists():
        raise UsageError(f"{own} exists already; continue with it, or move it away to start again")
    shutil.copyfile(file, own)
    print_exercise(str(exercise.folder) + "/", solution=False)
    print(f"\nThe file to repair is {own}. Check it with: lab check {own}")
    print(f"Grade it with: lab exercise grade {own} --exercise {exercise.name}")
    return 0


def print_status(student: str | None, home: Path | None, folder: Path | None, as_json: bool) -> int:
    """Print the student's progress."""
    own, found = _home(student, home), _exercises(folder)
    progresses = [(each, own.progress_of(each.name)) for each in found]
    if as_json:
        rows = [
            {
                "name": each.name,
                "points": student_progress.points,
                "of": each.points,
                "attempts": student_progress.attempts,
                "solved": bool(student_progress.first_solved),
            }
            for each, student_progress in progresses
        ]
        print(msgspec.json.encode({"student": own.student, "exercises": rows}).decode())
        return 0
    table = Table(box=None, pad_edge=False)
    for column in ("exercise", "points", "of", "attempts", ""):
        table.add_column(
            column, no_wrap=True, justify="right" if column in ("points", "of", "attempts") else "left"
        )
    begun = [(each, student_progress) for each, student_progress in progresses if student_progress.attempts]
    for each, student_progress in begun:
        text = "solved" if student_progress.first_solved else ""
        table.add_row(
            each.name, str(student_progress.points), str(each.points), str(student_progress.attempts), text
        )
    if begun:
        print_table(table)
    reached, most = (
        sum(student_progress.points for _, student_progress in progresses),
        sum(each.points for each in found),
    )
    print(f"{sanitize(own.student)}: {reached} of {most} points, {len(begun)} of {len(found)} exercises started")
    _print_attempts_folder(own)
    return 0


def _print_attempts_folder(own: StudentFolder) -> None:
    if any(own.attempts.iterdir()):
        print(f"The recordings of your attempts, to hand in, are in {own.attempts}")


def check_exercises(named: list[str]) -> int:
    """Check these exercises, or all, and return the exit status."""
    with exit_on_mistakes():
        found = [resolve_exercise(each) for each in named] if named else all_exercises()
    incorrect = 0
    for number, exercise in enumerate(found, 1):
        with progress_line() as progress:
            progress(f"{number} of {len(found)}: {exercise.name}")
            mistakes = list(check_exercise(exercise))
        print(f"{exercise.name}: {'correct' if not mistakes else 'INCORRECT'}")
        for mistake in mistakes:
            print(f"  {sanitize(mistake)}")
        incorrect += bool(mistakes)
    print(f"{format_count(len(found), 'exercise')}, {incorrect or 'none'} incorrect")
    return EXIT_NOT_AS_EXPECTED if incorrect else 0


def _exercises(folder: Path | None) -> list[Exercise]:
    if folder is not None and not names(folder):
        raise UsageError(f"{folder} contains no exercises: folders with an exercise.toml")
    with exit_on_mistakes():
        return all_exercises(folder or SHIPPED)


def _home(student: str | None, home: Path | None) -> StudentFolder:
    name = re.sub(r"[^A-Za-z0-9._-]", "-", getpass.getuser())[:32] if student is None else student
    if NAME.fullmatch(name) is None:
        raise UsageError(
            f"--student {sanitize(name, 40)}: use at most 32 letters, digits, dots or dashes: --student anna"
        )
    try:
        return StudentFolder(home or exercises_folder(name), name)
    except OSError as error:
        raise UsageError(
            f"cannot create the folder {error.filename}: {error.strerror}; name another: --home DIR"
        ) from None


class GradeRequest(Struct, frozen=True):
    """The arguments of ``lab exercise grade``."""

    named: list[Path]
    exercise: str | None = None
    every: bool = False
    student: str | None = None
    csv: Path | None = None
    gradescope: Path | None = None
    folder: Path | None = None


def grade_all(request: GradeRequest) -> int:
    """Grade, print a table, and return the exit status."""
    folder = request.folder or SHIPPED
    if request.exercise is not None:
        if request.student is not None:
            raise UsageError("a FILE.py names no student; leave out --student")
        return _grade_repairs(request.named, request.exercise, folder)
    recordings = _recordings(request.named)
    with exit_on_mistakes():
        exercises = {name: find_exercise(name, folder) for name in names(folder)}
    with progress_line() as progress:
        grades = grade_recordings(recordings, folder, lambda file, done: progress(f"{file}: {done:,} records"))
    if request.student is not None:
        grades = restrict_to_student(request.student, grades)
    shown = grades if request.every else best_grades(grades)
    students = {grade.student for grade in shown if grade.student and not grade.refused}
    if request.gradescope is not None and len(students) > 1:
        raise UsageError(
            f"--gradescope takes one student; these are of {', '.join(sorted(students))}: add --student NAME"
        )
    _print(shown, exercises)
    if request.csv is not None:
        write_whole(request.csv, as_csv(shown, exercises).encode())
    if request.gradescope is not None:
        write_whole(request.gradescope, as_gradescope(best_grades(grades), exercises))
    return EXIT_NOT_AS_EXPECTED if any(grade.refused for grade in shown) else 0


def _grade_repairs(named: list[Path], name: str, folder: Path) -> int:
    """Grade files that repair a protocol, under fresh random seeds."""
    with exit_on_mistakes():
        exercise = resolve_exercise(name, folder)
    if exercise.repairs is None:
        raise UsageError(f"{exercise.name} is not a repair exercise; grade recordings, without --exercise")
    solved = True
    for path in named:
        if path.suffix != ".py" or not path.is_file():
            raise UsageError(f"{path} is not a Python file; {exercise.name} expects FILE.py")
        with progress_line() as progress:
            results = grade_repair(exercise, path, secrets.randbits(48), progress)
        print(f"{path}: {sum(result.points for result in results)} of {exercise.points}")
        for task, result in zip(exercise.tasks, results, strict=True):
            why = f": {sanitize(result.why, 300)}" if result.why else ""
            print(f"  {task.number}. {task.title}: {result.state}, {result.points} of {task.points}{why}")
            solved = solved and result.state == "done"
    return 0 if solved else EXIT_NOT_AS_EXPECTED


def _recordings(named: list[Path]) -> list[Path]:
    found: list[Path] = []
    for path in named:
        if path.suffix == ".py":
            raise UsageError(f"{path}: name the exercise that it repairs: --exercise NAME")
        inside = sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]
        if not inside:
            raise UsageError(f"{path} contains no recordings: files NAME.jsonl")
        if not path.exists():
            raise UsageError(f"{path} does not exist; name a recording, or a folder of recordings")
        found += inside
    return found


def _print(grades: list[Grade], exercises: dict[str, Exercise]) -> None:
    table = Table(box=None, pad_edge=False)
    for column in ("student", "exercise", "attempt", "points", "of", ""):
        table.add_column(column, no_wrap=column != "")
    for grade in grades:
        points = "" if grade.refused else str(grade.points)
        remark = f"not graded: {sanitize(grade.refused)}" if grade.refused else ""
        if grade.cut_off:
            remark = "truncated: by a crash, or by editing"
        who = (sanitize(grade.student), sanitize(grade.exercise or grade.recording, 60), str(grade.attempt or ""))
        table.add_row(*who, points, str(grade.most or ""), remark)
        if len(grades) == 1 and not grade.refused:
            for line in format_results(grade, exercises[grade.exercise]):
                table.add_row("", f"  {line}")
    print_table(table)
    refused = sum(bool(grade.refused) for grade in grades)
    graded = format_count(len(grades) - refused, "attempt")
    print(f"\n{graded} graded" + (f", {refused} refused" if refused else ""))
