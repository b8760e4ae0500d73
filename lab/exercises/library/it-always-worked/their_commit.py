"""Two-phase commit that requests and counts votes in its own way."""

from lab.protocols import TwoPhaseCommit
from lab.protocols.committing import Prepare
from lab.protocols.transaction import Plan


class TheirCommit(TwoPhaseCommit):
    """Work, votes, decision, and its announcement."""

    async def _request_votes(self, plan: Plan, participants: tuple[int, ...]) -> bool:
        """Phase 1."""
        message = Prepare(plan.transaction, participants, plan.operations)
        against = self._against(message)
        if against:
            self.note(f"{plan.transaction} is aborted: {against}")
            return False
        self._prepare_part(plan.transaction, participants, plan.dispense)
        votes = await self.ask_all(self._others(participants), message, within=self.timing.t_us)
        return all(vote.vote == "YES" for vote in votes.values())
