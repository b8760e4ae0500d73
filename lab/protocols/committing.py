"""What two-phase and three-phase commit have in common: the work, the votes, the log, and the word to all.

A transaction is a plan of operations on accounts, which are kept by several nodes; these and its coordinator are
its participants. The coordinator has the operations performed one after the other, asks for the votes, and when
it is decided, tells everybody until each has acknowledged:

    Perform      one operation: done in place, under a lock; or refused
    Prepare      phase 1: will you commit? The vote YES is a promise, and forced to the log before it leaves (C2)
    Commit       the word, either way; again and again, to whoever has not acknowledged it
    Abort

What is done before the vote is in memory alone, so a crash undoes it, and with it the promise that was never made:
whoever has not done all that it was told to do votes NO. There is no waiting for locks, hence no deadlock (C6).

An operation that arrives twice is done once; a message about what has been decided here changes nothing.
"""

from functools import cached_property
from typing import Any, ClassVar, Literal

from lab.kernel import Payload, Request, Timing, on, procedure
from lab.protocols.cost import CommitCost
from lab.protocols.keeping import Keeping
from lab.protocols.ledger import Part
from lab.protocols.transaction import Entry, Operation, Plan, State, Transaction

__all__ = ["Abort", "Commit", "Committing", "Prepare"]


class Performed(Payload, frozen=True, omit_defaults=True):
    """It is done; or there is something ``against`` it."""

    against: str = ""


class Perform(Request[Performed], frozen=True):
    """Do this operation, the one in that ``place`` of the plan."""

    transaction: Transaction
    place: int
    operation: Operation

    def __str__(self) -> str:
        return f"transaction {self.transaction}; {self.operation}"


class Vote(Payload, frozen=True, omit_defaults=True):
    """YES; or NO, and what there is ``against`` it."""

    vote: Literal["YES", "NO"]
    against: str = ""


class Prepare(Request[Vote], frozen=True):
    """Phase 1: these have a part in it, and this is what all of them were to do."""

    transaction: Transaction
    participants: tuple[int, ...]
    operations: tuple[Operation, ...]


class Acknowledged(Payload, frozen=True):
    """I know now."""


class Commit(Request[Acknowledged], frozen=True):
    """The word: it is committed."""

    transaction: Transaction


class Abort(Request[Acknowledged], frozen=True):
    """The word: it is aborted."""

    transaction: Transaction


