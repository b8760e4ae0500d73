"""The decision is logged before any node hears of it; after that it can be repeated."""

from lab.kernel import procedure
from lab.protocols import TwoPhaseCommit
from lab.protocols.transaction import Plan


class MyCommit(TwoPhaseCommit):
    """Request all votes, announce the outcome, and repeat it until all have acknowledged it."""

    @procedure
    async def coordinate(self, plan: Plan) -> None:
        """Decide the outcome of the plan."""
        agreed = await self._is_agreed(plan)
        self._decide(plan.transaction, agreed)
        self.begin(self.announce_outcome, key=plan.transaction)
