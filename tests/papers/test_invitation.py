"""The invitation algorithm, rule by rule: I1-I6, I8. I7 is in ``test_invitation_monitor.py``."""

import pytest
from msgspec import json

from lab.kernel import Step
from lab.protocols import Definition, Group, Status
from lab.protocols.invitation import (
    Accept,
    AcceptAnswer,
    AreYouCoordinatorAnswer,
    AreYouThereAnswer,
    Invitation,
    Ready,
    ReadyAnswer,
)
from tests.harness import T_US, TM_US, Solo
from tests.papers.alone import asked, body
from tests.papers.invited import DEFINITION, GROUP, checks, in_status, invited, joins, lone, merges, runs

TIMEOUT_US = 3 * T_US
ACCEPT_US = T_US + TM_US + 20_000
"""Listing 10.26 collects for T; here for the Tm + Tp more that an invitation takes which is passed on."""

COORDINATOR = AreYouCoordinatorAnswer(is_coordinator=True)
NO_COORDINATOR = AreYouCoordinatorAnswer(is_coordinator=False)


def test_I1_the_counter_is_raised_and_stored_before_it_is_used() -> None:
    """I1: in the same step that first has the identifier; no message of an earlier step contains it."""
    solo, step = lone(counter=6)
    assert step.stored == {"counter": 7}
    assert step.changed["group"] == [2, 7]
    step = merges(solo, 1)
    assert step.stored == {"counter": 8}
    assert step.changed["group"] == [2, 8]
    assert [body(message) for message in step.sent] == [{"coordinator": 2, "group": [2, 8]}]


def test_I1_a_new_incarnation_continues_the_counter() -> None:
    """I1: even if the last incarnation was killed right after it had stored it."""
    _, step = lone()
    assert step.changed["group"] == [2, 1]
    _, step = lone(counter=step.stored["counter"])
    assert step.changed["group"] == [2, 2]


def test_I2_recovery() -> None:
    """I2: a node that starts is Normal in a group of its own, as coordinator and only member."""
    solo, step = lone()
    assert step.sent == ()
    assert (solo.protocol.status, solo.protocol.coordinator) == (Status.NORMAL, 2)
    assert solo.protocol.up == frozenset()
    assert solo.protocol.processing
    assert solo.protocol.definition.members == (2,)
    assert solo.protocol.definition.coordinator == 2


def test_I2_also_on_a_lost_coordinator() -> None:
    """I2: with a new identifier and its state of the task: the Definition is newer than the lost group's."""
    solo = in_status("Normal")
    solo.fire_timer()
    step = solo.fire_timer()
    assert step.changed["group"] == [2, 2]
    assert solo.protocol.leads
    assert solo.protocol.definition.version == DEFINITION.version + 1
    assert solo.protocol.definition.members == (2,)


def test_I3_a_coordinator_asks_all_others_periodically() -> None:
    """I3: every other node, in its group or not, every T."""
    solo, _ = lone(2, (1, 2, 3, 4))
    for turn in (1, 2, 3):
        step = solo.fire_timer()
        assert step.at_us == turn * T_US
        assert asked(step) == [("AreYouCoordinator", 1), ("AreYouCoordinator", 3), ("AreYouCoordinator", 4)]
        for message in step.sent:
            step = solo.reply(message, NO_COORDINATOR)
        assert runs(solo) == set(), "nobody leads but this one"


@pytest.mark.parametrize("status", ["Election", "Reorganization", "Normal"])
def test_I3_only_coordinators_check(status: str) -> None:
    """I3: neither a participant, nor a node that is joining."""
    solo = in_status(status)
    while not solo.protocol.leads:
        due = solo.node.next_timer()
        assert due is not None
        assert due[1].procedure in ("join", "timeout")
        solo.fire_timer()


@pytest.mark.parametrize(("node", "courtesy_us"), [(4, 0), (3, 2 * T_US), (2, 4 * T_US), (1, 6 * T_US)])
def test_I3_the_wait_before_merge(node: int, courtesy_us: int) -> None:
    """I3: the highest does not wait; each other node waits 2·T longer than the next higher one."""
    solo, _ = lone(node, (1, 2, 3, 4))
    other = 1 if node != 1 else 2
    found_us = checks(solo, other).at_us
    assert runs(solo) == {"check"}
    assert solo.fire_timer().at_us == found_us + courtesy_us
    assert runs(solo) == {"merge"}
    assert solo.protocol.status is Status.ELECTION


