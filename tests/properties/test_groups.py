"""A3.1, A3.2 and A5 on records by hand: what is agreed upon in a group, and identifiers that are used once."""

from typing import Any

import pytest

from lab.kernel import Fired, Step
from lab.protocols import InvitationElection
from lab.recording.records import encode
from lab.recording.snapshot import NodeState
from tests.harness import T_US, Rig
from tests.properties.recorded import WITHIN_US, Records, judged, said
from tests.recording.test_mutations import ODD

PROMISES = ("A3.1", "A3.2", "A4", "A5")
RELIES_ON = {"A3.1": (4,), "A3.2": (4,), "A5": (4,)}


def records(*nodes: int, **info: Any) -> Records:
    """Of nodes that promise what invitation does."""
    return Records(nodes or (1, 2, 3), **{"promises": PROMISES, "relies_on": RELIES_ON, **info})


def test_a_failure_names_what_is_broken_besides() -> None:
    """A4 is asked of each side of a cut, and A3.1 relies on safe storage alone: neither is to claim more."""
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
    """A3: of another group nothing is asked; the counter belongs to the identifier."""
    assert not records().grouped([1, 1], 1, 1).grouped([2, 1], 2, 2).grouped([2, 2], 3, 3).violations


@pytest.mark.parametrize("status", ["Election", "Down"])
def test_whoever_is_in_election_agrees_with_nobody(status: str) -> None:
    """A3.1: a node that has been invited says nothing yet."""
    assert not records().grouped([1, 1], 1, 1).grouped([1, 1], 2, 2, status=status).violations


@pytest.mark.parametrize("group", [None, [0, 0], [1, 0], [], [1], [1, 1, 1], "1.1", ["a", 1], [1, "b"], {"id": 1}])
def test_whoever_is_in_no_group_agrees_with_nobody(group: Any) -> None:
    """A3: no identifier, or something in its place that is none."""
    assert NodeState(1, state={"group": group}).group is None
    assert not records().grouped(group, 1, 1).grouped(group, 2, 2).violations


def test_rubbish_for_a_group_raises_nothing() -> None:
    """A3, A5 of a recording that anybody may have written."""
    for odd in (*ODD, 10**4299, -(10**4299)):
        told = records()
        for group in (odd, [odd, 1], [1, odd], [odd, odd], {"id": odd}):
            told.grouped(group, 1, 1).grouped(group, 2, 2).grouped(group, 1, 1, status="Reorganization")
        assert encode(judged(told.records).violations)


def test_two_definitions_of_one_group() -> None:
    """A3.2: both Normal in the same group; in Reorganization the Definition has not come yet."""

    def told(status: str) -> list[Any]:
        both = records().grouped([1, 1], 1, 1).grouped([1, 1], 1, 2, status="Reorganization")
        if status == "Normal":
            both.says(2, "Normal", 1, {"version": 9})
        return said(both.violations)

    assert told("Normal") == [("A3.2", (1, 2), [])]
    assert told("Reorganization") == []


def test_a_state_that_is_over_before_the_other_begins_does_not_offend() -> None:
    """A3: with a message that tells so; and without one it does, however much later."""
    over = records().grouped([1, 1], 1, 1).grouped([1, 1], 1, 1, status="Election")
    assert said(over.after(9).grouped([1, 1], 2, 2).violations) == [("A3.1", (1, 2), [])]
    over = records().grouped([1, 1], 1, 1).grouped([1, 1], 1, 1, status="Election")
    assert not over.gets(2, 1, over.sends(1, 2)).grouped([1, 1], 2, 2).violations


@pytest.mark.parametrize(("fault", "assumption"), [("lose", 8), ("duplicate", 3), ("reorder", 7), ("delay", 8)])
def test_no_fault_of_links_is_an_excuse(fault: str, assumption: int) -> None:
    """A3 relies on safe storage alone; so it is a failure, and under bully's reliances it would be none."""
    for relies_on, excused in ((RELIES_ON, []), ({}, [assumption])):
        struck = records(relies_on=relies_on)
        struck.fault(fault, assumption)
        assert said(struck.grouped([1, 1], 1, 1).grouped([1, 1], 2, 2).violations) == [("A3.1", (1, 2), excused)]


# A5


