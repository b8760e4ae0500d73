"""The known browsers. A browser has no key: a code gives it a token, which identifies it from then on.

Only the hash of a token is stored, in a file with a line for each: ``HASH NAME SINCE``. Deleting a line locks its
browser out.
"""

import hashlib
import re
import secrets
from collections.abc import Callable
from datetime import UTC, datetime

from lab.durable import exclusive_lock, write_durably
from lab.serve.folder import DataFolder
from lab.serve.invites import InvitationError, Invitations, is_code
from lab.serve.listfile import ListError, ListFile
from lab.serve.sanitizer import GUEST, is_name
from lab.text import sanitize

__all__ = ["Browsers"]

_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")
_LINE = re.compile(r"([0-9a-f]{64}) (\S+) \S+")


class Browsers:
    """The register of browsers. If ``is_open``, anybody may be a guest, known until the server ends."""

    def __init__(self, folder: DataFolder, is_open: bool, on_error: Callable[[str], None]) -> None:
        self._folder = folder
        self._is_open = is_open
        self._invitations = Invitations(folder.invites)
        self._file = ListFile(folder.browsers, _read, on_error)
        self._guests: dict[str, str] = {}

    def enrol(self, code: str) -> tuple[str, str]:
        """Use up the code; return its student, and the browser's token. Raises InvitationError or OSError."""
        if not is_code(code):
            raise InvitationError(
                "not a valid code: a code has sixteen letters, as in abcd-efgh-jkmn-pqrs; check for a typing error"
            )
        token = _new_token()
        with self._invitations.used(code, "a browser") as name, exclusive_lock(self._folder.browsers):
            since = datetime.now(UTC).isoformat(timespec="seconds")
            self._write([*self._lines(), f"{_hash(token)} {name} {since}"])
        return name, token

    def enrol_guest(self) -> tuple[str, str]:
        """Create a guest; return its name, and the browser's token.

        Raises InvitationError if the server accepts no guests, or OSError.
        """
        if not self._is_open:
            raise InvitationError("this server accepts no guests; ask your teacher for a code")
        token = _new_token()
        self._guests[_hash(token)] = name = self._folder.add_student(GUEST)
        return name, token

    def student_with(self, token: str) -> str | None:
        """Return the student whose browser has this token; the token may be any text."""
        if not _TOKEN.fullmatch(token):
            return None
        return self._file.students().get(_hash(token)) or self._guests.get(_hash(token))

    def forget(self, token: str) -> None:
        """Forget the browser that has this token. Raises OSError."""
        with exclusive_lock(self._folder.browsers):
            self._write([line for line in self._lines() if not line.startswith(_hash(token))])
        self._guests.pop(_hash(token), None)

    def names(self) -> set[str]:
        """Return the students whose browsers are in the file; guests are not."""
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
            raise ListError(f"{file}:{number}: {sanitize(line, 40)!r}: expected HASH NAME SINCE; delete the line")
        students[found[1]] = found[2]
    return students


def _new_token() -> str:
    return secrets.token_urlsafe(32)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
