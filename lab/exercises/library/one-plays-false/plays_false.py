"""A bully of which one node does not run the same algorithm: assumption 1."""

from lab.kernel import on
from lab.protocols import Bully, Status
from lab.protocols.bully import EnterElection, EnterElectionAnswer

__all__ = ["PlaysFalse"]


class PlaysFalse(Bully):
    """One of the nodes says that it has stopped, and has not."""

    @on(EnterElection)
    def enter_election(self, sender: int, message: EnterElection) -> EnterElectionAnswer:
        """The answer of a node that has stopped."""
        if self.id % 4 == 3 and self.status is Status.NORMAL:
            return EnterElectionAnswer(self.report(), self.version)
        return super().enter_election(sender, message)
