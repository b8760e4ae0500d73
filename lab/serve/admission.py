"""Decide who may log in: the key identifies a student; the user name is an invitation code, or ignored.

Keys are listed in the format of OpenSSH's ``authorized_keys``; the comment is the student's name, or ``user@host``
as ssh-keygen writes it. Options are refused: a ``command=`` would promise something that this server does not do.
Browsers have no keys; they are listed in a file of their own.

The first use of a code uses it up, whether it registers a key or a browser, or its student's key was registered
before. A key never changes its student: with another student's code it is refused.
"""

import contextlib
import re
from functools import partial
from pathlib import Path

import asyncssh
from msgspec import Struct

from lab.foreign_file import LARGEST_DATA, read_foreign_text
from lab.serve.data_folder import DataFolder, ServerLog
from lab.serve.student_lists import (
    GUEST,
    NAME_RULE,
    REMOVED,
    Browsers,
    ClassNames,
    Guests,
    InvitationError,
    Invitations,
    ListError,
    ListFile,
    RemovedStudents,
    is_code,
    is_name,
    user_of,
)
from lab.text import sanitize

_KINDS = ("ssh-", "ecdsa-", "sk-")
_USER_AT_HOST = re.compile(r"[^@\s]+@[\w.:-]+")


class ListedKey(Struct, frozen=True):
    """A line of a list of keys: the name of a student, or a comment ``user@host`` that yields one."""

    data: bytes
    fingerprint: str
    comment: str

    @property
    def is_named(self) -> bool:
        return "@" not in self.comment