def test_an_identifier_twice_in_one_life() -> None:
    """A5: the node leaves its group, and forms one of the same name; whoever joins it forms nothing."""
    once = records().grouped([1, 1], 1, 1, 2).grouped([2, 1], 2, 2, 1).grouped([1, 2], 1, 1, 2)
    assert not once.violations
    (violation,) = once.grouped([1, 1], 1, 1).violations
    assert (violation.assertion, violation.nodes, violation.is_failure) == ("A5", (1, 1), True)
    assert violation.text == "group 1.1, formed by node 1 at 0s, is formed again by node 1"


def test_an_identifier_twice_in_two_lives() -> None:
    """A5: across a crash; with the next counter it is another one."""
    for counter, found in ((1, ["A5"]), (2, [])):
        crashed = records().grouped([1, 1], 1, 1).process(1, "killed").process(1, "started")
        assert [each.assertion for each in crashed.grouped([1, counter], 1, 1).violations] == found


def test_to_stay_in_a_group_is_not_to_form_it_again() -> None:
    """A5: from Election to Reorganization to Normal it is one use; so is a pause."""
    stays = records()
    for status in ("Election", "Reorganization", "Normal"):
        stays.grouped([1, 1], 1, 1, status=status)
    assert not stays.process(1, "paused").process(1, "resumed").grouped([1, 1], 1, 1, 2).violations


def test_A5_after_a_wipe_is_outside_the_promise_for_ever() -> None:
    """A5 under assumption 4: also of a node that was not wiped, and long after all have come to rest."""
    wiped = records(promises=("A3.1", "A5")).grouped([1, 1], 1, 1).grouped([2, 1], 2, 2)
    wiped.process(1, "killed").process(1, "wiped").process(1, "started").grouped([1, 1], 1, 1)
    assert said(wiped.violations) == [("A5", (1, 1), [4])]
    assert wiped.violations[0].broken[0].why == "wipe of 1"
    wiped.grouped([1, 5], 1, 1, 2, 3).after(3 * WITHIN_US).fires(1).after(3 * WITHIN_US).fires(1)
    wiped.grouped([2, 1], 2, 2).grouped([1, 5], 1, 2)
    assert said(wiped.violations)[1:] == [("A5", (2, 2), [4])]
    assert said(wiped.grouped([1, 7], 1, 1).grouped([1, 7], 2, 2).violations)[2:] == [("A3.1", (1, 2), [4])]


def test_a_wipe_is_an_excuse_for_what_is_marked_alone() -> None:
    """Of what does not hang on identifiers it is forgotten once all have come to rest."""
    wiped = records(promises=("A1.1", "A2"), relies_on={})
    wiped.process(3, "killed").process(3, "wiped").process(3, "started").normal(1, 1, 2, 3)
    wiped.after(2 * WITHIN_US).fires(1)
    found = [each for each in said(wiped.normal(2, 2).violations) if each[0] == "A1.1"]
    assert found == [("A1.1", (1, 2), []), ("A1.1", (3, 2), [])]


def test_a_claim_with_a_claimant() -> None:
    """A9, which is of the same kind: who says again what the first one said claims nothing of its own."""

    def published(node: int, *operation: int) -> None:
        told.add(Step(0, node, 1, Fired("timer"), {"published": list(operation)}))

    told = Records(promises=("A9",))
    published(3, 1, 3, 1)
    published(2, 1, 3, 1)
    published(3, 2, 3, 2)
    published(1, 0, 0, 0)
    assert not told.violations
    published(1, 2, 2, 1)
    (violation,) = told.violations
    assert (violation.assertion, violation.nodes) == ("A9", (3, 1))
    assert violation.text == "edition 2, published by node 3 at 0s, is published again by node 1"


def test_real_groups_are_groups_to_the_judge() -> None:
    """What invitation records can be read: or all of this would hold of nothing."""
    rig = Rig([1, 2, 3], protocol=InvitationElection).started()
    rig.run(40 * T_US)
    groups = {rig.cluster.nodes[node].group for node in rig.ids}
    assert len(groups) == 1
    (group,) = groups
    assert group is not None
    assert group[1] > 1, "there were groups before"
    assert [verdict.word for verdict in judged(rig.records).verdicts()] == ["holds"] * 4
