"""The bully algorithm, rule by rule: B1-B7. B8-B10 are in ``test_bully_monitor.py``."""

from collections.abc import Callable
from typing import Literal

import pytest

from lab.kernel import Step
from lab.protocols import Bully, Definition, Status
from lab.protocols.bully import (
    AreYouNormal,
    AreYouNormalAnswer,
    AreYouUp,
    AreYouUpAnswer,
    EnterElectionAnswer,
    NewStateAnswer,
    SetCoordinatorAnswer,
)
from tests.harness import T_US, Solo
from tests.papers.alone import asked, begins, body, enter, follow, halt_lower, lead, lone, normal, reply_all

TIMEOUT_US = 3 * T_US
UP, NORMAL = AreYouUpAnswer(), AreYouNormalAnswer(True)


@pytest.mark.parametrize("led", [follow, normal])
def test_B1_a_silent_coordinator_is_asked_and_then_replaced(led: Callable[[Solo], Step]) -> None:
    """B1: a node whose coordinator was silent for the timeout asks it AreYouUp.

    It is Normal or in Reorganization. No answer within T starts Election.
    """
    solo, _ = lone(2, (1, 2, 3, 4))
    solo.now_us = 1_000
    led(solo)
    step = solo.fire_timer()
    assert step.at_us == 1_000 + TIMEOUT_US
    assert asked(step) == [("AreYouUp", 3)]
    step = solo.fire_timer()
    assert step.at_us == 1_000 + TIMEOUT_US + T_US
    assert asked(step) == [("AreYouUp", 3), ("AreYouUp", 4)]
    assert begins(step)


def test_B1_a_coordinator_that_answers_is_kept() -> None:
    """B1: its answer counts as hearing it, so the timeout starts anew."""
    solo, _ = lone()
    normal(solo)
    (question,) = solo.fire_timer().sent
    solo.now_us += 10
    step = solo.reply(question, UP)
    assert (step.sent, solo.waits) == ((), ())
    assert solo.node.next_timer() is not None
    assert solo.fire_timer().at_us == step.at_us + TIMEOUT_US


def test_B1_only_messages_of_the_coordinator_count() -> None:
    """B1: any message of the coordinator restarts the timeout; messages of others do not."""
    solo, _ = lone()
    normal(solo)
    solo.now_us = 100_000
    solo.hear(1, AreYouUp())
    assert (solo.node.next_timer() or (0,))[0] == TIMEOUT_US
    solo.hear(3, AreYouNormal())
    assert (solo.node.next_timer() or (0,))[0] == 100_000 + TIMEOUT_US


def test_B2_a_restarted_node_is_down_and_calls_election() -> None:
    """B2: Recovery leaves Status at Down, and asks the nodes above."""
    solo, step = lone(2, (1, 2, 3, 4))
    assert step.changed["status"] == "Down"
    assert step.changed["coordinator"] is None
    assert asked(step) == [("AreYouUp", 3), ("AreYouUp", 4)]
    assert not solo.protocol.processing


def test_B3_the_coordinator_asks_all_others_periodically() -> None:
    """B3: every other node, in Up or not; and only while it is a Normal coordinator."""
    solo = lead((1,), node=3, ids=(1, 2, 3, 4))
    began_us = solo.now_us
    for _ in range(3):
        step = solo.fire_timer()
        assert asked(step) == [("AreYouNormal", 1), ("AreYouNormal", 2), ("AreYouNormal", 4)]
        solo.reply(step.sent[0], NORMAL)
        step = solo.fire_timer()
        assert not begins(step), "nodes outside Up are silent, as they should be"
    assert solo.now_us == began_us + 3 * T_US
    enter(solo, 4)
    due = solo.node.next_timer()
    assert due is not None
    assert due[1].procedure == "coordinator_timeout"


