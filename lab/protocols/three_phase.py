"""Three-phase commit (rules P1-P6), over a bank, above an election.

Between the votes and the decision there is a phase in which all participants learn that all voted YES:

    coordinate         Prepare, all vote YES; PreCommit, until enough have acknowledged it; Commit
    participate        initial; uncertain after the vote; commitable after PreCommit; then the decision
    terminate          no decision for 3·T: InDoubt to the elected coordinator, until the outcome is known
    lead_termination   the elected coordinator asks all for their states and applies the first rule that fits

So a majority that is up can end a transaction without its coordinator, where two-phase commit has to wait for
it. The rules of termination are ``next_state``. The new coordinator is elected by the election layer below, in
the same nodes; it need not be a participant. What all commit protocols have in common, operations, votes and the
sending of the decision, is in ``committing.py``.

How many acknowledgements are enough is a reading of the lecture notes (P6):

* ``commit_after=majority``: more than half of all participants are commitable before any commits, as more than
  half are abortable before a termination aborts. A commitable node never becomes abortable, nor the other way
  round: so whatever is lost, delayed or paused, no two nodes decide differently (A6). This is quorum-based commit
  (Skeen 1982). A coordinator that is alone waits.
* ``commit_after=everyone_alive``: all that answer within T are commitable; the others are presumed to have
  failed. A coordinator commits even alone. But silence has to mean a crash (8, 9): in a partition the others
  presume that the coordinator has failed, are an uncertain majority, and abort: the famous counterexample. And
  an uncertain node that has crashed since its vote proves nothing: the coordinator may have committed without
  it. So rule 4 counts it only if all participants answer.

A majority can be up and block all the same (P7): one participant is commitable and down, the others are made
abortable by a coordinator that crashes, and the first comes back: no rule fits. E3PC (e3pc.py) ends it.
"""

from collections.abc import Mapping
from typing import ClassVar, Literal

from msgspec import Struct

from lab.kernel import Payload, Request, on, procedure
from lab.protocols.bank import Bank
from lab.protocols.committing import Abort, Commit, Participation
from lab.protocols.cost import CommitCost, Linear
from lab.protocols.departures import Reading
from lab.protocols.election import Election, Status
from lab.protocols.ledger import Part
from lab.protocols.task import Task
from lab.protocols.three_phase_departures import READINGS
from lab.protocols.transaction import DECIDED, Entry, Plan, Round, State, Transaction

__all__ = [
    "InDoubtTransaction",
    "PreAbort",
    "PreCommit",
    "StateAnswer",
    "StateOf",
    "ThreePhaseCommit",
    "next_state",
]


FIRST = Round()
"""The attempt of the coordinator itself; only E3PC distinguishes the later ones."""


class InDoubtTransaction(Struct, frozen=True):
    """A transaction whose coordinator is silent, and its participants."""

    transaction: Transaction
    participants: tuple[int, ...]

    def __str__(self) -> str:
        return str(self.transaction)


class PreAcknowledged(Payload, frozen=True):
    """I am in that state now; or, if not ``taken``, I cannot be."""

    taken: bool


class PreCommit(Request[PreAcknowledged], frozen=True, omit_defaults=True):
    """Become commitable: all have voted YES."""

    transaction: Transaction
    round: Round = FIRST


class PreAbort(Request[PreAcknowledged], frozen=True, omit_defaults=True):
    """Become abortable: nobody has committed."""

    transaction: Transaction
    round: Round = FIRST


class StateAnswer(Payload, frozen=True, omit_defaults=True):
    """The state of a transaction at a participant.

    ``crashed``: it has crashed since its vote, and its coordinator may have committed without it.
    E3PC adds the ``round`` in which it became commitable or abortable, and the newest that it had ``promised``.
    """

    state: State
    crashed: bool = False
    round: Round = FIRST
    promised: Round = FIRST


class StateOf(Request[StateAnswer], frozen=True, omit_defaults=True):
    """A question for the state of a transaction."""

    transaction: Transaction
    participants: tuple[int, ...]
    round: Round = FIRST


class InDoubtAnswer(Payload, frozen=True):
    """The state of the transaction here; if it is not final, I lead the termination."""

    state: State


