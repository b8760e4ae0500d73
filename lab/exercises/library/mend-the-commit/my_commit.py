"""Two-phase commit, with a coordinator that announces a commit as soon as it can."""

from lab.kernel import procedure
from lab.protocols import TwoPhaseCommit
from lab.protocols.committing import Commit
from lab.protocols.transaction import Plan


class MyCommit(TwoPhaseCommit):
    """Request all votes, announce the outcome, and repeat it until all have acknowledged it."""

    @procedure
    async def coordinate(self, plan: Plan) -> None:
        """Decide the outcome of the plan."""
        agreed = await self._is_agreed(plan)
        if agreed:
            others = self._others(self._participants(plan))
            await self.ask_all(others, Commit(plan.transaction), within=self.timing.t_us)
        self._decide(plan.transaction, agreed)
        self.begin(self.announce_outcome, key=plan.transaction)
