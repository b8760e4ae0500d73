"""Resolving names to nodes, links and rules in the present state of the cluster."""

from typing import Any

import pytest

from lab.network import Cut, Delay, Duplicate, Lose, Reorder
from lab.protocols import PROTOCOLS, find_protocol
from lab.recording.cluster_state import ClusterState
from lab.recording.snapshot import NodeState
from lab.script.commands import Nodes, Partition, ProtocolCommandLine
from lab.script.parse import parse
from lab.script.scope import CommandError

FIELD = find_protocol("field")


def _cluster(*leads: int, nodes: int = 4) -> ClusterState:
    """A cluster in which these nodes are Normal and their own coordinators."""
    cluster = ClusterState(tuple(range(1, nodes + 1)))
    for node in leads:
        state = {"status": "Normal", "coordinator": node}
        cluster.nodes[node] = NodeState(node, "running", 1, 0, state)
    return cluster


def _command(text: str) -> Any:
    return parse(text).command


@pytest.mark.parametrize(
    ("named", "ids"),
    [
        ("3 1", (1, 3)),
        ("2, 2 2", (2,)),
        ("all", (1, 2, 3, 4)),
        ("coordinator", (4,)),
        ("coordinator 1", (1, 4)),
        ("all 2 coordinator", (1, 2, 3, 4)),
    ],
)
def test_nodes(named: str, ids: tuple[int, ...]) -> None:
    """Ascending, each once."""
    assert _command(f"kill {named}").nodes.resolve(_cluster(4)) == ids


def test_coordinators_are_all_nodes_that_lead() -> None:
    """It is an error if none does."""
    assert _command("pause coordinators 1").nodes.resolve(_cluster(2, 4)) == (1, 2, 4)
    with pytest.raises(CommandError, match="nobody is coordinator"):
        _command("pause coordinators").nodes.resolve(_cluster())


def test_a_node_that_does_not_exist() -> None:
    """The message lists the nodes."""
    with pytest.raises(CommandError, match="there is no node 7; the nodes are 1 2 3 4"):
        _command("kill 1 7").nodes.resolve(_cluster())


def test_of_two_coordinators_the_higher_is_chosen() -> None:
    """There can be two if assumption 8 or 9 is broken."""
    assert _command("kill coordinator").nodes.resolve(_cluster(2, 4)) == (4,)


@pytest.mark.parametrize(
    ("process", "state", "leads"),
    [
        ("running", {"status": "Normal", "coordinator": 2}, True),
        ("paused", {"status": "Normal", "coordinator": 2}, True),
        ("killed", {"status": "Normal", "coordinator": 2}, False),
        ("failed", {"status": "Normal", "coordinator": 2}, False),
        ("running", {"status": "Reorganization", "coordinator": 2}, False),
        ("running", {"status": "Normal", "coordinator": 3}, False),
        ("running", {}, False),
    ],
)
def test_who_is_coordinator(process: Any, state: dict[str, Any], leads: bool) -> None:
    """A process that exists, Normal, and its own coordinator. A paused one counts."""
    cluster = _cluster()
    cluster.nodes[2] = NodeState(2, process, 1, 0, state)
    if leads:
        assert _command("kill coordinator").nodes.resolve(cluster) == (2,)
    else:
        with pytest.raises(CommandError, match="nobody is coordinator at present; name a node by its number"):
            _command("kill coordinator").nodes.resolve(cluster)


def test_a_protocol_that_elects_nobody_has_no_coordinator() -> None:
    """The message does not say *at present*, as if one were still to come."""
    cluster = _cluster()
    for node, process in enumerate(("running", "paused", "killed", "running"), 1):
        cluster.nodes[node] = NodeState(node, process, 1, 0, {"status": "Idle"})  # type: ignore[arg-type]
    with pytest.raises(CommandError, match="this protocol elects nobody, so there is no coordinator"):
        _command("kill coordinator").nodes.resolve(cluster)
    assert ProtocolCommandLine(None, "request").targets(cluster, PROTOCOLS["token"]) == (1, 2, 4)


