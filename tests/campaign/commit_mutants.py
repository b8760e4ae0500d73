"""Two-phase commit with one rule of section 8 removed or inverted: what a campaign has to catch, what is harmless.

Each can be run like a protocol of a user's own: ``lab check tests/campaign/commit_mutants.py:UncertainAborts``.
"""

from collections.abc import Mapping
from functools import cached_property

from msgspec.structs import replace

from lab.kernel import on, procedure
from lab.protocols import TwoPhaseCommit
from lab.protocols.committing import Abort, Acknowledged, Commit, Perform, Performed, Prepare, Vote
from lab.protocols.ledger import Ledger, Part
from lab.protocols.transaction import Entry, Plan, State, Transaction
from lab.protocols.two_phase import Outcome, OutcomeOf

# C1


class ToldBeforeLogged(TwoPhaseCommit):
    """C1: the decision is told, and in the log once it is acknowledged."""

    @procedure
    async def coordinate(self, plan: Plan) -> None:
        """Tell, then decide."""
        agreed = await self._is_agreed(plan)
        if agreed:
            others = self._others(self._participants(plan))
            await self.ask_all(others, Commit(plan.transaction), within=self.timing.t_us)
        self._decide(plan.transaction, agreed)
        self.begin(self.tell_outcome, about=plan.transaction)


class MissingVoteIsYes(TwoPhaseCommit):
    """C1: who does not vote agrees."""

    async def _have_voted(self, plan: Plan, participants: tuple[int, ...]) -> bool:
        """All but a NO will do."""
        message = Prepare(plan.transaction, participants, plan.operations)
        if self._against(message):
            return False
        self._prepare_part(plan.transaction, participants, plan.dispense)
        votes = await self.ask_all(self._others(participants), message, within=self.timing.t_us)
        return all(vote.vote == "YES" for vote in votes.values())


class NotAllAsked(TwoPhaseCommit):
    """C1: one YES is enough."""

    async def _have_voted(self, plan: Plan, participants: tuple[int, ...]) -> bool:
        """A NO of the others is not looked at."""
        message = Prepare(plan.transaction, participants, plan.operations)
        self._prepare_part(plan.transaction, participants, plan.dispense)
        votes = await self.ask_all(self._others(participants), message, within=self.timing.t_us)
        return any(vote.vote == "YES" for vote in votes.values())


class HandedOutTooEarly(TwoPhaseCommit):
    """C1: the cash is handed out with the vote, before the commit point."""

    @cached_property
    def _read(self) -> list[Ledger]:
        return [_Generous(self._opening)]


class _Generous(Ledger):
    def _do(self, part: Part, entry: Entry) -> None:
        super()._do(part, entry)
        self.dispensed += part.dispense
        part.dispense = 0


# C2


class VoteNotForced(TwoPhaseCommit):
    """C2: the vote YES leaves before it is in the log; that is written with the word."""

    @on(Prepare)
    def prepare(self, sender: int, message: Prepare) -> Vote:
        """Vote, and promise nothing."""
        against = self._against(message)
        return Vote("NO", against) if against else Vote("YES")

    @on(Commit)
    def commit(self, sender: int, message: Commit) -> Acknowledged:
        """Whatever there is of it."""
        if self._part(message.transaction).state is State.INITIAL:
            self._prepare_part(message.transaction, ())
        return super().commit(sender, message)


class LossNotNoticed(TwoPhaseCommit):
    """C2: a participant votes YES whether it still has what it did or not."""

    def _against(self, message: Prepare) -> str:
        """Nothing but what it was told."""
        against = super()._against(message)
        return "" if against == "what it did is lost" else against


class UncertainAborts(TwoPhaseCommit):
    """C2: who voted YES and hears nothing decides alone: it aborts."""

    @procedure
    async def inquire_and_wait(self, transaction: Transaction) -> None:
        """Ask nobody."""
        self._decide(transaction, False)


class UncertainCommits(TwoPhaseCommit):
    """C2: who voted YES and hears nothing decides alone: it commits."""

    @procedure
    async def inquire_and_wait(self, transaction: Transaction) -> None:
        """Ask nobody."""
        self._decide(transaction, True)


class DoneTwice(TwoPhaseCommit):
    """C2: a copy of Perform is done as well."""

    @on(Perform)
    def perform(self, sender: int, message: Perform) -> Performed | None:
        """Again."""
        again = message.place in self._work_of(message.transaction).done
        answer = super().perform(sender, message)
        if again and not self._perform(message.transaction, message.place, message.operation):
            work = self._work_of(message.transaction)
            once = replace(work, done=tuple(dict.fromkeys(work.done)))
            self._drop_work(message.transaction)
            self.work += (once,)
        return answer


# C3, C4


class AnswersWithoutAborting(TwoPhaseCommit):
    """C4: who has not voted says that it is aborted, and may vote YES all the same. Harmless: it has waited for
    Prepare since before the other voted, so by the time that one asks it has aborted by itself.
    """

    @on(OutcomeOf)
    def outcome_of(self, sender: int, message: OutcomeOf) -> Outcome:
        """Decide nothing."""
        part = self._part(message.transaction)
        unvoted = part.state is State.INITIAL and not part.begun
        return Outcome(State.ABORTED if unvoted else part.state)


