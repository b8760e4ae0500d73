"""Two-phase commit with one rule of section 8 removed or inverted: to be caught by a campaign, or harmless.

Each runs like a user's own protocol: ``lab check tests/campaign/commit_mutants.py:UncertainAborts``.
"""

from collections.abc import Mapping
from functools import cached_property

from msgspec.structs import replace

from lab.kernel import on, procedure
from lab.protocols import TwoPhaseCommit
from lab.protocols.committing import Abort, Acknowledged, Commit, Participation, Perform, Performed, Prepare, Vote
from lab.protocols.ledger import Ledger, Part
from lab.protocols.transaction import Entry, Plan, State, Transaction
from lab.protocols.two_phase import Outcome, OutcomeOf

# C1


class DecisionSentBeforeLogged(TwoPhaseCommit):
    """C1: the decision is sent first, and logged once it is acknowledged."""

    @procedure
    async def coordinate(self, plan: Plan) -> None:
        agreed = await self._is_agreed(plan)
        if agreed:
            others = self._others(self._participants(plan))
            await self.ask_all(others, Commit(plan.transaction), within=self.timing.t_us)
        self._decide(plan.transaction, agreed)
        self.begin(self.announce_outcome, key=plan.transaction)


class MissingVoteIsYes(TwoPhaseCommit):
    """C1: a missing vote counts as YES."""

    async def _request_votes(self, plan: Plan, participants: tuple[int, ...]) -> bool:
        message = Prepare(plan.transaction, participants, plan.operations)
        if self._against(message):
            return False
        self._prepare_part(plan.transaction, participants, plan.dispense)
        votes = await self.ask_all(self._others(participants), message, within=self.timing.t_us)
        return all(vote.vote == "YES" for vote in votes.values())


class NotAllAsked(TwoPhaseCommit):
    """C1: one YES is enough."""

    async def _request_votes(self, plan: Plan, participants: tuple[int, ...]) -> bool:
        message = Prepare(plan.transaction, participants, plan.operations)
        self._prepare_part(plan.transaction, participants, plan.dispense)
        votes = await self.ask_all(self._others(participants), message, within=self.timing.t_us)
        return any(vote.vote == "YES" for vote in votes.values())


class HandedOutTooEarly(TwoPhaseCommit):
    """C1: the cash is paid out with the vote, before the commit point."""

    @cached_property
    def _read(self) -> list[Ledger]:
        return [_Generous(self._opening)]


class _Generous(Ledger):
    def _apply_prepared(self, part: Part, entry: Entry) -> None:
        super()._apply_prepared(part, entry)
        self.cash_out += part.dispense
        part.dispense = 0


# C2


class VoteNotForced(TwoPhaseCommit):
    """C2: the vote YES is sent before it is in the log; it is written with the decision."""

    @on(Prepare)
    def on_prepare(self, sender: int, message: Prepare) -> Vote:
        against = self._against(message)
        return Vote("NO", against) if against else Vote("YES")

    @on(Commit)
    def on_commit(self, sender: int, message: Commit) -> Acknowledged:
        if self._part(message.transaction).state is State.INITIAL:
            self._prepare_part(message.transaction, ())
        return super().on_commit(sender, message)


class LossNotNoticed(TwoPhaseCommit):
    """C2: a participant votes YES whether or not its part of the transaction survived."""

    def _against(self, message: Prepare) -> str:
        against = super()._against(message)
        return "" if against == "what it did is lost" else against


class UncertainAborts(TwoPhaseCommit):
    """C2: an uncertain participant that hears nothing aborts on its own."""

    @procedure
    async def inquire_and_wait(self, transaction: Transaction) -> None:
        self._decide(transaction, False)


class UncertainCommits(TwoPhaseCommit):
    """C2: an uncertain participant that hears nothing commits on its own."""

    @procedure
    async def inquire_and_wait(self, transaction: Transaction) -> None:
        self._decide(transaction, True)


class DoneTwice(TwoPhaseCommit):
    """C2: a duplicate of Perform is performed again."""

    @on(Perform)
    def on_perform(self, sender: int, message: Perform) -> Performed | None:
        again = message.place in self._work_of(message.transaction).done
        answer = super().on_perform(sender, message)
        if again and not self._perform(message.transaction, message.place, message.operation):
            work = self._work_of(message.transaction)
            once = replace(work, done=tuple(dict.fromkeys(work.done)))
            self._drop_work(message.transaction)
            self.work += (once,)
        return answer


# C3, C4


class AnswersWithoutAborting(TwoPhaseCommit):
    """C4: a node that has not voted answers *aborted*, and may still vote YES.

    Harmless: it has waited for Prepare since before the other voted, so by the time of the question it has aborted
    itself.
    """

    @on(OutcomeOf)
    def on_outcome_of(self, sender: int, message: OutcomeOf) -> Outcome:
        part = self._part(message.transaction)
        unvoted = part.state is State.INITIAL and not part.begun
        return Outcome(State.ABORTED if unvoted else part.state)


class AbortsWhenAsked(TwoPhaseCommit):
    """C3: a node that has voted YES aborts when another one asks."""

    @on(OutcomeOf)
    def on_outcome_of(self, sender: int, message: OutcomeOf) -> Outcome:
        if not self._part(message.transaction).begun:
            self._decide(message.transaction, False)
        return Outcome(self._part(message.transaction).state)


