"""``lab exercise grade``: what was handed in, run again, and what it is worth."""

import secrets
from pathlib import Path

from msgspec import Struct
from rich.table import Table

from lab.cli.errors import EXIT_NOT_AS_EXPECTED, UsageError
from lab.cli.exercises import mistakes_told
from lab.cli.files import write_whole
from lab.cli.progress import progress_line
from lab.cli.terminal import print_table
from lab.exercises.exercise import Exercise
from lab.exercises.grading import Grade, best_of, grade_recordings, only_of
from lab.exercises.library import SHIPPED, exercise_called, exercise_named, names
from lab.exercises.repairing import grade_repair
from lab.exercises.results import as_csv, as_gradescope, said_of
from lab.text import sanitize
from lab.units import count_of

__all__ = ["GradeRequest", "grade_all"]


class GradeRequest(Struct, frozen=True):
    """What is to be graded, and where the grades are to go."""

    named: list[Path]
    exercise: str | None = None
    every: bool = False
    student: str | None = None
    csv: Path | None = None
    gradescope: Path | None = None
    folder: Path | None = None


def grade_all(request: GradeRequest) -> int:
    """Grade, and print a table; the exit status."""
    folder = request.folder or SHIPPED
    if request.exercise is not None:
        if request.student is not None:
            raise UsageError("a FILE.py does not say whose it is: --exercise NAME goes without --student")
        return _grade_mended(request.named, request.exercise, folder)
    recordings = _recordings(request.named)
    with mistakes_told():
        exercises = {name: exercise_called(name, folder) for name in names(folder)}
    with progress_line() as tell:
        grades = grade_recordings(recordings, folder, lambda file, done: tell(f"{file}: {done:,} records"))
    if request.student is not None:
        grades = only_of(request.student, grades)
    shown = grades if request.every else best_of(grades)
    students = {grade.student for grade in shown if grade.student and not grade.refused}
    if request.gradescope is not None and len(students) > 1:
        raise UsageError(f"--gradescope is of one student, and these are of {', '.join(sorted(students))}")
    _print(shown, exercises)
    if request.csv is not None:
        write_whole(request.csv, as_csv(shown, exercises).encode())
    if request.gradescope is not None:
        write_whole(request.gradescope, as_gradescope(best_of(grades), exercises))
    return EXIT_NOT_AS_EXPECTED if any(grade.refused for grade in shown) else 0


def _grade_mended(named: list[Path], name: str, folder: Path) -> int:
    """A file that repairs a protocol: under seeds that nobody knows before."""
    with mistakes_told():
        exercise = exercise_named(name, folder)
    if exercise.repairs is None:
        raise UsageError(f"{exercise.name} repairs nothing: hand in recordings, without --exercise")
    solved = True
    for path in named:
        if path.suffix != ".py" or not path.is_file():
            raise UsageError(f"{path} is no Python file; {exercise.name} is graded by a FILE.py")
        with progress_line() as tell:
            results = grade_repair(exercise, path, secrets.randbits(48), tell)
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
            raise UsageError(f"{path}: say which exercise it repairs: --exercise NAME")
        inside = sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]
        if not inside:
            raise UsageError(f"{path} has no recordings in it: files NAME.jsonl")
        if not path.exists():
            raise UsageError(f"there is no file {path}; name a recording, or a folder of them")
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
            remark = "it has no end: a crash took it, or an editor"
        who = (sanitize(grade.student), sanitize(grade.exercise or grade.recording, 60), str(grade.attempt or ""))
        table.add_row(*who, points, str(grade.most or ""), remark)
        if len(grades) == 1 and not grade.refused:
            for line in said_of(grade, exercises[grade.exercise]):
                table.add_row("", f"  {line}")
    print_table(table)
    refused = sum(bool(grade.refused) for grade in grades)
    print(f"\n{count_of(len(grades), 'attempt')} graded" + (f", {refused} of them refused" if refused else ""))
