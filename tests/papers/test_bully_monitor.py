"""B8-B10: the answers of a bully node at any time, its refusals, late answers, and versions of the state."""

from collections.abc import Callable

import pytest

from lab.kernel import Step
from lab.protocols import Bully, Definition, Status
from lab.protocols.bully import (
    AreYouNormal,
    AreYouNormalAnswer,
    AreYouUp,
    AreYouUpAnswer,
    EnterElection,
    EnterElectionAnswer,
    NewState,
    SetCoordinator,
    SetCoordinatorAnswer,
)
from tests.harness import Solo
from tests.papers.alone import DEFINITION, asked, body, enter, follow, halt_lower, lead, lone, normal, reply_all

STATES: dict[str, Callable[[Solo], object]] = {
    "Down": lambda solo: None,
    "Election": enter,
    "Reorganization": follow,
    "Normal": normal,
}


def _in(status: str) -> Solo:
    solo, _ = lone()
    STATES[status](solo)
    assert solo.protocol.status.value == status
    return solo


@pytest.mark.parametrize("status", STATES)
def test_B8_are_you_up(status: str) -> None:
    """B8: yes, in every status; and no change of state."""
    step = _in(status).hear(1, AreYouUp())
    assert asked(step) == [("AreYouUpAnswer", 1)]
    assert step.changed == {}


@pytest.mark.parametrize("status", STATES)
def test_B8_are_you_normal(status: str) -> None:
    """B8: the answer is whether the status is Normal."""
    (answer,) = _in(status).hear(3, AreYouNormal()).sent
    assert (answer.kind, body(answer)) == ("AreYouNormalAnswer", {"normal": status == "Normal"})


@pytest.mark.parametrize("status", STATES)
def test_B8_enter_election(status: str) -> None:
    """B8: in every status: Election, the task stops, halted is the sender; an answer."""
    solo = _in(status)
    step = solo.hear(3, EnterElection())
    assert asked(step) == [("EnterElectionAnswer", 3)]
    assert (solo.protocol.status, solo.protocol.halted) == (Status.ELECTION, 3)
    assert not solo.protocol.processing


def test_B8_enter_election_stops_the_nodes_own_election() -> None:
    """B8: at any stage: none of it runs on, and answers to it are late."""
    solo, step = lone(2, (1, 2, 3, 4))
    step = solo.fire_timer()
    assert asked(step) == [("EnterElection", 1)]
    solo.hear(4, EnterElection())
    assert solo.waits == ()
    assert not solo.protocol.is_running(solo.protocol.election)
    late = solo.reply(step.sent[0], EnterElectionAnswer(Definition(), 0))
    assert late.late
    assert (late.sent, late.changed, solo.waits) == ((), {}, ())
    assert (solo.protocol.up, solo.protocol.coordinator) == (frozenset(), None)


def test_B8_enter_election_at_the_coordinator() -> None:
    """B8: a coordinator in the middle of its Check enters the election like any other node."""
    solo = lead((1, 2), node=3, ids=(1, 2, 3, 4))
    checked = solo.fire_timer()
    solo.hear(4, EnterElection())
    assert solo.waits == ()
    assert solo.protocol.status is Status.ELECTION
    assert reply_all(solo, checked, AreYouUpAnswer()).late


def test_B8_the_last_leader_counts() -> None:
    """B8: halted is the last sender of EnterElection, and only that leader may become coordinator."""
    solo, _ = lone(1, (1, 2, 3))
    enter(solo, 2)
    enter(solo, 3)
    assert solo.protocol.halted == 3
    assert solo.hear(2, SetCoordinator()).sent == ()
    assert asked(solo.hear(3, SetCoordinator())) == [("SetCoordinatorAnswer", 3)]


def test_B8_set_coordinator_accepted() -> None:
    """B8: from the leader of the current election: Coordinator, Reorganization, an answer."""
    solo = _in("Election")
    step = solo.hear(3, SetCoordinator())
    assert step.changed == {"coordinator": 3, "status": "Reorganization"}
    assert asked(step) == [("SetCoordinatorAnswer", 3)]


@pytest.mark.parametrize(
    ("status", "sender"), [("Election", 1), ("Down", 3), ("Reorganization", 3), ("Normal", 3), ("Normal", 1)]
)
def test_B8_set_coordinator_refused(status: str, sender: int) -> None:
    """B8: from another sender, or in another status, it has no effect and gets no answer."""
    _refused(_in(status).hear(sender, SetCoordinator()))


def test_B8_set_coordinator_refused_by_a_leader() -> None:
    """B8: a node that holds an election has halted itself, and accepts no other leader."""
    solo, _ = lone()
    solo.fire_timer()
    assert solo.protocol.status is Status.ELECTION
    _refused(solo.hear(3, SetCoordinator()))