class NeverAborts(TwoPhaseCommit):
    """C3: a node that has not voted waits forever."""

    @procedure
    async def participate(self, participation: Participation) -> None:
        transaction = participation.transaction
        await self.until(lambda: self._has_voted(transaction), f"Prepare of {transaction}")
        decided = await self.until(
            lambda: self._is_decided(transaction), f"the decision on {transaction}", within=self._timeout_us
        )
        if not decided:
            self.begin(self.inquire_and_wait, key=transaction)


class NobodyAsked(TwoPhaseCommit):
    """C4: an uncertain node waits. Harmless: the decision is sent repeatedly; asking for it is only faster."""

    @procedure
    async def inquire_and_wait(self, transaction: Transaction) -> None:
        await self.until(lambda: self._is_decided(transaction), f"the decision on {transaction}")


# C5


class CommitsAfterCrash(TwoPhaseCommit):
    """C5: a coordinator that crashed before it had decided commits."""

    def recover(self, part: Part) -> None:
        self._decide(part.transaction, True)
        super().recover(part)


class DecisionLostAfterCrash(TwoPhaseCommit):
    """C5: a coordinator that crashed does not send its decision."""

    def recover(self, part: Part) -> None:
        if part.begun:
            self._decide(part.transaction, False)
        else:
            super().recover(part)


class DecisionSentOnce(TwoPhaseCommit):
    """C5: the decision is sent once.

    Harmless: a node that misses it has voted YES, and asks; or has not voted, and aborts.
    """

    @procedure
    async def announce_outcome(self, transaction: Transaction) -> None:
        part = self._part(transaction)
        word = Commit(transaction) if part.state is State.COMMITTED else Abort(transaction)
        await self.ask_all(self._others(part.participants), word, within=self.timing.t_us)
        self._write(Entry("ended", transaction))


class UndoForgotten(TwoPhaseCommit):
    """C5: after a crash, changes of an aborted transaction are not undone."""

    crashed: bool = False

    def started(self) -> None:
        self.crashed = bool(self.log)
        super().started()

    @property
    def _ledger(self) -> Ledger:
        if self.crashed and type(self._read[0]) is Ledger:
            self._read[0] = _WithoutUndo(self._opening)
        return super()._ledger


class _WithoutUndo(Ledger):
    def _apply_aborted(self, part: Part) -> None:
        self._unlock(part)


class RedoForgotten(TwoPhaseCommit):
    """C5: after a crash, changes of prepared transactions are not made again."""

    entries: int = 0

    def started(self) -> None:
        self.entries = len(self.log)
        super().started()

    @property
    def _ledger(self) -> Ledger:
        if self.entries and type(self._read[0]) is Ledger:
            self._read[0] = _WithoutRedo(self._opening, self.entries)
        return super()._ledger


class _WithoutRedo(Ledger):
    def __init__(self, opening: Mapping[str, int], entries: int) -> None:
        super().__init__(opening)
        self._left = entries

    def _apply(self, entry: Entry) -> None:
        self._left -= 1
        super()._apply(entry)

    def _apply_prepared(self, part: Part, entry: Entry) -> None:
        before = dict(self.balances)
        super()._apply_prepared(part, entry)
        if self._left >= 0:
            self.balances = before


# C6


class LocksForgotten(TwoPhaseCommit):
    """C6: after a crash nothing is locked."""

    before: tuple[Transaction, ...] = ()

    def started(self) -> None:
        self.before = tuple(self._ledger.open)
        super().started()

    def _holder(self, account: str) -> Transaction | None:
        holder = super()._holder(account)
        return None if holder in self.before else holder


class LocksIgnored(TwoPhaseCommit):
    """C6: a lock of another transaction is ignored."""

    def _holder(self, account: str) -> Transaction | None:
        return None


EVERYTHING = "kill,pause,partition,delay,loss,duplicate,reorder"
CAUGHT: list[tuple[type[TwoPhaseCommit], str, str, int]] = [
    (DecisionSentBeforeLogged, "A6", "kill", 13),
    (MissingVoteIsYes, "A7", "kill", 1),
    (NotAllAsked, "A7", "kill", 1),
    (HandedOutTooEarly, "A8", "kill", 47),
    (VoteNotForced, "A7", "kill", 2),
    (LossNotNoticed, "A8", "kill", 40),
    (UncertainAborts, "A6", "kill", 29),
    (UncertainCommits, "A6", "kill", 19),
    (DoneTwice, "A8", "duplicate", 3),
    (AbortsWhenAsked, "A6", "partition", 79),
    (CommitsAfterCrash, "A6", "kill", 11),
    (DecisionLostAfterCrash, "ends", "kill", 2),
    (UndoForgotten, "A8", "kill", 77),
    (RedoForgotten, "A8", "kill", 2),
    (LocksForgotten, "raises", "kill", 811),
    (LocksIgnored, "raises", EVERYTHING, 2),
    (NeverAborts, "ends", "kill,pause,partition", 16),
]
HARMLESS: tuple[type[TwoPhaseCommit], ...] = (AnswersWithoutAborting, NobodyAsked, DecisionSentOnce)
