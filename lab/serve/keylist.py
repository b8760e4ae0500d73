"""Lists of public keys, as OpenSSH's ``authorized_keys`` has them; the comment is the student's name.

A line may carry no options: a ``command=`` there would promise something that this server does not do.
"""

import os
from collections.abc import Callable
from pathlib import Path

import asyncssh

from lab.serve.border import NAME_RULE, is_name
from lab.text import sanitize

__all__ = ["KeyFile", "KeyListError", "read_keys"]

_KINDS = ("ssh-", "ecdsa-", "sk-")


class KeyListError(Exception):
    """A line that says nobody; the text names it, for whoever wrote it."""


def read_keys(text: str, file: str) -> dict[bytes, str]:
    """From public key to student. A student may have several keys; a key has one student. KeyListError."""
    students: dict[bytes, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        place = f"{file}:{number}"
        key, name = _key_and_name(line.split(None, 2), place)
        if students.setdefault(key, name) != name:
            raise KeyListError(f"{place}: this key is {students[key]}'s already; a key says who somebody is")
    return students


def _key_and_name(words: list[str], place: str) -> tuple[bytes, str]:
    expected = "write KIND KEY NAME, as in ssh-ed25519 AAAA… anna"
    if not words[0].startswith(_KINDS):
        raise KeyListError(
            f"{place}: {sanitize(words[0], 40)} is no kind of key, and options are refused; {expected}"
        )
    if len(words) < 3:
        raise KeyListError(f"{place}: the student's name is missing; {expected}")
    name = words[2].strip()
    if not is_name(name):
        raise KeyListError(f"{place}: {sanitize(name, 40)!r} cannot be a student's name: {NAME_RULE}")
    try:
        key = asyncssh.import_public_key(" ".join(words[:2]))
    except asyncssh.KeyImportError:
        raise KeyListError(
            f"{place}: the key of {name} cannot be read; copy the line of the .pub file whole"
        ) from None
    return key.public_data, name


class KeyFile:
    """A list in a file, read again when that has changed. ``complain`` is told where it cannot be."""

    def __init__(self, path: Path, complain: Callable[[str], None]) -> None:
        self._path = path
        self._complain = complain
        self._seen: tuple[int, int, int] | None = None
        self._students: dict[bytes, str] = {}

    def students(self) -> dict[bytes, str]:
        """Who has which key, now; where the file has become unreadable, as it was before."""
        try:
            found = os.stat(self._path)
            seen = (found.st_mtime_ns, found.st_size, found.st_ino)
            if seen != self._seen:
                self._seen = seen
                self._students = read_keys(self._path.read_text("utf-8-sig"), str(self._path))
        except FileNotFoundError:
            self._seen, self._students = None, {}
        except (OSError, UnicodeDecodeError, KeyListError) as error:
            self._complain(str(error))
        return self._students
