"""The common part of two-phase and three-phase commit: operations, votes, the log, and the decision to all.

A transaction is a plan of operations on accounts of several nodes; these nodes and the coordinator are its
participants. The coordinator has the operations performed one after the other, collects the votes, and sends the
decision to all participants until each has acknowledged it:

    Perform      one operation: done in place, under a lock; or refused
    Prepare      phase 1: can you commit? The vote YES is a promise, forced to the log before it is sent (C2)
    Commit       the decision; resent until acknowledged
    Abort        the same

Work before the vote is only in memory, so a crash loses it. A participant that has not done all of its operations
votes NO. No operation waits for a lock, so there is no deadlock (C6).

Duplicate operations are performed once; a message about a transaction that is decided here has no effect.
"""

from functools import cached_property
from typing import Any, ClassVar, Literal

from msgspec import Struct

from lab.kernel import Payload, Request, Timing, on, procedure
from lab.protocols.cost import CommitCost, Formula
from lab.protocols.ledger import Part
from lab.protocols.participant_storage import ParticipantStorage
from lab.protocols.transaction import Entry, Operation, Plan, State, Transaction

__all__ = ["Abort", "Commit", "Committing", "Participation", "Prepare"]


class Participation(Struct, frozen=True):
    """The part of a node in a transaction: ``following`` operations of the plan come after its first one."""

    transaction: Transaction
    following: int

    def __str__(self) -> str:
        return str(self.transaction)


class Performed(Payload, frozen=True, omit_defaults=True):
    """Done; or refused, for the reason in ``against``."""

    against: str = ""


class Perform(Request[Performed], frozen=True, omit_defaults=True):
    """Perform this operation, the one at ``place`` in the plan; ``following`` operations come after it."""

    transaction: Transaction
    place: int
    operation: Operation
    following: int = 0

    def __str__(self) -> str:
        return f"transaction {self.transaction}; {self.operation}"


class Vote(Payload, frozen=True, omit_defaults=True):
    """YES; or NO, for the reason in ``against``."""

    vote: Literal["YES", "NO"]
    against: str = ""


class Prepare(Request[Vote], frozen=True):
    """Phase 1: vote on this transaction of these participants and operations."""

    transaction: Transaction
    participants: tuple[int, ...]
    operations: tuple[Operation, ...]


class Acknowledged(Payload, frozen=True):
    """I have the decision."""


class Commit(Request[Acknowledged], frozen=True):
    """The decision: the transaction is committed."""

    transaction: Transaction


class Abort(Request[Acknowledged], frozen=True):
    """The decision: the transaction is aborted."""

    transaction: Transaction


