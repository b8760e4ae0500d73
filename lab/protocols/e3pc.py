"""E3PC, enhanced three-phase commit (Keidar and Dolev, 1995 and 1998), over a bank, above an election (P7).

In quorum-based three-phase commit a majority can be up and block: some participants are commitable, others
abortable, and neither state is ever left. Here each attempt to terminate a transaction has a number, higher than
that of all attempts before it that its participants know. A participant remembers in stable storage

    round      the attempt in which it became commitable or abortable (in the paper: Last Attempt)
    promised   the newest attempt that has asked for its state (in the paper: Last Elected)

and takes no part in attempts older than the second. The coordinator of an attempt that hears a majority continues
the newest attempt that any of them took part in: if that made a node commitable, all become commitable, now in the
new attempt; otherwise abortable. So a node may go from commitable to abortable, and back.

A decision needs a majority in one attempt, and any two majorities have a node in common, that knows of it. So no
two nodes decide differently, whatever is lost, delayed or paused (A6); and a majority that is up and connected for
long enough ends every transaction.
"""

from collections.abc import Mapping
from typing import ClassVar

from msgspec.structs import replace

from lab.kernel import on, procedure
from lab.protocols.bank import Bank
from lab.protocols.departures import Reading
from lab.protocols.three_phase import (
    InDoubtTransaction,
    PreAbort,
    PreCommit,
    StateAnswer,
    StateOf,
    ThreePhaseCommit,
)
from lab.protocols.transaction import DECIDED, Entry, Round, State

__all__ = ["EnhancedThreePhaseCommit", "newest_attempt"]


def newest_attempt(replies: Mapping[int, StateAnswer], participants: int) -> State | None:
    """Return the state to bring all to: a decision, or what the newest attempt was about; None: wait (P7)."""
    states = {answer.state for answer in replies.values()}
    if State.ABORTED in states:
        return State.ABORTED
    if State.COMMITTED in states:
        return State.COMMITTED
    if 2 * len(replies) <= participants:
        return None
    attempted = [answer for answer in replies.values() if answer.state is not State.UNCERTAIN]
    newest = max(attempted, key=lambda answer: answer.round, default=None)
    return State.ABORTABLE if newest is None else newest.state


class EnhancedThreePhaseCommit(ThreePhaseCommit):
    """E3PC: attempts to terminate are numbered, so a connected majority never blocks."""

    name: ClassVar[str] = "e3pc"
    promises: ClassVar[tuple[str, ...]] = (*ThreePhaseCommit.promises, "attempts", "ends")
    relies_on: ClassVar[dict[str, tuple[int | str, ...]]] = {
        **ThreePhaseCommit.relies_on,
        "attempts": (4,),
        "ends": (4,),
    }
    readings: ClassVar[tuple[Reading, ...]] = ()

    class Parameters(Bank.Parameters, frozen=True):
        """The accounts, and the timeout; a majority is always needed."""

    @classmethod
    def promises_with(cls, parameters: Parameters) -> tuple[str, ...]:  # type: ignore[override]
        """Return the same for all parameters."""
        return cls.promises

    @classmethod
    def relied_on(cls, parameters: Parameters) -> Mapping[str, tuple[int | str, ...]]:  # type: ignore[override]
        """Return the same for all parameters."""
        return cls.relies_on

    next_state = staticmethod(newest_attempt)
    _needs_majority = True

    def _move(self, message: PreCommit | PreAbort, state: State) -> bool:
        """Enter the state, from any that is not final, unless the attempt is older than promised."""
        part = self._part(message.transaction)
        if part.state in (State.INITIAL, *DECIDED) or message.round < part.promised:
            return False
        if (part.state, part.round) != (state, message.round):
            self._enter(message, state)
        return True

    @on(StateOf)
    def on_state_of(self, sender: int, message: StateOf) -> StateAnswer:
        """Promise to take no part in older attempts; answer with the state, and the attempt in which it began."""
        part = self._part(message.transaction)
        promised = part.promised
        if part.state not in (State.INITIAL, *DECIDED) and message.round > promised:
            self._write(Entry("joined", message.transaction, round=message.round))
        answer = super().on_state_of(sender, message)
        return replace(answer, round=self._part(message.transaction).round, promised=promised)

    @procedure
    async def lead_termination(self, in_doubt: InDoubtTransaction) -> None:
        """Give each attempt a number above all known ones, and apply the rules, until it is decided.

        All of an attempt are brought to one state. So one that has proposed a state, and not decided, is over.
        """
        attempt, is_new = Round(1, self.id), True
        while not self._is_decided(in_doubt.transaction):
            replies = await self._states(in_doubt, attempt)
            newest = max((answer.promised for answer in replies.values()), default=Round())
            if newest > attempt or (is_new and newest == attempt):
                attempt, is_new = Round(newest.number + 1, self.id), True
                continue
            is_new = await self._apply(replies, in_doubt, attempt)
            if is_new:
                attempt = Round(attempt.number + 1, self.id)
        await self._send_decision(in_doubt)
