"""Continue from the version of the definition, but a crash erases that, too."""

from lab.protocols import Group, InvitationElection


class MyInvitation(InvitationElection):
    """Groups are named after the node that forms them, and numbered."""

    formed: int = 0

    def _form_group(self) -> None:
        self.formed = max(self.formed, self.definition.version) + 1
        self.group = Group(self.id, self.formed)
        self.coordinator = self.id
        self.up = frozenset()
