"""The server's log: a JSON line for each log-in, refusal and command. A client's words are made safe."""

import contextlib
import errno
import os
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from lab.serve.rates import Rate
from lab.text import sanitize

__all__ = ["Log", "LogLine", "read_log"]

_LONGEST = 300
_LARGEST = 16 << 20
_FLOODING = frozenset({"refused", "gone", "word"})
"""What clients can cause as fast as they can send."""
_MOST_A_MINUTE = 300


class LogLine(Struct, frozen=True):
    """A line of it. ``at`` is UTC, ISO 8601."""

    at: str
    event: str
    student: str = ""
    address: str = ""
    text: str = ""


class Log:
    """Appends to the file; when it is large it becomes ``log.1``, so that no disk is filled.

    Of refusals, and the like, only so many a minute of each student or address are written down: a flood of them
    washes nothing else away.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = self._open()
        self._floods = Rate(_MOST_A_MINUTE, time.monotonic)
        self._is_torn = False
        self._has_failed = False

    def say(self, event: str, text: str = "", *, student: str = "", address: str = "") -> None:
        """Write down what happened. A full disk ends no session: it is said once on standard error."""
        if event in _FLOODING and self._floods.too_often(student or address):
            return
        line = {
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "event": event,
            "student": student,
            "address": address,
            "text": sanitize(text, _LONGEST),
        }
        try:
            self._write(msgspec.json.encode({key: value for key, value in line.items() if value}))
            if os.fstat(self._file).st_size > _LARGEST:
                self._begin_anew()
        except OSError as error:
            if not self._has_failed:
                print(f"lab: {self._path}: {error.strerror}; what does not fit is not logged", file=sys.stderr)
            self._has_failed = True

    def close(self) -> None:
        """No more will be said."""
        os.close(self._file)

    def _write(self, line: bytes) -> None:
        line = (b"\n" if self._is_torn else b"") + line + b"\n"
        self._is_torn = os.write(self._file, line) < len(line)
        if self._is_torn:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _begin_anew(self) -> None:
        with contextlib.suppress(FileNotFoundError):  # it was renamed before, and there was no room for a new one
            self._path.rename(_older(self._path))
        new = self._open()
        os.dup2(new, self._file, inheritable=False)  # at no moment is the number another file's
        os.close(new)

    def _open(self) -> int:
        return os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def read_log(path: Path) -> Iterator[LogLine]:
    """What is in it, the oldest line first. OSError."""
    for file in (_older(path), path):
        if file.exists():
            for line in file.read_bytes().splitlines():
                with contextlib.suppress(msgspec.DecodeError):  # torn, as a server was killed or a disk was full
                    yield msgspec.json.decode(line, type=LogLine)


def _older(path: Path) -> Path:
    return path.with_name(f"{path.name}.1")
