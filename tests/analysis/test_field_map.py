"""The field as each group sees it: who surveys which region, the progress, and who surveys nothing."""

import pytest

from lab.recording.snapshot import NodeState
from lab.tasks.field_map import idle_nodes, maps_of
from tests.analysis.split_field import NODES, SPLIT_US, STRUCK_US, WHOLE_US, cluster_at


def test_one_map_of_one_group() -> None:
    """All regions are assigned, done ones name their surveyor, and each member surveys at most one."""
    (shown,) = maps_of(cluster_at(WHOLE_US).nodes)
    assert shown.leads
    assert (shown.coordinator, shown.others, shown.edition) == (5, (1, 2, 3, 4), 1)
    assert shown.outcome == "edition 1 is published"
    assert len(shown.cells) == 64
    assert {node for node, _ in shown.cells} == set(NODES)
    assert shown.done == [how for _, how in shown.cells].count("done")
    surveying = [node for node, how in shown.cells if how == "surveying"]
    assert len(surveying) == len(set(surveying)) <= 5
    assert idle_nodes(cluster_at(WHOLE_US).nodes) == ()


def test_one_map_for_each_group() -> None:
    """Each side of a cut covers all regions with its own members."""
    upper, lower = maps_of(cluster_at(SPLIT_US).nodes)
    assert (upper.coordinator, upper.others, lower.coordinator, lower.others) == (5, (3, 4), 2, (1,))
    assert {node for node, _ in upper.cells} == {3, 4, 5}
    assert {node for node, _ in lower.cells} == {1, 2}
    assert lower.outcome == "refused: 2 of 5 nodes are not a majority"
    assert (upper.edition, lower.edition) == (2, 1)


def test_a_dead_or_paused_node_is_idle() -> None:
    """It is listed, and no region is under survey by it."""
    nodes = cluster_at(STRUCK_US).nodes
    assert idle_nodes(nodes) == ((3, "paused"), (4, "killed"))
    upper, _ = maps_of(nodes)
    assert not [node for node, how in upper.cells if how == "surveying" and node in (3, 4)]


def test_members_that_have_not_noticed_the_crash_of_their_coordinator_survey_on() -> None:
    """They are Normal: the map shows their knowledge."""
    cluster = cluster_at(WHOLE_US)
    nodes = {node: view for node, view in cluster.nodes.items() if node != 5}
    (shown,) = maps_of(nodes)
    assert (shown.coordinator, shown.leads, shown.others) == (5, False, (1, 2, 3, 4))
    assert len(shown.cells) == 64
    assert {node for node, how in shown.cells if how == "surveying"} <= {1, 2, 3, 4}


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"survey": 3, "definition": {}},
        {"survey": {"number": "x"}, "definition": {}},
        {"survey": {}, "definition": {"regions": ["a"]}},
        {"survey": {}, "definition": {}, "published": [1]},
        {"survey": {"done": [1]}, "definition": {"regions": []}},
    ],
)
def test_foreign_recordings(state: dict[str, object]) -> None:
    """No map, or one without regions."""
    view = NodeState(1, "running", state={"status": "Normal", "coordinator": 1, **state})
    assert all(shown.cells == () for shown in maps_of({1: view}))
