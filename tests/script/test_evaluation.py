"""Evaluation of predicates, and suspicions."""

from typing import Any

import pytest

from lab.kernel import Fired, Received, Started, Step, Wait
from lab.recording.cluster_state import ClusterState
from lab.recording.snapshot import ActiveFault, InFlightMessage, NodeState
from lab.script.parse import parse
from lab.script.predicates import Predicate, Suspicions
from lab.script.statements import When

NORMAL = {"status": "Normal", "coordinator": 4, "definition": {"version": 3}}


def _predicate(text: str) -> Predicate:
    trigger = parse(f"when {text}: heal").trigger
    assert isinstance(trigger, When)
    return trigger.predicate


def _cluster() -> ClusterState:
    """Nodes 1 and 2 are Normal under 4, which leads; 3 is in Election; 5 was Normal and its own, and is dead."""
    cluster = ClusterState((1, 2, 3, 4, 5))
    states: dict[int, dict[str, Any]] = {
        1: {**NORMAL, "up": [4], "group": [4, 1]},
        2: {**NORMAL, "group": [4, 1], "halted": None},
        3: {"status": "Election", "coordinator": None, "halted": 4},
        4: {**NORMAL, "group": [4, 1]},
        5: {"status": "Normal", "coordinator": 5, "group": [5, 7]},
    }
    for node, state in states.items():
        cluster.nodes[node] = NodeState(node, {2: "paused", 5: "killed"}.get(node, "running"), 1, 0, state)  # type: ignore[arg-type]
    return cluster


def _cluster_with_messages() -> ClusterState:
    cluster = _cluster()
    cluster.messages.update(AreYouUp=3, Accept=2)
    for serial, (source, target, kind, held) in enumerate(
        [(1, 4, "Accept", False), (3, 1, "Accept", True), (1, 4, "AreYouUp", False)]
    ):
        cluster.in_flight[source, serial] = InFlightMessage(source, serial, target, kind, 0, held=held)
    cluster.faults[1] = ActiveFault(1, "cut", "cut 2->3", 0, links=((2, 3),))
    cluster.faults[2] = ActiveFault(2, "lose", "lose 3->2 100%", 0, links=((3, 2),))
    return cluster


@pytest.mark.parametrize(
    "text",
    [
        "1 normal",
        "2 normal",
        "not 3 normal",
        "3 election",
        "4 leads",
        "coordinator leads",
        "any normal",
        "not all normal",
        "any election",
        "not any reorganization",
        "4 up and 2 up and 2 paused and not 2 running",
        "5 down and any down and not all up",
        "any paused",
        "all.coordinator != 5",
        "not all.coordinator == 4",
        "any.coordinator == 4 and any.coordinator == none",
        "4 == any.coordinator",
        "4.coordinator == coordinator.coordinator",
        "3.coordinator == none and not 3.coordinator < 5",
        "3.halted > 3 and 2.halted == none",
        "1.status == Normal and 3.status != Normal",
        "4.leads == true and 1.leads == false",
        "2.process == paused and 5.process == killed",
        "1.group == 4.group and 3.group == none",
        "1.version == 3 and 3.version == 0",
        "live == 4 and coordinators == 1 and groups == 1 and faults == 2",
        "messages == 5 and messages(Accept) == 2 and messages(NewState) == 0",
        "flying == 2 and flying(Accept) == 1 and flying(1->4) == 2 and flying(AreYouUp 1->4) == 1",
        "held == 1 and held(Accept 3->1) == 1 and held(1->3) == 0",
        "2->3 cut and not 3->2 cut",
        "1 + 2 * 3 == 7 and (1 + 2) * 3 == 9 and 7 / 2 == 3 and 5 - 3 - 1 == 1",
        "live * 2 > 5 and all.version * 2 <= 6",
        "1 / 0 == 0",
    ],
)
def test_predicates_that_hold(text: str) -> None:
    """About nodes, groups, links and counts."""
    assert _predicate(text).holds(_cluster_with_messages(), Suspicions())
    assert not _predicate(f"not ({text})").holds(_cluster_with_messages(), Suspicions())


