"""The rules by which an elected coordinator ends a transaction whose own coordinator is silent (rules P3, P4)."""

from collections.abc import Mapping

from lab.kernel import Payload
from lab.protocols.transaction import Round, State

__all__ = ["StateAnswer", "next_state"]


class StateAnswer(Payload, frozen=True, omit_defaults=True):
    """What a transaction is to a participant, and in which ``round`` it became commitable or abortable.

    ``promised`` is the newest round that it took part in before it was asked. ``crashed``: since its vote.
    """

    state: State
    round: Round
    promised: Round
    crashed: bool = False


def next_state(answers: Mapping[int, StateAnswer], participants: int) -> State | None:
    """What all participants are to become next, by the first rule that fits; None: wait for more answers (5).

    Silence counts against every majority (P4). Where some are commitable and others abortable, they became so in
    different rounds, and what a newer one began is carried on. That nobody has committed is told by one who is
    still uncertain, and did not crash since its vote: the coordinator would have waited for it. Where all of them
    crashed meanwhile, all have to be heard, among them the coordinator.
    """
    states = {answer.state for answer in answers.values()}
    if State.ABORTED in states:
        return State.ABORTED  # rule 1
    if State.COMMITTED in states:
        return State.COMMITTED  # rule 2
    if 2 * len(answers) <= participants:
        return None
    begun = [answer for answer in answers.values() if answer.state is not State.UNCERTAIN]
    newest = max(begun, key=lambda answer: answer.round, default=None)
    if newest is not None:
        return newest.state  # rule 3, and what was begun by rule 4
    trusted = len(answers) == participants or not all(answer.crashed for answer in answers.values())
    return State.ABORTABLE if trusted else None  # rule 4
