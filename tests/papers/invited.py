"""A single invitation node, driven by hand into each state by messages of its peers."""

from typing import Any

from lab.kernel import Message, Step
from lab.protocols import Definition, Group, InvitationElection
from lab.protocols.invitation import AcceptAnswer, AreYouCoordinatorAnswer, Invitation, Ready
from tests.harness import Solo

__all__ = ["DEFINITION", "GROUP", "STATES", "checks", "in_status", "joins", "lone", "merges", "runs"]

GROUP = Group(3, 7)
"""Of node 3, which invites."""
DEFINITION = Definition(4, 3, (1, 2, 3))


def lone(
    node: int = 2, ids: tuple[int, ...] = (1, 2, 3), counter: int = 0, **parameters: Any
) -> tuple[Solo, Step]:
    """Return a node that has just started: Normal, alone."""
    solo = Solo(InvitationElection, node, ids, parameters=InvitationElection.Parameters(**parameters))
    return solo, solo.start({"counter": counter} if counter else {})


def invited(solo: Solo) -> Message:
    """Deliver an invitation of node 3: Election; its Accept."""
    return solo.hear(3, Invitation(3, GROUP)).sent[-1]


def joins(solo: Solo) -> None:
    """Deliver the answer to Accept: Reorganization."""
    solo.reply(invited(solo), AcceptAnswer(accepted=True))


def participates(solo: Solo) -> None:
    """Deliver Ready: Normal."""
    joins(solo)
    solo.hear(3, Ready(GROUP, DEFINITION))


STATES = {"Election": invited, "Reorganization": joins, "Normal": participates}
"""As a participant of node 3's group."""


def in_status(status: str, **parameters: Any) -> Solo:
    """Return node 2 in that status under node 3."""
    solo, _ = lone(**parameters)
    STATES[status](solo)
    assert solo.protocol.status.value == status
    return solo


def checks(solo: Solo, *coordinators: int) -> Step:
    """Run its Check with answers of these coordinators; return the last step, at T if others are silent."""
    step = solo.fire_timer()
    assert {message.kind for message in step.sent} == {"AreYouCoordinator"}
    for message in step.sent:
        if message.target in coordinators:
            last = solo.reply(message, AreYouCoordinatorAnswer(is_coordinator=True))
    return last if len(coordinators) == len(step.sent) else solo.fire_timer()


def merges(solo: Solo, *coordinators: int) -> Step:
    """Let it merge them; return the step with the Invitations."""
    step = checks(solo, *coordinators)
    return step if any(message.kind == "Invitation" for message in step.sent) else solo.fire_timer()


def runs(solo: Solo) -> set[str]:
    """Return the running procedures."""
    return {name for name in ("check", "timeout", "merge", "join") if solo.node.is_running(name)}
