"""Who takes part in no election of another is never left in one: but so everybody leads itself."""

from lab.kernel import on
from lab.protocols import Bully
from lab.protocols.bully import EnterElection, EnterElectionAnswer


class MyBully(Bully):
    """Who hears nothing of its coordinator asks it; and, if there is no answer, elects."""

    @on(EnterElection)
    def enter_election(self, sender: int, message: EnterElection) -> EnterElectionAnswer | None:  # type: ignore[override]
        """No answer, no obligation."""
        return None