@pytest.mark.parametrize("node", [1, 2, 3, 4])
@pytest.mark.parametrize(("wait", "constant_us"), [("T/priority", T_US), ("100T/priority", 100 * T_US)])
def test_I3_a_wait_inversely_proportional_to_the_priority(node: int, wait: str, constant_us: int) -> None:
    """I3, readings: T or 100·T, divided by the id."""
    solo, _ = lone(node, (1, 2, 3, 4), wait=wait)
    found_us = checks(solo, 1 if node != 1 else 2).at_us
    assert solo.fire_timer().at_us == found_us + constant_us // node


def test_I3_then_merge_only_if_it_still_leads() -> None:
    """I3: a node that was invited during its wait does not merge."""
    solo, _ = lone()
    checks(solo, 1)
    assert runs(solo) == {"check"}
    joins(solo)
    assert runs(solo) == set()
    sent = [message.kind for _ in range(3) for message in solo.fire_timer().sent]
    assert "Invitation" not in sent


def test_I4_a_silent_coordinator_is_asked() -> None:
    """I4: AreYouThere with the group; after a yes in time, the next timeout starts."""
    solo = in_status("Normal")
    for turn in (1, 2):
        step = solo.fire_timer()
        assert step.at_us == turn * TIMEOUT_US
        assert asked(step) == [("AreYouThere", 3)]
        assert body(step.sent[0]) == {"group": [3, 7]}
        step = solo.reply(step.sent[0], AreYouThereAnswer(is_coordinator=True))
        assert (step.changed, solo.waits) == ({}, ())


def test_I4_no_answer_within_T_starts_recovery() -> None:
    """I4: exactly at T."""
    solo = in_status("Normal")
    asked_us = solo.fire_timer().at_us
    assert solo.fire_timer().at_us == asked_us + T_US
    assert solo.protocol.leads


def test_I4_a_no_starts_recovery_at_once() -> None:
    """I4: the coordinator leads another group, or this node is not in it."""
    solo = in_status("Normal")
    step = solo.reply(solo.fire_timer().sent[0], AreYouThereAnswer(is_coordinator=False))
    assert step.changed["group"] == [2, 2]
    assert solo.protocol.leads


def test_I4_a_coordinator_is_asked_even_if_it_is_heard() -> None:
    """I4, a reading: any message of the coordinator delays the question, or only one of the group."""
    for heard, due_us in (("group", TIMEOUT_US), ("any", 100_000 + TIMEOUT_US)):
        solo = in_status("Normal", heard=heard)
        solo.now_us = 100_000
        solo.hear(3, Ready(Group(3, 8), DEFINITION))
        due = solo.node.next_timer()
        assert due is not None
        assert (due[0], due[1].procedure) == (due_us, "timeout")


def test_I5_merge_invites_the_coordinators_and_the_old_members() -> None:
    """I5: Election, the task stops, a new group, Up empty; Invitation(self, Group) goes to each once."""
    solo = _leads((1,), node=4, ids=(1, 2, 3, 4))
    step = merges(solo, 2, 3)
    assert asked(step) == [("Invitation", 1), ("Invitation", 2), ("Invitation", 3)]
    group = solo.protocol.group
    assert {bytes(message.body) for message in step.sent} == {json.encode(Invitation(4, group))}
    assert step.changed["status"] == "Election"
    assert step.changed["processing"] is False
    assert step.changed["up"] == []


def test_I5_accepts_are_collected_and_then_ready_goes_to_all() -> None:
    """I5: Accepts are collected for T and the forwarding of an invitation; then Ready goes to those who accepted.

    Its Definition is newer than any of theirs. The coordinator is Normal once all have answered that they are in
    the group.
    """
    solo, _ = lone(3)
    invited_us = merges(solo, 1, 2).at_us
    group = solo.protocol.group
    for node, version in ((1, 5), (2, 8)):
        (answer,) = solo.hear(node, Accept(group, Definition(version, node, (node,)))).sent
        assert body(answer) == {"accepted": True}
    step = solo.fire_timer()
    assert step.at_us == invited_us + ACCEPT_US
    assert step.changed["status"] == "Reorganization"
    assert asked(step) == [("Ready", 1), ("Ready", 2)]
    assert solo.protocol.definition.members == (1, 2, 3)
    assert solo.protocol.definition.version == 9
    solo.reply(step.sent[0], ReadyAnswer(in_group=True))
    assert solo.protocol.status is Status.REORGANIZATION
    step = solo.reply(step.sent[1], ReadyAnswer(in_group=True))
    assert step.changed == {"status": "Normal", "processing": True}


