"""The server's data folder: its host key, the lists of who may log in, the students' folders, and the log.

Sockets are in a temporary folder, because their paths are limited to about a hundred characters. ``server.json``
in the data folder says where that is, and that a server runs. The nonce is what the students' exercises are drawn
from: see ``lab.exercises.draws``. The log has a JSON line for each log-in, refusal and
command, sanitized. It holds no codes.
"""

import contextlib
import errno
import fcntl
import os
import secrets
import shlex
import shutil
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from lab.durable import write_durably
from lab.exercises.attempts import NAME
from lab.exercises.exercise_reader import SHIPPED
from lab.foreign_file import read_foreign_text
from lab.output import print_error, print_line
from lab.places import server_folder
from lab.text import UserError, sanitize

LOG, SEALS, NONCE = "log", "seals", "nonce"
_SOCKETS = "lab-serve-"
_LONGEST = 300
_NONCE_BYTES = 16
_LARGEST = 16 << 20
_FLOODING = frozenset({"refused", "gone", "ssh command"})
"""Events that a client can cause as fast as it can send."""
_MOST_IN_FULL = 20
_MOST_TALLIES = 1000
FileVersion = tuple[int, int, int]
TALLY_S = 60.0
"""Repeated refusals are counted for this long before their number is logged."""


class FolderError(UserError):
    """The folder cannot be used; the text is for the user."""


def file_version(path: Path) -> FileVersion | None:
    """Return what changes whenever the file is written; None if there is no file. Raises OSError."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


class RunningServer(Struct, frozen=True):
    """The contents of ``server.json``.

    ``web`` is the port for browsers, 0 if there is none. ``listen`` is its address, empty for all; ``host`` is the
    name that students use.
    """

    pid: int
    port: int
    sockets: str
    web: int = 0
    listen: str = ""
    host: str = ""


class DataFolder:
    """The data folder, created if needed, accessible to this user only. Raises FolderError."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.option = "" if self.path == server_folder() else f" --data {shlex.quote(str(self.path))}"
        """The option that names it in a command, after a blank; empty for the usual folder."""
        self.host_key = self.path / "host_key"
        self.keys = self.path / "keys"
        self.class_names = self.path / "class_names"
        self.browsers = self.path / "browsers"
        self.guests = self.path / "guests"
        self.invites = self.path / "invites.json"
        self.course = self.path / "course.toml"
        self.valid_course = self.path / "course.valid.toml"
        self.comments = self.path / "comments.json"
        self.removed = self.path / "removed"
        self._exercises = self.path / "exercises"
        self.lectures = self.path / "lectures"
        self.log = self.path / LOG
        self.seals = self.path / SEALS
        self.running = self.path / "server.json"
        self._nonce = self.path / NONCE
        self._students = self.path / "students"
        try:
            self._students.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = self.path.lstat()
            if found.st_uid != os.getuid() or not stat.S_ISDIR(found.st_mode):
                raise FolderError(f"--data {path} is not a folder of yours; name another")
            self.path.chmod(0o700)
        except OSError as error:
            raise FolderError(f"--data {path}: {error.strerror}; name a folder of yours") from None

    def keep_exercises(self, folder: Path) -> None:
        """Note the folder of the exercises that are served, unless it is the built-in one. Raises OSError."""
        if folder == SHIPPED:
            self._exercises.unlink(missing_ok=True)
        else:
            write_durably(self._exercises, os.fsencode(folder))

    @property
    def exercises(self) -> Path:
        """The folder of the exercises that were served last; that of the built-in ones if it is not there."""
        with contextlib.suppress(OSError, ValueError):
            kept = Path(read_foreign_text(self._exercises))
            if kept.is_dir():
                return kept
        return SHIPPED

    def nonce(self) -> bytes:
        """Return the nonce of the course, made once: what its students get is drawn from it. Raises OSError."""
        if not self._nonce.exists():
            write_durably(self._nonce, secrets.token_hex(_NONCE_BYTES).encode())
        return read_nonce(self.path)

    def student_path(self, student: str) -> Path:
        """Return the student's folder, created if needed."""
        student_path = self._students / student
        (student_path / "attempts").mkdir(mode=0o700, parents=True, exist_ok=True)
        return student_path

    def student_paths(self) -> dict[str, Path]:
        """Return the folders of all students who have logged in, by name; others have no student's name."""
        found = sorted(self._students.iterdir())
        return {path.name: path for path in found if NAME.fullmatch(path.name) and path.is_dir()}

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

    @contextlib.contextmanager
    def held(self) -> Iterator[Path]:
        """Be the only server of this folder, and yield the folder for its sockets.

        At the end, ``server.json`` is removed. Raises FolderError if another server runs.
        """
        lock = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise FolderError(
                    f"a server already runs in {self.path} (lab serve status); end it, or use another: --data DIR"
                ) from None
            if (before := self.running_server()) is not None:
                _remove_stale(Path(before.sockets))
            with _socket_folder() as sockets:
                try:
                    yield sockets
                finally:
                    self.running.unlink(missing_ok=True)
        finally:
            os.close(lock)

    def publish(self, running: RunningServer) -> None:
        """Write ``server.json``: the server runs."""
        write_durably(self.running, msgspec.json.encode(running))

    def running_server(self) -> RunningServer | None:
        """Return the contents of ``server.json``; the server may have been killed since."""
        try:
            return msgspec.json.decode(self.running.read_bytes(), type=RunningServer)
        except (OSError, msgspec.DecodeError):
            return None


