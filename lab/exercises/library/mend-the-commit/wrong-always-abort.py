"""Who aborts everything never contradicts himself: but nothing is ever committed."""

from lab.kernel import procedure
from lab.protocols import TwoPhaseCommit
from lab.protocols.transaction import Plan


class MyCommit(TwoPhaseCommit):
    """Ask all for their votes, tell all the outcome, and go on telling until all have it."""

    @procedure
    async def coordinate(self, plan: Plan) -> None:
        """From the plan to the outcome."""
        await self._is_agreed(plan)
        self._decide(plan.transaction, False)
        self.begin(self.tell_outcome, about=plan.transaction)
