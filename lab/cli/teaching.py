"""The teacher's side of ``lab serve``: the grades of the class, how it stands, messages, the log."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
from rich.table import Table

from lab.cli.errors import EXIT_NOT_AS_EXPECTED, UsageError
from lab.cli.exercises import mistakes_told
from lab.cli.progress import progress_line
from lab.cli.serving import data_folder
from lab.cli.terminal import print_table
from lab.durable import write_durably
from lab.exercises.grading import Grade, best_of
from lab.exercises.library import SHIPPED, exercise_called, names
from lab.exercises.results import as_csv, as_gradescope
from lab.exercises.teacher import Pupil, in_minutes, stuck_first
from lab.serve.admin_line import AdminLine, NotRunningError
from lab.serve.desk import DeskError
from lab.text import sanitize
from lab.units import count_of

__all__ = ["export_grades", "print_status", "tell_class", "told_by_server"]


@contextmanager
def told_by_server() -> Iterator[None]:
    """What the server says no to, or that there is none, is the user's to know. UsageError."""
    try:
        yield
    except (NotRunningError, DeskError) as error:
        raise UsageError(str(error)) from None


def print_status(data: Path | None, as_json: bool) -> int:
    """How the class stands. UsageError where no server runs."""
    with told_by_server(), AdminLine(data_folder(data)) as line:
        report = line.report()
    if as_json:
        print(msgspec.json.encode(report).decode())
        return 0
    on = sum(bool(pupil.since) for pupil in report.pupils)
    clusters = sum(bool(pupil.cluster) for pupil in report.pupils)
    lecture = f", lecture: {sanitize(report.lecture)}" if report.lecture else ""
    print(f"port {report.port}: {count_of(on, 'session')}, {count_of(clusters, 'cluster')}{lecture}")
    table = Table(box=None, pad_edge=False)
    for column in ("student", "on for", "exercise", "tasks", "stuck for", f"points of {report.points}", "solved"):
        table.add_column(column, no_wrap=True, justify="left" if column in ("student", "exercise") else "right")
    for pupil in stuck_first(report.pupils):
        table.add_row(*_row(pupil))
    print_table(table)
    return 0


def _row(pupil: Pupil) -> tuple[str, ...]:
    at = f"{pupil.exercise} {pupil.attempt}" if pupil.exercise else ""
    return (
        sanitize(pupil.name),
        "" if pupil.on_s is None else in_minutes(pupil.on_s),
        sanitize(at + (", you have the keys" if pupil.keys else "")),
        f"{pupil.done} of {pupil.tasks}" if pupil.tasks else "",
        "" if pupil.stuck_s is None else in_minutes(pupil.stuck_s),
        str(pupil.points),
        str(pupil.solved),
    )


def tell_class(names: Sequence[str], to_all: bool, text: str, data: Path | None) -> int:
    """Show these students a message, or all who are on. UsageError."""
    if bool(names) == to_all:
        raise UsageError('say to whom: lab serve tell NAME… "TEXT", or lab serve tell --all "TEXT"')
    with told_by_server(), AdminLine(data_folder(data)) as line:
        told = line.tell(tuple(dict.fromkeys(names)), text)
    print(f"told {', '.join(told)}" if told else "nobody is on, so nobody was told")
    return 0


def export_grades(
    csv: Path | None, gradescope: Path | None, every: bool, exercises: Path | None, data: Path | None
) -> int:
    """Grade the class, and write the grades down; the exit status. UsageError."""
    if csv is None and gradescope is None:
        raise UsageError("say where the grades are to go: --csv FILE, or --gradescope DIR")
    from lab.serve.gradebook import grade_class  # noqa: PLC0415 - only where it is used

    folder, library = data_folder(data), exercises or SHIPPED
    with mistakes_told():
        known = {name: exercise_called(name, library) for name in names(library)}
    with progress_line() as tell:
        book = grade_class(folder, library, tell)
    best = best_of(book.grades)
    if csv is not None:
        _write(csv, as_csv(_in_order(book.grades) if every else best, known).encode())
    if gradescope is not None:
        gradescope.mkdir(parents=True, exist_ok=True)
        for student in dict.fromkeys(grade.student for grade in best):
            of_student = [grade for grade in best if grade.student == student]
            _write(gradescope / f"{student}.json", as_gradescope(of_student, known))
    refused = [grade for grade in book.grades if grade.refused]
    for grade in refused:
        print(f"lab: {sanitize(grade.recording)}: not graded: {sanitize(grade.refused)}", file=sys.stderr)
    for trouble in book.troubles:
        print(f"lab: {sanitize(trouble)}: somebody edited the seals; look into it", file=sys.stderr)
    students = count_of(len({grade.student for grade in book.grades}), "student")
    said = f"{count_of(len(book.grades), 'attempt')} of {students} graded"
    said += f", {len(refused)} of them refused" if refused else ""
    if book.unsealed:
        said += f"; {len(book.unsealed)} not sealed yet, as the run goes on, or its server was killed"
    print(said)
    return EXIT_NOT_AS_EXPECTED if refused or book.troubles else 0


def _in_order(grades: Sequence[Grade]) -> list[Grade]:
    return sorted(grades, key=lambda each: (each.student, each.exercise, each.attempt))


def _write(path: Path, data: bytes) -> None:
    try:
        write_durably(path, data)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}; name another file") from None