@pytest.mark.parametrize(
    ("replies", "why"),
    [
        ({1: False, 2: True}, "a node of Up is not normal"),
        ({1: True}, "a node of Up is silent"),
        ({1: True, 2: True, 4: False}, "a node outside Up answers"),
        ({1: True, 2: True, 4: True}, "a node outside Up answers, and is Normal"),
    ],
)
def test_B3_what_makes_a_coordinator_start_an_election(replies: dict[int, bool], why: str) -> None:
    """B3: a node of Up that is silent for T or not Normal, and any answer from outside Up."""
    solo = lead((1, 2), node=3, ids=(1, 2, 3, 4))
    step = solo.fire_timer()
    for message in step.sent:
        if message.target in replies:
            solo.reply(message, AreYouNormalAnswer(replies[message.target]))
    if len(replies) < 3:
        step = solo.fire_timer()
    assert solo.protocol.is_running(solo.protocol.election), why
    assert not solo.protocol.is_running(solo.protocol.check)


def test_B3_a_good_check_changes_nothing() -> None:
    """B3: all of Up are Normal, and no other node answers."""
    solo = lead((1, 2))
    step = reply_all(solo, solo.fire_timer(), NORMAL)
    assert (step.changed, step.sent, solo.waits) == ({}, (), ())


def test_B4_any_answer_from_above_ends_the_attempt() -> None:
    """B4: every higher node is asked, no lower one; the first answer of any of them is enough."""
    solo, step = lone(2, (1, 2, 3, 4, 5))
    assert asked(step) == [("AreYouUp", 3), ("AreYouUp", 4), ("AreYouUp", 5)]
    solo.now_us = 20_000
    step = solo.reply(step.sent[1], UP)
    assert step.sent == ()
    assert [(wait.what, wait.since_us) for wait in solo.waits] == [("a higher node to take over", 20_000)]
    assert solo.protocol.status is Status.DOWN, "stage 1 changes no status"


def test_B4_waiting_for_a_takeover_ends() -> None:
    """B4: if no node takes over within a further wait, the node starts again, repeatedly."""
    solo, step = lone()
    for _ in range(3):
        answered_us = solo.now_us
        solo.reply(step.sent[0], UP)
        step = solo.fire_timer()
        assert asked(step) == [("AreYouUp", 3)]
        # the higher one's timeout, T to ask its coordinator, T for its stage 1, and the sources' T
        assert step.at_us == answered_us + TIMEOUT_US + 3 * T_US


@pytest.mark.parametrize("silent_us", [0, TIMEOUT_US])
def test_B4_a_node_with_a_coordinator_after_the_wait_does_not_start_again(silent_us: int) -> None:
    """B4: only a coordinator that is not itself overdue counts as a takeover."""
    solo, step = lone(2, (1, 2, 3))
    normal(solo)
    solo.fire_timer()
    step = solo.fire_timer()
    assert asked(step) == [("AreYouUp", 3)]
    solo.reply(step.sent[0], UP)
    ends_us = solo.now_us + TIMEOUT_US + 3 * T_US
    solo.now_us = ends_us - silent_us - 1
    solo.hear(3, AreYouNormal())
    step = solo.fire_timer()
    assert begins(step) is (silent_us > 0)


def test_B5_nobody_above() -> None:
    """B5: after T without an answer: Election, the task stops, the node is its own leader, and Up is empty.

    The lower nodes are asked one after the other, the highest first.
    """
    solo, _ = lone(3, (1, 2, 3, 4))
    normal(solo, 4)
    assert solo.protocol.processing
    solo.fire_timer()
    assert solo.protocol.status is Status.NORMAL
    solo.fire_timer()
    step = solo.fire_timer()
    assert step.changed == {"status": "Election", "processing": False, "halted": 3, "up": []}
    assert asked(step) == [("EnterElection", 2)]
    assert asked(solo.reply(step.sent[0], EnterElectionAnswer(Definition(), 0))) == [("EnterElection", 1)]


