"""A bully of which one node does otherwise: node 1 goes on with its work when it is told to stop (assumption 1)."""

from lab.kernel import on
from lab.protocols import Bully, Status
from lab.protocols.bully import EnterElection, EnterElectionAnswer

__all__ = ["Stubborn"]


class Stubborn(Bully):
    """Garcia-Molina's bully, but for node 1."""

    @on(EnterElection)
    def enter_election(self, sender: int, message: EnterElection) -> EnterElectionAnswer:
        """Node 1 answers as if it had stopped, and does not, if it has work to do."""
        if self.id == 1 and self.status is Status.NORMAL:
            return EnterElectionAnswer(self.report(), self.version)
        return super().enter_election(sender, message)
