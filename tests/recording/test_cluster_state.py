"""ClusterState: the state of the cluster, its messages in flight, and the faults in force."""

import pytest

from lab.analysis.elections import ElectionLog, SettledElection, agreed_coordinator
from lab.cli.run_report import NoteLog, summarize
from lab.recording.cluster_state import ClusterState
from lab.recording.snapshot import ActiveFault, Snapshot
from lab.tasks.analysis import Analysis, Report
from tests.harness import T_US, Rig
from tests.recording.samples import eventful


def _rig(nodes: int = 3) -> Rig:
    rig = Rig(range(1, nodes + 1)).started()
    rig.run_until_agreed()
    return rig


def _fault(rig: Rig, kind: str) -> ActiveFault:
    (found,) = [fault for fault in [*rig.cluster.lifted, *rig.cluster.faults.values()] if fault.kind == kind]
    return found


def test_states_match_the_nodes() -> None:
    """At every record of a run with all kinds of faults, for every node that is up."""
    rig = eventful(0)
    wrong = []

    def check() -> None:
        for node, incarnation in rig.incarnations.items():
            view = rig.cluster.nodes[node]
            if view.state and view.state.get("status") != rig.protocol(node).status.value:
                wrong.append((rig.now_us, node))
            assert view.incarnation == incarnation.number

    rig.run(1)
    rig.watchers.append(check)
    rig.run(5_000_000)
    assert wrong == []


def test_a_killed_node_is_down_and_waits_for_nothing() -> None:
    """M4: its state and its waits are gone; its incarnation and its id stay."""
    rig = _rig()
    rig.run_until(lambda: bool(rig.cluster.nodes[3].waits), 2 * T_US, "3 checks")
    rig.do("kill 3")
    view = rig.cluster.nodes[3]
    assert (view.process, view.state, view.waits, view.incarnation) == ("killed", {"status": "Down"}, (), 1)
    rig.do("restart 3")
    assert (rig.cluster.nodes[3].process, rig.cluster.nodes[3].incarnation) == ("running", 2)


def test_a_paused_node_keeps_its_state() -> None:
    rig = _rig()
    before = rig.cluster.nodes[3]
    rig.do("pause 3")
    after = rig.cluster.nodes[3]
    assert (after.process, after.state) == ("paused", before.state)
    rig.do("resume 3")
    assert rig.cluster.nodes[3].process == "running"


def test_messages_in_flight() -> None:
    """From the step that sends them to the step that receives them."""
    rig = _rig()
    rig.run(15_000)
    assert not rig.cluster.in_flight
    rig.run_until(lambda: bool(rig.cluster.in_flight), 2 * T_US, "a check is on its way")
    assert [(flight.source, flight.target, flight.kind) for flight in rig.cluster.in_flight.values()] == [
        (3, 1, "AreYouNormal"),
        (3, 2, "AreYouNormal"),
    ]
    rig.run(rig.header.link.latency_us)
    assert {flight.kind for flight in rig.cluster.in_flight.values()} == {"AreYouNormalAnswer"}


def test_a_duplicated_message_is_in_flight_twice() -> None:
    """The first arrival leaves one."""
    rig = _rig()
    rig.do("duplicate 3->1 100%", "delay 3->1 20ms")
    rig.run_until(lambda: bool(rig.cluster.in_flight), 2 * T_US, "a check is on its way")
    (flight,) = [flight for flight in rig.cluster.in_flight.values() if flight.target == 1]
    assert flight.copies == 2
    key = (flight.source, flight.serial)
    rig.run_until(lambda: rig.cluster.in_flight[key].copies == 1, 2 * T_US, "one has arrived")
    rig.run_until(lambda: key not in rig.cluster.in_flight, 2 * T_US, "both have")
    assert _fault(rig, "duplicate").messages == 1, "one message, however often it arrives"


def test_nothing_is_in_flight_at_rest() -> None:
    """A message is removed with any final outcome."""
    rig = eventful(5_000_000)
    rig.do("kill 1")
    rig.run_until(lambda: rig.agreed() == 4, 60 * T_US, "a quiet cluster")
    rig.run(2 * T_US)
    rig.do("kill all")
    rig.run(10 * T_US)
    assert not rig.cluster.in_flight