def test_B5_nodes_that_answer_are_in_up() -> None:
    """B5: a silent node is awaited for up to T and is not in Up."""
    solo, step = lone(3)
    assert asked(step) == [("EnterElection", 2)]
    step = solo.fire_timer()
    assert step.at_us == T_US
    assert asked(step) == [("EnterElection", 1)]
    assert solo.protocol.up == frozenset()
    step = solo.reply(step.sent[0], EnterElectionAnswer(Definition(), 0))
    assert step.changed["up"] == [1]


def test_B5_all_at_once() -> None:
    """B5, read so that the loop sends to all and waits once: all have T to answer."""
    solo = Solo(Bully, 3, (1, 2, 3), parameters=Bully.Parameters(halting="at_once"))
    step = solo.start({})
    assert asked(step) == [("EnterElection", 1), ("EnterElection", 2)]
    solo.reply(step.sent[0], EnterElectionAnswer(Definition(), 0))
    assert solo.protocol.up == frozenset()
    step = solo.fire_timer()
    assert (step.at_us, step.changed["up"]) == (T_US, [1])


@pytest.mark.parametrize(("silence", "elects"), [("elects", True), ("waits", False)])
def test_B1_the_leader_of_an_election_is_silent(silence: Literal["elects", "waits"], elects: bool) -> None:
    """B1: by the notes, a node that has entered an election elects itself; by the listing, it waits."""
    solo = Solo(Bully, 2, (1, 2, 3), parameters=Bully.Parameters(silence=silence))
    solo.start({})
    enter(solo, 3)
    assert (solo.node.next_timer() is not None) is elects
    if elects:
        assert begins(solo.fire_timer())


def _entered(members: tuple[int, ...] = (1, 2), versions: tuple[int, ...] = (0, 0)) -> tuple[Solo, Step]:
    solo, step = lone(3)
    replies = {member: EnterElectionAnswer(Definition(), versions[member - 1]) for member in members}
    return solo, halt_lower(solo, step, replies)


def test_B6_the_members_of_up_learn_who_leads() -> None:
    """B6: Coordinator ← self, Status ← Reorganization; SetCoordinator goes to Up only."""
    _, step = _entered((2,))
    assert step.changed == {"coordinator": 3, "status": "Reorganization", "up": [2]}
    assert asked(step) == [("SetCoordinator", 2)]


def test_B6_an_answer_missing_starts_anew() -> None:
    """B6: after T, from stage 1, which has no higher node here."""
    solo, step = _entered()
    solo.reply(step.sent[0], SetCoordinatorAnswer())
    step = solo.fire_timer()
    assert step.at_us == T_US
    assert asked(step) == [("EnterElection", 2)]
    assert step.changed == {"status": "Election", "up": []}


def test_B7_the_members_of_up_get_the_definition() -> None:
    """B7: NewState with the Definition to all of Up; once all have answered, Normal, and the task resumes."""
    solo, step = _entered()
    step = reply_all(solo, step, SetCoordinatorAnswer())
    assert asked(step) == [("NewState", 1), ("NewState", 2)]
    new = {"version": 1, "coordinator": 3, "members": [1, 2, 3]}
    assert body(step.sent[0]) == {"definition": new}
    solo.reply(step.sent[0], NewStateAnswer())
    assert solo.protocol.status is Status.REORGANIZATION
    step = solo.reply(step.sent[1], NewStateAnswer())
    assert step.changed == {"status": "Normal", "processing": True}


def test_B7_an_answer_missing_starts_anew() -> None:
    """B7: after T, from stage 1; the coordinator was not Normal in between."""
    solo, step = _entered()
    step = reply_all(solo, step, SetCoordinatorAnswer())
    solo.reply(step.sent[1], NewStateAnswer())
    step = solo.fire_timer()
    assert asked(step) == [("EnterElection", 2)]
    assert solo.protocol.status is Status.ELECTION
