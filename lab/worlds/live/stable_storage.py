"""The stable storage of live nodes: one file for each, the log of ``lab.kernel.storage``.

Rule M3: it holds the old values or the new ones after a crash at any instant. Each write is one write and one
sync, however much is stored. The node's process writes; the host alters the file only while that process is gone.
"""

import os
from collections.abc import Callable
from pathlib import Path

from lab.kernel.storage import (
    AlteredStorage,
    DamagedStorageError,
    Write,
    contents_of,
    encode_write,
    read_log,
)


class StableStorage:
    """The stable storage of one node. ``values`` are the contents when it was opened.

    Raises OSError, DamagedStorageError.
    """

    def __init__(self, folder: Path, node: int) -> None:
        path = _file(folder, node)
        is_new = not path.exists()
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        if is_new:
            _sync(folder)
        data = path.read_bytes()
        writes, length = read_log(data)
        if length < len(data):
            os.ftruncate(self._file, length)
        self.values = contents_of(writes)

    def write(self, write: Write) -> None:
        """Write atomically; on return, it is on disk."""
        data = memoryview(encode_write(write))
        while data:
            data = data[os.write(self._file, data) :]
        os.fsync(self._file)


def truncate(folder: Path, node: int, writes: int) -> None:
    """Undo all but this many writes of a node: those after them came after its crash. Damaged storage is kept."""
    path = _file(folder, node)
    if not path.exists():
        return
    data = path.read_bytes()
    if data.count(b"\n") <= writes:
        return
    try:
        read_log(data)
    except DamagedStorageError:
        return
    _replace(path, b"".join(line + b"\n" for line in data.split(b"\n", writes)[:writes]))


def alter(folder: Path, node: int, fault: Callable[[bytes], AlteredStorage | None]) -> AlteredStorage | None:
    """Apply a fault to a node's stable storage; return what it did, or None if there is nothing to alter."""
    path = _file(folder, node)
    altered = fault(path.read_bytes()) if path.exists() else None
    if altered is not None:
        _replace(path, altered.data)
    return altered


def wipe(folder: Path, node: int) -> bool:
    """Empty a node's stable storage; return False if it held nothing."""
    path = _file(folder, node)
    if not path.exists() or not path.stat().st_size:
        return False
    path.unlink()
    return True


def _replace(path: Path, data: bytes) -> None:
    with path.open("r+b") as file:
        file.write(data)
        file.truncate()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _file(folder: Path, node: int) -> Path:
    return folder / f"{node}.jsonl"
