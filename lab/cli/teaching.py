"""The teacher's side of ``lab serve``: the grades of the class, how it stands, messages, the log."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import msgspec
from rich.table import Table

from lab.cli.errors import EXIT_NOT_AS_EXPECTED, UsageError
from lab.cli.exercises import mistakes_told
from lab.cli.files import write_whole
from lab.cli.progress import progress_line
from lab.cli.serving import data_folder
from lab.cli.terminal import print_table
from lab.exercises.grading import Grade, best_of
from lab.exercises.library import SHIPPED, exercise_called, names
from lab.exercises.results import as_csv, as_gradescope
from lab.exercises.teacher import OfficeError, Pupil, in_minutes, stuck_first
from lab.serve.admin_line import AdminLine
from lab.serve.given import commands_given
from lab.serve.gradebook import grade_class
from lab.serve.log import read_log
from lab.text import did_you_mean, sanitize
from lab.units import count_of

__all__ = ["export_grades", "print_log", "print_status", "tell_class", "told_by_server"]


@contextmanager
def told_by_server() -> Iterator[None]:
    """What the server says no to, or that there is none, is the user's to know. UsageError."""
    try:
        yield
    except OfficeError as error:
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


def print_log(name: str | None, commands: bool, data: Path | None) -> int:
    """What happened, in the time of this machine. UsageError."""
    folder = data_folder(data)
    if name is not None and name not in folder.homes():
        raise UsageError(f"there is no student {name!r} here{did_you_mean(name, list(folder.homes()))}")
    lines = [line for line in read_log(folder.log) if line.event != "sealed"]
    if commands:
        with progress_line() as tell:
            lines += commands_given(folder, name, tell)
    for line in sorted(lines, key=lambda each: datetime.fromisoformat(each.at)):
        if name is None or line.student == name:
            at = datetime.fromisoformat(line.at).astimezone()
            where = f" from {line.address}" if line.address else ""
            said = f"{sanitize(line.student):16} {line.event:14} {sanitize(line.text)}{where}"
            print(f"{at:%Y-%m-%d %H:%M:%S} {said.rstrip()}")
    return 0


def tell_class(names: Sequence[str], to_all: bool, text: str, data: Path | None) -> int:
    """Show these students a message, or all who are on. UsageError."""
    if bool(names) == to_all:
        raise UsageError('say to whom: lab serve tell NAME… "TEXT", or lab serve tell --all "TEXT"')
    folder = data_folder(data)
    if text in folder.homes():
        raise UsageError(f'{text!r} is a student; write the text last, in quotes: lab serve tell {text} "TEXT"')
    with told_by_server(), AdminLine(folder) as line:
        told = line.tell(tuple(dict.fromkeys(names)), text)
    print(f"told {', '.join(told)}" if told else "nobody is on, so nobody was told")
    return 0


def export_grades(
    csv: Path | None, gradescope: Path | None, every: bool, exercises: Path | None, data: Path | None
) -> int:
    """Grade the class, write the grades down, and print what each student has; the exit status. UsageError."""
    folder, library = data_folder(data), exercises or SHIPPED
    with mistakes_told():
        known = {name: exercise_called(name, library) for name in names(library)}
    with progress_line() as tell:
        book = grade_class(folder, library, tell)
    best = best_of(book.grades)
    if csv is not None:
        write_whole(csv, as_csv(_in_order(book.grades) if every else best, known).encode())
    if gradescope is not None:
        gradescope.mkdir(parents=True, exist_ok=True)
        for student in dict.fromkeys(grade.student for grade in best):
            of_student = [grade for grade in best if grade.student == student]
            write_whole(gradescope / f"{student}.json", as_gradescope(of_student, known))
    refused = [grade for grade in book.grades if grade.refused]
    for grade in refused:
        print(f"lab: {sanitize(grade.recording)}: not graded: {sanitize(grade.refused)}", file=sys.stderr)
    for trouble in book.troubles:
        print(f"lab: {sanitize(trouble)}: somebody edited the seals; look into it", file=sys.stderr)
    _print_totals(best, list(folder.homes()), sum(each.points for each in known.values()))
    students = count_of(len({grade.student for grade in book.grades}), "student")
    said = f"{count_of(len(book.grades), 'attempt')} of {students} graded"
    said += f", {len(refused)} of them refused" if refused else ""
    if book.unsealed:
        said += f"; {len(book.unsealed)} not sealed yet, as the run goes on, or its server was killed"
    print(said)
    return EXIT_NOT_AS_EXPECTED if refused or book.troubles else 0


def _print_totals(best: Sequence[Grade], students: Sequence[str], most: int) -> None:
    """Also of those who have attempted nothing yet."""
    table = Table(box=None, pad_edge=False)
    for column in ("student", f"points of {most}", "solved", "attempted"):
        table.add_column(column, no_wrap=True, justify="left" if column == "student" else "right")
    for student in sorted({*students, *(grade.student for grade in best)}):
        own = [grade for grade in best if grade.student == student]
        solved = sum(grade.points == grade.most for grade in own if not grade.refused)
        table.add_row(sanitize(student), str(sum(grade.points for grade in own)), str(solved), str(len(own)))
    print_table(table)


def _in_order(grades: Sequence[Grade]) -> list[Grade]:
    return sorted(grades, key=lambda each: (each.student, each.exercise, each.attempt))
