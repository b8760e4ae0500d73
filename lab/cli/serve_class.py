"""``lab serve``, commands for the teacher: watch the class, notify students, print the log and the grades."""

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence, Set
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from rich.table import Table
from typer import Argument, Option

from lab.cli.documents import Document, Json, print_json
from lab.cli.options import whole_number, write_whole
from lab.cli.progress import Progress
from lab.cli.serve import Data, data_folder, group
from lab.cli.serve_lecture import require_lecture
from lab.cli.terminal import (
    EXIT_NOT_AS_EXPECTED,
    UsageError,
    print_table,
    require_terminal,
)
from lab.exercises.course import describe_deadline, describe_extension, read_course
from lab.exercises.course_grades import CourseGrade, course_table, format_fraction, grade_course
from lab.exercises.exercise import Exercise
from lab.exercises.exercise_reader import ExerciseError, find_exercise, names
from lab.exercises.grading import Grade, as_csv, as_gradescope, best_grades
from lab.exercises.teacher import ServerAdminError, Student, format_minutes, situation_of, sort_by_need
from lab.glyphs import glyphs_for
from lab.output import print_error, print_line
from lab.serve.admin_client import AdminClient, AdminConnection
from lab.serve.data_folder import DataFolder, read_log
from lab.serve.gradebook import grade_class, student_commands
from lab.serve.student_lists import InvitationError, Invitations, names_in
from lab.text import UserError, did_you_mean, sanitize
from lab.tui.terminal.guard import run_guarded
from lab.units import format_count

Folder = Annotated[
    Path | None,
    Option("--exercises", metavar="DIR", help="The folder of the exercises. Default: that which was served last."),
]


class ClassDocument(Document, frozen=True):
    """The state of the class; ``exercises`` counts the exercises, ``points`` are their sum."""

    port: int
    students: tuple[Student, ...]
    exercises: int
    points: int
    lecture: str


@group.command()
def status(data: Data = None, json: Json = False) -> int:
    """Print the state of the class.

    One line per student: their situation, the time since they last solved a task, a tick for each task of the
    attempt (✓ done, ✗ missed, … answered, ○ open), the exercise, and their points. Those who need help come first:
    who has been stuck longest. lab serve watch shows the same, live.
    """
    with AdminConnection(data_folder(data)) as connection:
        report = connection.report()
    if json:
        print_json(ClassDocument(report.port, report.students, report.exercises, report.points, report.lecture))
        return 0
    on = sum(bool(student.since) for student in report.students)
    clusters = sum(bool(student.cluster) for student in report.students)
    lecture = f", lecture: {sanitize(report.lecture)}" if report.lecture else ""
    print_line(f"port {report.port}: {format_count(on, 'session')}, {format_count(clusters, 'cluster')}{lecture}")
    table = Table(box=None, pad_edge=False)
    points = f"points of {report.points}"
    for column in ("student", "is", "for", "tasks", "exercise", "logged in", points, "solved", ""):
        left = column in ("student", "is", "tasks", "exercise", "")
        table.add_column(column, no_wrap=True, justify="left" if left else "right")
    for student in sort_by_need(report.students):
        table.add_row(*_row(student))
    print_table(table)
    return 0


def _row(student: Student) -> tuple[str, ...]:
    at = f"{student.exercise} {student.attempt}" if student.exercise else ""
    return (
        sanitize(student.name),
        situation_of(student),
        "" if student.stuck_s is None else format_minutes(student.stuck_s),
        _ticks(student),
        sanitize(at + (", you have control" if student.keys else "")),
        "" if student.on_s is None else format_minutes(student.on_s),
        str(student.points),
        str(student.solved),
        f"{format_count(student.unread, 'comment')} unread" if student.unread else "",
    )


def _ticks(student: Student) -> str:
    glyphs = glyphs_for()
    signs = {
        "done": glyphs.marks["met"],
        "missed": glyphs.marks["unmet"],
        "answered": glyphs.status["Waiting"],
        "open": glyphs.status["Working"],
    }
    if student.states:
        return "".join(signs[state] for state in student.states)
    return f"{student.done} of {student.tasks}" if student.tasks else ""