@contextlib.contextmanager
def _socket_folder() -> Iterator[Path]:
    """Make and lock a temporary folder, and remove it at the end."""
    sockets = Path(tempfile.mkdtemp(prefix=_SOCKETS))
    lock = _locked(sockets)
    try:
        yield sockets
    finally:
        shutil.rmtree(sockets, ignore_errors=True)
        os.close(lock)


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


class _Tally(Struct):
    """The texts logged in full in this minute, and how many further events were only counted."""

    texts: set[str]
    more: int = 0


class ServerLog:
    """Appends to the log file, which is renamed to ``log.1`` when it is large, so that no disk fills up.

    What a client can repeat as fast as it can send, such as refusals, has a line at first. Repetitions are counted
    for each student or address, and get one line with their number per minute. It is rewritten in a thread, while
    the server goes on logging.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.RLock()
        self._is_rewritten = False
        self._file = self._open()
        self._tallies: dict[tuple[str, str, str, str], _Tally] = {}
        self._tallied_since_s = time.monotonic()
        self._is_torn = False
        self._has_failed = False

    def write(
        self, event: str, text: str = "", *, student: str = "", address: str = "", kind: str = "requests"
    ) -> None:
        """Log an event. ``kind`` is the plural under which repetitions are counted.

        A full disk ends no session: it is reported once on standard error.
        """
        text = sanitize(text, _LONGEST)
        with self._lock:
            if event not in _FLOODING or self._is_first(event, text, student, address, kind):
                self._append(event, text, student, address)

    def announce(self, event: str, text: str, *, student: str = "", address: str = "") -> None:
        """Log an event, and print it where the teacher started the server."""
        self.write(event, text, student=student, address=address)
        with contextlib.suppress(OSError, ValueError):  # that terminal is closed
            print_line(f"lab: {student and f'{student}: '}{sanitize(text, _LONGEST)}")
            sys.stdout.flush()

    def write_tallies(self) -> None:
        """Log how many events were only counted since the last call."""
        with self._lock:
            tallies, self._tallies = self._tallies, {}
            took_s, self._tallied_since_s = time.monotonic() - self._tallied_since_s, time.monotonic()
            for (event, kind, student, address), tally in tallies.items():
                if tally.more:
                    self._append(event, f"{tally.more} more {kind} in {took_s:.0f} s", student, address)

    def _is_first(self, event: str, text: str, student: str, address: str, kind: str) -> bool:
        """Count the event; return whether it is to be logged in full."""
        if time.monotonic() > self._tallied_since_s + TALLY_S:
            self.write_tallies()
        who = (event, kind, student, "" if student else address)
        if who not in self._tallies and len(self._tallies) >= _MOST_TALLIES:
            who = (event, kind, "", "many addresses")
        tally = self._tallies.setdefault(who, _Tally(set()))
        if text in tally.texts or len(tally.texts) >= _MOST_IN_FULL:
            tally.more += 1
            return False
        tally.texts.add(text)
        return True

    def _append(self, event: str, text: str, student: str, address: str) -> None:
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = ServerLogLine(at, event, student, address, text)
        try:
            self._write(msgspec.json.encode(line))
            if os.fstat(self._file).st_size > _LARGEST and not self._is_rewritten:
                self._begin_anew()
        except OSError as error:
            if not self._has_failed:
                print_error(f"{self._path}: {error.strerror}; events are not logged while the disk is full")
            self._has_failed = True

    def close(self) -> None:
        self.write_tallies()
        os.close(self._file)

    def rewrite(self, change: Callable[[ServerLogLine], ServerLogLine | None]) -> None:
        """Replace each line by what ``change`` returns; None removes it. Raises OSError.

        Lines may be written meanwhile: they are changed and kept, too.
        """
        self.write_tallies()
        with self._lock:
            self._is_rewritten = True
        try:
            for path in (_older(self._path), self._path):
                if path.exists():
                    self._rewrite_file(path, change)
        finally:
            with self._lock:
                self._is_rewritten = False

    def _rewrite_file(self, path: Path, change: Callable[[ServerLogLine], ServerLogLine | None]) -> None:
        before = path.read_bytes()
        whole = before[: before.rfind(b"\n") + 1]
        changed = _changed(whole, change)
        with self._lock:  # only what was written meanwhile is changed while the server waits
            changed += _changed(path.read_bytes()[len(whole) :], change)
            write_durably(path, changed)
            if path == self._path:
                self._reopen()

    def _write(self, line: bytes) -> None:
        line = (b"\n" if self._is_torn else b"") + line + b"\n"
        self._is_torn = os.write(self._file, line) < len(line)
        if self._is_torn:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _begin_anew(self) -> None:
        with contextlib.suppress(FileNotFoundError):  # renamed before, but then the disk was full
            self._path.rename(_older(self._path))
        self._reopen()

    def _reopen(self) -> None:
        new = self._open()
        os.dup2(new, self._file, inheritable=False)  # atomically, so that no other file gets this number
        os.close(new)

    def _open(self) -> int:
        return os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def read_nonce(folder: Path) -> bytes:
    """Return the nonce of the course in this data folder; empty if there is none. Raises OSError."""
    with contextlib.suppress(FileNotFoundError):
        return (folder / NONCE).read_bytes()
    return b""


def read_log(path: Path) -> Iterator[ServerLogLine]:
    """Yield the lines of the log, oldest first. Raises OSError."""
    for file in (_older(path), path):
        if file.exists():
            yield from _lines_of(file)


def _changed(lines: bytes, change: Callable[[ServerLogLine], ServerLogLine | None]) -> bytes:
    kept = filter(None, map(change, _decode_lines(lines)))
    return b"".join(msgspec.json.encode(line) + b"\n" for line in kept)


def _lines_of(file: Path) -> Iterator[ServerLogLine]:
    yield from _decode_lines(file.read_bytes())


def _decode_lines(lines: bytes) -> Iterator[ServerLogLine]:
    for line in lines.splitlines():
        with contextlib.suppress(msgspec.DecodeError):  # a torn line, of a killed server or a full disk
            yield msgspec.json.decode(line, type=ServerLogLine)


def _older(path: Path) -> Path:
    return path.with_name(f"{path.name}.1")
