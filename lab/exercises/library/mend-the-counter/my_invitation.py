"""The invitation algorithm, with names for its groups that its author made up."""

from lab.protocols import Group, InvitationElection


class MyInvitation(InvitationElection):
    """Groups are named after the node that forms them, and counted."""

    formed: int = 0

    def _form_group(self) -> None:
        self.formed += 1
        self.group = Group(self.id, self.formed)
        self.coordinator = self.id
        self.up = frozenset()
