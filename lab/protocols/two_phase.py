"""Two-phase commit (rules C1-C6), over a bank.

The coordinator collects the votes and decides, and the others do as they are told:

    coordinate     all did their work and all vote YES: COMMIT; else, or where a vote is missing after T, ABORT
    tell_outcome   the word to all, until each has acknowledged it
    participate    wait for Prepare, then for the word; ask, where it does not come (inquire)
    inquire        OutcomeOf to the coordinator, then to the other participants (cooperative termination)

The commit point is the coordinator's entry *committed* in its log: in safe storage before any Commit leaves, so
that the decision outlives whatever happens then. Before it, a crash of the coordinator is an abort (C5).

Between its vote YES and the word a participant is *uncertain*: it may neither commit, since another may have voted
NO, nor abort, since the coordinator may have told others to commit. It holds its locks and asks. Whoever knows the
outcome tells it; whoever has not voted yet aborts, and so it is known; but when all that can be reached are
uncertain too, all of them wait for one to come back: two-phase commit blocks (C4).

What a node relies on is its safe storage (4), and that nobody speaks in another's name (3: duplication does no
harm). Late, lost and overtaking messages, pauses, cuts and crashes cost time, and no agreement.
"""

from enum import Enum
from typing import ClassVar

from lab.kernel import Auxiliary, Payload, Request, on, procedure
from lab.protocols.bank import Bank
from lab.protocols.cost import CommitCost, Linear
from lab.protocols.ledger import Part
from lab.protocols.transaction import DECIDED, Plan, State, Transaction

__all__ = ["CommitStatus", "TwoPhaseCommit"]


class CommitStatus(Enum):
    """What keeps a node busy: the gravest of its open transactions."""

    IDLE = "Idle"
    WORKING = "Working"
    UNCERTAIN = "Uncertain"
    BLOCKED = "Blocked"


class Outcome(Payload, frozen=True):
    """What the transaction is to me."""

    state: State


class OutcomeOf(Request[Outcome], frozen=True):
    """I voted YES, and hear nothing: what became of it?"""

    transaction: Transaction


class TwoPhaseCommit(Bank):
    """Two-phase commit: the coordinator decides, and whoever is uncertain waits for its word."""

    name: ClassVar[str] = "2pc"
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
        """C5: a coordinator without a decision aborts, and tells what is decided; whoever is prepared asks."""
        if part.begun:
            self._decide(part.transaction, False)
            self.begin(self.tell_outcome, about=part.transaction)
        else:
            self.begin(self.inquire_and_wait, about=part.transaction)

    @procedure
    async def coordinate(self, plan: Plan) -> None:
        """C1: what is decided is in the log before it is told."""
        agreed = await self._is_agreed(plan)
        self._decide(plan.transaction, agreed)
        self.begin(self.tell_outcome, about=plan.transaction)

    @procedure
    async def participate(self, transaction: Transaction) -> None:
        """C2, C3: who has not voted may abort; who has must ask."""
        voted = await self.until(
            lambda: self._has_voted(transaction), f"Prepare of {transaction}", within=self._patience_us
        )
        if not voted:
            self._decide(transaction, False)
        decided = await self.until(
            lambda: self._is_decided(transaction), f"the word on {transaction}", within=self._patience_us
        )
        if not decided:
            self.begin(self.inquire_and_wait, about=transaction)

    def _has_voted(self, transaction: Transaction) -> bool:
        return self._part(transaction).state is not State.INITIAL

    @procedure
    async def inquire_and_wait(self, transaction: Transaction) -> None:
        """C4: ask until it is known; in between wait, for the word may come by itself."""
        while not self._is_decided(transaction):
            await self._inquire(transaction)
            await self.until(
                lambda: self._is_decided(transaction), f"the word on {transaction}", within=self.timing.t_us
            )

    async def _inquire(self, transaction: Transaction) -> None:
        """C4: the coordinator, then the other participants. Blocked, if none of them knows."""
        answer = await self.ask(transaction.node, OutcomeOf(transaction), within=self.timing.t_us)
        if answer is not None and answer.state in DECIDED:
            self._decide(transaction, answer.state is State.COMMITTED)
            return
        others = self._others(self._part(transaction).participants)
        answers = await self.ask_all(
            (node for node in others if node != transaction.node),
            OutcomeOf(transaction),
            within=self.timing.t_us,
        )
        known = [each.state for each in answers.values() if each.state in DECIDED]
        if known:
            self._decide(transaction, known[0] is State.COMMITTED)
        elif answer is None:
            self._shows_blocked(transaction)

    @on(OutcomeOf)
    def outcome_of(self, sender: int, message: OutcomeOf) -> Outcome:
        """C3, C4: who has not voted aborts, and never votes YES; the coordinator is still about it."""
        part = self._part(message.transaction)
        if part.state is State.INITIAL and not part.begun:
            self._decide(message.transaction, False)
        return Outcome(self._part(message.transaction).state)

    def _show(self) -> None:
        super()._show()
        self._show_status()

    def _shows_blocked(self, transaction: Transaction) -> None:
        super()._shows_blocked(transaction)
        self._show_status()

    def _show_status(self) -> None:
        if not self.open:
            self.status = CommitStatus.IDLE
        elif any(each.blocked_us is not None for each in self.open):
            self.status = CommitStatus.BLOCKED
        elif any(each.state is State.UNCERTAIN and each.transaction.node != self.id for each in self.open):
            self.status = CommitStatus.UNCERTAIN
        else:
            self.status = CommitStatus.WORKING
