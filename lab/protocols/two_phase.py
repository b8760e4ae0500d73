"""Two-phase commit (rules C1-C6), over a bank.

The coordinator collects the votes and decides; the participants follow its decision:

    coordinate         all operations done and all votes YES: COMMIT; otherwise, or after T without a vote, ABORT
    announce_outcome   the decision to all participants, until each has acknowledged it
    participate        wait for Prepare, then for the decision; if it does not come, inquire
    inquire            OutcomeOf to the coordinator, then to the other participants (cooperative termination)

The commit point is the coordinator's entry *committed* in its log. It is in stable storage before any Commit is
sent, so the decision survives crashes. Before the commit point, a crash of the coordinator means abort (C5).

Between its vote YES and the decision a participant is *uncertain*. It must not commit, since another participant
may have voted NO; it must not abort, since the coordinator may have told others to commit. It holds its locks and
asks. A node that knows the outcome answers with it; a node that has not voted yet aborts, which decides the
outcome. But if all reachable nodes are uncertain too, they wait until another recovers: two-phase commit blocks
(C4).

Agreement relies on stable storage (4), and on messages being genuine (3; duplication does no harm). Delay, loss
and reordering of messages, pauses, cuts and crashes cost time, but never agreement.
"""

from enum import Enum
from typing import ClassVar

from lab.kernel import Auxiliary, Payload, Request, on, procedure
from lab.protocols.bank import Bank
from lab.protocols.committing import Participation
from lab.protocols.cost import CommitCost, Linear
from lab.protocols.ledger import Part
from lab.protocols.transaction import DECIDED, Plan, State, Transaction

__all__ = ["CommitStatus", "TwoPhaseCommit"]


class CommitStatus(Enum):
    """The status of a node: that of its most critical open transaction."""

    IDLE = "Idle"
    WORKING = "Working"
    UNCERTAIN = "Uncertain"
    BLOCKED = "Blocked"


class Outcome(Payload, frozen=True):
    """The state of the transaction at this node."""

    state: State


class OutcomeOf(Request[Outcome], frozen=True):
    """A question for the outcome, by a participant that voted YES and hears nothing."""

    transaction: Transaction


class TwoPhaseCommit(Bank):
    """Two-phase commit: the coordinator decides; uncertain participants wait for the decision."""

    name: ClassVar[str] = "2pc"
    promises: ClassVar[tuple[str, ...]] = (*Bank.promises, "shows")
    relies_on: ClassVar[dict[str, tuple[int, ...]]] = {
        "A6": (4,),
        "A7": (4,),
        "A8": (4,),
        "ends": (4,),
    }

    cost: ClassVar[CommitCost] = CommitCost(
        Linear(3, 0, "Prepare, Vote and Commit, of each"),
        Linear(2, 4, "prepared and committed, of each; begin and ended too, of the coordinator"),
    )

    status: Auxiliary[CommitStatus] = CommitStatus.IDLE

    def recover(self, part: Part) -> None:
        """Recover: a coordinator aborts if undecided and resends the decision; a participant asks (rule C5)."""
        if part.begun:
            self._decide(part.transaction, False)
            self.begin(self.announce_outcome, key=part.transaction)
        else:
            self.begin(self.inquire_and_wait, key=part.transaction)

    @procedure
    async def coordinate(self, plan: Plan) -> None:
        """Decide, with the decision in the log before it is sent (rule C1)."""
        agreed = await self._is_agreed(plan)
        self._decide(plan.transaction, agreed)
        self.begin(self.announce_outcome, key=plan.transaction)

    @procedure
    async def participate(self, participation: Participation) -> None:
        """On a timeout, abort before the vote, and ask after it (rules C2, C3)."""
        transaction = participation.transaction
        voted = await self.until(
            lambda: self._has_voted(transaction),
            f"Prepare of {transaction}",
            within=self._prepare_within_us(participation),
        )
        if not voted:
            self._decide(transaction, False)
        decided = await self.until(
            lambda: self._is_decided(transaction), f"the decision on {transaction}", within=self._timeout_us
        )
        if not decided:
            self.begin(self.inquire_and_wait, key=transaction)

    def _has_voted(self, transaction: Transaction) -> bool:
        return self._part(transaction).state is not State.INITIAL

    @procedure
    async def inquire_and_wait(self, transaction: Transaction) -> None:
        """Ask until the outcome is known; wait in between, since the decision may still arrive (rule C4)."""
        while not self._is_decided(transaction):
            await self._inquire(transaction)
            await self.until(
                lambda: self._is_decided(transaction), f"the decision on {transaction}", within=self.timing.t_us
            )

    async def _inquire(self, transaction: Transaction) -> None:
        """Ask the coordinator, then the other participants; if none knows, the node is blocked (rule C4)."""
        answer = await self.ask(transaction.node, OutcomeOf(transaction), within=self.timing.t_us)
        if answer is not None and answer.state in DECIDED:
            self._decide(transaction, answer.state is State.COMMITTED)
            return
        others = self._others(self._part(transaction).participants)
        replies = await self.ask_all(
            (node for node in others if node != transaction.node),
            OutcomeOf(transaction),
            within=self.timing.t_us,
        )
        known = [each.state for each in replies.values() if each.state in DECIDED]
        if known:
            self._decide(transaction, known[0] is State.COMMITTED)
        elif answer is None:
            self._mark_blocked(transaction)

    @on(OutcomeOf)
    def on_outcome_of(self, sender: int, message: OutcomeOf) -> Outcome:
        """Answer with the state; abort first if this node has not voted and does not coordinate (C3, C4)."""
        part = self._part(message.transaction)
        if part.state is State.INITIAL and not part.begun:
            self._decide(message.transaction, False)
        return Outcome(self._part(message.transaction).state)

    def _update_display(self, changed: Transaction | None = None) -> None:
        super()._update_display(changed)
        self._update_status()

    def _mark_blocked(self, transaction: Transaction) -> None:
        super()._mark_blocked(transaction)
        self._update_status()

    def _update_status(self) -> None:
        waiting = [each for each in self.open if each.state is State.UNCERTAIN]
        if not self.open:
            self.status = CommitStatus.IDLE
        elif any(each.blocked_since_us is not None for each in waiting):
            self.status = CommitStatus.BLOCKED
        elif any(each.transaction.node != self.id for each in waiting):
            self.status = CommitStatus.UNCERTAIN
        else:
            self.status = CommitStatus.WORKING
