"""One bully node alone, brought into each state by hand, with the messages of bully.py at hand."""

import msgspec

from lab.kernel import Message, Step
from lab.protocols import Definition, bully
from tests.harness import Solo

__all__ = ["DEFINITION", "enter", "follow", "kinds", "lead", "lone_bully", "normal", "reply_all", "targets"]

DEFINITION = Definition(4, 3, (1, 2, 3))


def lone_bully(node: int = 2, ids: tuple[int, ...] = (1, 2, 3), version: int = 0) -> Solo:
    """A node that has just come up, and is at stage 1 of its election."""
    solo = Solo(bully.Bully, node, ids)
    solo.start({"version": version} if version else {})
    return solo


def enter(solo: Solo, leader: int = 3) -> Step:
    """The leader has it enter its election: Election."""
    return solo.hear(leader, bully.EnterElection())


def follow(solo: Solo, leader: int = 3) -> Step:
    """... and makes itself its coordinator: Reorganization."""
    enter(solo, leader)
    return solo.hear(leader, bully.SetCoordinator())


def normal(solo: Solo, leader: int = 3, definition: Definition = DEFINITION) -> Step:
    """... and hands it the new state: Normal."""
    follow(solo, leader)
    return solo.hear(leader, bully.NewState(definition))


def lead(solo: Solo, members: tuple[int, ...]) -> Step:
    """Let it win its election with these members; the step in which it is Normal."""
    for _ in solo.protocol.higher[:1]:
        solo.fire()
    step = _answer_stage(solo, members, bully.EnterElectionAnswer(Definition(), 0))
    step = _answer_stage(solo, members, bully.SetCoordinatorAnswer())
    step = _answer_stage(solo, members, bully.NewStateAnswer())
    assert solo.protocol.status.value == "Normal"
    return step


def reply_all(solo: Solo, asked: Step, payload: msgspec.Struct) -> Step:
    """All who were asked give this answer; the last step."""
    *_, last = (solo.reply(message, payload) for message in asked.sent)  # type: ignore[arg-type]
    return last


def kinds(step: Step) -> list[str]:
    """The kinds of the messages sent."""
    return [message.kind for message in step.sent]


def targets(step: Step, kind: str) -> list[int]:
    """To whom messages of this kind were sent."""
    return [message.target for message in step.sent if message.kind == kind]


def _answer_stage(solo: Solo, members: tuple[int, ...], payload: msgspec.Struct) -> Step:
    raise NotImplementedError


def body(message: Message) -> object:
    """The content of a message."""
    return msgspec.json.decode(message.body)
