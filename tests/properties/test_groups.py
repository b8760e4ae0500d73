"""A3.1, A3.2 and A5 on records by hand: agreement within a group, and identifiers that are used once."""

from typing import Any

import pytest

from lab.kernel import Fired, Step
from lab.protocols import InvitationElection
from lab.recording.records import encode
from lab.recording.snapshot import NodeState
from tests.harness import T_US, Rig
from tests.properties.recorded import WITHIN_US, Records, judged, summaries
from tests.recording.test_mutations import ODD

PROMISES = ("A3.1", "A3.2", "A4", "A5")
RELIES_ON = {"A3.1": (4,), "A3.2": (4,), "A5": (4,)}


def records(*nodes: int, **info: Any) -> Records:
    """Return records of nodes with the promises of invitation."""
    return Records(nodes or (1, 2, 3), **{"promises": PROMISES, "relies_on": RELIES_ON, **info})


def test_a_failure_names_other_broken_assumptions() -> None:
    """A4 is checked in each part of a cut, and A3.1 relies on stable storage alone: neither must claim more."""
    parted = records(promises=("A4",))
    parted.fault("partition", 8, links=((1, 2), (2, 1), (1, 3), (3, 1)))
    parted.grouped([1, 1], 1, 1).grouped([2, 1], 2, 2).grouped([3, 1], 3, 3).after(WITHIN_US + 1).fires(1)
    (violation,) = parted.violations
    but_8 = "fails with all assumptions intact but 8 (partition 1), on which it does not rely: "
    assert str(violation).startswith(f"A4 {but_8}")
    assert violation.nodes == (2, 3)
    lossy = records(promises=("A3.1",))
    lossy.fault("partition", 8, links=((1, 2), (2, 1)))
    (violation,) = lossy.grouped([1, 1], 1, 1).grouped([1, 1], 2, 2).violations
    assert str(violation).startswith(f"A3.1 {but_8}")


# A3.1, A3.2


def test_two_coordinators_of_one_group() -> None:
    """A3.1: the same group, in Reorganization or Normal, under different coordinators."""
    (violation,) = records().grouped([1, 1], 1, 1).grouped([1, 1], 2, 2, status="Reorganization").violations
    assert (violation.assertion, violation.nodes, violation.is_failure) == ("A3.1", (1, 2), True)
    assert [state.text for state in violation.states] == [
        "Normal under 1 in group 1.1",
        "Reorganization under 2 in group 1.1",
    ]


def test_two_groups_may_have_two_coordinators() -> None:
    """A3: nothing is required across groups; the counter belongs to the identifier."""
    assert not records().grouped([1, 1], 1, 1).grouped([2, 1], 2, 2).grouped([2, 2], 3, 3).violations


@pytest.mark.parametrize("status", ["Election", "Down"])
def test_a_node_in_election_is_not_concerned(status: str) -> None:
    """A3.1: a node that has been invited has no value yet."""
    assert not records().grouped([1, 1], 1, 1).grouped([1, 1], 2, 2, status=status).violations


@pytest.mark.parametrize("group", [None, [0, 0], [1, 0], [], [1], [1, 1, 1], "1.1", ["a", 1], [1, "b"], {"id": 1}])
def test_a_node_in_no_group_is_not_concerned(group: Any) -> None:
    """A3: no identifier, or a malformed one."""
    assert NodeState(1, state={"group": group}).group is None
    assert not records().grouped(group, 1, 1).grouped(group, 2, 2).violations


def test_malformed_groups_raise_nothing() -> None:
    """A3, A5 on a recording from anywhere."""
    for odd in (*ODD, 10**4299, -(10**4299)):
        recorded = records()
        for group in (odd, [odd, 1], [1, odd], [odd, odd], {"id": odd}):
            recorded.grouped(group, 1, 1).grouped(group, 2, 2).grouped(group, 1, 1, status="Reorganization")
        assert encode(judged(recorded.records).violations)


def test_two_definitions_of_one_group() -> None:
    """A3.2: both Normal in the same group; in Reorganization the Definition has not arrived yet."""

    def violations_with(status: str) -> list[Any]:
        both = records().grouped([1, 1], 1, 1).grouped([1, 1], 1, 2, status="Reorganization")
        if status == "Normal":
            both.enters(2, "Normal", 1, {"version": 9})
        return summaries(both.violations)

    assert violations_with("Normal") == [("A3.2", (1, 2), [])]
    assert violations_with("Reorganization") == []


def test_a_state_that_is_over_before_the_other_begins_does_not_offend() -> None:
    """A3: if a message says so; without one it does, however much later."""
    over = records().grouped([1, 1], 1, 1).grouped([1, 1], 1, 1, status="Election")
    assert summaries(over.after(9).grouped([1, 1], 2, 2).violations) == [("A3.1", (1, 2), [])]
    over = records().grouped([1, 1], 1, 1).grouped([1, 1], 1, 1, status="Election")
    assert not over.gets(2, 1, over.sends(1, 2)).grouped([1, 1], 2, 2).violations


