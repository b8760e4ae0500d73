"""The recordings of the whole class: sealed when their runs end, graded, and searched for what students did.

A seal holds the digest of a recording, so that later edits show. Seals are lines of one file, appended durably.
Each line holds the digest of the line before it, so no line can be changed or removed. That none was cut off at
the end follows from the server's log, which holds the digest of each line, too. Only the teacher can write to both
files and to the recordings: the data folder is private to the account that the server runs as. So no student can
make a seal.

To grade, every recording in the data folder is re-executed, unless it differs from its seal.
"""

import asyncio
import contextlib
import errno
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lab.durable import write_durably
from lab.exercises.assessment import is_manual_command
from lab.exercises.attempts import attempt_in, record_time
from lab.exercises.grading import (
    Earned,
    Grade,
    ReportGrading,
    grade_recording,
    refuse_shared,
    refuse_unread,
    report_part,
)
from lab.foreign_file import open_foreign
from lab.recording.reader import LARGEST_RECORDING, NotARecordingError, open_recording
from lab.recording.records import Commanded
from lab.serve.data_folder import LOG, SEALS, DataFolder, ServerLog, ServerLogLine, read_log, read_nonce
from lab.text import UserError

# seals


class Measured(Struct, frozen=True):
    """A file's size and digest."""

    size: int
    sha256: str


class Seal(Struct, frozen=True):
    """The measurement of ``file``, relative to the data folder, at a time: UTC, ISO 8601.

    ``witnessed``: the server saw the run end, rather than finding the file later. ``before`` is the digest of the
    line before this one.
    """

    file: str
    student: str
    at: str
    measured: Measured
    witnessed: bool
    before: str = ""


class SealReport(Struct, frozen=True):
    """The seals as read. ``problem`` describes what is wrong with their file, for the teacher."""

    seals: dict[str, Seal]
    heads: list[str]
    problem: str = ""


def measure(path: Path) -> Measured:
    """Read the file once, and measure it. Raises OSError."""
    with open_foreign(path, LARGEST_RECORDING, follow_links=False) as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        return Measured(file.tell(), sha256)


