"""``lab exercise list``, ``show``, ``start``, ``status`` and ``check``."""

import getpass
import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from rich.table import Table

from lab.cli.progress import progress_line
from lab.cli.terminal import print_table, print_wrapped, require_terminal
from lab.cli.usage_errors import EXIT_NOT_AS_EXPECTED, EXIT_USAGE, UsageError
from lab.exercises.clusters import LocalClusters
from lab.exercises.exercise import LEVELS, Exercise
from lab.exercises.exercise_library import SHIPPED, all_exercises, names, resolve_exercise
from lab.exercises.exercise_validation import check_exercise
from lab.exercises.reading import ExerciseError
from lab.exercises.student_folder import NAME, StudentFolder
from lab.exercises.topics import describe_topic
from lab.places import exercises_folder
from lab.text import sanitize
from lab.units import format_count

__all__ = ["check_exercises", "exit_on_mistakes", "print_exercise", "print_list", "print_status", "start_exercise"]


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
    from lab.tui.classroom.show_classroom import show_classroom  # noqa: PLC0415 - loads the interface
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
