"""Lists of those who may log in: text files that a teacher may edit while the server runs."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

__all__ = ["ListError", "ListFile"]

K = TypeVar("K")


class ListError(Exception):
    """An invalid line of a list; the text names it, for its author."""


class ListFile(Generic[K]):
    """A list in a file, read again when the file changes. ``on_error`` is called if it cannot be read.

    ``read`` maps the text (and the file's name) to students by key. Raises ListError.
    """

    def __init__(
        self, path: Path, read: Callable[[str, str], dict[K, str]], on_error: Callable[[str], None]
    ) -> None:
        self._path = path
        self._read = read
        self._on_error = on_error
        self._version: tuple[int, int, int] | None = None
        self._students: dict[K, str] = {}

    def students(self) -> dict[K, str]:
        """Return the current list; the last valid one if the file is not readable now."""
        try:
            found = os.stat(self._path)
            version = (found.st_mtime_ns, found.st_size, found.st_ino)
            if version != self._version:
                self._version = version
                self._students = self._read(self._path.read_text("utf-8-sig"), str(self._path))
        except FileNotFoundError:
            self._version, self._students = None, {}
        except (OSError, UnicodeDecodeError, ListError) as error:
            self._on_error(str(error))
        return self._students
