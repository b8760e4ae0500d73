"""Guests of an open server: whoever comes with the same key again is the same guest, also after a restart."""

import re
from collections.abc import Callable

from lab.durable import alone, write_durably
from lab.serve.border import GUEST
from lab.serve.folder import DataFolder
from lab.serve.listfile import ListError, ListFile
from lab.text import sanitize

__all__ = ["Guests"]

_LINE = re.compile(rf"(SHA256:\S+) ({GUEST}[0-9]+)")


class Guests:
    """A file with a line for each: ``FINGERPRINT NAME``."""

    def __init__(self, folder: DataFolder, complain: Callable[[str], None]) -> None:
        self._folder = folder
        self._file = ListFile(folder.guests, _read, complain)

    def with_key(self, fingerprint: str) -> str | None:
        """Who came with this key before."""
        return self._file.students().get(fingerprint)

    def add(self, fingerprint: str) -> str:
        """A new one. OSError."""
        name = self._folder.new_home(GUEST)
        with alone(self._folder.guests):
            known = {**self._file.students(), fingerprint: name}
            lines = (f"{key} {guest}\n" for key, guest in known.items())
            write_durably(self._folder.guests, "".join(lines).encode())
        return name


def _read(text: str, file: str) -> dict[str, str]:
    guests = {}
    for number, line in enumerate(text.splitlines(), 1):
        found = _LINE.fullmatch(line)
        if found is None:
            raise ListError(f"{file}:{number}: {sanitize(line, 40)!r} is no FINGERPRINT NAME; strike it out")
        guests[found[1]] = found[2]
    return guests