class SealBook:
    """The file of seals. Only the server appends to it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._end: tuple[int, str] | None = None

    def read(self) -> SealReport:
        """Read the valid seals. A torn last line, of a killed server, is no seal. Raises OSError."""
        seals: dict[str, Seal] = {}
        heads: list[str] = []
        problem = ""
        for number, line in enumerate(self._lines(), 1):
            try:
                seal = msgspec.json.decode(line, type=Seal)
            except (msgspec.DecodeError, UnicodeDecodeError):
                problem = f"line {number} of {self._path} cannot be read"
                break
            if seal.before != (heads[-1] if heads else ""):
                problem = f"line {number} of {self._path} does not continue the line before it"
                break
            heads.append(_digest(line))
            seals.setdefault(seal.file, seal)
        return SealReport(seals, heads, problem)

    def append(self, seal: Seal) -> str:
        """Append a seal durably, chained to the one before it; return the digest of its line. Raises OSError."""
        if self._end is None:
            lines = self._lines()
            self._end = sum(len(line) + 1 for line in lines), _digest(lines[-1]) if lines else ""
        size, head = self._end
        line = msgspec.json.encode(replace(seal, before=head))
        file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.ftruncate(file, size)  # removes a torn line
            if os.pwrite(file, line + b"\n", size) <= len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fdatasync(file)
        finally:
            os.close(file)
        self._end = size + len(line) + 1, _digest(line)
        return self._end[1]

    def without(self, student: str) -> list[tuple[str, Seal]]:
        """Remove this student's seals, and chain the others anew; return these with the digests of their lines.

        Raises SealError if the seals were edited, or OSError.
        """
        report = self.read()
        if report.problem:
            raise SealError(f"{report.problem}: the seals were edited; use a backup of the data folder")
        lines: list[bytes] = []
        kept: list[tuple[str, Seal]] = []
        for seal in report.seals.values():
            if seal.student != student:
                chained = replace(seal, before=_digest(lines[-1]) if lines else "")
                lines.append(msgspec.json.encode(chained))
                kept.append((_digest(lines[-1]), chained))
        if self._path.exists():
            write_durably(self._path, b"".join(line + b"\n" for line in lines))
        self._end = None
        return kept

    def _lines(self) -> list[bytes]:
        with contextlib.suppress(FileNotFoundError):
            return self._path.read_bytes().split(b"\n")[:-1]
        return []


class Sealer:
    """Seals the recordings in the server's data folder.

    Whoever holds the ``lock`` may change the seals and the log together: nothing is sealed meanwhile.
    """

    def __init__(self, folder: DataFolder, book: SealBook, log: ServerLog) -> None:
        self._folder = folder
        self._book = book
        self._log = log
        self._is_stopped = False
        self.lock = asyncio.Lock()

    async def seal(self, recording: Path, student: str, witnessed: bool = True) -> None:
        """Seal a recording whose run has ended. Errors are logged."""
        if self._is_stopped:
            return
        try:
            file = self._folder.relative(recording)
            at = datetime.now(UTC).isoformat(timespec="seconds")
            measured = await asyncio.to_thread(measure, recording)  # one of 64 MiB takes a while
            async with self.lock:
                head = self._book.append(Seal(file, student, at, measured, witnessed))
                self._log.write("sealed", f"{head} {file}", student=student)
        except (OSError, ValueError) as error:
            self._log.write("fault", f"{recording} cannot be sealed: {error}", student=student)

    async def seal_missing(self) -> None:
        """Seal the recordings that a killed server has left."""
        known = self._book.read()
        if known.problem:
            self._is_stopped = True
            self._log.write("fault", f"{known.problem}: it was edited; no further recordings are sealed")
            return
        for student, path in self._folder.recordings():
            if self._folder.relative(path) not in known.seals:
                await self.seal(path, student, witnessed=False)


def _digest(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()


# grades


class Gradebook(Struct, frozen=True):
    """All attempts, graded or refused. ``unsealed`` are the recordings of runs not known to have ended.

    ``problems`` describe what is wrong with the seals themselves.
    """

    grades: list[Grade]
    unsealed: list[str]
    problems: list[str]


class SealError(UserError):
    """Seals that cannot be relied on; the text is for the teacher."""


def grade_sealed(
    recordings: Sequence[Path], exercises: Path, data: Path, report_progress: ReportGrading
) -> list[Grade]:
    """Grade copies of recordings that are sealed in the data folder ``data``; refuse the others.

    A seal is found by the contents of the recording, wherever the copy is. Raises SealError, also if
    there are no seals; and OSError.
    """
    if not (data / SEALS).is_file():
        raise SealError(f"{data} has no seals; name the data folder of lab serve, which it prints when it starts")
    report = SealBook(data / SEALS).read()
    for problem in seal_problems(data, report):
        raise SealError(f"{problem}: the seals were edited; use a backup of the data folder")
    by_content = {seal.measured: seal for seal in report.seals.values()}
    grades = []
    for number, path in enumerate(recordings):
        seal = _find_seal(path, by_content)
        if seal is None:
            why = f"the server of {data} has not sealed it: it was made elsewhere, edited, or not ended"
            grades.append(refuse_unread(path, why))
        elif not seal.witnessed:
            why = f"the server found it on {seal.at} and did not see its run end: lab serve export grades it"
            grades.append(refuse_unread(path, why))
        else:
            report_share = report_part(report_progress, number, path.name)
            grades.append(_grade(path, seal.student, seal, exercises, read_nonce(data), report_share))
    return grades


def _find_seal(path: Path, by_content: Mapping[Measured, Seal]) -> Seal | None:
    """Return the seal of a recording with these contents. A file of another size is not read: it may be huge."""
    with contextlib.suppress(OSError):
        if path.is_file() and path.stat().st_size in {measured.size for measured in by_content}:
            return by_content.get(measure(path))
    return None


def seal_problems(data: Path, report: SealReport) -> list[str]:
    """Return what is wrong with the seals themselves, for the teacher. Raises OSError."""
    if report.problem:
        return [report.problem]
    heads = set(report.heads)
    logged = (line.text.partition(" ")[0] for line in read_log(data / LOG) if line.event == "sealed")
    lacking = sum(head not in heads for head in logged)
    return [f"{data / SEALS} lacks {lacking} of the seals in the log"] if lacking else []


def grade_class(folder: DataFolder, exercises: Path, report_progress: ReportGrading) -> Gradebook:
    """Grade the class; ``exercises`` is the folder of the exercises. Raises OSError."""
    report = SealBook(folder.seals).read()
    found = {folder.relative(path): (student, path) for student, path in folder.recordings()}
    grades = []
    for number, (file, (student, path)) in enumerate(found.items()):
        report_share = report_part(report_progress, number, file)
        grades.append(_grade(path, student, report.seals.get(file), exercises, folder.nonce(), report_share))
    # if the server witnessed the run's end, the run is that student's, whoever else has a copy
    kept = [
        grade if file in report.seals and report.seals[file].witnessed else unless
        for file, grade, unless in zip(found, grades, refuse_shared(grades), strict=True)
    ]
    kept += (
        _refuse(folder.path / gone.file, gone.student, f"it was sealed on {gone.at}, and is missing")
        for gone in report.seals.values()
        if gone.file not in found
    )
    unsealed = [file for file in found if file not in report.seals]
    return Gradebook(kept, unsealed, seal_problems(folder.path, report))


def _grade(
    path: Path,
    student: str,
    seal: Seal | None,
    exercises: Path,
    nonce: bytes,
    report_progress: Callable[[float], None],
) -> Grade:
    try:
        if seal is not None and seal.measured != measure(path):
            return _refuse(path, student, f"it was edited after it was sealed on {seal.at}")
        grade = grade_recording(path, exercises, report_progress, nonce)
    except OSError as error:
        return _refuse(path, student, f"it cannot be read: {error.strerror}")
    if seal is not None and seal.student != student:
        return _refuse(path, student, f"it was sealed for {seal.student}, on {seal.at}")
    if grade.student not in ("", student):
        why = f"its header names {grade.student}, but it is in the folder of {student}"
        return _refuse(path, student, why)
    sealed = seal is not None and seal.witnessed
    if seal is not None and not grade.began:  # the seal is safe from whoever touches the file
        grade = replace(grade, earned=tuple(Earned(min(each.at, seal.at), each.points) for each in grade.earned))
    return replace(grade, student=student, exercise=grade.exercise or path.stem, sealed=sealed)


def _refuse(path: Path, student: str, why: str) -> Grade:
    of = attempt_in(path)
    if of is None:
        return Grade(str(path), path.stem, student, refused=why)
    return Grade(str(path), of.name, student, of.attempt, refused=why)


# commands


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
