"""A coordinator that crashed takes it that it had told Commit: but it may have told nothing, and others a NO."""

from lab.kernel import procedure
from lab.protocols import TwoPhaseCommit
from lab.protocols.committing import Commit
from lab.protocols.ledger import Part
from lab.protocols.transaction import Plan


class MyCommit(TwoPhaseCommit):
    """Ask all for their votes, tell all the outcome, and go on telling until all have it."""

    def recover(self, part: Part) -> None:
        """Commit what was begun."""
        if part.begun and part.voted_yes:
            self._decide(part.transaction, True)
        super().recover(part)

    @procedure
    async def coordinate(self, plan: Plan) -> None:
        """From the plan to the outcome."""
        agreed = await self._is_agreed(plan)
        if agreed:
            others = self._others(self._participants(plan))
            await self.ask_all(others, Commit(plan.transaction), within=self.timing.t_us)
        self._decide(plan.transaction, agreed)
        self.begin(self.tell_outcome, about=plan.transaction)
