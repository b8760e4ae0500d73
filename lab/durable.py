"""Files that are there in whole after a crash at any moment, the old or the new."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["alone", "write_durably"]


def write_durably(path: Path, data: bytes) -> None:
    """Replace the file, readable by its owner alone. OSError: then the old one is there as it was."""
    hidden = path.with_name(f".{path.name}.new")
    hidden.unlink(missing_ok=True)
    file = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(file, "wb") as writing:
        writing.write(data)
        writing.flush()
        os.fsync(file)
    hidden.rename(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Be the only process that changes this file, which several may."""
    lock = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
