"""The folders of running hosts. A host locks its own folder; an unlocked folder belongs to a dead host.

A folder gets its name only when it is locked, so this is so from its first moment, and needs no clock.
"""

import fcntl
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import msgspec
from msgspec import Struct

from lab.places import runs_folder
from lab.text import UserError


class RunInfo(Struct, frozen=True):
    """A running host, as ``lab list`` shows it. ``began`` is UTC, ISO 8601."""

    run: str
    pid: int
    protocol: str
    nodes: tuple[int, ...]
    began: str
    recording: str
    socket: str
    world: str = "live"


_HIDDEN = "."
_LONGEST_SOCKET = 107 if sys.platform == "linux" else 103
"""The longest path of a socket, in bytes."""


class NoSuchRunError(UserError):
    """There is no such run, or the name is ambiguous; the text is for the user."""


class RunFolder:
    """The folder of one run, mode 0700: the feed's socket, the stable storage, and ``run.json``."""

    def __init__(self, run: str) -> None:
        self.path = runs_folder() / run
        self.socket = self.path / "feed.sock"
        if len(os.fsencode(self.socket)) > _LONGEST_SOCKET:
            raise OSError(f"the path of a socket is too long: {self.socket}; set XDG_RUNTIME_DIR to a short one")
        self.storage = self.path / "safe"
        hidden = Path(tempfile.mkdtemp(prefix=_HIDDEN, dir=self.path.parent))  # mode 0700
        (hidden / self.storage.name).mkdir()
        self._lock = os.open(hidden / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            hidden.rename(self.path)
        except OSError:
            os.close(self._lock)
            shutil.rmtree(hidden)
            raise

    def publish(self, info: RunInfo) -> None:
        """Make the run visible to ``list_runs``."""
        hidden = self.path / "run.json.new"
        hidden.write_bytes(msgspec.json.encode(info))
        hidden.rename(self.path / "run.json")

    def remove(self) -> None:
        """Remove the folder at the end of the run."""
        ends = time.monotonic() + 1
        while self.path.exists() and time.monotonic() < ends:
            shutil.rmtree(self.path, ignore_errors=True)  # fails while a dying node still writes to its store
        os.close(self._lock)


def list_runs() -> tuple[list[RunInfo], list[str]]:
    """Return (running hosts, names of dead hosts' folders, which this call removed)."""
    running, removed = [], []
    folders = (path for path in runs_folder().iterdir() if path.is_dir() and not path.is_symlink())
    for folder in sorted(path for path in folders if not path.name.startswith(_HIDDEN)):
        if _is_dead(folder):
            shutil.rmtree(folder, ignore_errors=True)
            removed.append(folder.name)
        elif (info := _read(folder)) is not None:
            running.append(info)
    return running, removed


def find_run(name: str | None) -> RunInfo:
    """Return the running host of that name; None: the only one. Raises NoSuchRunError."""
    running, _ = list_runs()
    if not running:
        raise NoSuchRunError("no active runs; start one with: lab run bully")
    if name is None:
        if len(running) > 1:
            names = ", ".join(info.run for info in running)
            raise NoSuchRunError(f"{len(running)} runs are active; name one: {names}")
        return running[0]
    for info in running:
        if info.run == name:
            return info
    raise NoSuchRunError(f"unknown run {name!r}; running: {', '.join(info.run for info in running)}")


def _is_dead(folder: Path) -> bool:
    """Return whether a host made this folder and no longer holds it. Folders of others are left alone."""
    try:
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True


def _read(folder: Path) -> RunInfo | None:
    try:
        return msgspec.json.decode((folder / "run.json").read_bytes(), type=RunInfo)
    except (OSError, msgspec.DecodeError):
        return None