def test_I5_nodes_that_do_not_accept_are_left_out() -> None:
    """I5: the group consists of those invited that accept in time."""
    solo, _ = lone(3)
    merges(solo, 1, 2)
    solo.hear(2, Accept(solo.protocol.group, Definition()))
    assert asked(solo.fire_timer()) == [("Ready", 2)]
    assert solo.protocol.up == {2}


def test_I5_if_nobody_accepts_it_is_a_group_of_one() -> None:
    """I5: there is no answer to wait for."""
    solo, _ = lone(3)
    merges(solo, 1, 2)
    step = solo.fire_timer()
    assert step.sent == ()
    assert solo.protocol.leads
    assert solo.protocol.definition.members == (3,)


@pytest.mark.parametrize("replies", [[True], [True, False], []])
def test_I5_an_answer_missing_starts_recovery(replies: list[bool]) -> None:
    """I5: not all answered *in group* within T: one is dead, or in another group by now."""
    solo = _ready_sent()
    group = solo.protocol.group
    step = solo.fire_timer()
    ready_us = step.at_us
    for message, in_group in zip(step.sent, replies, strict=False):
        solo.reply(message, ReadyAnswer(in_group))
    if len(replies) < 2:
        assert solo.fire_timer().at_us == ready_us + T_US
    assert solo.protocol.leads
    assert solo.protocol.group == Group(3, group.counter + 1)
    assert solo.protocol.up == frozenset()


def test_I5_only_as_a_normal_coordinator() -> None:
    """I5: at any other time Merge does nothing."""
    solo = in_status("Normal")
    solo.protocol.begin(solo.protocol.merge)
    step = solo.hear(1, Ready(Group(9, 9), DEFINITION))
    assert [message.kind for message in step.sent] == ["ReadyAnswer"]
    assert solo.protocol.group == GROUP
    assert runs(solo) == set()


def _ready_sent() -> Solo:
    solo, _ = lone(3)
    merges(solo, 1, 2)
    for node in (1, 2):
        solo.hear(node, Accept(solo.protocol.group, Definition()))
    return solo


def _leads(members: tuple[int, ...], node: int = 3, ids: tuple[int, ...] = (1, 2, 3)) -> Solo:
    """Return a node that has merged these; its next Check is due."""
    solo, _ = lone(node, ids)
    merges(solo, *members)
    for member in members:
        solo.hear(member, Accept(solo.protocol.group, Definition()))
    for message in solo.fire_timer().sent:
        solo.reply(message, ReadyAnswer(in_group=True))
    assert solo.protocol.leads
    assert solo.protocol.up == set(members)
    return solo


def test_I6_an_invitation_is_accepted() -> None:
    """I6: the task stops, Election, the new coordinator and group; Accept(Group) to the new coordinator."""
    solo, _ = lone()
    step = solo.hear(3, Invitation(3, GROUP))
    assert asked(step) == [("Accept", 3)]
    assert body(step.sent[0])["group"] == [3, 7]  # type: ignore[index]
    assert (solo.protocol.status, solo.protocol.coordinator, solo.protocol.group) == (Status.ELECTION, 3, GROUP)
    assert not solo.protocol.processing


def test_I6_a_coordinator_passes_it_on_to_its_old_members() -> None:
    """I6: the same invitation, before its own Accept, which goes to the new coordinator, not to the sender."""
    solo = _leads((1, 2), node=3, ids=(1, 2, 3, 4))
    step = solo.hear(4, Invitation(4, Group(4, 9)))
    assert asked(step) == [("Invitation", 1), ("Invitation", 2), ("Accept", 4)]
    assert body(step.sent[0]) == {"coordinator": 4, "group": [4, 9]}
    member, _ = lone(1, (1, 2, 3, 4))
    assert asked(member.hear(3, Invitation(4, Group(4, 9)))) == [("Accept", 4)]


def test_I6_a_participant_passes_it_to_nobody() -> None:
    """I6: only coordinators forward it."""
    solo = in_status("Normal")
    assert solo.protocol.up == {1, 3}
    assert asked(solo.hear(1, Invitation(1, Group(1, 4)))) == [("Accept", 1)]


