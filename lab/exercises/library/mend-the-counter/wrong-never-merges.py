"""A node that never merges cannot use a name twice, but nothing is left of the algorithm."""

from lab.kernel import procedure
from lab.protocols import InvitationElection


class MyInvitation(InvitationElection):
    """Groups are named after the node that forms them, and numbered."""

    @procedure
    async def merge(self) -> None:
        """Do nothing."""
