"""Decisions about the next leader, and their outcomes, in recordings."""

from pathlib import Path

import pytest

from lab.analysis.elections import DecisionLog, LeaderDecision, settled_leaders
from lab.recording.cluster_state import ClusterState
from lab.recording.reader import open_recording
from lab.recording.snapshot import NodeState

RECORDINGS = Path(__file__).parents[2] / "recordings"


def _decisions(name: str) -> list[LeaderDecision]:
    lines = open_recording(RECORDINGS / name)
    log = DecisionLog(ClusterState.of(lines.header))
    found: list[LeaderDecision] = []
    for record in lines.records():
        log.observe(record)
        if log.decision is not None and (not found or found[-1] is not log.decision):
            found.append(log.decision)
    lines.close()
    return found


def _view(node: int, leader: int, status: str = "Normal", process: str = "running") -> NodeState:
    return NodeState(node, process, state={"status": status, "coordinator": leader})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ([_view(1, 2), _view(2, 2)], (2,)),
        ([_view(1, 1), _view(2, 2)], (1, 2)),
        ([_view(1, 2), _view(2, 2, process="killed")], None),
        ([_view(1, 2), _view(2, 2, process="paused")], None),
        ([_view(1, 1, process="killed"), _view(2, 2)], (2,)),
        ([_view(1, 2), _view(2, 2, status="Reorganization")], None),
        ([_view(1, 2, status="Election"), _view(2, 2)], None),
        ([], None),
    ],
)
def test_the_leadership_is_settled_if_all_running_nodes_follow_a_leader(
    nodes: list[NodeState], expected: tuple[int, ...] | None
) -> None:
    """Each group may have its own; nodes that do not run neither follow nor lead."""
    assert settled_leaders({view.id: view for view in nodes}) == expected


def test_a_bully_run_has_a_decision_for_every_loss_and_every_return() -> None:
    """The first begins when all nodes have started; every notification is known."""
    found = _decisions("two-coordinators.jsonl")
    assert [(each.before, each.leaders) for each in found] == [
        ((), (5,)),
        ((5,), (4,)),
        ((4,), (5,)),
        ((5,), (4,)),
        ((4, 5), (5,)),
    ]
    assert all(each.settled is not None and each.began < each.settled for each in found)
    assert sorted(found[1].notifications) == [(4, node, 4, "SetCoordinator") for node in (1, 2, 3)]


def test_groups_are_settled_each_under_its_own() -> None:
    found = _decisions("scenarios/invitation-partition-in-two.jsonl")
    assert found[0].leaders == (1, 2, 3, 4, 5), "everyone leads its own group at first"
    assert found[1].leaders == (5,)
    assert (2, 5) in [each.leaders for each in found]
    assert (5, 1, 2, "Invitation") in found[-1].notifications, "told by a member of its old group"


def test_a_ring_notifies_from_node_to_node() -> None:
    found = _decisions("holes/ring-starter-dies.jsonl")
    assert found[0].leaders == (4,)
    assert (4, 3, 2, "COORDINATOR") in found[0].notifications


@pytest.mark.parametrize("name", ["holes/ring-starter-dies.jsonl", "holes/invitation-starves.jsonl"])
def test_an_election_that_never_settles_stays_open(name: str) -> None:
    last = _decisions(name)[-1]
    assert (last.settled, last.leaders) == (None, ())
