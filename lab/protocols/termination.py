"""The rules by which an elected coordinator terminates an in-doubt transaction (rules P3, P4)."""

from collections.abc import Mapping

from lab.kernel import Payload
from lab.protocols.transaction import Round, State

__all__ = ["StateAnswer", "next_state"]


class StateAnswer(Payload, frozen=True, omit_defaults=True):
    """The state of a transaction at a participant, and the ``round`` in which it became commitable or abortable.

    ``promised`` is the newest round in which it took part before this question. ``crashed``: it has crashed since
    its vote.
    """

    state: State
    round: Round
    promised: Round
    crashed: bool = False


def next_state(replies: Mapping[int, StateAnswer], participants: int) -> State | None:
    """Return the next state by the first rule that fits; None: wait for more answers (rule 5).

    Silent participants count against every majority (P4). If some are commitable and others abortable, they became
    so in different rounds, and the newest round is continued. An uncertain participant that has not crashed since
    its vote proves that nobody has committed: the coordinator would have waited for it. If all of the uncertain
    crashed, all participants must answer, the coordinator included.
    """
    states = {answer.state for answer in replies.values()}
    if State.ABORTED in states:
        return State.ABORTED  # rule 1
    if State.COMMITTED in states:
        return State.COMMITTED  # rule 2
    if 2 * len(replies) <= participants:
        return None
    begun = [answer for answer in replies.values() if answer.state is not State.UNCERTAIN]
    newest = max(begun, key=lambda answer: answer.round, default=None)
    if newest is not None:
        return newest.state  # rule 3; or continue an attempt by rule 4
    trusted = len(replies) == participants or not all(answer.crashed for answer in replies.values())
    return State.ABORTABLE if trusted else None  # rule 4
