"""Decide who may log in: the key identifies a student; the user name is an invitation code, or ignored.

Keys are listed in the format of OpenSSH's ``authorized_keys``; the comment is the student's name. Options are
refused: a ``command=`` would promise something that this server does not do. Browsers have no keys; they are
listed in a file of their own.
"""

from pathlib import Path

import asyncssh

from lab.serve.data_folder import DataFolder, ServerLog
from lab.serve.student_lists import (
    GUEST,
    NAME_RULE,
    Browsers,
    Guests,
    InvitationError,
    Invitations,
    ListError,
    ListFile,
    is_code,
    is_name,
)
from lab.text import sanitize

_KINDS = ("ssh-", "ecdsa-", "sk-")


def read_keys(text: str, file: str) -> dict[bytes, str]:
    """Return the student of each public key. A student may have several keys.

    Raises ListError for the first wrong line, with the numbers of the others.
    """
    students: dict[bytes, str] = {}
    mistakes: dict[int, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            key, name = _key_and_name(line.split(None, 2))
        except ListError as error:
            mistakes[number] = str(error)
            continue
        if students.setdefault(key, name) != name:
            mistakes[number] = f"this key already belongs to {students[key]}; a key identifies one student"
    if mistakes:
        (number, mistake), *others = mistakes.items()
        more = f" (also wrong: {', '.join(f'line {other}' for other, _ in others)})" if others else ""
        raise ListError(f"{file}:{number}: {mistake}{more}")
    return students


def _key_and_name(words: list[str]) -> tuple[bytes, str]:
    expected = "expected KIND KEY NAME, as in ssh-ed25519 AAAA… anna"
    if not words[0].startswith(_KINDS):
        raise ListError(f"{sanitize(words[0], 40)} is not a kind of key; options are refused; {expected}")
    if len(words) < 3:
        raise ListError(f"the student's name is missing; {expected}")
    name = words[2].strip()
    if not is_name(name):
        raise ListError(f"{sanitize(name, 40)!r} is not a valid student name: {NAME_RULE}")
    try:
        key = asyncssh.import_public_key(" ".join(words[:2]))
    except asyncssh.KeyImportError:
        raise ListError(f"the key of {name} cannot be read; copy the whole line of the .pub file") from None
    return key.public_data, name


class Admission:
    """Admits the students in ``class_file``, those who used an invitation, or anybody if ``is_open``."""

    def __init__(self, folder: DataFolder, class_file: Path | None, is_open: bool, log: ServerLog) -> None:
        self.is_open = is_open
        self._folder = folder
        self._invitations = Invitations(folder.invites)
        self._enrolled = ListFile(folder.keys, read_keys, log)
        self._files = [self._enrolled]
        if class_file is not None:
            self._files.insert(0, ListFile(class_file, read_keys, log))
        self.browsers = Browsers(folder, is_open, log)
        self._guests = Guests(folder, log)

    def may_admit(self, user: str, key: asyncssh.SSHKey) -> bool:
        """Return whether this key's holder may log in. The client has not yet proved that it holds the key."""
        return self.is_open or self.identify(user, key) is not None

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

    def admit(self, user: str, key: asyncssh.SSHKey | None) -> str:
        """Return the student whose key has signed; None means that an open server asked for no key.

        Raises InvitationError or OSError.
        """
        if key is None:
            return self._folder.add_student(GUEST)
        listed = self._listed(key)
        if listed is not None:
            return listed
        if is_code(user):
            return self._enrol(user, key)
        if not self.is_open:
            raise InvitationError("your key was just removed from the list; ask your teacher")
        fingerprint = key.get_fingerprint()
        return self._guests.guest_with_key(fingerprint) or self._guests.add(fingerprint)

    def names(self) -> set[str]:
        """Return the names of all who are listed."""
        return {name for file in self._files for name in file.students().values()} | self.browsers.names()

    def _listed(self, key: asyncssh.SSHKey) -> str | None:
        return next((found for file in self._files if (found := file.students().get(key.public_data))), None)

    def _enrol(self, code: str, key: asyncssh.SSHKey) -> str:
        kind, data = key.export_public_key("openssh").decode().split()[:2]
        with self._invitations.used(code, key.get_fingerprint()) as name, self._enrolled.edited() as lines:
            lines.append(f"{kind} {data} {name}")
        return name
