"""Who may come in. The key says who somebody is; the user name is an invitation's code, or says nothing.

Browsers have no keys, and a register of their own.
"""

from pathlib import Path

import asyncssh

from lab.durable import alone, write_durably
from lab.serve.border import GUEST
from lab.serve.browsers import Browsers
from lab.serve.folder import DataFolder
from lab.serve.guests import Guests
from lab.serve.invites import InvitationError, Invitations, is_code
from lab.serve.keylist import read_keys
from lab.serve.listfile import ListFile
from lab.serve.log import Log

__all__ = ["Admission"]


class Admission:
    """``class_file`` lists the class, the data folder those who came by invitation; ``is_open``: anybody may."""

    def __init__(self, folder: DataFolder, class_file: Path | None, is_open: bool, log: Log) -> None:
        self.is_open = is_open
        self._folder = folder
        self._invitations = Invitations(folder.invites)
        files = [folder.keys] if class_file is None else [class_file, folder.keys]
        self._files = [ListFile(file, read_keys, lambda said: log.say("unreadable", said)) for file in files]
        self.browsers = Browsers(folder, is_open, lambda said: log.say("unreadable", said))
        self._guests = Guests(folder, lambda said: log.say("unreadable", said))

    def would_admit(self, user: str, key: asyncssh.SSHKey) -> bool:
        """Whether the holder of this key may come in, if he is its holder: nothing is proved yet."""
        return self.is_open or self.known(user, key) is not None

    def known(self, user: str, key: asyncssh.SSHKey | None) -> str | None:
        """Who that would be; nobody yet, where it would be a new guest."""
        if key is None:
            return None
        found = self._listed(key)
        if found is None and is_code(user) and not self.fault_of(user):
            found = self._invitations.name_for(user)
        return found or (self._guests.with_key(key.get_fingerprint()) if self.is_open else None)

    def fault_of(self, code: str) -> str:
        """Why this code does not hold; nothing where it does."""
        try:
            self._invitations.name_for(code)
        except InvitationError as error:
            return str(error)
        return ""

    def admit(self, user: str, key: asyncssh.SSHKey | None) -> str:
        """The student, whose key has signed; None: an open server asked for none. InvitationError, OSError."""
        if key is None:
            return self._folder.new_home(GUEST)
        listed = self._listed(key)
        if listed is not None:
            return listed
        if is_code(user):
            return self._enrol(user, key)
        if not self.is_open:
            raise InvitationError("your key was taken from the list just now; ask your teacher")
        fingerprint = key.get_fingerprint()
        return self._guests.with_key(fingerprint) or self._guests.add(fingerprint)

    def names(self) -> set[str]:
        """All who are listed."""
        return {name for file in self._files for name in file.students().values()} | self.browsers.names()

    def _listed(self, key: asyncssh.SSHKey) -> str | None:
        return next((found for file in self._files if (found := file.students().get(key.public_data))), None)

    def _enrol(self, code: str, key: asyncssh.SSHKey) -> str:
        kind, data = key.export_public_key("openssh").decode().split()[:2]
        with self._invitations.used(code, key.get_fingerprint()) as name, alone(self._folder.keys):
            kept = self._folder.keys.read_text("utf-8").splitlines() if self._folder.keys.exists() else []
            lines = [*kept, f"{kind} {data} {name}"]
            write_durably(self._folder.keys, "".join(f"{line}\n" for line in lines).encode())
        return name
