"""The server's log: a JSON line for each log-in, refusal and command, sanitized."""

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

from lab.serve.limits import RateLimit
from lab.text import sanitize

_LONGEST = 300
_LARGEST = 16 << 20
_FLOODING = frozenset({"refused", "gone", "ssh command"})
"""Events that a client can cause as fast as it can send."""
_MOST_A_MINUTE = 300


class ServerLogLine(Struct, frozen=True):
    """A line of the log. ``at`` is UTC, ISO 8601."""

    at: str
    event: str
    student: str = ""
    address: str = ""
    text: str = ""


class ServerLog:
    """Appends to the log file, which is renamed to ``log.1`` when it is large, so that no disk fills up.

    Refusals and the like are limited per minute for each student or address, so that a flood displaces nothing
    else.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = self._open()
        self._floods = RateLimit(_MOST_A_MINUTE, time.monotonic)
        self._is_torn = False
        self._has_failed = False

    def write(self, event: str, text: str = "", *, student: str = "", address: str = "") -> None:
        """Log an event. A full disk ends no session: it is reported once on standard error."""
        if event in _FLOODING and self._floods.is_exceeded(student or address):
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
                print(
                    f"lab: {self._path}: {error.strerror}; events are not logged while the disk is full",
                    file=sys.stderr,
                )
            self._has_failed = True

    def close(self) -> None:
        os.close(self._file)

    def _write(self, line: bytes) -> None:
        line = (b"\n" if self._is_torn else b"") + line + b"\n"
        self._is_torn = os.write(self._file, line) < len(line)
        if self._is_torn:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _begin_anew(self) -> None:
        with contextlib.suppress(FileNotFoundError):  # renamed before, but then the disk was full
            self._path.rename(_older(self._path))
        new = self._open()
        os.dup2(new, self._file, inheritable=False)  # atomically, so that no other file gets this number
        os.close(new)

    def _open(self) -> int:
        return os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def read_log(path: Path) -> Iterator[ServerLogLine]:
    """Yield the lines of the log, oldest first. Raises OSError."""
    for file in (_older(path), path):
        if file.exists():
            for line in file.read_bytes().splitlines():
                with contextlib.suppress(msgspec.DecodeError):  # a torn line, of a killed server or a full disk
                    yield msgspec.json.decode(line, type=ServerLogLine)


def _older(path: Path) -> Path:
    return path.with_name(f"{path.name}.1")