class Committing(Keeping):
    """A node that coordinates transactions, and has a part in those of others."""

    promises: ClassVar[tuple[str, ...]] = ("A6", "A7", "A8", "ends")
    cost: ClassVar[CommitCost | None] = None

    class Parameters(Keeping.Parameters, frozen=True):
        """The participants' patience."""

        word_timeout_us: int = 0
        """How long a participant waits for the word of the coordinator; 0: 3·T."""

    @classmethod
    def settles_within_us(cls, timing: Timing, parameters: Any, nodes: int) -> int:
        """The longest plan, the votes, the word, and twice the participants' patience, with time to spare."""
        return 30 * timing.t_us + 2 * int(parameters.word_timeout_us)

    refuses: bool = False

    @cached_property
    def _patience_us(self) -> int:
        return int(self.parameters.word_timeout_us) or 3 * self.timing.t_us

    def _others(self, participants: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(node for node in participants if node != self.id)

    def started(self) -> None:
        """Redo and undo as the log says, and go on from it (C5)."""
        self._show()
        for part in tuple(self._ledger.open.values()):
            self.recover(part)

    def recover(self, part: Part) -> None:
        """Go on with a transaction that was open when this node crashed."""
        raise NotImplementedError

    @on(Perform)
    def perform(self, sender: int, message: Perform) -> Performed | None:
        """Do it, once; who cannot votes NO at once (C6), and forgets what it did."""
        transaction = message.transaction
        part = self._part(transaction)
        if part.state is State.ABORTED:
            return Performed("it is aborted here")
        if part.state is not State.INITIAL:
            return None  # a copy of what was done long ago
        if message.place in self._work_of(transaction).done:
            return Performed()
        against = self._perform(transaction, message.place, message.operation)
        if against:
            self._decide(transaction, False)
        else:
            self.begin(self.participate, about=transaction)
        return Performed(against)

    # the votes

    @on(Prepare)
    def prepare(self, sender: int, message: Prepare) -> Vote:
        """C2: YES, which is forced to the log; or NO, and it is aborted here."""
        transaction = message.transaction
        part = self._part(transaction)
        if part.state is State.INITIAL:
            against = self._against(message)
            if against:
                self._decide(transaction, False)
                return Vote("NO", against)
            self._prepare_part(transaction, message.participants)
        elif part.state is State.ABORTED:
            return Vote("NO", "it is aborted here")
        return Vote("YES")

    def _against(self, message: Prepare) -> str:
        """C2: what keeps this node from voting YES."""
        mine = [k for k, each in enumerate(message.operations) if self._accounts.get(each.account) == self.id]
        if self.refuses:
            self.refuses = False
            return "it was told to refuse"
        return "" if sorted(self._work_of(message.transaction).done) == mine else "what it did is lost"

    # the participant

    @procedure
    async def participate(self, transaction: Transaction) -> None:
        """From its first operation to the word of the coordinator."""
        raise NotImplementedError

    @on(Commit)
    def commit(self, sender: int, message: Commit) -> Acknowledged:
        """The word. Whoever has not voted YES, or has aborted, cannot follow it."""
        part = self._part(message.transaction)
        if part.voted_yes:
            self._decide(message.transaction, True)
        if self._part(message.transaction).state is not State.COMMITTED:
            self.note(f"{message.transaction} was committed, and cannot be here")
        return Acknowledged()

    @on(Abort)
    def abort(self, sender: int, message: Abort) -> Acknowledged:
        """The word."""
        self._decide(message.transaction, False)
        return Acknowledged()

    # the coordinator

    @procedure
    async def coordinate(self, plan: Plan) -> None:
        """C1: from the plan to the decision."""
        raise NotImplementedError

    async def _is_agreed(self, plan: Plan) -> bool:
        """Whether all did their work and all vote YES, this node too (C1)."""
        transaction = plan.transaction
        participants = self._participants(plan)
        self._write(Entry("begin", transaction, participants))
        place = 0
        while place < len(plan.operations):
            against = await self._have_performed(transaction, place, plan.operations[place])
            if against:
                self.note(f"{transaction} is aborted: {against}")
                return False
            place += 1
        return await self._have_voted(plan, participants)

    def _participants(self, plan: Plan) -> tuple[int, ...]:
        return tuple(sorted({self.id, *(self._accounts[each.account] for each in plan.operations)}))

    async def _have_performed(self, transaction: Transaction, place: int, operation: Operation) -> str:
        """Have one operation performed; what there is against it."""
        node = self._accounts[operation.account]
        if node == self.id:
            return self._perform(transaction, place, operation)
        answer = await self.ask(node, Perform(transaction, place, operation), within=self.timing.t_us)
        return f"{node} does not answer" if answer is None else answer.against

    async def _have_voted(self, plan: Plan, participants: tuple[int, ...]) -> bool:
        """Phase 1: every vote counts, and a missing one is a NO."""
        message = Prepare(plan.transaction, participants, plan.operations)
        against = self._against(message)
        if against:
            self.note(f"{plan.transaction} is aborted: {against}")
            return False
        self._prepare_part(plan.transaction, participants, plan.dispense)
        others = self._others(participants)
        votes = await self.ask_all(others, message, within=self.timing.t_us)
        refusals = [f"{node} votes NO, {vote.against}" for node, vote in votes.items() if vote.vote == "NO"]
        refusals += [f"{node} did not vote" for node in others if node not in votes]
        if refusals:
            self.note(f"{plan.transaction} is aborted: {'; '.join(refusals)}")
        return not refusals

    @procedure
    async def tell_outcome(self, transaction: Transaction) -> None:
        """C5: the word to all, and again to whoever has not acknowledged it, if any may have voted YES."""
        part = self._part(transaction)
        word = Commit(transaction) if part.state is State.COMMITTED else Abort(transaction)
        untold = self._others(part.participants)
        while untold:
            told = await self.ask_all(untold, word, within=self.timing.t_us)
            # before this node voted, nobody was asked to; who has not voted aborts by itself (C3)
            untold = tuple(node for node in untold if node not in told) if part.voted_yes else ()
            if untold:
                await self.sleep(self.timing.t_us, f"the next word to {', '.join(map(str, untold))}")
        self._write(Entry("ended", transaction))
