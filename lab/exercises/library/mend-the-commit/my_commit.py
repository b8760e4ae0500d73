"""Two-phase commit, with a coordinator that tells the good news as soon as it can."""

from lab.kernel import procedure
from lab.protocols import TwoPhaseCommit
from lab.protocols.committing import Commit
from lab.protocols.transaction import Plan


class MyCommit(TwoPhaseCommit):
    """Ask all for their votes, tell all the outcome, and go on telling until all have it."""

    @procedure
    async def coordinate(self, plan: Plan) -> None:
        """From the plan to the outcome."""
        agreed = await self._is_agreed(plan)
        if agreed:
            others = self._others(self._participants(plan))
            await self.ask_all(others, Commit(plan.transaction), within=self.timing.t_us)
        self._decide(plan.transaction, agreed)
        self.begin(self.tell_outcome, about=plan.transaction)
