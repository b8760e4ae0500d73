"""Bullies of which one node breaks an assumption that no fault of the laboratory's can break: 1 and 2."""

from lab.kernel import on
from lab.protocols import Bully, Status
from lab.protocols.bully import EnterElection, EnterElectionAnswer, SetCoordinator, SetCoordinatorAnswer

__all__ = ["Faulty", "Stubborn"]


class Stubborn(Bully):
    """Not all nodes run the same algorithm: node 1 goes on with its work when it is told to stop."""

    @on(EnterElection)
    def enter_election(self, sender: int, message: EnterElection) -> EnterElectionAnswer:
        """Node 1 answers as if it had stopped."""
        if self.id == 1 and self.status is Status.NORMAL:
            return EnterElectionAnswer(self.report(), self.version)
        return super().enter_election(sender, message)


class Faulty(Bully):
    """The local software does not work: node 1 cannot handle a message."""

    @on(SetCoordinator)
    def set_coordinator(self, sender: int, message: SetCoordinator) -> SetCoordinatorAnswer | None:
        """Node 1 has only ever met 5."""
        if self.id == 1 and sender != 5:
            raise LookupError(f"no such coordinator: {sender}")
        return super().set_coordinator(sender, message)
