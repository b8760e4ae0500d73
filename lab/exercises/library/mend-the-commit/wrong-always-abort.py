"""A coordinator that always aborts never contradicts itself, but nothing is ever committed."""

from lab.kernel import procedure
from lab.protocols import TwoPhaseCommit
from lab.protocols.transaction import Plan


class MyCommit(TwoPhaseCommit):
    """Request all votes, announce the outcome, and repeat it until all have acknowledged it."""

    @procedure
    async def coordinate(self, plan: Plan) -> None:
        """Decide the outcome of the plan."""
        await self._is_agreed(plan)
        self._decide(plan.transaction, False)
        self.begin(self.announce_outcome, key=plan.transaction)