class Committing(ParticipantStorage):
    """A node that coordinates transactions and participates in those of others."""

    promises: ClassVar[tuple[str, ...]] = ("A6", "A7", "A8", "solvent", "commits", "ends")
    extension: ClassVar[str | type] = "lab.tasks.bank.bank_extension:BankExtension"
    writes_text: ClassVar[bool] = True
    log_entry: ClassVar[type | None] = Entry
    cost: ClassVar[CommitCost | None] = None

    class Parameters(ParticipantStorage.Parameters, frozen=True):
        """The timeout of participants."""

        decision_timeout_us: int = 0
        """Time to wait: for Prepare before a participant aborts (and T for each operation of the plan that comes
        after its first one), for the decision before it asks; 0: 3·T."""

    @classmethod
    def formulas(cls) -> list[Formula]:
        """Return the messages and the forced writes of a commit."""
        if cls.cost is None:
            return super().formulas()
        messages, writes = cls.cost.messages, cls.cost.writes
        of_all = "messages of a commit, with n participants besides the coordinator"
        return [
            Formula(str(messages), of_all, messages.counted),
            Formula(str(writes), "forced writes of all nodes", writes.counted),
            *super().formulas(),
        ]

    @classmethod
    def settles_within_us(cls, timing: Timing, parameters: Any, nodes: int) -> int:
        """Allow for the longest plan, the votes, the decision, and twice the participants' timeout, with slack."""
        accounts = nodes * int(parameters.accounts)
        longer = 2 * max(0, accounts - 5)  # a collection has two operations for each account but one
        return (30 + longer) * timing.t_us + 2 * int(parameters.decision_timeout_us)

    refuses: bool = False

    @cached_property
    def _timeout_us(self) -> int:
        return int(self.parameters.decision_timeout_us) or 3 * self.timing.t_us

    def _others(self, participants: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(node for node in participants if node != self.id)

    def started(self) -> None:
        """Recover from the log: redo, undo, and continue open transactions (rule C5)."""
        self._update_display()
        for part in tuple(self._ledger.open.values()):
            self.recover(part)

    def recover(self, part: Part) -> None:
        """Continue a transaction that was open when this node crashed."""
        raise NotImplementedError

    @on(Perform)
    def on_perform(self, sender: int, message: Perform) -> Performed | None:
        """Perform an operation once; on refusal abort the transaction here, undoing its work (rule C6)."""
        transaction = message.transaction
        part = self._part(transaction)
        if part.state is State.ABORTED:
            return Performed("it is aborted here")
        if part.state is not State.INITIAL:
            return None  # a duplicate of an operation performed long ago
        if message.place in self._work_of(transaction).done:
            return Performed()
        against = self._perform(transaction, message.place, message.operation)
        if against:
            self._decide(transaction, False)
        else:
            self.begin(self.participate, key=Participation(transaction, message.following))
        return Performed(against)

    # the votes

    @on(Prepare)
    def on_prepare(self, sender: int, message: Prepare) -> Vote:
        """Vote YES, forced to the log, or vote NO and abort the transaction here (rule C2)."""
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
        """Return why this node cannot vote YES, or "" (rule C2)."""
        mine = [k for k, each in enumerate(message.operations) if self._accounts.get(each.account) == self.id]
        if self.refuses:
            self.refuses = False
            return "the user told it to refuse"
        return "" if sorted(self._work_of(message.transaction).done) == mine else "what it did is lost"

    # the participant

    @procedure
    async def participate(self, participation: Participation) -> None:
        """Take part from the first operation to the decision."""
        raise NotImplementedError

    def _prepare_within_us(self, participation: Participation) -> int:
        """Return the time to wait for Prepare: each operation after this node's first takes at most T."""
        return self._timeout_us + participation.following * self.timing.t_us

    @on(Commit)
    def on_commit(self, sender: int, message: Commit) -> Acknowledged:
        """Commit, if this node has voted YES and not aborted; otherwise note the contradiction."""
        part = self._part(message.transaction)
        if part.voted_yes:
            self._decide(message.transaction, True)
        if self._part(message.transaction).state is not State.COMMITTED:
            self.note(f"{message.transaction} was committed, but cannot be committed here")
        return Acknowledged()

    @on(Abort)
    def on_abort(self, sender: int, message: Abort) -> Acknowledged:
        """Abort the transaction."""
        self._decide(message.transaction, False)
        return Acknowledged()

    # the coordinator

    @procedure
    async def coordinate(self, plan: Plan) -> None:
        """Coordinate a transaction from the plan to the decision (rule C1)."""
        raise NotImplementedError

    async def _is_agreed(self, plan: Plan) -> bool:
        """Have all operations performed and all votes collected; return whether all votes are YES (rule C1)."""
        transaction = plan.transaction
        participants = self._participants(plan)
        self._write(Entry("begin", transaction, participants))
        place = 0
        while place < len(plan.operations):
            against = await self._request_operation(plan, place)
            if against:
                self.note(f"{transaction} is aborted: {against}")
                return False
            place += 1
        return await self._request_votes(plan, participants)

    def _participants(self, plan: Plan) -> tuple[int, ...]:
        return tuple(sorted({self.id, *(self._accounts[each.account] for each in plan.operations)}))

    async def _request_operation(self, plan: Plan, place: int) -> str:
        """Have one operation performed; return the reason if it was refused, otherwise ""."""
        operation = plan.operations[place]
        node = self._accounts[operation.account]
        if node == self.id:
            return self._perform(plan.transaction, place, operation)
        request = Perform(plan.transaction, place, operation, len(plan.operations) - place - 1)
        answer = await self.ask(node, request, within=self.timing.t_us)
        return f"{node} does not answer" if answer is None else answer.against

    async def _request_votes(self, plan: Plan, participants: tuple[int, ...]) -> bool:
        """Collect the votes, phase 1; a missing vote counts as NO."""
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
    async def announce_outcome(self, transaction: Transaction) -> None:
        """Send the decision to all participants; resend it if any may have voted YES (rule C5)."""
        part = self._part(transaction)
        decision = Commit(transaction) if part.state is State.COMMITTED else Abort(transaction)
        unacknowledged = self._others(part.participants)
        while unacknowledged:
            acknowledged = await self.ask_all(unacknowledged, decision, within=self.timing.t_us)
            # if this node has not voted, it has asked nobody to; nodes without a vote abort by themselves (C3)
            unacknowledged = (
                tuple(node for node in unacknowledged if node not in acknowledged) if part.voted_yes else ()
            )
            if unacknowledged:
                await self.sleep(self.timing.t_us, f"time to resend to {', '.join(map(str, unacknowledged))}")
        self._write(Entry("ended", transaction))