def parse_keys(text: str, file: str) -> list[ListedKey]:
    """Return the keys of a list, each once. Raises ListError for the first wrong line, with the other numbers."""
    keys: dict[bytes, ListedKey] = {}
    mistakes: dict[int, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            key = _parse_key(line.split(None, 2))
        except ListError as error:
            mistakes[number] = str(error)
            continue
        owner = keys.setdefault(key.data, key).comment
        if owner != key.comment:
            mistakes[number] = f"this key already belongs to {owner}; a key identifies one student"
    if mistakes:
        (number, mistake), *others = mistakes.items()
        more = f" (also wrong: {', '.join(f'line {other}' for other, _ in others)})" if others else ""
        raise ListError(f"{file}:{number}: {mistake}{more}")
    return list(keys.values())


def _parse_key(words: list[str]) -> ListedKey:
    expected = "expected KIND KEY NAME, as in ssh-ed25519 AAAA… anna"
    if not words[0].startswith(_KINDS):
        raise ListError(f"{sanitize(words[0], 40)} is not a kind of key; options are refused; {expected}")
    if len(words) < 3:
        raise ListError(f"the student's name is missing; {expected}")
    comment = words[2].strip()
    name = user_of(comment) if _USER_AT_HOST.fullmatch(comment) else comment
    if not is_name(name):
        raise ListError(f"{sanitize(comment, 40)!r} is not a valid student name: {NAME_RULE}")
    try:
        key = asyncssh.import_public_key(" ".join(words[:2]))
    except asyncssh.KeyImportError:
        raise ListError(f"the key of {name} cannot be read; copy the whole line of the .pub file") from None
    return ListedKey(key.public_data, key.get_fingerprint(), comment)


def read_keys(class_names: ClassNames, text: str, file: str) -> dict[bytes, str]:
    """Return the student of each public key. A student may have several keys. Raises ListError or OSError."""
    keys = parse_keys(text, file)
    comments = {key.fingerprint: key.comment for key in keys if not key.is_named}
    names = class_names.name_keys(comments, {key.comment for key in keys if key.is_named})
    return {key.data: names.get(key.fingerprint, key.comment) for key in keys}


def key_owners(folder: DataFolder, log: ServerLog) -> dict[str, str]:
    """Return the student of each line of the data folder's own list of keys. Raises OSError."""
    names = ClassNames(folder, log).names()
    owners = {}
    for line in read_foreign_text(folder.keys, LARGEST_DATA).splitlines() if folder.keys.exists() else ():
        with contextlib.suppress(ListError, IndexError):  # a comment, or a line that admits nobody
            key = _parse_key(line.split(None, 2))
            owners[line] = key.comment if key.is_named else names.get(key.fingerprint, user_of(key.comment))
    return owners


class Admitted(Struct, frozen=True):
    """A student who has logged in. ``welcome`` says what became of the code, if there was one."""

    student: str
    welcome: str = ""


class Admission:
    """Admits the students in ``class_file``, those who used an invitation, or anybody if ``is_open``."""

    def __init__(self, folder: DataFolder, class_file: Path | None, is_open: bool, log: ServerLog) -> None:
        self.is_open = is_open
        self._folder = folder
        self._invitations = Invitations(folder.invites)
        read = partial(read_keys, ClassNames(folder, log))
        self._enrolled = ListFile(folder.keys, read, log)
        self._files = [self._enrolled]
        if class_file is not None:
            self._files.insert(0, ListFile(class_file, read, log))
        self.removed = RemovedStudents(folder, log)
        self.browsers = Browsers(folder, is_open, log, self.removed)
        self._guests = Guests(folder, log)

    def may_admit(self, user: str, key: asyncssh.SSHKey) -> bool:
        """Return whether this key's holder may log in. The client has not yet proved that it holds the key."""
        student = self.identify(user, key)
        return student not in self.removed.names() if student is not None else self.is_open

    def is_removed(self, user: str, key: asyncssh.SSHKey) -> bool:
        """Return whether the teacher has removed this key's holder."""
        return self.identify(user, key) in self.removed.names()

    def identify(self, user: str, key: asyncssh.SSHKey | None) -> str | None:
        """Return the student; None for strangers, and for guests who are new."""
        if key is None:
            return None
        found = self._listed(key)
        if found is None and is_code(user) and not self.code_problem(user):
            found = self._invitations.name_for(user)
        return found or (self._guests.guest_with_key(key.get_fingerprint()) if self.is_open else None)

    def code_problem(self, code: str) -> str:
        """Return why this code is not valid; empty if it is."""
        try:
            self._invitations.name_for(code)
        except InvitationError as error:
            return str(error)
        return ""

    def admit(self, user: str, key: asyncssh.SSHKey | None) -> Admitted:
        """Return the student whose key has signed; None means that an open server asked for no key.

        Raises InvitationError or OSError.
        """
        if key is not None and self.is_removed(user, key):
            raise InvitationError(REMOVED)
        if key is None:
            return Admitted(self._folder.add_student(GUEST))
        listed = self._listed(key)
        if is_code(user) and not (listed and self.code_problem(user)):
            return self._use_code(user, key, listed)
        if listed is not None:
            return Admitted(listed)
        if not self.is_open:
            raise InvitationError("your key was just removed from the list; ask your teacher")
        fingerprint = key.get_fingerprint()
        return Admitted(self._guests.guest_with_key(fingerprint) or self._guests.add(fingerprint))

    def names(self) -> set[str]:
        """Return the names of all who are listed."""
        return {name for file in self._files for name in file.students().values()} | self.browsers.names()

    def _listed(self, key: asyncssh.SSHKey) -> str | None:
        return next((found for file in self._files if (found := file.students().get(key.public_data))), None)

    def _use_code(self, code: str, key: asyncssh.SSHKey, listed: str | None) -> Admitted:
        """Use up the code, and register the key unless it is ``listed`` as a student's."""
        if listed not in (None, self._invitations.name_for(code)):
            raise InvitationError(f"the code is for another student; you are {listed}: connect without a code")
        with self._invitations.used(code, key.get_fingerprint()) as name:
            if listed is None:
                kind, data = key.export_public_key("openssh").decode().split()[:2]
                with self._enrolled.edited() as lines:
                    lines.append(f"{kind} {data} {name}")
        was = "was already" if listed else "is now"
        return Admitted(name, f"your key {was} registered, for {name}; the code is used up: connect without it")
