"""Three-phase commit (rules P1-P5), over a bank, above an election.

Between the votes and the decision there is a phase in which all participants learn that all voted YES:

    coordinate         Prepare, all vote YES; PreCommit, until each participant acknowledges or times out; Commit
    participate        initial; uncertain after the vote; commitable after PreCommit; then the decision
    terminate          no decision for 3·T: InDoubt to the elected coordinator, until the outcome is known
    lead_termination   the elected coordinator asks all for their states and applies the first rule that fits

So nobody has committed while any node that is up is uncertain, and a majority that is up can end a transaction
without its coordinator, where two-phase commit has to wait for it. The rules are in termination.py. The new
coordinator is elected by the election layer below, in the same nodes; it need not be a participant.

Assumptions that can be broken here: silence means a crash. Messages arrive within Tm (8: loss, delay, partition),
and nodes answer within Tp (9: pause). In a partition the coordinator presumes the nodes on the other side failed
and commits; these elect another coordinator, are an uncertain majority, and abort: the famous counterexample.

The rules, which are those of the lecture notes, have two gaps when a crashed node recovers. Our fixes:

* Rule 4 counts uncertain participants. One that crashed and recovered is still uncertain, but the coordinator may
  have presumed it failed and committed without it. So at least one of those counted must not have crashed since
  its vote, or all participants must answer.
* A commitable participant crashes; the others begin to abort by rule 4, led by a node that crashes too; then the
  first recovers. Commitable and abortable participants now coexist, and no rule fits although a majority is up. So
  each attempt has a round, and the newest round is continued. A node that has answered in a round takes no part in
  older rounds: a former coordinator cannot continue alongside the new one.

By rule 3 the elected coordinator continues with the standard plan, which presumes silent participants failed.
Here it waits until more than half are commitable, just as by rule 4 it waits until more than half are abortable.
With crashes only, this makes no difference; in a partition, two elected coordinators cannot decide differently.
The first coordinator, which presumes silent nodes failed as in P1, still can.
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

__all__ = ["InDoubtTransaction", "PreCommit", "ThreePhaseCommit"]


class InDoubtTransaction(Struct, frozen=True):
    """A transaction whose coordinator is silent, and its participants."""

    transaction: Transaction
    participants: tuple[int, ...]

    def __str__(self) -> str:
        return str(self.transaction)


class PreAcknowledged(Payload, frozen=True):
    """I am in that state now; or, if not ``taken``, I take part in a newer round."""

    taken: bool


class PreCommit(Request[PreAcknowledged], frozen=True):
    """Become commitable: all have voted YES."""

    transaction: Transaction
    round: Round


class PreAbort(Request[PreAcknowledged], frozen=True):
    """Become abortable: nobody has committed."""

    transaction: Transaction
    round: Round


class StateOf(Request[StateAnswer], frozen=True):
    """A question for the state of a transaction. Take no part in older rounds from now on."""

    transaction: Transaction
    participants: tuple[int, ...]
    round: Round


class InDoubtAnswer(Payload, frozen=True):
    """The state of the transaction here; if it is not final, I lead the termination."""

    state: State


class InDoubt(Request[InDoubtAnswer], frozen=True):
    """To the elected coordinator: the coordinator of this transaction is silent (rule P2)."""

    in_doubt: InDoubtTransaction


class ThreePhaseCommit(Bank, Task):
    """Three-phase commit: a majority that is up ends in-doubt transactions."""

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
        assert isinstance(self.lower_layer, Election)
        return self.lower_layer

    @property
    def _elected(self) -> int | None:
        return self._election.coordinator if self._election.status is Status.NORMAL else None

    def _coordination_refusal(self) -> str:
        """Return a refusal unless this node is the elected coordinator."""
        return "" if self._election.leads else "only the elected coordinator begins transactions"

    def stop_processing(self) -> None:
        """Abandon terminations in progress; the next elected coordinator restarts them."""
        for transaction in self.leading:
            self.stop(self.lead_termination, key=transaction)
        self.leading = ()

    def recover(self, part: Part) -> None:
        """Recover: before PreCommit a coordinator aborts; after it, it acts as a participant (rule C5)."""
        if part.begun and part.state in (State.INITIAL, State.UNCERTAIN):
            self._decide(part.transaction, False)
        if self._is_decided(part.transaction):
            self.begin(self.announce_outcome, key=part.transaction)
        else:
            self.crashed_in += (part.transaction,)
            self.begin(self.terminate, key=part.transaction)

    # the coordinator

    @procedure
    async def coordinate(self, plan: Plan) -> None:
        """Run the three phases (rule P1)."""
        transaction = plan.transaction
        agreed = await self._is_agreed(plan)
        if agreed:
            message = PreCommit(transaction, Round(0, self.id))
            self._move(message, State.COMMITABLE)
            others = self._others(self._part(transaction).participants)
            replies = await self.ask_all(others, message, within=self.timing.t_us)
            if not all(answer.taken for answer in replies.values()):
                self.begin(self.terminate, key=transaction)
                return
        self._decide(transaction, agreed)
        self.begin(self.announce_outcome, key=transaction)

    # the participant

    @procedure
    async def participate(self, transaction: Transaction) -> None:
        """On a timeout, abort before the vote, and enter recovery after it (rules C3, P2)."""
        state, moves_on = State.INITIAL, True
        while moves_on and state not in DECIDED:
            moves_on = await self._moves_on(transaction, state)
            state = self._part(transaction).state
        if state is State.INITIAL:
            self._decide(transaction, False)
        elif state not in DECIDED:
            self.begin(self.terminate, key=transaction)

    async def _moves_on(self, transaction: Transaction, state: State) -> bool:
        return await self.until(
            lambda: self._part(transaction).state is not state,
            f"the next state after {state.value}: {transaction}",
            within=self._timeout_us,
        )

    @procedure
    async def terminate(self, transaction: Transaction) -> None:
        """Ask the elected coordinator to end the transaction; repeat, since that may crash too (rule P2)."""
        while not self._is_decided(transaction):
            in_doubt = InDoubtTransaction(transaction, self._part(transaction).participants)
            elected = self._elected
            if elected == self.id:
                self._lead(in_doubt)
            elif elected is not None:
                answer = await self.ask(elected, InDoubt(in_doubt), within=self.timing.t_us)
                if answer is not None and answer.state in DECIDED:
                    self._decide(transaction, answer.state is State.COMMITTED)
            ended = await self.until(
                lambda: self._is_decided(transaction), f"the end of {transaction}", within=self._timeout_us
            )
            if not ended:
                self._mark_blocked(transaction)
        if self._part(transaction).is_open:
            self.begin(self.announce_outcome, key=transaction)

    @on(PreCommit)
    def on_pre_commit(self, sender: int, message: PreCommit) -> PreAcknowledged:
        """Become commitable (rule P1)."""
        return PreAcknowledged(self._move(message, State.COMMITABLE))

    @on(PreAbort)
    def on_pre_abort(self, sender: int, message: PreAbort) -> PreAcknowledged:
        """Become abortable (rule P1)."""
        return PreAcknowledged(self._move(message, State.ABORTABLE))

    def _move(self, message: PreCommit | PreAbort, state: State) -> bool:
        """Enter the state unless the round is older than promised; return whether this node is in it."""
        part = self._part(message.transaction)
        if part.state in (State.INITIAL, *DECIDED) or message.round < part.promised:
            return False
        if (part.state, part.round) != (state, message.round):
            what: Literal["precommit", "preabort"] = "precommit" if state is State.COMMITABLE else "preabort"
            self._write(Entry(what, message.transaction, round=message.round))
        return True

    @on(StateOf)
    def on_state_of(self, sender: int, message: StateOf) -> StateAnswer:
        """Answer with the state; abort if not yet voted, and stop coordinating the transaction (rule P3)."""
        transaction = message.transaction
        part = self._part(transaction)
        if part.state not in DECIDED:
            self.stop(self.coordinate, key=transaction)
            self.begin(self.terminate, key=transaction)
        promised = part.promised
        if part.state is State.INITIAL:
            self._decide(transaction, False)
        elif part.state not in DECIDED and message.round > promised:
            self._write(Entry("joined", transaction, round=message.round))
        part = self._part(transaction)
        return StateAnswer(part.state, part.round, promised, transaction in self.crashed_in)

    # the elected coordinator

    _next_state = staticmethod(next_state)

    @on(InDoubt)
    def on_in_doubt(self, sender: int, message: InDoubt) -> InDoubtAnswer | None:
        """Lead the termination, unless it is decided or this node is still coordinating it (rule P2)."""
        transaction = message.in_doubt.transaction
        if not self._is_decided(transaction):
            if not self._election.leads:
                return None
            if not self.is_running(self.coordinate, key=transaction):
                self._lead(message.in_doubt)
        return InDoubtAnswer(self._part(transaction).state)

    def _lead(self, in_doubt: InDoubtTransaction) -> None:
        if in_doubt.transaction not in self.leading:
            self.leading += (in_doubt.transaction,)
        self.begin(self.lead_termination, key=in_doubt)

    @procedure
    async def lead_termination(self, in_doubt: InDoubtTransaction) -> None:
        """Apply the first rule that fits, and repeat until the transaction is decided (rule P3)."""
        transaction = in_doubt.transaction
        attempt, is_new = Round(1, self.id), True
        while not self._is_decided(transaction):
            replies = await self._states(in_doubt, attempt)
            newest = max((answer.promised for answer in replies.values()), default=Round())
            if newest > attempt or (is_new and newest == attempt):
                attempt = Round(newest.number + 1, self.id)  # a participant is in that round or a newer one
                continue
            is_new = False
            await self._follow(self._next_state(replies, len(in_doubt.participants)), in_doubt, attempt)
            if not self._is_decided(transaction):
                self._mark_blocked(transaction)
                await self.sleep(self.timing.t_us, f"more answers about {transaction}")
        decision = Commit(transaction) if self._part(transaction).state is State.COMMITTED else Abort(transaction)
        await self.ask_all(self._others(in_doubt.participants), decision, within=self.timing.t_us)
        self.leading = tuple(each for each in self.leading if each != transaction)

    async def _states(self, in_doubt: InDoubtTransaction, attempt: Round) -> Mapping[int, StateAnswer]:
        """Return the states of all participants that answer, this node included if it is one."""
        message = StateOf(in_doubt.transaction, in_doubt.participants, attempt)
        own = {self.id: self.on_state_of(self.id, message)} if self.id in in_doubt.participants else {}
        replies = await self.ask_all(self._others(in_doubt.participants), message, within=self.timing.t_us)
        return own | replies

    async def _follow(self, state: State | None, in_doubt: InDoubtTransaction, attempt: Round) -> None:
        """Bring all participants to this state; decide once a majority is in it."""
        transaction = in_doubt.transaction
        if state in (State.COMMITABLE, State.ABORTABLE):
            kind = PreCommit if state is State.COMMITABLE else PreAbort
            message = kind(transaction, attempt)
            own = self.id in in_doubt.participants and self._move(message, state)
            replies = await self.ask_all(self._others(in_doubt.participants), message, within=self.timing.t_us)
            taken = own + sum(answer.taken for answer in replies.values())
            if self._is_majority(taken, in_doubt):
                self._decide(transaction, state is State.COMMITABLE)
        elif state is not None:
            self._decide(transaction, state is State.COMMITTED)

    def _is_majority(self, taken: int, in_doubt: InDoubtTransaction) -> bool:
        return 2 * taken > len(in_doubt.participants)  # P4: a majority of all participants, silent ones included
