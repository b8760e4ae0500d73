"""I7, the answers of an invitation node at any time; I9, optional behaviours; I10, the history of groups."""

from itertools import product
from typing import Any

import pytest

from lab.protocols import Definition, FormedGroup, Group, InvitationElection, Status
from lab.protocols.invitation import (
    Accept,
    AreYouCoordinator,
    AreYouCoordinatorAnswer,
    AreYouThere,
    Invitation,
    Ready,
)
from tests.harness import T_US, Rig
from tests.papers.alone import asked, body
from tests.papers.invited import GROUP, STATES, checks, in_status, lone, merges, participates
from tests.profile import sampled
from tests.properties.recorded import judged


@pytest.mark.parametrize("status", STATES)
@pytest.mark.parametrize("group", [GROUP, Group(3, 6), Group(1, 7)])
def test_I7_ready(status: str, group: Group) -> None:
    """I7: if the group matches and the status is Reorganization: the Definition, Normal, yes; otherwise no."""
    solo = in_status(status)
    step = solo.hear(3, Ready(group, Definition(8, 3, (2, 3))))
    taken = status == "Reorganization" and group == GROUP
    assert [body(message) for message in step.sent] == [{"in_group": taken}]
    assert (step.changed != {}) is taken
    if taken:
        assert solo.protocol.status is Status.NORMAL
        assert solo.protocol.definition == Definition(8, 3, (2, 3))
        assert solo.protocol.up == {3}
        assert solo.protocol.processing


@pytest.mark.parametrize("status", STATES)
def test_I7_are_you_coordinator(status: str) -> None:
    """I7: yes if Normal and its own coordinator; participants and joining nodes answer no."""
    assert body(in_status(status).hear(1, AreYouCoordinator()).sent[0]) == {"is_coordinator": False}
    solo, _ = lone()
    assert body(solo.hear(1, AreYouCoordinator()).sent[0]) == {"is_coordinator": True}
    merges(solo, 1)
    assert body(solo.hear(1, AreYouCoordinator()).sent[0]) == {"is_coordinator": False}, "it is merging"


@pytest.mark.parametrize(
    ("sender", "counter", "there"), [(1, 2, True), (2, 2, False), (1, 1, False), (1, 3, False)]
)
def test_I7_are_you_there(sender: int, counter: int, there: bool) -> None:
    """I7: yes if the group matches, it is the coordinator, and the sender is in Up."""
    solo, _ = lone(3)
    merges(solo, 1, 2)
    solo.hear(1, Accept(Group(3, 2), Definition()))
    (answer,) = solo.hear(sender, AreYouThere(Group(3, counter))).sent
    assert body(answer) == {"is_coordinator": there}


def test_I7_a_participant_is_never_there() -> None:
    """I7: not even for another member of the group."""
    (answer,) = in_status("Normal").hear(1, AreYouThere(GROUP)).sent
    assert body(answer) == {"is_coordinator": False}


def test_I7_accept() -> None:
    """I7: in Election, as its own coordinator, for the group: Up grows, and yes; otherwise no."""
    solo, _ = lone(3)
    assert body(solo.hear(1, Accept(Group(3, 1), Definition())).sent[0]) == {"accepted": False}, "Normal"
    merges(solo, 1, 2)
    assert body(solo.hear(1, Accept(Group(3, 1), Definition())).sent[0]) == {"accepted": False}, "an old group"
    assert body(solo.hear(1, Accept(Group(3, 2), Definition())).sent[0]) == {"accepted": True}
    assert solo.protocol.up == {1}
    solo.fire_timer()
    assert solo.protocol.status is Status.REORGANIZATION
    assert body(solo.hear(2, Accept(Group(3, 2), Definition())).sent[0]) == {"accepted": False}, "too late"
    assert solo.protocol.up == {1}
    joining = in_status("Election")
    assert body(joining.hear(1, Accept(GROUP, Definition())).sent[0]) == {"accepted": False}, "of another's"


# I9


def _cluster(nodes: tuple[int, ...], seed: int = 1, **parameters: Any) -> Rig:
    given = InvitationElection.Parameters(**parameters)
    return Rig(nodes, protocol=InvitationElection, jitter_us=5_000, seed=seed, parameters=given)


def _in_one_group(rig: Rig) -> bool:
    return rig.agreed() is not None and len({rig.protocol(node).group for node in rig.incarnations}) == 1


def _until_one_group(rig: Rig) -> int:
    return rig.run_until(lambda: _in_one_group(rig), 200 * T_US, "one group")


def test_I9_all_are_off_by_default() -> None:
    """I9: the default is as in the listings."""
    given = InvitationElection.Parameters()
    offered = (given.priority_invitations, given.informed_answers, given.quick_regroup)
    assert {*offered, given.ignore_lower, given.decline_lower} == {False}


