"""The server's data folder: its host key, the lists of who may log in, the students' folders, and the log.

Sockets are in a temporary folder, because their paths are limited to about a hundred characters. ``server.json``
in the data folder says where that is, and that a server runs. The log has a JSON line for each log-in, refusal and
command, sanitized.
"""

import contextlib
import errno
import fcntl
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from lab.durable import write_durably
from lab.serve.limits import RateLimit
from lab.text import UserError, sanitize

_SOCKETS = "lab-serve-"
_LONGEST = 300
_LARGEST = 16 << 20
_FLOODING = frozenset({"refused", "gone", "ssh command"})
"""Events that a client can cause as fast as it can send."""
_MOST_A_MINUTE = 300


class FolderError(UserError):
    """The folder cannot be used; the text is for the user."""


class RunningServer(Struct, frozen=True):
    """The contents of ``server.json``; ``web`` is the port for browsers, 0 if there is none."""

    pid: int
    port: int
    sockets: str
    web: int = 0


class DataFolder:
    """The data folder, created if needed, accessible to this user only. Raises FolderError."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.host_key = self.path / "host_key"
        self.keys = self.path / "keys"
        self.browsers = self.path / "browsers"
        self.guests = self.path / "guests"
        self.invites = self.path / "invites.json"
        self.log = self.path / "log"
        self.seals = self.path / "seals"
        self.running = self.path / "server.json"
        self._students = self.path / "students"
        self._lock = self._sockets_lock = -1
        try:
            self._students.mkdir(mode=0o700, parents=True, exist_ok=True)
            running_server = self.path.lstat()
            if running_server.st_uid != os.getuid() or not stat.S_ISDIR(running_server.st_mode):
                raise FolderError(f"--data {path} is not a folder of yours; name another")
            self.path.chmod(0o700)
        except OSError as error:
            raise FolderError(f"--data {path}: {error.strerror}; name a folder of yours") from None

    def student_path(self, student: str) -> Path:
        """Return the student's folder, created if needed."""
        student_path = self._students / student
        (student_path / "attempts").mkdir(mode=0o700, parents=True, exist_ok=True)
        return student_path

    def student_paths(self) -> dict[str, Path]:
        """Return the folders of all students who have logged in, by name."""
        return {path.name: path for path in sorted(self._students.iterdir()) if path.is_dir()}

    def recordings(self) -> Iterator[tuple[str, Path]]:
        """Yield each attempt's recording with the student whose folder it is in; symbolic links are skipped."""
        for student, student_path in self.student_paths().items():
            for path in sorted((student_path / "attempts").glob("*.jsonl")):
                if path.is_file() and not path.is_symlink():
                    yield student, path

    def relative(self, file: Path) -> str:
        """Return the file's path within this folder. Raises ValueError if it is elsewhere."""
        return str(file.relative_to(self.path))

    def add_student(self, prefix: str) -> str:
        """Create a folder with an unused name that begins with this prefix; return the name."""
        had = (path.name.removeprefix(prefix) for path in self._students.glob(f"{prefix}*"))
        name = f"{prefix}{max((int(number) for number in had if number.isdecimal()), default=0) + 1}"
        (self._students / name).mkdir(mode=0o700)
        return name

    def acquire(self) -> Path:
        """Become the only server of this folder; return the folder for its sockets.

        Raises FolderError if another server runs.
        """
        self._lock = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FolderError(
                f"a server already runs in {self.path} (lab serve status); end it, or use another: --data DIR"
            ) from None
        if (before := self.running_server()) is not None:
            _remove_stale(Path(before.sockets))
        sockets = Path(tempfile.mkdtemp(prefix=_SOCKETS))
        self._sockets_lock = _locked(sockets)
        return sockets

    def publish(self, port: int, sockets: Path, web: int) -> None:
        """Write ``server.json``: the server runs."""
        write_durably(self.running, msgspec.json.encode(RunningServer(os.getpid(), port, str(sockets), web)))

    def running_server(self) -> RunningServer | None:
        """Return the contents of ``server.json``; the server may have been killed since."""
        try:
            return msgspec.json.decode(self.running.read_bytes(), type=RunningServer)
        except (OSError, msgspec.DecodeError):
            return None

    def release(self, sockets: Path) -> None:
        """Remove ``server.json`` and the sockets: the server has ended."""
        self.running.unlink(missing_ok=True)
        shutil.rmtree(sockets, ignore_errors=True)
        os.close(self._sockets_lock)
        os.close(self._lock)


def _remove_stale(sockets: Path) -> None:
    """Remove the sockets of a killed server, but not of a running one whose data folder was copied to this."""
    if sockets.name.startswith(_SOCKETS):
        with contextlib.suppress(OSError):
            lock = _locked(sockets)
            shutil.rmtree(sockets, ignore_errors=True)
            os.close(lock)


def _locked(folder: Path) -> int:
    """Lock the folder, also against cleaners of old temporary files. Raises OSError if it is locked."""
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise
    return lock


# the log


class ServerLogLine(Struct, frozen=True, omit_defaults=True):
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
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = ServerLogLine(at, event, student, address, sanitize(text, _LONGEST))
        try:
            self._write(msgspec.json.encode(line))
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