class AbortsWhenAsked(TwoPhaseCommit):
    """C3: who has voted YES aborts when another one asks."""

    @on(OutcomeOf)
    def outcome_of(self, sender: int, message: OutcomeOf) -> Outcome:
        """Whoever does not coordinate it."""
        if not self._part(message.transaction).begun:
            self._decide(message.transaction, False)
        return Outcome(self._part(message.transaction).state)


class NeverAborts(TwoPhaseCommit):
    """C3: who has not voted waits for ever."""

    @procedure
    async def participate(self, transaction: Transaction) -> None:
        """Without a timeout."""
        await self.until(lambda: self._has_voted(transaction), f"Prepare of {transaction}")
        decided = await self.until(
            lambda: self._is_decided(transaction), f"the word on {transaction}", within=self._patience_us
        )
        if not decided:
            self.begin(self.inquire_and_wait, about=transaction)


class NobodyAsked(TwoPhaseCommit):
    """C4: who is uncertain waits. Harmless: the word comes again and again; to ask for it is but quicker."""

    @procedure
    async def inquire_and_wait(self, transaction: Transaction) -> None:
        """For the word."""
        await self.until(lambda: self._is_decided(transaction), f"the word on {transaction}")


# C5


class CommitsAfterCrash(TwoPhaseCommit):
    """C5: a coordinator that crashed before it had decided commits."""

    def recover(self, part: Part) -> None:
        """What others may have aborted."""
        self._decide(part.transaction, True)
        super().recover(part)


class NotToldAfterCrash(TwoPhaseCommit):
    """C5: a coordinator that crashed does not tell what it has decided."""

    def recover(self, part: Part) -> None:
        """Decide, and be silent."""
        if part.begun:
            self._decide(part.transaction, False)
        else:
            super().recover(part)


class ToldOnce(TwoPhaseCommit):
    """C5: the word goes out once. Harmless: whoever misses it has voted YES, and asks; or has not, and aborts."""

    @procedure
    async def tell_outcome(self, transaction: Transaction) -> None:
        """To all, and no more."""
        part = self._part(transaction)
        word = Commit(transaction) if part.state is State.COMMITTED else Abort(transaction)
        await self.ask_all(self._others(part.participants), word, within=self.timing.t_us)
        self._write(Entry("ended", transaction))


class UndoForgotten(TwoPhaseCommit):
    """C5: after a crash what is aborted stays as it was done."""

    crashed: bool = False

    def started(self) -> None:
        """Notice that it did."""
        self.crashed = bool(self.log)
        super().started()

    @property
    def _ledger(self) -> Ledger:
        if self.crashed and type(self._read[0]) is Ledger:
            self._read[0] = _WithoutUndo(self._opening)
        return super()._ledger


class _WithoutUndo(Ledger):
    def _undo(self, part: Part) -> None:
        self._unlock(part)


class RedoForgotten(TwoPhaseCommit):
    """C5: after a crash the changes of what had been prepared are not made again."""

    entries: int = 0

    def started(self) -> None:
        """Remember where the log ended."""
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

    def _take(self, entry: Entry) -> None:
        self._left -= 1
        super()._take(entry)

    def _do(self, part: Part, entry: Entry) -> None:
        before = dict(self.balances)
        super()._do(part, entry)
        if self._left >= 0:
            self.balances = before


# C6


class LocksForgotten(TwoPhaseCommit):
    """C6: after a crash nothing is locked."""

    before: tuple[Transaction, ...] = ()

    def started(self) -> None:
        """Remember what was open."""
        self.before = tuple(self._ledger.open)
        super().started()

    def _holder(self, account: str) -> Transaction | None:
        """Only who has locked it in this life."""
        holder = super()._holder(account)
        return None if holder in self.before else holder


class LocksIgnored(TwoPhaseCommit):
    """C6: a lock of another transaction is not looked at."""

    def _holder(self, account: str) -> Transaction | None:
        """Nobody."""
        return None


EVERYTHING = "kill,pause,partition,delay,loss,duplicate,reorder"
CAUGHT: list[tuple[type[TwoPhaseCommit], str, str, int]] = [
    (ToldBeforeLogged, "A6", "kill", 13),
    (MissingVoteIsYes, "A7", "kill", 1),
    (NotAllAsked, "A7", "kill", 1),
    (HandedOutTooEarly, "A8", "kill", 41),
    (VoteNotForced, "A7", "kill", 2),
    (LossNotNoticed, "A8", "kill", 52),
    (UncertainAborts, "A6", "kill", 21),
    (UncertainCommits, "A6", "kill", 9),
    (DoneTwice, "A8", "duplicate", 3),
    (AbortsWhenAsked, "A6", "partition", 9),
    (CommitsAfterCrash, "A6", "kill", 9),
    (NotToldAfterCrash, "ends", "kill", 13),
    (UndoForgotten, "A8", "kill", 13),
    (RedoForgotten, "A8", "kill", 9),
    (LocksForgotten, "raises", "kill", 91),
    (LocksIgnored, "raises", EVERYTHING, 2),
    (NeverAborts, "ends", "kill,pause,partition", 6),
]
HARMLESS: tuple[type[TwoPhaseCommit], ...] = (AnswersWithoutAborting, NobodyAsked, ToldOnce)
