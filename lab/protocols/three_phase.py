"""Three-phase commit (rules P1-P5), over a bank, above an election.

Between the votes and the decision there is a phase in which everybody comes to know that all voted YES:

    coordinate         Prepare, and all vote YES; PreCommit, until all acknowledge or are taken for failed; Commit
    participate        initial, uncertain after the vote, commitable after PreCommit; and the word
    terminate          no word for 3·T: Orphaned to the elected coordinator, until it is known what became of it
    lead_termination   the elected coordinator asks all for their states, and follows the first rule that fits

So nobody has committed while anyone that is up is uncertain; and a majority that is up can end a transaction
without its coordinator, where two-phase commit would have to wait for it. The rules are in termination.py. The new
coordinator is elected by the election below, for real, in the same nodes; it need not be a participant itself.

What is assumed, and can be broken here: silence is a crash. Messages come within Tm (8: loss, delay, partition)
and nodes answer within Tp (9: pause). In a partition the coordinator takes those beyond the cut for failed and
commits, while these elect another one, are uncertain by majority, and abort: the famous counter-example.

Two places at which the lecture's rules leave out what crashed nodes that come back make of them, and what is done
here:

* Rule 4 counts the uncertain. One that crashed and came back is uncertain still, but the coordinator may have
  taken it for failed, and committed without it. So of those counted one must not have crashed since its vote, or
  all participants must answer.
* A participant that became commitable crashes; the others begin to abort by rule 4, led by a node that crashes
  too; and the first comes back, commitable beside abortable ones, for which no rule fits, though a majority is up.
  So every attempt has a round, and the newest is carried on. Who has answered in one takes no part in an older
  one: a former coordinator cannot go on beside the new one.

And where by rule 3 the elected coordinator goes on by the standard plan, and would take silent participants for
failed, it waits here until more than half are commitable, as by rule 4 it waits until more than half are
abortable. With crashes alone that makes no difference; in a partition, two elected coordinators cannot decide
differently. The first coordinator, which takes silence for failure as P1 has it, still can.
"""

from collections.abc import Mapping
from typing import ClassVar, Literal

from msgspec import Struct

from lab.kernel import Payload, Request, on, procedure
from lab.protocols.bank import Bank
from lab.protocols.committing import Abort, Commit
from lab.protocols.cost import CommitCost, Linear
from lab.protocols.election import Election, Status
from lab.protocols.ledger import Part
from lab.protocols.task import Task
from lab.protocols.termination import StateAnswer, next_state
from lab.protocols.transaction import DECIDED, Entry, Plan, Round, State, Transaction

__all__ = ["Orphan", "PreCommit", "ThreePhaseCommit"]


class Orphan(Struct, frozen=True):
    """A transaction whose coordinator is silent, and who has a part in it."""

    transaction: Transaction
    participants: tuple[int, ...]

    def __str__(self) -> str:
        return str(self.transaction)


class PreAcknowledged(Payload, frozen=True):
    """I am that now; or, where it is not ``taken``, I take part in a newer round."""

    taken: bool


class PreCommit(Request[PreAcknowledged], frozen=True):
    """Be commitable: all have voted YES."""

    transaction: Transaction
    round: Round


class PreAbort(Request[PreAcknowledged], frozen=True):
    """Be abortable: nobody has committed."""

    transaction: Transaction
    round: Round


class StateOf(Request[StateAnswer], frozen=True):
    """What is it to you? Take no part in an older round from now on."""

    transaction: Transaction
    participants: tuple[int, ...]
    round: Round


class OrphanedAnswer(Payload, frozen=True):
    """What it is to me; unless that is the end of it, I see to it."""

    state: State


class Orphaned(Request[OrphanedAnswer], frozen=True):
    """P2: I hear nothing of this one's coordinator; you are elected."""

    orphan: Orphan


