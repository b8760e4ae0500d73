"""A single bully node, driven by hand into each state by messages of its peers."""

from msgspec import json

from lab.kernel import Message, Payload, Step
from lab.protocols import Bully, Definition, Status
from lab.protocols.bully import (
    EnterElection,
    EnterElectionAnswer,
    NewState,
    NewStateAnswer,
    SetCoordinator,
    SetCoordinatorAnswer,
)
from tests.harness import Solo

__all__ = [
    "DEFINITION",
    "asked",
    "begins",
    "body",
    "enter",
    "follow",
    "halt_lower",
    "lead",
    "lone",
    "normal",
    "reply_all",
]

DEFINITION = Definition(4, 3, (1, 2, 3))
ENTERED = EnterElectionAnswer(Definition(), 0)


def lone(node: int = 2, ids: tuple[int, ...] = (1, 2, 3), version: int = 0) -> tuple[Solo, Step]:
    """Return a node that has just started and is in stage 1 of its election."""
    solo = Solo(Bully, node, ids)
    return solo, solo.start({"version": version} if version else {})


def enter(solo: Solo, leader: int = 3) -> Step:
    """Deliver EnterElection of the leader: Election."""
    return solo.hear(leader, EnterElection())


def follow(solo: Solo, leader: int = 3) -> Step:
    """Deliver SetCoordinator, too: Reorganization."""
    enter(solo, leader)
    return solo.hear(leader, SetCoordinator())


def normal(solo: Solo, leader: int = 3) -> Step:
    """Deliver NewState, too: Normal."""
    follow(solo, leader)
    return solo.hear(leader, NewState(DEFINITION))


def lead(members: tuple[int, ...] = (1, 2), node: int = 3, ids: tuple[int, ...] = (1, 2, 3)) -> Solo:
    """Return a node that won its election and is Normal with these members."""
    solo, step = lone(node, ids)
    if step.sent[0].kind == "AreYouUp":
        step = solo.fire_timer()
    step = halt_lower(solo, step, dict.fromkeys(members, ENTERED))
    step = reply_all(solo, step, SetCoordinatorAnswer())
    reply_all(solo, step, NewStateAnswer())
    assert solo.protocol.status is Status.NORMAL
    return solo


def halt_lower(solo: Solo, step: Step, replies: dict[int, EnterElectionAnswer]) -> Step:
    """Let stage 2 go on, node after node: those with an answer give it, the others are silent for T."""
    while [message.kind for message in step.sent] == ["EnterElection"]:
        (message,) = step.sent
        answer = replies.get(message.target)
        step = solo.fire_timer() if answer is None else solo.reply(message, answer)
    return step


def reply_all(solo: Solo, step: Step, payload: Payload) -> Step:
    """Deliver this answer of all nodes asked in that step; return the last step."""
    *_, last = (solo.reply(message, payload) for message in step.sent)
    return last


def asked(step: Step) -> list[tuple[str, int]]:
    """Return (kind, target) of the messages of a step."""
    return [(message.kind, message.target) for message in step.sent]


def begins(step: Step) -> bool:
    """Return whether an election began in this step: its first request or its first wait is in it."""
    return any(wait.procedure == "election" and wait.since_us == step.at_us for wait in step.began)


def body(message: Message) -> object:
    """Return the content of a message."""
    return json.decode(message.body)