@pytest.mark.parametrize("leads", [True, False])
def test_I9_a_coordinator_may_ignore_lower_ones(leads: bool) -> None:
    """I9: it does not answer a lower coordinator's Check; a participant does, and a higher one gets an answer."""
    solo = lone(2, ignore_lower=True)[0] if leads else in_status("Normal", ignore_lower=True)
    assert (asked(solo.hear(1, AreYouCoordinator())) == []) is leads
    assert asked(solo.hear(3, AreYouCoordinator())) == [("AreYouCoordinatorAnswer", 3)]


def test_I9_a_coordinator_may_decline() -> None:
    """I9: it declines the invitation of a lower one; a participant cannot."""
    for leads in (True, False):
        solo = lone(2, decline_lower=True)[0] if leads else in_status("Normal", decline_lower=True)
        assert (asked(solo.hear(1, Invitation(1, Group(1, 4)))) == []) is leads
    solo, _ = lone(2, decline_lower=True)
    assert asked(solo.hear(3, Invitation(3, Group(3, 4)))) == [("Accept", 3)]


def test_I9_priority_invitations_at_one_node() -> None:
    """I9: the lower one leaves the higher one out of Others; the higher one adds the lower one and merges soon."""
    for on in (False, True):
        solo, _ = lone(2, priority_invitations=on, check_every_us=5 * T_US)
        checks(solo, 3)
        assert solo.protocol.others == (frozenset() if on else {3})
        solo, _ = lone(2, priority_invitations=on, check_every_us=5 * T_US)
        solo.hear(1, AreYouCoordinator())
        assert solo.protocol.others == ({1} if on else frozenset())
        due = solo.node.next_timer()
        assert due is not None
        assert due[0] == (0 if on else 5 * T_US), "at once"
        solo.hear(3, AreYouCoordinator())
        assert 3 not in solo.protocol.others


@pytest.mark.parametrize(("on", "leader", "within_us"), [(False, 1, 5 * T_US), (True, 2, 3 * T_US)])
def test_I9_priority_invitations_in_a_cluster(on: bool, leader: int, within_us: int) -> None:
    """I9: 1 and 2 check every 20·T, half an interval apart; the partition ends just before 1's Check.

    1 finds 2, and waits 2·T before it merges; with the option, 2 is asked, and merges at its next Check, which is
    at once.
    """
    rig = _cluster((1, 2), priority_invitations=on, check_every_us=20 * T_US)
    rig.do("partition 1 | 2")
    rig.started(2).run(10 * T_US)
    rig.started(1).run(19 * T_US)
    rig.do("heal")
    assert not rig.sent("Invitation")
    since_us = rig.now_us + T_US
    assert _until_one_group(rig) - since_us < within_us
    assert rig.agreed() == leader


def test_I9_informed_answers_at_one_node() -> None:
    """I9: a participant answers with its coordinator, and the coordinator that asked adds that one to Others."""
    for on in (False, True):
        answer = body(in_status("Normal", informed_answers=on).hear(1, AreYouCoordinator()).sent[0])
        assert answer == ({"is_coordinator": False, "coordinator": 3} if on else {"is_coordinator": False})
    joining = in_status("Election", informed_answers=True)
    assert body(joining.hear(1, AreYouCoordinator()).sent[0]) == {"is_coordinator": False}
    asker, _ = lone(informed_answers=True)
    (question, _) = asker.fire_timer().sent
    asker.reply(question, AreYouCoordinatorAnswer(is_coordinator=False, coordinator=3))
    asker.fire_timer()
    assert asker.protocol.others == {3}


def test_I9_informed_answers_in_a_cluster() -> None:
    """I9: 3 leads 2. 1 cannot hear 3; only 2's answer tells 1 of it."""
    for on in (False, True):
        rig = _cluster((1, 2, 3), informed_answers=on)
        rig.lose(frozenset({(3, 1)}), "AreYouCoordinator", "AreYouCoordinatorAnswer")
        _until_one_group(rig.started(2, 3))
        rig.started(1)
        if on:
            _until_one_group(rig)
        else:
            rig.run(100 * T_US)
            assert {node: rig.protocol(node).coordinator for node in rig.ids} == {1: 1, 2: 3, 3: 3}
            assert (1, "Invitation", 3) not in rig.sent("Invitation")


def test_I9_quick_regroup_in_a_cluster() -> None:
    """I9: members whose coordinator died form one group without waiting for the next Check in 20·T.

    The highest invites at once, so the invitations of the others have no effect.
    """
    took: dict[bool, list[int]] = {False: [], True: []}
    for on, seed in product(took, range(10)):
        rig = _cluster((1, 2, 3, 4, 5), seed, quick_regroup=on, check_every_us=20 * T_US)
        _until_one_group(rig.started())
        rig.do("kill 5")
        died_us = rig.now_us
        took[on].append(_until_one_group(rig) - died_us)
    assert max(took[True]) < 12 * T_US < 20 * T_US < min(took[False])


