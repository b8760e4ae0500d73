"""Variants of bully in which node 1 violates assumptions 1 and 2, which no fault of the laboratory can break."""

from lab.kernel import on
from lab.protocols import Bully, Status
from lab.protocols.bully import EnterElection, EnterElectionAnswer, SetCoordinator, SetCoordinatorAnswer

__all__ = ["Faulty", "Stubborn"]


class Stubborn(Bully):
    """Violates assumption 1, that all nodes run the same algorithm: node 1 does not stop when it is told to."""

    @on(EnterElection)
    def on_enter_election(self, sender: int, message: EnterElection) -> EnterElectionAnswer:
        """Answer as if node 1 had stopped."""
        if self.id == 1 and self.status is Status.NORMAL:
            return EnterElectionAnswer(self.report(), self.version)
        return super().on_enter_election(sender, message)


class Faulty(Bully):
    """Violates assumption 2, that the local software works: node 1 cannot handle a message."""

    @on(SetCoordinator)
    def on_set_coordinator(self, sender: int, message: SetCoordinator) -> SetCoordinatorAnswer | None:
        """Fail on node 1 for any coordinator but 5."""
        if self.id == 1 and sender != 5:
            raise LookupError(f"no such coordinator: {sender}")
        return super().on_set_coordinator(sender, message)