@pytest.mark.parametrize(("fault", "assumption"), [("lose", 8), ("duplicate", 3), ("reorder", 7), ("delay", 8)])
def test_no_fault_of_links_is_an_excuse(fault: str, assumption: int) -> None:
    """A3 relies on stable storage alone; so it is a failure, unlike with the assumptions of bully."""
    for relies_on, excused in ((RELIES_ON, []), ({}, [assumption])):
        struck = records(relies_on=relies_on)
        struck.fault(fault, assumption)
        assert summaries(struck.grouped([1, 1], 1, 1).grouped([1, 1], 2, 2).violations) == [
            ("A3.1", (1, 2), excused)
        ]


# A5


def test_an_identifier_twice_in_one_incarnation() -> None:
    """A5: the node leaves its group, and forms one with the same identifier; nodes that join it form nothing."""
    once = records().grouped([1, 1], 1, 1, 2).grouped([2, 1], 2, 2, 1).grouped([1, 2], 1, 1, 2)
    assert not once.violations
    (violation,) = once.grouped([1, 1], 1, 1).violations
    assert (violation.assertion, violation.nodes, violation.is_failure) == ("A5", (1, 1), True)
    assert violation.text == "group 1.1, entered by node 1 at 0s, is entered again by node 1"


def test_an_identifier_twice_in_two_incarnations() -> None:
    """A5: across a crash; the next counter makes another identifier."""
    for counter, found in ((1, ["A5"]), (2, [])):
        crashed = records().grouped([1, 1], 1, 1).process(1, "killed").process(1, "started")
        assert [each.assertion for each in crashed.grouped([1, counter], 1, 1).violations] == found


def test_staying_in_a_group_does_not_form_it_again() -> None:
    """A5: from Election to Reorganization to Normal is one use; so is a pause."""
    stays = records()
    for status in ("Election", "Reorganization", "Normal"):
        stays.grouped([1, 1], 1, 1, status=status)
    assert not stays.process(1, "paused").process(1, "resumed").grouped([1, 1], 1, 1, 2).violations


def test_A5_after_a_wipe_is_excused_for_ever() -> None:
    """A5 under assumption 4: also of a node that was not wiped, and long after all have come to rest."""
    wiped = records(promises=("A3.1", "A5")).grouped([1, 1], 1, 1).grouped([2, 1], 2, 2)
    wiped.process(1, "killed").process(1, "wiped").process(1, "started").grouped([1, 1], 1, 1)
    assert summaries(wiped.violations) == [("A5", (1, 1), [4])]
    assert wiped.violations[0].broken[0].why == "wipe of 1"
    wiped.grouped([1, 5], 1, 1, 2, 3).after(3 * WITHIN_US).fires(1).after(3 * WITHIN_US).fires(1)
    wiped.grouped([2, 1], 2, 2).grouped([1, 5], 1, 2)
    assert summaries(wiped.violations)[1:] == [("A5", (2, 2), [4])]
    assert summaries(wiped.grouped([1, 7], 1, 1).grouped([1, 7], 2, 2).violations)[2:] == [("A3.1", (1, 2), [4])]


def test_a_wipe_excuses_marked_assertions_alone() -> None:
    """For assertions that do not depend on identifiers it is forgotten once all have come to rest."""
    wiped = records(promises=("A1.1", "A2"), relies_on={})
    wiped.process(3, "killed").process(3, "wiped").process(3, "started").normal(1, 1, 2, 3)
    wiped.after(2 * WITHIN_US).fires(1)
    found = [each for each in summaries(wiped.normal(2, 2).violations) if each[0] == "A1.1"]
    assert found == [("A1.1", (1, 2), []), ("A1.1", (3, 2), [])]


def test_a_claim_with_a_claimant() -> None:
    """A9, a uniqueness assertion: a repeated claim of the same claimant is no second claim."""

    def published(node: int, *operation: int) -> None:
        recorded.add(Step(0, node, 1, Fired("timer"), {"published": list(operation)}))

    recorded = Records(promises=("A9",))
    published(3, 1, 3, 1)
    published(2, 1, 3, 1)
    published(3, 2, 3, 2)
    published(1, 0, 0, 0)
    assert not recorded.violations
    published(1, 2, 2, 1)
    (violation,) = recorded.violations
    assert (violation.assertion, violation.nodes) == ("A9", (3, 1))
    assert violation.text == "edition 2, published by node 3 at 0s, is published again by node 1"


def test_real_groups_are_groups_to_the_judge() -> None:
    """The values that invitation records can be read: otherwise these tests would show nothing."""
    rig = Rig([1, 2, 3], protocol=InvitationElection).started()
    rig.run(40 * T_US)
    groups = {rig.cluster.nodes[node].group for node in rig.ids}
    assert len(groups) == 1
    (group,) = groups
    assert group is not None
    assert group[1] > 1, "there were groups before"
    verdicts = {verdict.assertion: verdict.word for verdict in judged(rig.records).verdicts()}
    assert [verdicts[name] for name in ("A3.1", "A3.2", "A4", "A5", "M7")] == ["holds"] * 5
