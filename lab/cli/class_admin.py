"""The teacher's commands of ``lab serve``: state of the class, messages, the log, grades."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import msgspec
from rich.table import Table

from lab.cli.exercises import exit_on_mistakes
from lab.cli.output_files import write_whole
from lab.cli.progress import progress_line
from lab.cli.server_runner import data_folder
from lab.cli.terminal import print_table
from lab.cli.usage_errors import EXIT_NOT_AS_EXPECTED, UsageError
from lab.exercises.exercise_library import SHIPPED, find_exercise, names
from lab.exercises.grade_export import as_csv, as_gradescope
from lab.exercises.grading import Grade, best_grades
from lab.exercises.teacher import ServerAdminError, Student, format_minutes, sort_by_stuck_time
from lab.serve.admin_connection import AdminConnection
from lab.serve.audit import student_commands
from lab.serve.gradebook import grade_class
from lab.serve.server_log import read_log
from lab.text import did_you_mean, sanitize
from lab.units import format_count

__all__ = ["export_grades", "notify_students", "print_log", "print_status", "server_errors_as_usage"]


@contextmanager
def server_errors_as_usage() -> Iterator[None]:
    """Turn errors of the server, or its absence, into UsageError."""
    try:
        yield
    except ServerAdminError as error:
        raise UsageError(str(error)) from None


def print_status(data: Path | None, as_json: bool) -> int:
    """Print the state of the class. Raises UsageError if no server is running."""
    with server_errors_as_usage(), AdminConnection(data_folder(data)) as connection:
        report = connection.report()
    if as_json:
        print(msgspec.json.encode(report).decode())
        return 0
    on = sum(bool(student.since) for student in report.students)
    clusters = sum(bool(student.cluster) for student in report.students)
    lecture = f", lecture: {sanitize(report.lecture)}" if report.lecture else ""
    print(f"port {report.port}: {format_count(on, 'session')}, {format_count(clusters, 'cluster')}{lecture}")
    table = Table(box=None, pad_edge=False)
    for column in (
        "student",
        "logged in",
        "exercise",
        "tasks",
        "stuck for",
        f"points of {report.points}",
        "solved",
    ):
        table.add_column(column, no_wrap=True, justify="left" if column in ("student", "exercise") else "right")
    for student in sort_by_stuck_time(report.students):
        table.add_row(*_row(student))
    print_table(table)
    return 0


def _row(student: Student) -> tuple[str, ...]:
    at = f"{student.exercise} {student.attempt}" if student.exercise else ""
    return (
        sanitize(student.name),
        "" if student.on_s is None else format_minutes(student.on_s),
        sanitize(at + (", you have control" if student.keys else "")),
        f"{student.done} of {student.tasks}" if student.tasks else "",
        "" if student.stuck_s is None else format_minutes(student.stuck_s),
        str(student.points),
        str(student.solved),
    )


def print_log(name: str | None, commands: bool, data: Path | None) -> int:
    """Print the server's log in local time. Raises UsageError."""
    folder = data_folder(data)
    if name is not None and name not in folder.student_paths():
        raise UsageError(f"unknown student {name!r}{did_you_mean(name, list(folder.student_paths()))}")
    lines = [line for line in read_log(folder.log) if line.event != "sealed"]
    if commands:
        with progress_line() as progress:
            lines += student_commands(folder, name, progress)
    for line in sorted(lines, key=lambda each: datetime.fromisoformat(each.at)):
        if name is None or line.student == name:
            at = datetime.fromisoformat(line.at).astimezone()
            where = f" from {line.address}" if line.address else ""
            text = f"{sanitize(line.student):16} {line.event:14} {sanitize(line.text)}{where}"
            print(f"{at:%Y-%m-%d %H:%M:%S} {text.rstrip()}")
    return 0


def notify_students(names: Sequence[str], to_all: bool, text: str, data: Path | None) -> int:
    """Send a message to these students, or to everyone logged in. Raises UsageError."""
    if bool(names) == to_all:
        raise UsageError('name the recipients: lab serve notify NAME… "TEXT", or lab serve notify --all "TEXT"')
    folder = data_folder(data)
    if text in folder.student_paths():
        raise UsageError(f'{text!r} is a student; write the text last, in quotes: lab serve notify {text} "TEXT"')
    with server_errors_as_usage(), AdminConnection(folder) as connection:
        notified = connection.notify(tuple(dict.fromkeys(names)), text)
    print(f"notified {', '.join(notified)}" if notified else "nobody is logged in, so nobody was notified")
    return 0


def export_grades(
    csv: Path | None, gradescope: Path | None, every: bool, exercises: Path | None, data: Path | None
) -> int:
    """Grade the class, write the grades, print the points, and return the exit status. Raises UsageError."""
    folder, library = data_folder(data), exercises or SHIPPED
    with exit_on_mistakes():
        known = {name: find_exercise(name, library) for name in names(library)}
    with progress_line() as progress:
        book = grade_class(folder, library, progress)
    best = best_grades(book.grades)
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
    for trouble in book.problems:
        text = f"{sanitize(trouble)}: the seals were edited, so these grades are not reliable"
        print(f"lab: {text}", file=sys.stderr)
    _print_totals(best, list(folder.student_paths()), sum(each.points for each in known.values()))
    students = format_count(len({grade.student for grade in book.grades}), "student")
    text = f"{format_count(len(book.grades), 'attempt')} of {students} graded"
    text += f", {len(refused)} refused" if refused else ""
    if book.unsealed:
        text += f"; {len(book.unsealed)} not sealed: the run is active, or its server was killed"
    print(text)
    return EXIT_NOT_AS_EXPECTED if refused or book.problems else 0


def _print_totals(best: Sequence[Grade], students: Sequence[str], most: int) -> None:
    """Print the points of each student, including those without attempts."""
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
