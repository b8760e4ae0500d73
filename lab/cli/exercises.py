"""``lab exercise``, but for its grades: the list, the texts, starting an attempt, how far one has come."""

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

from lab.cli.errors import EXIT_NOT_AS_EXPECTED, EXIT_USAGE, UsageError
from lab.cli.progress import progress_line
from lab.cli.terminal import need_terminal, print_table, print_wrapped
from lab.exercises.checking import check_exercise
from lab.exercises.clusters import OwnClusters
from lab.exercises.exercise import LEVELS, Exercise
from lab.exercises.home import NAME, Home
from lab.exercises.library import SHIPPED, all_exercises, exercise_named, names
from lab.exercises.reading import ExerciseError
from lab.places import exercises_folder
from lab.text import sanitize
from lab.units import count_of

__all__ = ["check_exercises", "mistakes_told", "print_exercise", "print_list", "print_status", "start_exercise"]


@contextmanager
def mistakes_told() -> Iterator[None]:
    """What is wrong with an exercise is said, a line each, and ends the command."""
    try:
        yield
    except ExerciseError as error:
        for mistake in error.mistakes:
            print(f"lab: {sanitize(mistake)}", file=sys.stderr)
        raise SystemExit(EXIT_USAGE) from None


def print_list(folder: Path | None, as_json: bool) -> int:
    """All exercises, the easy ones first."""
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
    for level, said in LEVELS.items():
        rows_of = [each for each in found if each.level == level]
        if rows_of:
            table.add_row(said, style="bold")
        for each in rows_of:
            teaches = sanitize(", ".join(each.teaches))
            table.add_row(f"  {each.name}", sanitize(each.title), each.kind, str(each.points), teaches)
    print_table(table)
    return 0


def print_exercise(named: str, solution: bool) -> int:
    """Its texts, and the points of each task."""
    with mistakes_told():
        exercise = exercise_named(named)
    print(f"{sanitize(exercise.title)}\n")
    _print_text(exercise.intro)
    for task in exercise.tasks:
        by = ", given by the teacher" if task.way == "explain" else ""
        print(f"{task.number}. {sanitize(task.title)} ({count_of(task.points, 'point')}{by})\n")
        _print_text(task.text)
    facts = [
        ("kind", exercise.kind),
        ("level", LEVELS[exercise.level]),
        ("teaches", ", ".join(exercise.teaches)),
        ("allowed", ", ".join(exercise.may)),
        ("folder", str(exercise.folder)),
    ]
    for what, said in facts:
        if said:
            print(f"{what:12} {sanitize(said)}")
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
    """Show the list, or begin an attempt at this one."""
    with mistakes_told():
        exercise = None if named is None else exercise_named(named, folder or SHIPPED)
        found = [exercise] if exercise is not None and "/" in (named or "") else _exercises(folder)
    if exercise is not None and exercise.repairs is not None:
        return _hand_out(exercise, exercise.repairs)
    need_terminal("lab exercise show NAME")
    from lab.tui.classroom.main import show_classroom  # noqa: PLC0415 - only where it is used
    from lab.tui.terminal.guard import run_guarded  # noqa: PLC0415

    own = _home(student, home)
    clusters = OwnClusters()
    try:
        return run_guarded(
            lambda: show_classroom(own, clusters, found, first="" if exercise is None else exercise.name)
        )
    finally:
        clusters.end()
        _say_where(own)


def _hand_out(exercise: Exercise, file: Path) -> int:
    """The file that is to be repaired, copied to where the student is."""
    own = Path(f"{exercise.name.replace('-', '_')}.py")
    if own.exists():
        raise UsageError(f"{own} is here already; go on with it, or move it away to begin anew")
    shutil.copyfile(file, own)
    print_exercise(str(exercise.folder) + "/", solution=False)
    print(f"\nThe file to be mended is {own} now. Check it with: lab check {own}")
    print(f"Grade it with: lab exercise grade {own} --exercise {exercise.name}")
    return 0


def print_status(student: str | None, home: Path | None, folder: Path | None, as_json: bool) -> int:
    """How far the student has come."""
    own, found = _home(student, home), _exercises(folder)
    standings = [(each, own.standing(each.name)) for each in found]
    if as_json:
        rows = [
            {"name": each.name, "points": stands.points, "of": each.points, "attempts": stands.attempts,
             "solved": bool(stands.first_solved)}
            for each, stands in standings
        ]  # fmt: skip
        print(msgspec.json.encode({"student": own.student, "exercises": rows}).decode())
        return 0
    table = Table(box=None, pad_edge=False)
    for column in ("exercise", "points", "of", "attempts", ""):
        table.add_column(
            column, no_wrap=True, justify="right" if column in ("points", "of", "attempts") else "left"
        )
    begun = [(each, stands) for each, stands in standings if stands.attempts]
    for each, stands in begun:
        said = "solved" if stands.first_solved else ""
        table.add_row(each.name, str(stands.points), str(each.points), str(stands.attempts), said)
    if begun:
        print_table(table)
    reached, most = sum(stands.points for _, stands in standings), sum(each.points for each in found)
    print(f"{sanitize(own.student)}: {reached} of {most} points, {len(begun)} of {len(found)} exercises begun")
    _say_where(own)
    return 0


def _say_where(own: Home) -> None:
    if any(own.attempts.iterdir()):
        print(f"The recordings of your attempts, to be handed in, are in {own.attempts}")


def check_exercises(named: list[str]) -> int:
    """Check these, or all; the exit status."""
    with mistakes_told():
        found = [exercise_named(each) for each in named] if named else all_exercises()
    amiss = 0
    for number, exercise in enumerate(found, 1):
        with progress_line() as tell:
            tell(f"{number} of {len(found)}: {exercise.name}")
            mistakes = list(check_exercise(exercise))
        print(f"{exercise.name}: {'in order' if not mistakes else 'NOT IN ORDER'}")
        for mistake in mistakes:
            print(f"  {sanitize(mistake)}")
        amiss += bool(mistakes)
    print(f"{count_of(len(found), 'exercise')}, {amiss or 'none'} not in order")
    return EXIT_NOT_AS_EXPECTED if amiss else 0


def _exercises(folder: Path | None) -> list[Exercise]:
    if folder is not None and not names(folder):
        raise UsageError(f"{folder} has no exercises in it: folders with an exercise.toml")
    with mistakes_told():
        return all_exercises(folder or SHIPPED)


def _home(student: str | None, home: Path | None) -> Home:
    name = re.sub(r"[^A-Za-z0-9._-]", "-", getpass.getuser())[:32] if student is None else student
    if NAME.fullmatch(name) is None:
        raise UsageError(
            f"--student {sanitize(name, 40)}: write up to 32 letters, digits, dots, dashes: --student anna"
        )
    try:
        return Home(home or exercises_folder(name), name)
    except OSError as error:
        raise UsageError(
            f"the folder {error.filename} cannot be made: {error.strerror}; name one: --home DIR"
        ) from None