@group.command()
def watch(exercises: Folder = None, data: Data = None) -> int:
    """Watch the class live.

    The screen shows the table of lab serve status, live. Enter opens the cluster of the selected student; you can
    move through its timeline independently. t also lets you give commands to it; the student is notified, and can
    still give commands. m sends a message to the selected student, M to all. l gives a lecture.
    """
    folder = data_folder(data)
    with AdminConnection(folder) as connection:
        connection.report()
    require_terminal("lab serve status")
    from lab.tui.apps.class_app import show_class  # noqa: PLC0415 - loads the interface

    def exercise(name: str) -> Exercise | None:
        try:
            return find_exercise(name, exercises or folder.exercises)
        except ExerciseError:
            return None

    def lecture(named: str) -> str:
        try:
            require_lecture(named)
        except UserError as error:
            return str(error)
        call = [sys.executable, "-m", "lab", "serve", "lecture", named, "--data", str(folder.path)]
        return _describe_end(named, subprocess.run(call, check=False).returncode, data)

    return run_guarded(lambda: show_class(AdminClient(folder), exercise, lecture))


def _describe_end(named: str, status: int, data: Path | None) -> str:
    """Return why a lecture has failed that was given from the screen of the class; empty if it has not."""
    if status in (0, 128 + signal.SIGINT):
        return ""
    call = ["lab", "serve", "lecture", named, *(() if data is None else ("--data", str(data)))]
    return f"the lecture ended with status {status}; for the reason run: {shlex.join(call)}"


@group.command()
def course(
    file: Annotated[
        Path | None,
        Argument(metavar="[FILE]", help="A course file to check. Default: the one in the data folder."),
    ] = None,
    student: Annotated[
        str, Option(metavar="NAME", help="Print the deadlines of this student, with extensions.")
    ] = "",
    exercises: Folder = None,
    data: Data = None,
) -> int:
    """Check the course file, and print it.

    A line for each group of exercises: its weight, its deadline, and what remains until then. Every mistake in the
    file is reported, with its line, and so is an extension for a name that is not in the class. lab guide class
    explains the file.
    """
    folder = data_folder(data)
    library = exercises or folder.exercises
    path = file or folder.course
    if file is None and not path.exists():
        raise UsageError(f"there is no course; write {path}, as lab guide class shows")
    read = read_course(path, {name: find_exercise(name, library) for name in names(library)})
    if student:
        _require_student(folder, student, {extension.student for extension in read.extensions})
    schedule, now = read.schedule_for(student), datetime.now(UTC)
    late = f"{format_count(read.late.days, 'late day')} of each student, {read.late.cost} % each"
    print_line(f"{sanitize(read.title) or 'the course'}: {late}")
    table = Table(box=None, pad_edge=False)
    for column in ("group", "weight", "exercises", "deadline"):
        table.add_column(column, justify="right" if column == "weight" else "left")
    for each in schedule.groups:
        deadline = describe_deadline(each, read.late, now)
        table.add_row(sanitize(each.name), str(each.weight), ", ".join(each.exercises), deadline)
    print_table(table)
    for extension in read.extensions:
        if student in ("", extension.student):
            print_line(f"extension: {describe_extension(extension)}")
    known = _known_students(folder)
    for name in dict.fromkeys(each.student for each in read.extensions if known and each.student not in known):
        hint = did_you_mean(name, sorted(known)) or "; lab serve status lists the class"
        print_error(f"{path}: an extension for {sanitize(name, 40)!r}, who is not in the class{hint}")
    return 0


def _known_students(folder: DataFolder) -> set[str]:
    """Return the names of all students that the server knows of: none while there is no class."""
    known = {*folder.student_paths(), *names_in(folder.browsers, 1)}
    with suppress(InvitationError):  # lab serve invite reports it
        known |= set(Invitations(folder.invites).names())
    with suppress(ServerAdminError), AdminConnection(folder) as connection:
        known |= {each.name for each in connection.report().students}
    return known


