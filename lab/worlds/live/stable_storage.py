"""Stable storage of one node (rule M3): after a crash at any instant it holds the old values or the new ones.

It is a log with one line for each write: one write and one sync, however much is stored. A line torn by a crash
was never reported as written, and is cut off.
"""

import os
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

__all__ = ["StableStorage", "wipe"]

_NOTHING: dict[str, list[Any]] = {}


class _Write(Struct, omit_defaults=True):
    stored: dict[str, Any] = {}
    logged: dict[str, list[Any]] = {}


class StableStorage:
    """The stable storage of one node. ``values`` are the contents when it was opened.

    Raises OSError, msgspec.DecodeError.
    """

    def __init__(self, folder: Path, node: int) -> None:
        path = _file(folder, node)
        is_new = not path.exists()
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        if is_new:
            _sync(folder)
        data = path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            os.ftruncate(self._file, len(whole))
        self.values: dict[str, Any] = {}
        for write in msgspec.json.Decoder(_Write).decode_lines(whole):
            self.values |= write.stored
            for name, entries in write.logged.items():
                self.values.setdefault(name, []).extend(entries)

    def write(self, stored: dict[str, Any], logged: dict[str, list[Any]] = _NOTHING) -> None:
        """Replace values and append to logs, atomically; on return, it is on disk."""
        data = memoryview(msgspec.json.encode(_Write(stored, logged)) + b"\n")
        while data:
            data = data[os.write(self._file, data) :]
        os.fsync(self._file)


def wipe(folder: Path, node: int) -> bool:
    """Empty a node's stable storage; return False if it held nothing."""
    path = _file(folder, node)
    if not path.exists() or not path.stat().st_size:
        return False
    path.unlink()
    return True


def _sync(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _file(folder: Path, node: int) -> Path:
    return folder / f"{node}.jsonl"