@pytest.mark.parametrize(
    "text",
    ["5 normal", "5 leads", "5.status == Normal", "5.coordinator == 5", "5.group != none", "5.leads == true"],
)
def test_a_node_that_is_down_is_in_no_status(text: str) -> None:
    """Nor does it lead, whatever its last known status."""
    assert not _predicate(text).holds(_cluster(), Suspicions())
    assert _predicate("5.status == Down and 5.coordinator == none").holds(_cluster(), Suspicions())


@pytest.mark.parametrize(
    "text",
    [
        "5.coordinator != 5",
        "5.version < 3",
        "5.version == 0",
        "5.leads == false",
        "5.halted != 4",
        "4 != 5.coordinator",
    ],
)
def test_no_comparison_with_the_state_of_a_node_that_is_down_holds(text: str) -> None:
    """Except with none; its process and its status Down are known."""
    assert not _predicate(text).holds(_cluster(), Suspicions())
    assert _predicate("5.halted == none and none == 5.group").holds(_cluster(), Suspicions())
    assert _predicate("5.status != Normal and 5.process != running").holds(_cluster(), Suspicions())


@pytest.mark.parametrize(
    "text", ["all.coordinator == 4", "all leads", "any leads", "coordinator leads", "all.version >= 0"]
)
def test_quantified_predicates_do_not_hold_without_a_node_that_is_up(text: str) -> None:
    assert not _predicate(text).holds(ClusterState((1, 2)), Suspicions())


def test_of_several_coordinators_the_highest_counts() -> None:
    """As in commands."""
    cluster = _cluster()
    cluster.nodes[1] = NodeState(1, "running", 1, 0, {**NORMAL, "coordinator": 1, "definition": {"version": 9}})
    assert _predicate("coordinators == 2 and coordinator.version == 3").holds(cluster, Suspicions())


ASKS = (Wait("check", 7, "an answer", 0, 10, (4, 5)), Wait("other", 9, "an answer", 0, 90, (2,)))


def test_a_node_that_does_not_answer_in_time_is_suspected() -> None:
    """By the node whose request it was, until that hears from it or restarts."""
    suspicions = Suspicions()
    suspicions.observe(Step(0, 1, 1, Received(3, 1), began=ASKS, ended=("*",)))
    assert suspicions.pairs == set()
    suspicions.observe(Step(10, 1, 1, Fired("check"), began=ASKS[1:], ended=("*",)))
    assert suspicions.pairs == {(1, 4), (1, 5)}
    assert _predicate("1 suspects 4 and not 1 suspects 2 and not 4 suspects 1").holds(_cluster(), suspicions)
    suspicions.observe(Step(20, 1, 1, Received(4, 9), began=ASKS[1:], ended=("*",)))
    assert suspicions.pairs == {(1, 5)}
    suspicions.observe(Step(30, 1, 2, Started({}, 2, 9)))
    assert suspicions.pairs == set()


def test_suspicions_that_are_tracked_late_know_the_pending_requests() -> None:
    cluster = _cluster()
    cluster.nodes[1] = NodeState(1, "running", 1, 0, NORMAL, ASKS)
    suspicions = Suspicions(cluster)
    suspicions.observe(Step(10, 1, 1, Fired("other")))
    assert suspicions.pairs == {(1, 2)}


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("all normal", False),
        ("groups == 1 or live == 2", False),
        ("4 suspects 5", True),
        ("not (4 up and 1 + messages > 3)", True),
        ("flying(Accept) == 0", True),
        ("held > 0", True),
    ],
)
def test_predicates_that_depend_on_messages(text: str, seen: bool) -> None:
    """The others need no evaluation at most records."""
    assert _predicate(text).depends_on_messages is seen


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("at 2s when 4 up and 4 suspects 5: heal", True),
        ("expect never 4 suspects 5", True),
        ("expect 4 suspects 5 within 2s", True),
        ("expect no violation", False),
        ("when 4 up: heal", False),
    ],
)
def test_lines_that_depend_on_suspicions(line: str, named: bool) -> None:
    """In any part of the line."""
    assert any(each.depends_on_suspicions for each in parse(line).predicates) is named
