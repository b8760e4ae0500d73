"""Guests of an open server, recognized by their keys, also after a restart."""

import re
from collections.abc import Callable

from lab.durable import exclusive_lock, write_durably
from lab.serve.folder import DataFolder
from lab.serve.listfile import ListError, ListFile
from lab.serve.sanitizer import GUEST
from lab.text import sanitize

__all__ = ["Guests"]

_LINE = re.compile(rf"(SHA256:\S+) ({GUEST}[0-9]+)")


class Guests:
    """A file with a line for each guest: ``FINGERPRINT NAME``."""

    def __init__(self, folder: DataFolder, on_error: Callable[[str], None]) -> None:
        self._folder = folder
        self._file = ListFile(folder.guests, _read, on_error)

    def guest_with_key(self, fingerprint: str) -> str | None:
        """Return the guest who has used this key before."""
        return self._file.students().get(fingerprint)

    def add(self, fingerprint: str) -> str:
        """Create a guest with this key. Raises OSError."""
        name = self._folder.add_student(GUEST)
        with exclusive_lock(self._folder.guests):
            known = {**self._file.students(), fingerprint: name}
            lines = (f"{key} {guest}\n" for key, guest in known.items())
            write_durably(self._folder.guests, "".join(lines).encode())
        return name


def _read(text: str, file: str) -> dict[str, str]:
    guests = {}
    for number, line in enumerate(text.splitlines(), 1):
        found = _LINE.fullmatch(line)
        if found is None:
            raise ListError(f"{file}:{number}: {sanitize(line, 40)!r}: expected FINGERPRINT NAME; delete the line")
        guests[found[1]] = found[2]
    return guests
