"""A node that enters no other node's election is never stuck in one, but every node leads itself."""

from lab.kernel import on
from lab.protocols import Bully
from lab.protocols.bully import EnterElection, EnterElectionAnswer


class MyBully(Bully):
    """A node that hears nothing from its coordinator asks it; if there is no answer, it holds an election."""

    @on(EnterElection)
    def on_enter_election(self, sender: int, message: EnterElection) -> EnterElectionAnswer | None:  # type: ignore[override]
        """Do not answer."""
        return None