class InDoubt(Request[InDoubtAnswer], frozen=True):
    """To the elected coordinator: the coordinator of this transaction is silent (rule P2)."""

    in_doubt: InDoubtTransaction


def next_state(replies: Mapping[int, StateAnswer], participants: int) -> State | None:
    """Return the state to bring all to by the first rule that fits (P3); None: wait for more answers (rule 5).

    Silent participants count against every majority (P4). Rule 4 counts those that are abortable already; once
    more than half are, it aborts, whatever the others are. It counts those that have crashed only if all answer.
    """
    states = [answer.state for answer in replies.values()]
    if State.ABORTED in states:
        return State.ABORTED  # rule 1
    if State.COMMITTED in states:
        return State.COMMITTED  # rule 2
    if 2 * states.count(State.ABORTABLE) > participants:
        return State.ABORTED  # rule 4, its end
    if State.COMMITABLE in states:
        willing = states.count(State.COMMITABLE) + states.count(State.UNCERTAIN)
        return State.COMMITABLE if 2 * willing > participants else None  # rule 3
    crashed = sum(answer.crashed for answer in replies.values() if answer.state is State.UNCERTAIN)
    counted = len(replies) - crashed if len(replies) < participants else participants
    return State.ABORTABLE if 2 * counted > participants else None  # rule 4


