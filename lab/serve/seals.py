"""Seals: the digest of each recording when its run ended, so that later edits show.

Seals are lines of one file, appended durably as runs end. Each line holds the digest of the line before it, so no
line can be changed or removed. That none was cut off at the end follows from the server's log, which holds the
digest of each line, too. Only the teacher can write to both files and to the recordings.
"""

import asyncio
import contextlib
import errno
import hashlib
import os
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lab.serve.folder import DataFolder
from lab.serve.server_log import ServerLog


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
    heads: tuple[str, ...]
    problem: str = ""


def measure(path: Path) -> Measured:
    """Read the file once, and measure it. Raises OSError."""
    with path.open("rb") as file:
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
        for number, line in enumerate(self._lines(), 1):
            try:
                seal = msgspec.json.decode(line, type=Seal)
            except (msgspec.DecodeError, UnicodeDecodeError):
                return SealReport(seals, tuple(heads), f"line {number} of {self._path} cannot be read")
            if seal.before != (heads[-1] if heads else ""):
                return SealReport(
                    seals, tuple(heads), f"line {number} of {self._path} does not continue the line before it"
                )
            heads.append(_digest(line))
            seals.setdefault(seal.file, seal)
        return SealReport(seals, tuple(heads))

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

    def _lines(self) -> list[bytes]:
        with contextlib.suppress(FileNotFoundError):
            return self._path.read_bytes().split(b"\n")[:-1]
        return []


class Sealer:
    """Seals the recordings in the server's data folder."""

    def __init__(self, folder: DataFolder, book: SealBook, log: ServerLog) -> None:
        self._folder = folder
        self._book = book
        self._log = log
        self._is_stopped = False

    async def seal(self, recording: Path, student: str, witnessed: bool = True) -> None:
        """Seal a recording whose run has ended. Errors are logged."""
        if self._is_stopped:
            return
        try:
            file = str(recording.relative_to(self._folder.path))
            at = datetime.now(UTC).isoformat(timespec="seconds")
            measured = await asyncio.to_thread(measure, recording)  # one of 64 MiB takes a while
            head = self._book.append(Seal(file, student, at, measured, witnessed))
        except (OSError, ValueError) as error:
            self._log.write("fault", f"{recording} cannot be sealed: {error}", student=student)
        else:
            self._log.write("sealed", f"{head} {file}", student=student)

    async def seal_missing(self) -> None:
        """Seal the recordings that a killed server has left."""
        known = self._book.read()
        if known.problem:
            self._is_stopped = True
            self._log.write("fault", f"{known.problem}: it was edited; no further recordings are sealed")
            return
        for student, path in self._folder.recordings():
            if str(path.relative_to(self._folder.path)) not in known.seals:
                await self.seal(path, student, witnessed=False)


def _digest(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()
