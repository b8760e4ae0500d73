"""The grades of the whole class: every recording of the data folder that is what its seal says, run again."""

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from msgspec import Struct

from lab.exercises.grading import Grade, grade_recording
from lab.journal import Exercised, NotARecordingError, open_recording
from lab.serve.folder import DataFolder
from lab.serve.log import read_log
from lab.serve.seals import Measured, Seal, SealBook, SealReport, measure

__all__ = ["Gradebook", "grade_class"]


class Gradebook(Struct, frozen=True):
    """All attempts, graded or refused. ``unsealed`` are the recordings of runs that are not known to have ended.

    ``troubles`` say what is wrong with the seals themselves.
    """

    grades: list[Grade]
    unsealed: list[str]
    troubles: list[str]


class _Found(Struct, frozen=True):
    """A recording as it is now, in this student's folder; ``file`` is relative to the data folder."""

    path: Path
    file: str
    student: str
    measured: Measured
    seal: Seal | None

    @property
    def is_witnessed(self) -> bool:
        """Whether the server itself has recorded just this."""
        return self.seal is not None and self.seal.witnessed and self.seal.measured == self.measured


def grade_class(folder: DataFolder, exercises: Path, tell: Callable[[str], None]) -> Gradebook:
    """Grade them; ``exercises`` is the folder of those, ``tell`` is told how far it has come. OSError."""
    report = SealBook(folder.seals).read()
    found = list(_recordings(folder, report))
    grades = []
    for place, each in enumerate(found, 1):
        before = f"{place} of {len(found)}: {each.file}"
        tell(before)
        refused = _why_not(each, report, found)
        if refused:
            grades.append(_refused(each.path, each.student, refused))
        else:
            grades.append(grade_recording(each.path, exercises, partial(_tell_records, tell, before)))
    here = {each.file for each in found}
    for seal in report.seals.values():
        if seal.file not in here:
            gone = f"it was sealed on {seal.at}, and is gone"
            grades.append(_refused(folder.path / seal.file, seal.student, gone))
    troubles = [report.trouble] if report.trouble else []
    unknown = [head for head in _heads_logged(folder) if head not in set(report.heads)]
    if unknown and not report.trouble:
        troubles.append(f"{folder.seals} has lost {len(unknown)} of the seals that the log names")
    return Gradebook(grades, [each.file for each in found if each.seal is None], troubles)


def _recordings(folder: DataFolder, report: SealReport) -> Iterator[_Found]:
    for student, home in folder.homes().items():
        for path in sorted((home / "attempts").glob("*.jsonl")):
            file = str(path.relative_to(folder.path))
            yield _Found(path, file, student, measure(path), report.seals.get(file))


def _why_not(found: _Found, report: SealReport, others: list[_Found]) -> str:
    """What shows that this is not what the student did here; nothing where nothing does."""
    seal = found.seal
    if seal is not None and seal.measured != found.measured:
        return f"it was edited since it was sealed on {seal.at}"
    if seal is not None and seal.student != found.student:
        return f"it was sealed for {seal.student}, on {seal.at}"
    named = _attempt_in(found.path)
    if named is not None and named.student != found.student:
        return f"its header says that it is {named.student}'s, and it lies in the folder of {found.student}"
    if found.is_witnessed or not found.measured.run:
        return ""
    run = found.measured.run
    owners = [each.student for each in report.seals.values() if each.measured.run == run]
    owners += [each.student for each in others if each.measured.run == run]
    other = next((owner for owner in owners if owner != found.student), None)
    return "" if other is None else f"it is the same run as one of {other}, but for its first line"


def _attempt_in(path: Path) -> Exercised | None:
    with contextlib.suppress(NotARecordingError), contextlib.closing(open_recording(path)) as lines:
        return lines.header.exercise
    return None


def _refused(path: Path, student: str, why: str) -> Grade:
    attempt = _attempt_in(path) if path.exists() else None
    if attempt is None:
        return Grade(str(path), path.stem.rpartition("-")[0], student, refused=why)
    return Grade(str(path), attempt.name, student, attempt.attempt, refused=why)


def _heads_logged(folder: DataFolder) -> list[str]:
    return [line.text.partition(" ")[0] for line in read_log(folder.log) if line.event == "sealed"]


def _tell_records(tell: Callable[[str], None], before: str, done: int) -> None:
    tell(f"{before}, {done:,} records")
