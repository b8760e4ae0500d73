"""One invitation node alone, brought into each state by hand, with the messages of its peers."""

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
    """A node that has just come up: Normal, alone."""
    solo = Solo(InvitationElection, node, ids, parameters=InvitationElection.Parameters(**parameters))
    return solo, solo.start({"counter": counter} if counter else {})


def invited(solo: Solo) -> Message:
    """Node 3 invites it: Election; its Accept."""
    return solo.hear(3, Invitation(3, GROUP)).sent[-1]


def joins(solo: Solo) -> None:
    """... and takes it in: Reorganization."""
    solo.reply(invited(solo), AcceptAnswer(accepted=True))


def participates(solo: Solo) -> None:
    """... and is ready: Normal."""
    joins(solo)
    solo.hear(3, Ready(GROUP, DEFINITION))


STATES = {"Election": invited, "Reorganization": joins, "Normal": participates}
"""As a participant of node 3's group."""


def in_status(status: str, **parameters: Any) -> Solo:
    """Node 2, in that status under node 3."""
    solo, _ = lone(**parameters)
    STATES[status](solo)
    assert solo.protocol.status.value == status
    return solo


def checks(solo: Solo, *coordinators: int) -> Step:
    """Its Check begins, and these say that they lead; when all who do not are silent for T, the last step."""
    step = solo.fire()
    assert {message.kind for message in step.sent} == {"AreYouCoordinator"}
    for message in step.sent:
        if message.target in coordinators:
            last = solo.reply(message, AreYouCoordinatorAnswer(is_coordinator=True))
    return last if len(coordinators) == len(step.sent) else solo.fire()


def merges(solo: Solo, *coordinators: int) -> Step:
    """... and it merges them: the step of the Invitations."""
    step = checks(solo, *coordinators)
    return step if any(message.kind == "Invitation" for message in step.sent) else solo.fire()


def runs(solo: Solo) -> set[str]:
    """The procedures that run."""
    return {name for name in ("check", "timeout", "merge", "join") if solo.node.is_running(name)}
