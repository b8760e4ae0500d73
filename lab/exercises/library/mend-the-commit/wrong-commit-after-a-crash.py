"""A restarted coordinator assumes that it had sent Commit, but it may have sent nothing, or received a NO."""

from lab.kernel import procedure
from lab.protocols import TwoPhaseCommit
from lab.protocols.committing import Commit
from lab.protocols.ledger import Part
from lab.protocols.transaction import Plan


class MyCommit(TwoPhaseCommit):
    """Request all votes, announce the outcome, and repeat it until all have acknowledged it."""

    def recover(self, part: Part) -> None:
        """Commit what was begun."""
        if part.begun and part.voted_yes:
            self._decide(part.transaction, True)
        super().recover(part)

    @procedure
    async def coordinate(self, plan: Plan) -> None:
        """Decide the outcome of the plan."""
        agreed = await self._is_agreed(plan)
        if agreed:
            others = self._others(self._participants(plan))
            await self.ask_all(others, Commit(plan.transaction), within=self.timing.t_us)
        self._decide(plan.transaction, agreed)
        self.begin(self.announce_outcome, key=plan.transaction)