@pytest.mark.parametrize("status", ["Election", "Reorganization"])
def test_I6_only_if_normal(status: str) -> None:
    """I6: a node that is joining a group ignores other invitations."""
    step = in_status(status).hear(1, Invitation(1, Group(1, 4)))
    assert (step.changed, step.sent) == ({}, ())


@pytest.mark.parametrize("accepted", [True, False])
def test_I6_the_answer_to_accept(accepted: bool) -> None:
    """I6: *accepted* ⇒ Reorganization; otherwise Recovery, at once."""
    solo, _ = lone()
    step = solo.reply(invited(solo), AcceptAnswer(accepted))
    assert step.changed["status"] == ("Reorganization" if accepted else "Normal")
    assert solo.protocol.leads is not accepted
    assert solo.protocol.group == (GROUP if accepted else Group(2, 2))


def test_I6_no_answer_within_T_starts_recovery() -> None:
    """I6: an answer that arrives later has no effect (B9)."""
    solo, _ = lone()
    accept = invited(solo)
    step = solo.fire_timer()
    assert step.at_us == T_US
    assert solo.protocol.group == Group(2, 2)
    assert solo.reply(accept, AcceptAnswer(accepted=True)).late
    assert solo.protocol.leads


def test_I6_an_invitation_stops_running_procedures() -> None:
    """A gap: without the repair, the old coordinator's *no* arrives during joining."""
    for left_out in (False, True):
        solo = in_status("Normal", without=("stop_threads",) if left_out else ())
        question = solo.fire_timer()
        assert asked(question) == [("AreYouThere", 3)]
        accept = solo.hear(1, Invitation(1, Group(1, 4))).sent[-1]
        solo.reply(question.sent[0], AreYouThereAnswer(is_coordinator=False))
        assert (solo.protocol.group == Group(1, 4)) is not left_out
        solo.reply(accept, AcceptAnswer(accepted=True))
        assert solo.protocol.status is Status.REORGANIZATION
        assert (solo.protocol.coordinator == 2) is left_out, "its own coordinator, and nothing more comes"


def test_I6_a_node_ignores_its_own_invitation() -> None:
    """Beyond the promise: its own invitation, forwarded back to it."""
    for left_out in (False, True):
        solo, _ = lone(3, without=("ignore_own_invitation",) if left_out else ())
        merges(solo, 1)
        solo.fire_timer()
        assert solo.protocol.leads
        step = solo.hear(1, Invitation(3, Group(3, 2)))
        assert (step.changed == {}) is not left_out


def test_I6_refused_it_goes_on() -> None:
    """I6, a reading: after Recovery comes the next line of the listing."""
    solo, _ = lone(refused="goes_on")
    solo.reply(invited(solo), AcceptAnswer(accepted=False))
    assert (solo.protocol.status, solo.protocol.coordinator) == (Status.REORGANIZATION, 2)


@pytest.mark.parametrize("status", ["Election", "Reorganization"])
def test_I8_nothing_waits_for_ever(status: str) -> None:
    """I8: in Election for at most T; in Reorganization the Timeout of listing 10.24 runs, and T for the answer."""
    solo = in_status(status)
    if status == "Reorganization":
        assert asked(solo.fire_timer()) == [("AreYouThere", 3)]
    step = solo.fire_timer()
    assert step.at_us == (T_US if status == "Election" else TIMEOUT_US + T_US)
    assert solo.protocol.leads


def steps_until_normal(solo: Solo) -> Step:
    """Fire the node's timers until it is Normal; return the steps."""
    while solo.protocol.status is not Status.NORMAL:
        step = solo.fire_timer()
    return step


@pytest.mark.parametrize("at", ["invited", "accepted", "ready sent"])
def test_I8_a_coordinator_that_hears_nothing_more_is_normal_again(at: str) -> None:
    """I8: at any stage of its merge."""
    solo, _ = lone(3)
    merged_us = merges(solo, 1, 2).at_us
    if at != "invited":
        solo.hear(1, Accept(solo.protocol.group, Definition()))
    if at == "ready sent":
        solo.fire_timer()
    assert steps_until_normal(solo).at_us <= merged_us + ACCEPT_US + T_US
    assert solo.protocol.leads
