"""The counter survives a crash."""

from lab.kernel import Safe
from lab.protocols import Group, InvitationElection


class MyInvitation(InvitationElection):
    """Groups are named after the node that forms them, and numbered."""

    formed: Safe[int] = 0

    def _form_group(self) -> None:
        self.formed += 1
        self.group = Group(self.id, self.formed)
        self.coordinator = self.id
        self.up = frozenset()