def test_B8_new_state_accepted() -> None:
    """B8: from the coordinator, in Reorganization: the Definition, Normal, an answer; the task resumes."""
    solo = _in("Reorganization")
    step = solo.hear(3, NewState(DEFINITION))
    assert solo.protocol.definition == DEFINITION
    assert step.changed["status"] == "Normal"
    assert step.changed["processing"] is True
    assert step.changed["up"] == [1, 3]
    assert asked(step) == [("NewStateAnswer", 3)]


@pytest.mark.parametrize(
    ("status", "sender"), [("Reorganization", 1), ("Down", 3), ("Election", 3), ("Normal", 3), ("Normal", 1)]
)
def test_B8_new_state_refused(status: str, sender: int) -> None:
    """B8: from another sender, or in another status, it has no effect and gets no answer."""
    _refused(_in(status).hear(sender, NewState(Definition(9, sender, (sender,)))))


def test_B8_new_state_after_another_election_is_refused() -> None:
    """B8: NewState has no effect once another election was entered."""
    solo, _ = lone(1, (1, 2, 3))
    follow(solo, 2)
    enter(solo, 3)
    _refused(solo.hear(2, NewState(DEFINITION)))


def test_B4_a_coordinator_that_leaves_the_election_to_a_higher_node_steps_down() -> None:
    """B4 with B3: from then on any Check finds that it is not Normal, and it performs no task (M7)."""
    solo = lead((1,), node=2, ids=(1, 2, 3))
    checked = solo.fire_timer().sent
    assert [message.target for message in checked] == [1, 3]
    for message in checked:
        step = solo.reply(message, AreYouNormalAnswer(True))
    (question,) = step.sent
    assert (question.kind, question.target) == ("AreYouUp", 3)
    solo.reply(question, AreYouUpAnswer())
    assert (solo.protocol.status, solo.protocol.processing) == (Status.ELECTION, False)
    assert body(solo.hear(3, AreYouNormal()).sent[0]) == {"normal": False}


def test_B9_a_late_answer_is_not_taken_for_a_later_requests() -> None:
    """B9: an answer to EnterElection of an earlier attempt does not put its sender into this attempt's Up."""
    solo, step = lone(3)
    (first,) = step.sent
    step = halt_lower(solo, step, {1: EnterElectionAnswer(Definition(), 0)})
    assert asked(step) == [("SetCoordinator", 1)]
    step = solo.fire_timer()
    assert asked(step) == [("EnterElection", 2)], "the second attempt"
    late = solo.reply(first, EnterElectionAnswer(Definition(7), 7))
    assert late.late
    step = halt_lower(solo, step, {1: EnterElectionAnswer(Definition(), 0)})
    assert step.changed["up"] == [1]
    step = reply_all(solo, step, SetCoordinatorAnswer())
    assert step.stored == {"version": 1}, "and its version counts for nothing"


@pytest.mark.parametrize(("own", "others", "new"), [(0, (0, 0), 1), (0, (3, 7), 8), (9, (3, 7), 10)])
def test_B10_the_new_definition_is_newer_than_all_that_the_group_knows(
    own: int, others: tuple[int, ...], new: int
) -> None:
    """B10: answers to EnterElection carry versions; the new coordinator continues from the newest of all.

    It has stored its version before NewState leaves.
    """
    solo, step = lone(3, version=own)
    replies = {node: EnterElectionAnswer(Definition(version), version) for node, version in enumerate(others, 1)}
    step = halt_lower(solo, step, replies)
    step = reply_all(solo, step, SetCoordinatorAnswer())
    assert step.stored == {"version": new}
    assert asked(step) == [("NewState", 1), ("NewState", 2)]
    assert solo.protocol.definition == Definition(new, 3, (1, 2, 3))


def test_B10_a_member_reports_the_newest_state_it_knows() -> None:
    """B10: its last Definition and the version; the version survives a crash."""
    solo, _ = lone()
    normal(solo)
    (answer,) = enter(solo, 3).sent
    assert body(answer) == {"definition": {"version": 4, "coordinator": 3, "members": [1, 2, 3]}, "version": 4}
    again, _ = lone(version=DEFINITION.version)
    (answer,) = enter(again, 3).sent
    assert body(answer) == {"definition": {}, "version": 4}


def test_B10_a_member_stores_the_version_of_its_definition() -> None:
    """B10: before its answer leaves, in the same step."""
    solo, _ = lone()
    step = normal(solo)
    assert step.stored == {"version": 4}
    assert asked(step) == [("NewStateAnswer", 3)]


def test_every_message_of_the_listing_is_handled() -> None:
    """B8: the five requests and their answers, with the names of the listing."""
    assert set(Bully.handlers) == {"AreYouUp", "AreYouNormal", "EnterElection", "SetCoordinator", "NewState"}
    assert set(Bully.payloads) == {*Bully.handlers, *(f"{kind}Answer" for kind in Bully.handlers)}


def _refused(step: Step) -> None:
    assert (step.sent, step.changed, step.stored, step.failed) == ((), {}, {}, "")
