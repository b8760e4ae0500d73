"""The counter is stored, but a merge forms its group under the current name."""

from lab.kernel import Safe
from lab.protocols import Group, InvitationElection


class MyInvitation(InvitationElection):
    """Groups are named after the node that forms them, and numbered."""

    formed: Safe[int] = 0

    def _form_group(self) -> None:
        if not self.is_running(self.merge):
            self.formed += 1
        self.group = Group(self.id, self.formed)
        self.coordinator = self.id
        self.up = frozenset()