def _require_student(folder: DataFolder, student: str, others: Set[str]) -> None:
    """Check that the class has this student, or that it is one of the ``others``. Raises UsageError.

    While there is no class, every name may be right.
    """
    known = _known_students(folder)
    if known and student not in known | others:
        hint = did_you_mean(student, sorted(known | others)) or "; lab serve status lists the class"
        raise UsageError(f"unknown student {sanitize(student, 40)!r}{hint}")


@group.command(
    epilog='Examples:\n\n    lab serve notify anna ben "look at node 3 in the diagram"\n\n'
    '    lab serve notify --all "five minutes to go"'
)
def notify(
    words: Annotated[
        list[str], Argument(metavar="[NAME…] TEXT", help="The names of the recipients, then the text in quotes.")
    ],
    all_: Annotated[bool, Option("--all", help="Notify everyone logged in.")] = False,
    data: Data = None,
) -> int:
    """Send a message to students.

    The message is a line on their screens that stays until they dismiss it.
    """
    *names, text = words
    if bool(names) == all_:
        raise UsageError('name the recipients: lab serve notify NAME… "TEXT", or lab serve notify --all "TEXT"')
    folder = data_folder(data)
    if text in folder.student_paths():
        raise UsageError(f'{text!r} is a student; write the text last, in quotes: lab serve notify {text} "TEXT"')
    with AdminConnection(folder) as connection:
        notified = connection.notify(tuple(dict.fromkeys(names)), text)
    print_line(f"notified {', '.join(notified)}" if notified else "nobody is logged in, so nobody was notified")
    return 0


def _confirm(question: str, word: str, yes: bool) -> bool:
    """Return whether the teacher confirms by typing this word. Raises UsageError if nobody can be asked."""
    if yes:
        return True
    if not os.isatty(0):
        raise UsageError(f"{question} Add --yes to confirm it")
    print_line(f"{question} Type {word} to confirm: ")
    sys.stdout.flush()
    if sys.stdin.readline().strip() == word:
        return True
    print_line("nothing was done")
    return False


def _once_confirmed(question: str, word: str, yes: bool, work: str, change: Callable[[], str]) -> int:
    """Make a change once the teacher confirms it by typing this word, and return the exit status."""
    if not _confirm(question, word, yes):
        return EXIT_NOT_AS_EXPECTED
    with Progress(work):
        done = change()
    print_line(done)
    return 0


Yes = Annotated[bool, Option("--yes", help="Do not ask for confirmation.")]
StudentName = Annotated[str, Argument(metavar="NAME", help="The name of the student.")]


@group.command(
    epilog="""Example:\n
    lab serve comment anna two-coordinators "task 3: which node was silent?\""""
)
def comment(
    name: StudentName,
    exercise: Annotated[str, Argument(metavar="EXERCISE", help="The name of the exercise.")],
    text: Annotated[str, Argument(metavar="TEXT", help="The comment, in quotes.")],
    attempt: Annotated[str, Option(metavar="NUMBER", help="The attempt. Default: the latest.")] = "",
    data: Data = None,
) -> int:
    """Comment on a student's attempt.

    The student sees the comment in the exercise and in the list of exercises until it is read there, now or after
    the next log-in. It stays with the description of the exercise.
    """
    number = whole_number("--attempt", attempt, 1, 9999) if attempt else 0
    print_line(AdminClient(data_folder(data)).comment(name, exercise, number, text))
    return 0


@group.command()
def remove(name: StudentName, yes: Yes = False, data: Data = None) -> int:
    """Remove a student from the class.

    Their sessions and their cluster end at once, and they cannot log in. Their work is kept, and lab serve readmit
    admits them again. On a server with --open, they can still log in as guests.
    """
    question = f"{sanitize(name, 40)} will be logged out, and cannot log in any more; the work is kept."
    return _once_confirmed(
        question, "yes", yes, "ending the sessions", lambda: AdminClient(data_folder(data)).remove(name)
    )


@group.command()
def readmit(name: StudentName, data: Data = None) -> int:
    """Admit a removed student again.

    Their keys, browsers and unused codes are valid again, and their work is as they left it.
    """
    print_line(AdminClient(data_folder(data)).readmit(name))
    return 0


