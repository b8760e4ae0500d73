"""Files that are updated atomically and durably; those that hold what people did, readable by their owner only.

After a crash, a file has its old or its new contents.
"""

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["exclusive_lock", "owner_only", "replacing", "temporary_name", "write_durably"]


def owner_only(path: str, flags: int) -> int:
    """Open a file that, if it is new, only its owner may read and write (an ``opener`` of ``open``)."""
    return os.open(path, flags, 0o600)


def temporary_name(path: Path) -> Path:
    """Return a name for a file that will replace this one: known before it exists, so that it can be removed."""
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield the path to write to: that file replaces the other at the end, or is removed after any exception.

    Nobody who has the old file open, or mapped, notices. A device, or a pipe, is written to itself.
    """
    path = path.resolve()
    hidden = temporary_name(path) if path.is_file() or not path.exists() else path
    try:
        yield hidden
        if hidden != path:
            os.rename(hidden, path)
    except BaseException:
        if hidden != path:
            hidden.unlink(missing_ok=True)
        raise


def write_durably(path: Path, data: bytes, is_private: bool = True) -> None:
    """Replace the file atomically. After any exception the old file is unchanged.

    If it ``is_private``, only its owner may read it; otherwise the umask decides.
    """
    hidden = temporary_name(path)
    try:
        with open(hidden, "xb", opener=owner_only if is_private else None) as writing:
            writing.write(data)
            writing.flush()
            os.fsync(writing.fileno())
        os.rename(hidden, path)
    except BaseException:
        hidden.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextmanager
def exclusive_lock(path: Path) -> Iterator[None]:
    """Hold the lock under which processes change this file."""
    lock = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
