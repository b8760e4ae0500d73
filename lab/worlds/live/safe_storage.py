"""Safe storage of one node (rule M3): after a crash at any instant it holds the old values or the new ones."""

import os
from pathlib import Path
from typing import Any

import msgspec

__all__ = ["SafeStorage", "wipe"]


class SafeStorage:
    """The values of one node, in a file. ``write`` returns when they are on disk. OSError, DecodeError."""

    def __init__(self, folder: Path, node: int) -> None:
        self._folder = folder
        self._path = _file(folder, node)
        self.values: dict[str, Any] = {}
        if self._path.exists():
            self.values = msgspec.json.decode(self._path.read_bytes(), type=dict[str, Any])

    def write(self, changed: dict[str, Any]) -> None:
        """Replace some values, all of them or none."""
        self.values = {**self.values, **changed}
        hidden = self._path.with_suffix(".new")
        file = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            data = memoryview(msgspec.json.encode(self.values))
            while data:
                data = data[os.write(file, data) :]
            os.fsync(file)
        finally:
            os.close(file)
        hidden.replace(self._path)
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def wipe(folder: Path, node: int) -> bool:
    """Empty a node's safe storage; False where it held nothing."""
    path = _file(folder, node)
    if not path.exists():
        return False
    path.unlink()
    return True


def _file(folder: Path, node: int) -> Path:
    return folder / f"{node}.json"