@group.command()
def archive(
    name: StudentName,
    to: Annotated[Path | None, Option(metavar="FILE", help="The file to write. Default: NAME.zip.")] = None,
    yes: Yes = False,
    data: Data = None,
) -> int:
    """Write all that is stored about a student to a zip file.

    It contains the recordings, the progress, the comments, and the lines about the student in the log, the seals
    and the lists.
    """
    path = to or Path(f"{name}.zip")
    if path.exists():
        raise UsageError(f"{path} exists; name another file: --to FILE")
    question = f"All data of {sanitize(name, 40)} will be written to {sanitize(str(path))}."
    return _once_confirmed(
        question, "yes", yes, "writing the archive", lambda: AdminClient(data_folder(data)).archive(name, path)
    )


@group.command()
def erase(name: StudentName, yes: Yes = False, data: Data = None) -> int:
    """Delete all that is stored about a student.

    Recordings, progress, comments, codes, keys and browsers are deleted, and the name is taken out of the log and
    the seals; their sessions end first. This cannot be undone: lab serve archive writes a copy.
    """
    question = f"All recordings, points and log lines of {sanitize(name, 40)} are deleted for good."
    return _once_confirmed(question, name, yes, "erasing", lambda: AdminClient(data_folder(data)).erase(name))


@group.command(
    epilog="""Examples:\n
    lab serve log\n
    lab serve log anna --commands"""
)
def log(
    name: Annotated[str | None, Argument(metavar="[NAME]", help="Print only events of this student.")] = None,
    commands: Annotated[
        bool, Option("--commands", help="Include each command, answer and hint, read from the recordings.")
    ] = False,
    data: Data = None,
) -> int:
    """Print the server's log.

    The log contains log-ins, refused requests, attempts, messages, and each time you took control; oldest first.
    """
    folder = data_folder(data)
    if name is not None and name not in folder.student_paths():
        raise UsageError(f"unknown student {name!r}{did_you_mean(name, list(folder.student_paths()))}")
    lines = [line for line in read_log(folder.log) if line.event != "sealed"]
    if commands:
        with Progress("reading recordings") as progress:
            lines += student_commands(folder, name, progress.report)
    for line in sorted(lines, key=lambda each: datetime.fromisoformat(each.at)):
        if name is None or line.student == name:
            at = datetime.fromisoformat(line.at).astimezone()
            where = f" from {line.address}" if line.address else ""
            text = f"{sanitize(line.student):16} {line.event:14} {sanitize(line.text)}{where}"
            print_line(f"{at:%Y-%m-%d %H:%M:%S} {text.rstrip()}")
    return 0


