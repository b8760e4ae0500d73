"""Decide who may log in: the key identifies a student; the user name is an invitation code, or ignored.

Browsers have no keys; they have a register of their own.
"""

from pathlib import Path

import asyncssh

from lab.durable import exclusive_lock, write_durably
from lab.serve.browsers import Browsers
from lab.serve.folder import DataFolder
from lab.serve.guests import Guests
from lab.serve.invites import InvitationError, Invitations, is_code
from lab.serve.keylist import read_keys
from lab.serve.listfile import ListFile
from lab.serve.sanitizer import GUEST
from lab.serve.server_log import ServerLog

__all__ = ["Admission"]


class Admission:
    """Admits the students in ``class_file``, those who used an invitation, or anybody if ``is_open``."""

    def __init__(self, folder: DataFolder, class_file: Path | None, is_open: bool, log: ServerLog) -> None:
        self.is_open = is_open
        self._folder = folder
        self._invitations = Invitations(folder.invites)
        files = [folder.keys] if class_file is None else [class_file, folder.keys]
        self._files = [ListFile(file, read_keys, lambda text: log.write("unreadable", text)) for file in files]
        self.browsers = Browsers(folder, is_open, lambda text: log.write("unreadable", text))
        self._guests = Guests(folder, lambda text: log.write("unreadable", text))

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
        with self._invitations.used(code, key.get_fingerprint()) as name, exclusive_lock(self._folder.keys):
            kept = self._folder.keys.read_text("utf-8").splitlines() if self._folder.keys.exists() else []
            lines = [*kept, f"{kind} {data} {name}"]
            write_durably(self._folder.keys, "".join(f"{line}\n" for line in lines).encode())
        return name
