"""The invitation algorithm, with its author's own names for groups."""

from lab.protocols import Group, InvitationElection


class MyInvitation(InvitationElection):
    """Groups are named after the node that forms them, and numbered."""

    formed: int = 0

    def _form_group(self) -> None:
        self.formed += 1
        self.group = Group(self.id, self.formed)
        self.coordinator = self.id
        self.up = frozenset()
