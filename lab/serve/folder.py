"""The server's data folder: its host key, who may come in, the students' homes, and the log.

Beside it there is a short-lived folder for sockets, whose paths may have about a hundred characters;
``server.json`` in the data folder says where that is, and that a server runs.
"""

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from lab.durable import write_durably

__all__ = ["DataFolder", "FolderError", "Running"]

_SOCKETS = "lab-serve-"


class FolderError(Exception):
    """The folder cannot be used; the text is for the user."""


class Running(Struct, frozen=True):
    """What ``server.json`` says of the server that runs; ``web`` is its port for browsers, if it has one."""

    pid: int
    port: int
    sockets: str
    web: int = 0


class DataFolder:
    """The folder, made if need be, for this user only. FolderError."""

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
            found = self.path.lstat()
            if found.st_uid != os.getuid() or not stat.S_ISDIR(found.st_mode):
                raise FolderError(f"--data {path} is no folder of yours; name another")
            self.path.chmod(0o700)
        except OSError as error:
            raise FolderError(f"--data {path}: {error.strerror}; name a folder of yours") from None

    def home(self, student: str) -> Path:
        """The student's folder; made if need be."""
        home = self._students / student
        (home / "attempts").mkdir(mode=0o700, parents=True, exist_ok=True)
        return home

    def homes(self) -> dict[str, Path]:
        """The folders of all students who have been here, by their names."""
        return {path.name: path for path in sorted(self._students.iterdir()) if path.is_dir()}

    def recordings(self) -> Iterator[tuple[str, Path]]:
        """Those of all attempts, and whose folder each lies in; what is no file of its own is passed over."""
        for student, home in self.homes().items():
            for path in sorted((home / "attempts").glob("*.jsonl")):
                if path.is_file() and not path.is_symlink():
                    yield student, path

    def new_home(self, prefix: str) -> str:
        """A name with this prefix that no student had before; the folder is made."""
        had = (path.name.removeprefix(prefix) for path in self._students.glob(f"{prefix}*"))
        name = f"{prefix}{max((int(number) for number in had if number.isdecimal()), default=0) + 1}"
        (self._students / name).mkdir(mode=0o700)
        return name

    def take(self) -> Path:
        """Be the one server of this folder; the folder for its sockets. FolderError where another one runs."""
        self._lock = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FolderError(
                f"a server runs on {self.path} already (lab serve status); end it, or name another: --data DIR"
            ) from None
        if (before := self.found()) is not None:
            _remove_left(Path(before.sockets))
        sockets = Path(tempfile.mkdtemp(prefix=_SOCKETS))
        self._sockets_lock = _locked(sockets)
        return sockets

    def tell(self, port: int, sockets: Path, web: int) -> None:
        """Say that the server runs, and where."""
        write_durably(self.running, msgspec.json.encode(Running(os.getpid(), port, str(sockets), web)))

    def found(self) -> Running | None:
        """The server that ``server.json`` tells of, which may have been killed."""
        try:
            return msgspec.json.decode(self.running.read_bytes(), type=Running)
        except (OSError, msgspec.DecodeError):
            return None

    def leave(self, sockets: Path) -> None:
        """The server has ended."""
        self.running.unlink(missing_ok=True)
        shutil.rmtree(sockets, ignore_errors=True)
        os.close(self._sockets_lock)
        os.close(self._lock)


def _remove_left(sockets: Path) -> None:
    """Those of a server that was killed, and not those of one that runs, whose data folder was copied to this."""
    if sockets.name.startswith(_SOCKETS):
        with contextlib.suppress(OSError):
            lock = _locked(sockets)
            shutil.rmtree(sockets, ignore_errors=True)
            os.close(lock)


def _locked(folder: Path) -> int:
    """Its lock, which also keeps away what cleans up folders of this kind by age. OSError where another has it."""
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise
    return lock
