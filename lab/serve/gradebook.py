"""The grades of the whole class: every recording of the data folder that is what its seal says, run again."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from lab.exercises.grading import Grade, grade_recording, unless_shared
from lab.exercises.home import attempt_in
from lab.serve.folder import DataFolder
from lab.serve.log import read_log
from lab.serve.seals import Seal, SealBook, measure

__all__ = ["Gradebook", "grade_class"]


class Gradebook(Struct, frozen=True):
    """All attempts, graded or refused. ``unsealed`` are the recordings of runs that are not known to have ended.

    ``troubles`` say what is wrong with the seals themselves.
    """

    grades: list[Grade]
    unsealed: list[str]
    troubles: list[str]


def grade_class(folder: DataFolder, exercises: Path, tell: Callable[[str], None]) -> Gradebook:
    """Grade them; ``exercises`` is the folder of those, ``tell`` is told how far it has come. OSError."""
    report = SealBook(folder.seals).read()
    found = list(folder.recordings())
    seals = [report.seals.get(_file(path, folder)) for _, path in found]
    grades = []
    for place, ((student, path), seal) in enumerate(zip(found, seals, strict=True), 1):
        before = f"{place} of {len(found)}: {_file(path, folder)}"
        tell(before)
        grades.append(_graded(path, student, seal, exercises, partial(_tell_records, tell, before)))
    # the run of a recording that the server has seen end is that student's, whoever else has a copy
    kept = [
        grade if seal is not None and seal.witnessed else unless
        for grade, unless, seal in zip(grades, unless_shared(grades), seals, strict=True)
    ]
    here = {_file(path, folder) for _, path in found}
    for gone in report.seals.values():
        if gone.file not in here:
            kept.append(
                _refused(folder.path / gone.file, gone.student, f"it was sealed on {gone.at}, and is gone")
            )
    troubles = [report.trouble] if report.trouble else []
    unknown = [head for head in _heads_logged(folder) if head not in set(report.heads)]
    if unknown and not report.trouble:
        troubles.append(f"{folder.seals} has lost {len(unknown)} of the seals that the log names")
    return Gradebook(
        kept, [_file(path, folder) for _, path in found if _file(path, folder) not in report.seals], troubles
    )


def _file(path: Path, folder: DataFolder) -> str:
    return str(path.relative_to(folder.path))


def _graded(path: Path, student: str, seal: Seal | None, exercises: Path, tell: Callable[[int], None]) -> Grade:
    try:
        if seal is not None and seal.measured != measure(path):
            return _refused(path, student, f"it was edited since it was sealed on {seal.at}")
        grade = grade_recording(path, exercises, tell)
    except OSError as error:
        return _refused(path, student, f"it cannot be read: {error.strerror}")
    if seal is not None and seal.student != student:
        return _refused(path, student, f"it was sealed for {seal.student}, on {seal.at}")
    if grade.student not in ("", student):
        why = f"its header says that it is {grade.student}'s, and it lies in the folder of {student}"
        return _refused(path, student, why)
    return replace(grade, student=student, exercise=grade.exercise or path.stem)


def _refused(path: Path, student: str, why: str) -> Grade:
    of = attempt_in(path)
    if of is None:
        return Grade(str(path), path.stem, student, refused=why)
    return Grade(str(path), of.name, student, of.attempt, refused=why)


def _heads_logged(folder: DataFolder) -> list[str]:
    return [line.text.partition(" ")[0] for line in read_log(folder.log) if line.event == "sealed"]


def _tell_records(tell: Callable[[str], None], before: str, done: int) -> None:
    tell(f"{before}, {done:,} records")
