"""A bully in which one node does not run the same algorithm: assumption 1."""

from lab.kernel import on
from lab.protocols import Bully, Status
from lab.protocols.bully import EnterElection, EnterElectionAnswer

__all__ = ["PlaysFalse"]


class PlaysFalse(Bully):
    """One of the nodes answers that it has stopped, but has not."""

    @on(EnterElection)
    def on_enter_election(self, sender: int, message: EnterElection) -> EnterElectionAnswer:
        """Answer as a node that has stopped."""
        if self.id % 4 == 3 and self.status is Status.NORMAL:
            return EnterElectionAnswer(self.report(), self.version)
        return super().on_enter_election(sender, message)
