"""Lists of who may come in: text files that a teacher may edit, also while the server runs."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

__all__ = ["ListError", "ListFile"]

K = TypeVar("K")


class ListError(Exception):
    """A line that says nobody; the text names it, for whoever wrote it."""


class ListFile(Generic[K]):
    """A list in a file, read again when that has changed. ``complain`` is told where it cannot be.

    ``read`` makes of the text, and of the file's name, what says who somebody is, and the student. ListError.
    """

    def __init__(
        self, path: Path, read: Callable[[str, str], dict[K, str]], complain: Callable[[str], None]
    ) -> None:
        self._path = path
        self._read = read
        self._complain = complain
        self._seen: tuple[int, int, int] | None = None
        self._students: dict[K, str] = {}

    def students(self) -> dict[K, str]:
        """Who is in it, now; where the file has become unreadable, as it was before."""
        try:
            found = os.stat(self._path)
            seen = (found.st_mtime_ns, found.st_size, found.st_ino)
            if seen != self._seen:
                self._seen = seen
                self._students = self._read(self._path.read_text("utf-8-sig"), str(self._path))
        except FileNotFoundError:
            self._seen, self._students = None, {}
        except (OSError, UnicodeDecodeError, ListError) as error:
            self._complain(str(error))
        return self._students