def test_I9_quick_regroup_at_one_node() -> None:
    """I9: it invites its fellow members, but not the lost coordinator; a restarted node invites nobody."""
    for on in (False, True):
        solo, _ = lone(2, (1, 2, 3), quick_regroup=on)
        participates(solo)
        solo.fire_timer()
        solo.fire_timer()
        assert solo.protocol.leads
        assert solo.protocol.others == ({1} if on else frozenset())
        assert asked(solo.fire_timer()) == (
            [("Invitation", 1)] if on else [("AreYouCoordinator", 1), ("AreYouCoordinator", 3)]
        )
    solo, _ = lone(quick_regroup=True)
    assert asked(solo.fire_timer())[0][0] == "AreYouCoordinator"


CUTS = (("cut 1->2",), ("cut 2->1",), ("cut 1->2", "cut 3->2", "cut 3->1"), ("cut 2->1", "cut 2->3", "cut 1->3"))


@pytest.mark.parametrize(
    ("option", "cuts"),
    sampled([*product(("", "priority_invitations", "informed_answers", "quick_regroup"), CUTS)], 3),
)
def test_I9_one_way_links_cause_no_merges(option: str, cuts: tuple[str, ...]) -> None:
    """A4 with links cut in one direction: a node without two-way links stays Normal alone.

    A Check by a node that does not hear the answers is no reason to merge.
    """
    for nodes in ((1, 2), (1, 2, 3))[-len(cuts) :]:
        rig = _cluster(nodes, **({option: True} if option else {}))
        rig.do(*(f"at 0s {cut}" for cut in cuts))
        rig.started().run(100 * T_US)
        assert {verdict.assertion: verdict.word for verdict in judged(rig.records).verdicts()} == dict.fromkeys(
            InvitationElection.promises, "holds"
        )
        assert judged(rig.records).decided_us < rig.now_us


# I10


def test_I10_the_definition_has_the_history_of_its_group() -> None:
    """I10: group → coordinator, members, and the groups from which it was formed, merged from all reports."""
    solo, _ = lone(3)
    alone = FormedGroup(Group(3, 1), 3, (3,))
    assert solo.protocol.definition.history == (alone,)
    merges(solo, 1, 2)
    for node in (1, 2):
        history = (FormedGroup(Group(node, 1), node, (node,)),)
        solo.hear(node, Accept(Group(3, 2), Definition(1, node, (node,), history)))
    solo.fire_timer()
    *before, last = solo.protocol.definition.history
    assert sorted(before, key=lambda formed: formed.group.id) == [
        FormedGroup(Group(1, 1), 1, (1,)),
        FormedGroup(Group(2, 1), 2, (2,)),
        alone,
    ]
    assert last == FormedGroup(Group(3, 2), 3, (1, 2, 3), (Group(3, 1), Group(1, 1), Group(2, 1)))


def test_I10_it_is_a_directed_acyclic_graph_that_all_members_know() -> None:
    """I10: after a partition, a crash and a heal, every group comes after its parents.

    No group comes twice, and both sides are in the history.
    """
    rig = _cluster((1, 2, 3, 4, 5)).started()
    _until_one_group(rig)
    whole = rig.protocol(5).group
    rig.do("partition 1 2 | 3 4 5")
    rig.run(40 * T_US)
    sides = {rig.protocol(2).group, rig.protocol(5).group}
    rig.do("kill 4", "heal")
    _until_one_group(rig)
    rig.do("restart 4")
    rig.run(40 * T_US)
    assert _in_one_group(rig)
    (history,) = {rig.protocol(node).definition.history for node in rig.ids}
    place = {formed.group: number for number, formed in enumerate(history)}
    assert len(place) == len(history)
    assert all(place[of] < place[formed.group] for formed in history for of in formed.of)
    assert all(
        formed.coordinator == formed.group.id and formed.coordinator in formed.members for formed in history
    )
    assert {whole, *sides} <= place.keys()
    assert history[-1].group == rig.protocol(5).group
    assert history[-1].members == (1, 2, 3, 4, 5)
    roots = [formed for formed in history if not formed.of]
    assert {formed.group for formed in roots} >= {Group(node, 1) for node in rig.ids}


def test_I10_a_history_is_bounded() -> None:
    """I10: a Definition does not grow forever; the newest groups are kept."""
    solo, _ = lone(3)
    for _ in range(120):
        merges(solo, 1)
        solo.fire_timer()
    history = solo.protocol.definition.history
    assert len(history) == 100
    assert [formed.group.counter for formed in history] == list(range(22, 122))
