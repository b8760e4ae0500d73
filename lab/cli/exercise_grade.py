"""``lab exercise grade``: re-execute and grade submissions."""

import secrets
from pathlib import Path
from typing import Annotated

from msgspec import Struct
from rich.table import Table
from typer import Argument, Option

from lab.cli.options import write_whole
from lab.cli.terminal import EXIT_NOT_AS_EXPECTED, UsageError, print_table, progress_line
from lab.exercises.exercise import Exercise
from lab.exercises.exercise_reader import (
    SHIPPED,
    ExerciseError,
    all_exercises,
    find_exercise,
    names,
    resolve_exercise,
)
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
from lab.text import sanitize
from lab.units import format_count


def complete_exercise(incomplete: str) -> list[tuple[str, str]]:
    """Return the built-in exercises with their titles."""
    try:
        return [(each.name, each.title) for each in all_exercises() if each.name.startswith(incomplete)]
    except ExerciseError:
        return []


Folder = Annotated[
    Path | None,
    Option("--exercises", metavar="DIR", help="Use the exercises in this folder instead of the built-in ones."),
]


class GradeOptions(Struct, frozen=True):
    """The options of ``lab exercise grade``."""

    named: Annotated[
        list[Path], Argument(metavar="RECORDING|FILE.py|DIR…", help="The submissions: files, or folders of them.")
    ]
    exercise: Annotated[
        str | None,
        Option(
            "--exercise",
            metavar="NAME",
            help="The exercise that FILE.py repairs.",
            autocompletion=complete_exercise,
        ),
    ] = None
    student: Annotated[str | None, Option(metavar="NAME", help="Grade only submissions of this student.")] = None
    every: Annotated[bool, Option("--every", help="Grade every attempt, not only the best of each student.")] = (
        False
    )
    csv: Annotated[Path | None, Option(metavar="FILE", help="Also write the grades as a spreadsheet.")] = None
    gradescope: Annotated[
        Path | None, Option(metavar="FILE", help="Also write Gradescope's results.json, for one student.")
    ] = None
    exercises: Folder = None


def grade_submissions(options: GradeOptions) -> int:
    """Grade, print a table, and return the exit status."""
    folder = options.exercises or SHIPPED
    if options.exercise is not None:
        if options.student is not None:
            raise UsageError("a FILE.py names no student; leave out --student")
        return _grade_repairs(options.named, options.exercise, folder)
    recordings = _recordings(options.named)
    exercises = {name: find_exercise(name, folder) for name in names(folder)}
    with progress_line() as progress:
        grades = grade_recordings(recordings, folder, lambda file, done: progress(f"{file}: {done:,} records"))
    if options.student is not None:
        grades = restrict_to_student(options.student, grades)
    shown = grades if options.every else best_grades(grades)
    students = {grade.student for grade in shown if grade.student and not grade.refused}
    if options.gradescope is not None and len(students) > 1:
        raise UsageError(
            f"--gradescope takes one student; these are of {', '.join(sorted(students))}: add --student NAME"
        )
    _print(shown, exercises)
    if options.csv is not None:
        write_whole(options.csv, as_csv(shown, exercises).encode())
    if options.gradescope is not None:
        write_whole(options.gradescope, as_gradescope(best_grades(grades), exercises))
    return EXIT_NOT_AS_EXPECTED if any(grade.refused for grade in shown) else 0


def _grade_repairs(named: list[Path], name: str, folder: Path) -> int:
    """Grade files that repair a protocol, under fresh random seeds."""
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