class ThreePhaseCommit(Bank, Task):
    """Three-phase commit: a majority that is up ends most in-doubt transactions."""

    name: ClassVar[str] = "3pc"
    usual_election: ClassVar[str] = "bully"
    promises: ClassVar[tuple[str, ...]] = ("A6", "A7", "A8", "quorum", "solvent", "commits", "nonblocking")
    relies_on: ClassVar[dict[str, tuple[int | str, ...]]] = dict.fromkeys(
        ("A6", "A7", "A8", "quorum", "nonblocking"), (4,)
    )
    readings: ClassVar[tuple[Reading, ...]] = READINGS

    cost: ClassVar[CommitCost] = CommitCost(
        Linear(5, 0, "Prepare, Vote, PreCommit, its acknowledgement, and Commit, of each"),
        Linear(3, 5, "prepared, precommit and committed, of each; begin and ended too, of the coordinator"),
    )

    class Parameters(Bank.Parameters, frozen=True):
        """The reading of the lecture notes."""

        commit_after: Literal["majority", "everyone_alive"] = "majority"
        """The participants that must have acknowledged PreCommit: more than half, or all that are not silent."""

    @classmethod
    def promises_with(cls, parameters: Parameters) -> tuple[str, ...]:
        """Return the promises: with everyone_alive, a coordinator commits without a majority."""
        by_majority = parameters.commit_after == "majority"
        return tuple(each for each in cls.promises if by_majority or each != "quorum")

    @classmethod
    def relied_on(cls, parameters: Parameters) -> Mapping[str, tuple[int | str, ...]]:
        """Return the assumptions that the promises need: with everyone_alive, silence must mean a crash.

        Who has crashed since its vote then proves nothing, so that a majority may have to wait for all.
        """
        if parameters.commit_after == "majority":
            return cls.relies_on
        waiting = (4, 8, 9, "all_nodes_connected")
        return {**cls.relies_on, "A6": (4, 8, 9), "A8": (4, 8, 9), "nonblocking": waiting}

    crashed_in: tuple[Transaction, ...] = ()
    leading: tuple[Transaction, ...] = ()

    @property
    def _needs_majority(self) -> bool:
        return bool(self.parameters.commit_after == "majority")

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
            participants = self._part(transaction).participants
            enough = await self._bring_to(State.COMMITABLE, InDoubtTransaction(transaction, participants))
            if not enough:
                self.begin(self.terminate, key=transaction)
                return
        self._decide(transaction, agreed)
        self.begin(self.announce_outcome, key=transaction)

    async def _bring_to(self, state: State, in_doubt: InDoubtTransaction, attempt: Round = FIRST) -> bool:
        """Make all participants commitable or abortable; return whether enough are to decide (rules P1, P6)."""
        kind = PreCommit if state is State.COMMITABLE else PreAbort
        message = kind(in_doubt.transaction, attempt)
        own = self.id in in_doubt.participants and self._move(message, state)
        replies = await self.ask_all(self._others(in_doubt.participants), message, within=self.timing.t_us)
        taken = own + sum(answer.taken for answer in replies.values())
        if state is State.COMMITABLE and not self._needs_majority:
            return taken == len(replies) + (self.id in in_doubt.participants)
        return 2 * taken > len(in_doubt.participants)

    # the participant

    @procedure
    async def participate(self, participation: Participation) -> None:
        """On a timeout, abort before the vote, and enter recovery after it (rules C3, P2)."""
        transaction, state = participation.transaction, State.INITIAL
        moves_on = await self._moves_on(transaction, state, self._prepare_within_us(participation))
        while moves_on and (state := self._part(transaction).state) not in DECIDED:
            moves_on = await self._moves_on(transaction, state, self._timeout_us)
        if state is State.INITIAL:
            self._decide(transaction, False)
        elif state not in DECIDED:
            self.begin(self.terminate, key=transaction)

    async def _moves_on(self, transaction: Transaction, state: State, within_us: int) -> bool:
        return await self.until(
            lambda: self._part(transaction).state is not state,
            f"the next state after {state.value}: {transaction}",
            within=within_us,
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
        """Enter the state from uncertain; return whether this node is in it."""
        if self._part(message.transaction).state is State.UNCERTAIN:
            self._enter(message, state)
        return self._part(message.transaction).state is state

    def _enter(self, message: PreCommit | PreAbort, state: State) -> None:
        what: Literal["precommit", "preabort"] = "precommit" if state is State.COMMITABLE else "preabort"
        self._write(Entry(what, message.transaction, round=message.round))

    @on(StateOf)
    def on_state_of(self, sender: int, message: StateOf) -> StateAnswer:
        """Answer with the state; abort if not yet voted, and stop coordinating the transaction (rule P3)."""
        transaction = message.transaction
        if not self._is_decided(transaction):
            self.stop(self.coordinate, key=transaction)
            self.begin(self.terminate, key=transaction)
        if self._part(transaction).state is State.INITIAL:
            self._decide(transaction, False)
        crashed = not self._needs_majority and transaction in self.crashed_in
        return StateAnswer(self._part(transaction).state, crashed)

    # the elected coordinator

    next_state = staticmethod(next_state)

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
        while not self._is_decided(in_doubt.transaction):
            replies = await self._states(in_doubt)
            await self._apply(replies, in_doubt)
        await self._send_decision(in_doubt)

    async def _states(self, in_doubt: InDoubtTransaction, attempt: Round = FIRST) -> Mapping[int, StateAnswer]:
        """Return the states of all participants that answer, this node included if it is one."""
        message = StateOf(in_doubt.transaction, in_doubt.participants, attempt)
        own = {self.id: self.on_state_of(self.id, message)} if self.id in in_doubt.participants else {}
        replies = await self.ask_all(self._others(in_doubt.participants), message, within=self.timing.t_us)
        return own | replies

    async def _apply(
        self, replies: Mapping[int, StateAnswer], in_doubt: InDoubtTransaction, attempt: Round = FIRST
    ) -> bool:
        """Bring all participants to the state by the rule that fits, and decide; or wait.

        Return whether a state was proposed to them.
        """
        transaction = in_doubt.transaction
        state = self.next_state(replies, len(in_doubt.participants))
        if state in (State.COMMITABLE, State.ABORTABLE):
            enough = await self._bring_to(state, in_doubt, attempt)
            if enough:
                self._decide(transaction, state is State.COMMITABLE)
        elif state is not None:
            self._decide(transaction, state is State.COMMITTED)
        if not self._is_decided(transaction):
            self._mark_blocked(transaction)
            await self.sleep(self.timing.t_us, f"more answers about {transaction}")
        return state in (State.COMMITABLE, State.ABORTABLE)

    async def _send_decision(self, in_doubt: InDoubtTransaction) -> None:
        """Send the decision to all participants."""
        transaction = in_doubt.transaction
        decision = Commit(transaction) if self._part(transaction).state is State.COMMITTED else Abort(transaction)
        await self.ask_all(self._others(in_doubt.participants), decision, within=self.timing.t_us)
        self.leading = tuple(each for each in self.leading if each != transaction)
