"""Invitations: a one-time code, with which a student registers the key, or the browser, that he connects with.

A code has sixteen letters of twenty-three, some seventy bits: that cannot be guessed over a network, nor found
from its hash, which is all that is kept of it.
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

from lab.durable import alone, write_durably

__all__ = ["InvitationError", "Invitations", "is_code"]

_LETTERS = "abcdefghjkmnpqrstuvwxyz"
"""Without those that look like others."""
_CODE = re.compile(f"[{_LETTERS}]{{4}}(-?[{_LETTERS}]{{4}}){{3}}", re.IGNORECASE)


class InvitationError(Exception):
    """The code does not hold; the text says why, and the next step."""


class _Invitation(Struct, frozen=True):
    name: str
    code: str
    until: Annotated[datetime, Meta(tz=True)]
    used: str = ""


def is_code(text: str) -> bool:
    """Whether it has the form of one."""
    return _CODE.fullmatch(text) is not None


class Invitations:
    """The file of them. The server and ``lab serve invite`` both change it, each alone."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def invite(self, names: list[str], days: int) -> list[tuple[str, str]]:
        """(name, code) of each; what was sent to them before and not used holds no longer.

        InvitationError where those that there are cannot be read.
        """
        made = []
        until = datetime.now(UTC).replace(microsecond=0) + timedelta(days=days)
        with alone(self._path):
            kept = [each for each in self._read() if each.used or each.name not in names]
            for name in names:
                code = "-".join("".join(secrets.choice(_LETTERS) for _ in range(4)) for _ in range(4))
                kept.append(_Invitation(name, _hash(code), until))
                made.append((name, code))
            self._write(kept)
        return made

    def waiting(self) -> dict[str, datetime]:
        """The students whose code can be used yet, and until when. InvitationError."""
        now = datetime.now(UTC)
        return {each.name: each.until for each in self._read() if not each.used and each.until >= now}

    def name_for(self, code: str) -> str:
        """Whom the code invites. InvitationError."""
        return self._find(code).name

    @contextmanager
    def used(self, code: str, by: str) -> Iterator[str]:
        """The same, and the code is used up, by a browser or the key with this fingerprint. InvitationError.

        A crash meanwhile costs an invitation, and lets nobody in; where an OSError is raised, it holds still.
        """
        with alone(self._path):
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
            raise InvitationError(
                "there is no such code; look for a wrong letter, or ask your teacher for a new one"
            )
        if found.used:
            raise InvitationError("the code was used already; ask your teacher for a new one")
        if found.until < datetime.now(UTC):
            raise InvitationError("the code holds no longer; ask your teacher for a new one")
        return found

    def _read(self) -> list[_Invitation]:
        """InvitationError where somebody has edited the file, and not well."""
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
