"""Read the recordings of the whole class: grade them, and list what the students did.

To grade, every recording in the data folder is re-executed, unless it differs from its seal.
"""

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from lab.exercises.assessment import is_manual_command
from lab.exercises.grading import Grade, grade_recording, refuse_shared
from lab.exercises.student_folder import attempt_in, record_time
from lab.recording.reader import NotARecordingError, open_recording
from lab.recording.records import Commanded
from lab.serve.folder import DataFolder
from lab.serve.seals import Seal, SealBook, measure
from lab.serve.server_log import ServerLogLine, read_log


def student_commands(
    folder: DataFolder, student: str | None, report_progress: Callable[[str], None]
) -> Iterator[ServerLogLine]:
    """Yield a line for each manual command in the attempts of this student, or of all."""
    for name, path in folder.recordings():
        if student in (None, name):
            report_progress(f"reading {name}/{path.name}")
            with contextlib.suppress(NotARecordingError):
                yield from _commands_in(path, name)


def _commands_in(path: Path, student: str) -> Iterator[ServerLogLine]:
    with contextlib.closing(open_recording(path)) as store:
        for record in store.records():
            if isinstance(record, Commanded) and is_manual_command(record):
                at = record_time(store.header, record.at_us, path)
                text = f"{path.stem}: {record.text}: {record.outcome}"
                yield ServerLogLine(at.isoformat(timespec="milliseconds"), "command", student, text=text)


class Gradebook(Struct, frozen=True):
    """All attempts, graded or refused. ``unsealed`` are the recordings of runs not known to have ended.

    ``problems`` describe what is wrong with the seals themselves.
    """

    grades: list[Grade]
    unsealed: list[str]
    problems: list[str]


def grade_class(folder: DataFolder, exercises: Path, report_progress: Callable[[str], None]) -> Gradebook:
    """Grade the class; ``exercises`` is the folder of the exercises. Raises OSError.

    ``report_progress`` is called with a line of text.
    """
    report = SealBook(folder.seals).read()
    found = list(folder.recordings())
    seals = [report.seals.get(_file(path, folder)) for _, path in found]
    grades = []
    for place, ((student, path), seal) in enumerate(zip(found, seals, strict=True), 1):
        before = f"{place} of {len(found)}: {_file(path, folder)}"
        report_progress(before)
        grades.append(_grade(path, student, seal, exercises, partial(_report_records, report_progress, before)))
    # if the server witnessed the run's end, the run is that student's, whoever else has a copy
    kept = [
        grade if seal is not None and seal.witnessed else unless
        for grade, unless, seal in zip(grades, refuse_shared(grades), seals, strict=True)
    ]
    here = {_file(path, folder) for _, path in found}
    for gone in report.seals.values():
        if gone.file not in here:
            kept.append(
                _refuse(folder.path / gone.file, gone.student, f"it was sealed on {gone.at}, and is missing")
            )
    problems = [report.problem] if report.problem else []
    unknown = [head for head in _heads_logged(folder) if head not in set(report.heads)]
    if unknown and not report.problem:
        problems.append(f"{folder.seals} lacks {len(unknown)} of the seals in the log")
    return Gradebook(
        kept, [_file(path, folder) for _, path in found if _file(path, folder) not in report.seals], problems
    )


def _file(path: Path, folder: DataFolder) -> str:
    return str(path.relative_to(folder.path))


def _grade(
    path: Path, student: str, seal: Seal | None, exercises: Path, report_progress: Callable[[int], None]
) -> Grade:
    try:
        if seal is not None and seal.measured != measure(path):
            return _refuse(path, student, f"it was edited after it was sealed on {seal.at}")
        grade = grade_recording(path, exercises, report_progress)
    except OSError as error:
        return _refuse(path, student, f"it cannot be read: {error.strerror}")
    if seal is not None and seal.student != student:
        return _refuse(path, student, f"it was sealed for {seal.student}, on {seal.at}")
    if grade.student not in ("", student):
        why = f"its header names {grade.student}, but it is in the folder of {student}"
        return _refuse(path, student, why)
    return replace(grade, student=student, exercise=grade.exercise or path.stem)


def _refuse(path: Path, student: str, why: str) -> Grade:
    of = attempt_in(path)
    if of is None:
        return Grade(str(path), path.stem, student, refused=why)
    return Grade(str(path), of.name, student, of.attempt, refused=why)


def _heads_logged(folder: DataFolder) -> list[str]:
    return [line.text.partition(" ")[0] for line in read_log(folder.log) if line.event == "sealed"]


def _report_records(report_progress: Callable[[str], None], before: str, done: int) -> None:
    report_progress(f"{before}, {done:,} records")