def test_a_protocol_command_runs_on_all_that_lead() -> None:
    """In an election, if no nodes are named."""
    assert ProtocolCommandLine(None, "publish").targets(_cluster(2, 4), FIELD) == (2, 4)
    assert ProtocolCommandLine(Nodes((1,)), "publish").targets(_cluster(2, 4), FIELD) == (1,)
    with pytest.raises(CommandError, match="nobody is coordinator at present"):
        ProtocolCommandLine(None, "publish").targets(_cluster(), FIELD)


@pytest.mark.parametrize(
    ("named", "links"),
    [
        ("1->2", {(1, 2)}),
        ("1<->2", {(1, 2), (2, 1)}),
        ("1 2->3", {(1, 3), (2, 3)}),
        ("2->all", {(2, 1), (2, 3), (2, 4)}),
        ("all->2", {(1, 2), (3, 2), (4, 2)}),
        ("1 2->1 2", {(1, 2), (2, 1)}),
        ("3", {(3, 1), (3, 2), (3, 4), (1, 3), (2, 3), (4, 3)}),
        ("coordinator->1", {(4, 1)}),
    ],
)
def test_links(named: str, links: set[tuple[int, int]]) -> None:
    """Directed; a single node means all links from and to it, except to itself."""
    assert _command(f"cut {named}").links.resolve(_cluster(4)) == links


def test_all_links() -> None:
    assert len(_command("cut all").links.resolve(_cluster())) == 12


def test_a_link_to_itself() -> None:
    """There is none."""
    with pytest.raises(CommandError, match="a node has no link to itself; name two nodes: 2->3"):
        _command("cut 1->1").links.resolve(_cluster())


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("cut 1->2", Cut(links=frozenset({(1, 2)}))),
        ("delay 1->2 4ms ±1ms", Delay(links=frozenset({(1, 2)}), delay_us=4_000, jitter_us=1_000)),
        ("lose 1->2 30%", Lose(links=frozenset({(1, 2)}), probability=0.3)),
        ("duplicate 1->2 30%", Duplicate(links=frozenset({(1, 2)}), probability=0.3)),
        ("duplicate 1->2 30% 5ms", Duplicate(links=frozenset({(1, 2)}), probability=0.3, spread_us=5_000)),
        ("reorder 1->2 30% 0ms", Reorder(links=frozenset({(1, 2)}), probability=0.3, spread_us=1)),
    ],
)
def test_rules(text: str, rule: object) -> None:
    """The network rule of each link fault."""
    assert _command(text).rule(_cluster()) == rule


def _severed(text: str) -> frozenset[tuple[int, int]]:
    command = parse(text).command
    assert isinstance(command, Partition)
    return command.rule(_cluster(4)).links


def test_partitions() -> None:
    """Messages pass only within a group."""
    assert _severed("partition 1 2 | 3 4") == {(a, b) for a in (1, 2) for b in (3, 4)} | {
        (a, b) for a in (3, 4) for b in (1, 2)
    }
    assert len(_severed("partition 1|2|3|4")) == 12


def test_a_single_group_is_separated_from_all_others() -> None:
    """So ``partition coordinator`` isolates the coordinator."""
    assert _severed("partition coordinator") == _severed("partition 4 | 1 2 3")


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("partition 1 5 | 2 6", "cut 1 5<->2 6"),
        ("partition 1 | 2 6", "cut 1<->2 6"),
        ("partition 1 5", "cut 1 5<->2"),
        ("partition 5", "cut 5"),
    ],
)
def test_clients_and_services_are_on_the_side_that_names_them(text: str, same: str) -> None:
    """All nodes reach the others. Who is outside alone is cut off from all nodes."""
    cluster = ClusterState((1, 2), others=(5, 6))
    assert _command(text).rule(cluster).links == _command(same).rule(cluster).links


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("partition all", "all nodes are in one group, so nothing is separated: partition 1 2 | 3 4 5"),
        ("partition 1 2 | 2 3 4", "node 2 appears in two groups"),
        ("partition all | 3 4", "nodes 3 4 appear in two groups"),
        ("partition 1 | 2", "nodes 3 4 appear in no group; add them to one"),
        ("partition 1 | 2 3", "node 4 appears in no group; add it to one"),
        ("partition 1 | 9", "there is no node 9; the nodes are 1 2 3 4"),
    ],
)
def test_errors_in_partitions(text: str, message: str) -> None:
    with pytest.raises(CommandError) as caught:
        _command(text).rule(_cluster())
    assert str(caught.value) == message
