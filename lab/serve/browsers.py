"""Browsers that are known. A browser has no key: a code gives it a token, which it shows from then on.

Of a token nothing is kept but its hash, in a file with a line for each: ``HASH NAME SINCE``. A line that is struck
out shuts its browser out.
"""

import hashlib
import re
import secrets
from collections.abc import Callable
from datetime import UTC, datetime

from lab.durable import alone, write_durably
from lab.serve.border import GUEST, is_name
from lab.serve.folder import DataFolder
from lab.serve.invites import InvitationError, Invitations, is_code
from lab.serve.listfile import ListError, ListFile
from lab.text import sanitize

__all__ = ["Browsers"]

_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")
_LINE = re.compile(r"([0-9a-f]{64}) (\S+) \S+")


class Browsers:
    """``is_open``: anybody may come in as a guest, who is known for as long as the server runs."""

    def __init__(self, folder: DataFolder, is_open: bool, complain: Callable[[str], None]) -> None:
        self._folder = folder
        self._is_open = is_open
        self._invitations = Invitations(folder.invites)
        self._file = ListFile(folder.browsers, _read, complain)
        self._guests: dict[str, str] = {}

    def enrol(self, code: str) -> tuple[str, str]:
        """(whom the code invites, the browser's token); the code is used up. InvitationError, OSError."""
        if not is_code(code):
            raise InvitationError(
                "that is no code: it is sixteen letters, as in abcd-efgh-jkmn-pqrs; look for a wrong one"
            )
        token = _new_token()
        with self._invitations.used(code, "a browser") as name, alone(self._folder.browsers):
            since = datetime.now(UTC).isoformat(timespec="seconds")
            self._write([*self._lines(), f"{_hash(token)} {name} {since}"])
        return name, token

    def enrol_guest(self) -> tuple[str, str]:
        """The same for anybody. InvitationError where not anybody may."""
        if not self._is_open:
            raise InvitationError("this server has no guests; ask your teacher for a code")
        token = _new_token()
        self._guests[_hash(token)] = name = self._folder.new_home(GUEST)
        return name, token

    def student_with(self, token: str) -> str | None:
        """Whose browser shows this; whatever it is."""
        if not _TOKEN.fullmatch(token):
            return None
        return self._file.students().get(_hash(token)) or self._guests.get(_hash(token))

    def forget(self, token: str) -> None:
        """The browser that shows this is known no longer. OSError."""
        with alone(self._folder.browsers):
            self._write([line for line in self._lines() if not line.startswith(_hash(token))])
        self._guests.pop(_hash(token), None)

    def names(self) -> set[str]:
        """All who are listed."""
        return set(self._file.students().values())

    def _lines(self) -> list[str]:
        path = self._folder.browsers
        return path.read_text("utf-8").splitlines() if path.exists() else []

    def _write(self, lines: list[str]) -> None:
        write_durably(self._folder.browsers, "".join(f"{line}\n" for line in lines).encode())


def _read(text: str, file: str) -> dict[str, str]:
    students = {}
    for number, line in enumerate(text.splitlines(), 1):
        found = _LINE.fullmatch(line)
        if found is None or not is_name(found[2]):
            raise ListError(f"{file}:{number}: {sanitize(line, 40)!r} is no HASH NAME SINCE; strike it out")
        students[found[1]] = found[2]
    return students


def _new_token() -> str:
    return secrets.token_urlsafe(32)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