@pytest.mark.parametrize(
    ("command", "touched"),
    [("kill 1", 1), ("pause 1 2", 2), ("cut 1->2", 0), ("lose 3->1 100%", 1), ("delay 3->1 5ms", 1)],
)
def test_a_fault_counts_its_effects(command: str, touched: int) -> None:
    """Nodes or messages; a fault of an unused link is inert."""
    rig = _rig()
    rig.run(T_US // 2)
    rig.do(command)
    rig.run(T_US)
    assert _fault(rig, command.partition(" ")[0]).touched == touched


def test_messages_to_a_dead_or_paused_node_are_counted() -> None:
    """They count as effects of the fault."""
    rig = _rig()
    rig.do("kill 1", "pause 2")
    rig.run(T_US)
    assert _fault(rig, "kill").messages > 0
    assert _fault(rig, "pause").messages > 0
    assert _fault(rig, "kill").touched == 1, "what it struck is nodes"


def test_a_fault_of_several_nodes_ends_with_the_last() -> None:
    """A kill ends with a restart, a pause with a resume."""
    rig = _rig()
    rig.do("kill 1 2", "restart 1")
    assert [fault.kind for fault in rig.cluster.faults.values()] == ["kill"]
    rig.do("restart 2", "pause 1", "resume 1")
    assert not rig.cluster.faults
    assert [fault.kind for fault in rig.cluster.lifted] == ["kill", "pause"]


def test_messages_are_counted_by_kind() -> None:
    """When they are sent."""
    rig = _rig()
    assert rig.cluster.messages["SetCoordinator"] == len(rig.sent("SetCoordinator")) == 2


def test_a_snapshot_is_frozen_and_whole() -> None:
    """Later records do not change it."""
    rig = _rig()
    snapshot = rig.cluster.snapshot()
    assert isinstance(snapshot, Snapshot)
    nodes = snapshot.nodes
    rig.do("kill 3")
    rig.run(20 * T_US)
    assert snapshot.nodes is nodes
    assert [view.process for view in snapshot.nodes] == ["running"] * 3
    assert ClusterState.resume(snapshot, None).snapshot() == snapshot


def test_agreement_counts_running_nodes_only() -> None:
    """A2: every running node is Normal under a running node that agrees."""
    rig = _rig()
    assert agreed_coordinator(rig.cluster.nodes) == 3
    rig.do("pause 1")
    assert agreed_coordinator(rig.cluster.nodes) == 3
    rig.do("kill 3")
    assert agreed_coordinator(rig.cluster.nodes) is None, "2 still follows 3"
    rig.do("kill 2", "kill 1")
    assert agreed_coordinator(rig.cluster.nodes) is None, "nobody runs"


def _observe(log: ElectionLog, rig: Rig) -> None:
    assert rig.cluster, "it is computed on access"
    log.observe(rig.records[-1])


def test_the_elections_of_a_run() -> None:
    """The loss of the coordinator, and the agreement on the next; before the first election nothing is lost."""
    rig = Rig([1, 2, 3])
    log = ElectionLog(rig.cluster)
    rig.watchers.append(lambda: _observe(log, rig))
    rig.started()
    rig.run_until_agreed()
    settled_us = rig.now_us
    rig.run(T_US)
    rig.do("kill 3")
    lost_us = rig.now_us
    assert rig.agreed() is None
    rig.run_until_agreed()
    assert log.settled == [SettledElection(None, settled_us, 3), SettledElection(lost_us, rig.now_us, 2)]
    assert log.coordinator == 2
    rig.do("restart 3")
    rig.run_until_agreed()
    assert [each.coordinator for each in log.settled] == [3, 2, 3]
    assert log.settled[2].lost_at_us is None, "2 was not lost: 3 took over"


def test_the_summary_of_a_run() -> None:
    rig = Rig([1, 2, 3])
    log = ElectionLog(rig.cluster)
    rig.watchers.append(lambda: _observe(log, rig))
    rig.started()
    rig.run_until_agreed()
    rig.do("cut 1->2", "kill 1")
    rig.run_until_agreed()
    rig.run(5 * T_US)
    analysis = Analysis(rig.header, rig.cluster)
    summary = summarize(rig.header, rig.cluster, log, NoteLog(analysis), Report(), "run.jsonl")
    assert (summary.world, summary.protocol, summary.recording) == ("simulated", "bully", "run.jsonl")
    assert [(fault.command, fault.touched, fault.assumptions) for fault in summary.faults] == [
        ("cut 1->2", 0, (8,)),
        ("kill 1", 1, ()),
    ]
    assert (summary.nodes[1].alive, summary.nodes[1].status) == (False, "Down")
    node = summary.nodes[2]
    assert (node.alive, node.process, node.status, node.coordinator) == (True, "running", "Normal", 3)
    assert node.definition_version > 1
    assert summary.messages == dict(sorted(rig.cluster.messages.items()))
    assert len(summary.elections) == len(log.settled) >= 1