@group.command(
    epilog="""Examples:\n
    lab serve export\n
    lab serve export --csv grades.csv\n
    lab serve export --gradescope results/   (results/NAME.json for each student)\n
    lab serve export --csv all.csv --every --force"""
)
def export(
    csv: Annotated[Path | None, Option(metavar="FILE", help="Write the grades as a spreadsheet.")] = None,
    gradescope: Annotated[
        Path | None,
        Option(metavar="DIR", help="Write Gradescope results to this folder: NAME.json for each student."),
    ] = None,
    grades: Annotated[
        Path | None,
        Option(metavar="FILE", help="Write the grades of the course as a spreadsheet, a row for each student."),
    ] = None,
    every: Annotated[
        bool, Option("--every", help="Grade every attempt, not only the best of each student.")
    ] = False,
    force: Annotated[bool, Option("--force", help="Overwrite existing files.")] = False,
    exercises: Folder = None,
    data: Data = None,
) -> int:
    """Grade the whole class.

    Every recording is re-executed, and the points of each student are printed. When a run ends, the server seals
    its recording: it stores a digest. A recording that does not match its seal, belongs to another student or is
    missing is refused, and the reason is printed. An active run is graded as far as it is recorded.

    If the data folder has a course (lab serve --course), the table has the grade of each student: with weights,
    late days and extensions. lab guide grading has the arithmetic.

    Exit status: 0 all were graded, 1 one was refused or the seals were edited, 2 usage error, 130 Ctrl-C.
    """
    folder = _existing_folder(data)
    library = exercises or folder.exercises
    known = {name: find_exercise(name, library) for name in names(library)}
    course = read_course(folder.course, known) if folder.course.exists() else None
    if course is None and grades is not None:
        raise UsageError(f"--grades: there is no course; write {folder.course}, as lab guide class shows")
    results = None if gradescope is None else min(gradescope.glob("*.json"), default=None)
    for option, file in (("--csv", csv), ("--grades", grades), ("--gradescope", results)):
        if file is not None and file.exists() and not force:
            raise UsageError(f"{file} exists already; name another with {option}, or overwrite it with --force")
    recordings = len(list(folder.recordings()))
    with Progress("grading", "recording", recordings) as progress:
        book = grade_class(folder, library, lambda graded, file: progress(int(graded), file, graded / recordings))
    best = best_grades(book.grades)
    if csv is not None:
        write_whole(csv, as_csv(_in_order(book.grades) if every else best).encode())
    if gradescope is not None:
        gradescope.mkdir(mode=0o700, parents=True, exist_ok=True)
        for student in dict.fromkeys(grade.student for grade in best):
            of_student = [grade for grade in best if grade.student == student]
            write_whole(gradescope / f"{student}.json", as_gradescope(of_student, known))
    registered = {*folder.student_paths(), *names_in(folder.browsers, 1)}
    students = sorted({*registered, *(grade.student for grade in book.grades)})
    in_course = [] if course is None else grade_course(course, known, book.grades, students)
    if grades is not None:
        write_whole(grades, course_table(in_course).encode())
    refused = [grade for grade in book.grades if grade.refused]
    for grade in refused:
        print_error(f"{grade.recording}: not graded: {grade.refused}")
    for trouble in book.problems:
        print_error(f"{trouble}: the seals were edited, so these grades are not reliable")
    if course is None:
        _print_totals(best, students, sum(each.points for each in known.values() if each.is_on_server))
    else:
        _print_course_grades(in_course)
    graded = format_count(len({grade.student for grade in book.grades}), "student")
    text = f"{format_count(len(book.grades), 'attempt')} of {graded} graded"
    text += f", {len(refused)} refused" if refused else ""
    if unproved := [grade for grade in book.grades if grade.proof == "unproved"]:
        text += f"; {len(unproved)} unproved: the run is active, or its server was killed"
    print_line(text)
    return EXIT_NOT_AS_EXPECTED if refused or book.problems else 0


def _existing_folder(data: Path | None) -> DataFolder:
    if data is not None and not data.is_dir():
        raise UsageError(f"--data {data}: there is no such folder; name the server's data folder")
    return data_folder(data)


def _print_totals(best: Sequence[Grade], students: Sequence[str], most: int) -> None:
    """Print the points of each student, including those without attempts."""
    table = Table(box=None, pad_edge=False)
    for column in ("student", f"points of {most}", "solved", "attempted", "sealed"):
        table.add_column(column, no_wrap=True, justify="left" if column == "student" else "right")
    for student in students:
        own = [grade for grade in best if grade.student == student]
        solved = sum(grade.points == grade.most for grade in own if not grade.refused)
        sealed = sum(grade.proof == "sealed" for grade in own)
        points = sum(grade.points for grade in own)
        table.add_row(sanitize(student), *map(str, (points, solved, len(own), sealed)))
    print_table(table)


def _print_course_grades(grades: Sequence[CourseGrade]) -> None:
    """Print the grades of the course: the points of each group as they count, and the percentages."""
    table = Table(box=None, pad_edge=False)
    groups = grades[0].groups if grades else ()
    heads = [f"{sanitize(group.group, 16)}, of {group.of}" for group in groups]
    for column in ("student", *heads, "raw %", "late days", "grade %"):
        table.add_column(column, justify="left" if column == "student" else "right")
    for grade in grades:
        counted = (format_fraction(group.counted) for group in grade.groups)
        totals = format_fraction(grade.raw), str(grade.late_days), format_fraction(grade.grade)
        table.add_row(sanitize(grade.student), *counted, *totals)
    print_table(table)


def _in_order(grades: Sequence[Grade]) -> list[Grade]:
    return sorted(grades, key=lambda each: (each.student, each.exercise, each.attempt))
