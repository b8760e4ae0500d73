"""The decision is in the log before anybody hears of it; after that, what is told can be told again."""

from lab.kernel import procedure
from lab.protocols import TwoPhaseCommit
from lab.protocols.transaction import Plan


class MyCommit(TwoPhaseCommit):
    """Ask all for their votes, tell all the outcome, and go on telling until all have it."""

    @procedure
    async def coordinate(self, plan: Plan) -> None:
        """From the plan to the outcome."""
        agreed = await self._is_agreed(plan)
        self._decide(plan.transaction, agreed)
        self.begin(self.tell_outcome, about=plan.transaction)
