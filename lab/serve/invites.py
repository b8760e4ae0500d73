"""Invitations: one-time codes with which a student registers a key or a browser.

A code has sixteen letters out of twenty-three, about seventy bits. It cannot be guessed over a network, nor
recovered from its hash, and only the hash is stored.
"""

import hashlib
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from lab.durable import exclusive_lock, write_durably

__all__ = ["InvitationError", "Invitations", "is_code"]

_LETTERS = "abcdefghjkmnpqrstuvwxyz"
"""Letters that are not mistaken for others."""
_CODE = re.compile(f"[{_LETTERS}]{{4}}(-?[{_LETTERS}]{{4}}){{3}}", re.IGNORECASE)


class InvitationError(Exception):
    """The code is not valid; the text gives the reason and the next step."""


class _Invitation(Struct, frozen=True):
    name: str
    code: str
    until: Annotated[datetime, Meta(tz=True)]
    used: str = ""


def is_code(text: str) -> bool:
    """Return whether the text has the form of a code."""
    return _CODE.fullmatch(text) is not None


class Invitations:
    """The file of invitations. The server and ``lab serve invite`` both change it, under a lock."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def invite(self, names: list[str], days: int) -> list[tuple[str, str]]:
        """Return (name, code) for each; unused earlier codes of these students become invalid.

        Raises InvitationError if the file cannot be read.
        """
        made = []
        until = datetime.now(UTC).replace(microsecond=0) + timedelta(days=days)
        with exclusive_lock(self._path):
            kept = [each for each in self._read() if each.used or each.name not in names]
            for name in names:
                code = "-".join("".join(secrets.choice(_LETTERS) for _ in range(4)) for _ in range(4))
                kept.append(_Invitation(name, _hash(code), until))
                made.append((name, code))
            self._write(kept)
        return made

    def waiting(self) -> dict[str, datetime]:
        """Return the students with an unused code, and when it expires. Raises InvitationError."""
        now = datetime.now(UTC)
        return {each.name: each.until for each in self._read() if not each.used and each.until >= now}

    def name_for(self, code: str) -> str:
        """Return the student whom the code invites. Raises InvitationError."""
        return self._find(code).name

    @contextmanager
    def used(self, code: str, by: str) -> Iterator[str]:
        """Use up the code while this lasts, for a browser or a key's fingerprint; yield the student.

        Raises InvitationError. A crash meanwhile costs the invitation and admits nobody. After an OSError the code
        is valid again.
        """
        with exclusive_lock(self._path):
            found, before = self._find(code), self._read()
            self._write([replace(each, used=by) if each == found else each for each in before])
            try:
                yield found.name
            except OSError:
                self._write(before)
                raise

    def _find(self, code: str) -> _Invitation:
        found = next((each for each in self._read() if each.code == _hash(code)), None)
        if found is None:
            raise InvitationError("unknown code; check for a typing error, or ask your teacher for a new one")
        if found.used:
            raise InvitationError("the code was already used; ask your teacher for a new one")
        if found.until < datetime.now(UTC):
            raise InvitationError("the code has expired; ask your teacher for a new one")
        return found

    def _read(self) -> list[_Invitation]:
        """Read all invitations. Raises InvitationError if the file is not valid."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=list[_Invitation])
        except FileNotFoundError:
            return []
        except ValueError:
            raise InvitationError("the server cannot read its invitations; tell your teacher") from None

    def _write(self, invitations: list[_Invitation]) -> None:
        write_durably(self._path, msgspec.json.format(msgspec.json.encode(invitations)))


def _hash(code: str) -> str:
    return hashlib.sha256(code.lower().replace("-", "").encode()).hexdigest()