class ThreePhaseCommit(Bank, Task):
    """Three-phase commit: a majority that is up ends what its coordinator left behind."""

    name: ClassVar[str] = "3pc"
    usual_election: ClassVar[str] = "bully"
    relies_on: ClassVar[dict[str, tuple[int, ...]]] = {"A6": (4, 8, 9), "A7": (4,), "A8": (4, 8, 9), "ends": (4,)}

    cost: ClassVar[CommitCost] = CommitCost(
        Linear(5, 0, "Prepare, Vote, PreCommit, its acknowledgement, and Commit, of each"),
        Linear(3, 5, "prepared, precommit and committed, of each; begin and ended too, of the coordinator"),
    )

    crashed_in: tuple[Transaction, ...] = ()
    leading: tuple[Transaction, ...] = ()

    @property
    def _election(self) -> Election:
        assert isinstance(self.below, Election)
        return self.below

    @property
    def _elected(self) -> int | None:
        return self._election.coordinator if self._election.status is Status.NORMAL else None

    def _may_coordinate(self) -> str:
        """Only the elected coordinator begins transactions."""
        return "" if self._election.leads else "only the elected coordinator begins transactions"

    def stop_processing(self) -> None:
        """An election goes on: whoever is elected ends what was being ended."""
        for transaction in self.leading:
            self.stop(self.lead_termination, about=transaction)
        self.leading = ()

    def recover(self, part: Part) -> None:
        """C5: before PreCommit a coordinator aborts; after it, it is a participant like the others."""
        if part.begun and part.state in (State.INITIAL, State.UNCERTAIN):
            self._decide(part.transaction, False)
        if self._is_decided(part.transaction):
            self.begin(self.tell_outcome, about=part.transaction)
        else:
            self.crashed_in += (part.transaction,)
            self.begin(self.terminate, about=part.transaction)

    # the coordinator

    @procedure
    async def coordinate(self, plan: Plan) -> None:
        """P1: three phases, each to all."""
        transaction = plan.transaction
        agreed = await self._is_agreed(plan)
        if agreed:
            message = PreCommit(transaction, Round(0, self.id))
            self._move(message, State.COMMITABLE)
            others = self._others(self._part(transaction).participants)
            answers = await self.ask_all(others, message, within=self.timing.t_us)
            if not all(answer.taken for answer in answers.values()):
                self.begin(self.terminate, about=transaction)
                return
        self._decide(transaction, agreed)
        self.begin(self.tell_outcome, about=transaction)

    # the participant

    @procedure
    async def participate(self, transaction: Transaction) -> None:
        """C3, P2: who has not voted may abort; who has, and hears nothing, enters Recovery."""
        state, moves_on = State.INITIAL, True
        while moves_on and state not in DECIDED:
            moves_on = await self._moves_on(transaction, state)
            state = self._part(transaction).state
        if state is State.INITIAL:
            self._decide(transaction, False)
        elif state not in DECIDED:
            self.begin(self.terminate, about=transaction)

    async def _moves_on(self, transaction: Transaction, state: State) -> bool:
        return await self.until(
            lambda: self._part(transaction).state is not state,
            f"what comes after {state.value}: {transaction}",
            within=self._patience_us,
        )

    @procedure
    async def terminate(self, transaction: Transaction) -> None:
        """P2: have the elected coordinator end it; and ask again, for that may crash too."""
        while not self._is_decided(transaction):
            orphan = Orphan(transaction, self._part(transaction).participants)
            elected = self._elected
            if elected == self.id:
                self._lead(orphan)
            elif elected is not None:
                answer = await self.ask(elected, Orphaned(orphan), within=self.timing.t_us)
                if answer is not None and answer.state in DECIDED:
                    self._decide(transaction, answer.state is State.COMMITTED)
            ended = await self.until(
                lambda: self._is_decided(transaction), f"the end of {transaction}", within=self._patience_us
            )
            if not ended:
                self._shows_blocked(transaction)
        if self._part(transaction).is_open:
            self.begin(self.tell_outcome, about=transaction)

    @on(PreCommit)
    def pre_commit(self, sender: int, message: PreCommit) -> PreAcknowledged:
        """P1: commitable."""
        return PreAcknowledged(self._move(message, State.COMMITABLE))

    @on(PreAbort)
    def pre_abort(self, sender: int, message: PreAbort) -> PreAcknowledged:
        """P1: abortable."""
        return PreAcknowledged(self._move(message, State.ABORTABLE))

    def _move(self, message: PreCommit | PreAbort, state: State) -> bool:
        """Be commitable or abortable, unless that is of an older round; whether it is so."""
        part = self._part(message.transaction)
        if part.state in (State.INITIAL, *DECIDED) or message.round < part.promised:
            return False
        if (part.state, part.round) != (state, message.round):
            what: Literal["precommit", "preabort"] = "precommit" if state is State.COMMITABLE else "preabort"
            self._write(Entry(what, message.transaction, round=message.round))
        return True

    @on(StateOf)
    def state_of(self, sender: int, message: StateOf) -> StateAnswer:
        """P3: who has not voted yet aborts; who coordinated it leaves it to the one that asks."""
        transaction = message.transaction
        part = self._part(transaction)
        if part.state not in DECIDED:
            self.stop(self.coordinate, about=transaction)
            self.begin(self.terminate, about=transaction)
        promised = part.promised
        if part.state is State.INITIAL:
            self._decide(transaction, False)
        elif part.state not in DECIDED and message.round > promised:
            self._write(Entry("joined", transaction, round=message.round))
        part = self._part(transaction)
        return StateAnswer(part.state, part.round, promised, transaction in self.crashed_in)

    # the elected coordinator

    _next_state = staticmethod(next_state)

    @on(Orphaned)
    def orphaned(self, sender: int, message: Orphaned) -> OrphanedAnswer | None:
        """P2: end it, unless it has ended, or this node is its coordinator and about it."""
        transaction = message.orphan.transaction
        if not self._is_decided(transaction):
            if not self._election.leads:
                return None
            if not self.is_running(self.coordinate, about=transaction):
                self._lead(message.orphan)
        return OrphanedAnswer(self._part(transaction).state)

    def _lead(self, orphan: Orphan) -> None:
        if orphan.transaction not in self.leading:
            self.leading += (orphan.transaction,)
        self.begin(self.lead_termination, about=orphan)

    @procedure
    async def lead_termination(self, orphan: Orphan) -> None:
        """P3: the first rule that fits, and again until one ends it."""
        transaction = orphan.transaction
        attempt, is_new = Round(1, self.id), True
        while not self._is_decided(transaction):
            answers = await self._states(orphan, attempt)
            newest = max((answer.promised for answer in answers.values()), default=Round())
            if newest > attempt or (is_new and newest == attempt):
                attempt = Round(newest.number + 1, self.id)  # somebody takes part in that one, or a newer one
                continue
            is_new = False
            await self._follow(self._next_state(answers, len(orphan.participants)), orphan, attempt)
            if not self._is_decided(transaction):
                self._shows_blocked(transaction)
                await self.sleep(self.timing.t_us, f"more to answer about {transaction}")
        word = Commit(transaction) if self._part(transaction).state is State.COMMITTED else Abort(transaction)
        await self.ask_all(self._others(orphan.participants), word, within=self.timing.t_us)
        self.leading = tuple(each for each in self.leading if each != transaction)

    async def _states(self, orphan: Orphan, attempt: Round) -> Mapping[int, StateAnswer]:
        """The states of all participants that answer; of this one too, if it is one."""
        message = StateOf(orphan.transaction, orphan.participants, attempt)
        own = {self.id: self.state_of(self.id, message)} if self.id in orphan.participants else {}
        answers = await self.ask_all(self._others(orphan.participants), message, within=self.timing.t_us)
        return own | answers

    async def _follow(self, state: State | None, orphan: Orphan, attempt: Round) -> None:
        """Bring all to this state; and to the end, if they are that by majority."""
        transaction = orphan.transaction
        if state in (State.COMMITABLE, State.ABORTABLE):
            kind = PreCommit if state is State.COMMITABLE else PreAbort
            message = kind(transaction, attempt)
            own = self.id in orphan.participants and self._move(message, state)
            answers = await self.ask_all(self._others(orphan.participants), message, within=self.timing.t_us)
            taken = own + sum(answer.taken for answer in answers.values())
            if self._is_majority(taken, orphan):
                self._decide(transaction, state is State.COMMITABLE)
        elif state is not None:
            self._decide(transaction, state is State.COMMITTED)

    def _is_majority(self, taken: int, orphan: Orphan) -> bool:
        return 2 * taken > len(orphan.participants)  # P4: of all, whoever is silent
