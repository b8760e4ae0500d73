"""Who forms one group only cannot use a name twice: but then nothing is left of the algorithm."""

from lab.kernel import procedure
from lab.protocols import InvitationElection


class MyInvitation(InvitationElection):
    """Groups are named after the node that forms them, and counted."""

    @procedure
    async def merge(self) -> None:
        """Not at all."""
