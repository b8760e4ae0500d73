"""The model of the algorithms: M1-M7, as far as one node or a simulated cluster can show it.

What depends on real processes and files (M3's crash at any instant, M4's SIGKILL) is tested with the live world.
"""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.kernel import Received, Step
from lab.protocols import Bully, BullyTanenbaum, Election, Status
from tests.harness import T_US, TIMING, TM_US, Rig, Solo
from tests.papers.alone import enter, lone, normal


@given(st.sets(st.integers(1, 99), min_size=2, max_size=8))
def test_M1_the_id_is_the_priority(ids: set[int]) -> None:
    """M1: every node knows all ids, given in any order; a higher id has a higher priority."""
    for node in sorted(ids):
        protocol = Solo(Bully, node, tuple(ids)).protocol
        assert protocol.peers == tuple(sorted(ids - {node}))
        assert protocol.higher == tuple(peer for peer in sorted(ids) if peer > node)
        assert protocol.lower == tuple(peer for peer in sorted(ids) if peer < node)


def test_M1_no_node_knows_who_is_up() -> None:
    """M1: a starting node asks those above, up or not."""
    rig = Rig([3, 10, 2]).started(2)
    assert rig.sent() == [(2, "AreYouUp", 3), (2, "AreYouUp", 10)]
    rig.run(2 * T_US)
    assert rig.agreed() == 2


@pytest.mark.parametrize("protocol", [Bully, BullyTanenbaum])
def test_M1_the_ids_may_start_at_0(protocol: type[Election]) -> None:
    """M1: node 0 is a node like any other. With all ids lower by one, the same messages are sent."""
    sent = []
    for first in (0, 1):
        rig = Rig(range(first, first + 4), protocol=protocol).started()
        for left in (3, 2, 1):
            assert rig.run_until_agreed() == first + left
            rig.do("kill coordinator")
        assert rig.run_until_agreed() == first
        rig.do(f"restart {first + 3}")
        assert rig.run_until_agreed() == first + 3
        sent.append([(source - first, kind, target - first) for source, kind, target in rig.sent()])
    assert sent[0] == sent[1]


def test_M2_the_state_vector() -> None:
    """M2: Status, Coordinator, Definition and Up are declared, so steps report every change of them."""
    _, step = lone()
    assert {"status", "coordinator", "definition", "up"} <= set(step.changed)
    assert [status.value for status in Status] == ["Down", "Election", "Reorganization", "Normal"]


def test_M3_only_the_version_is_in_safe_storage() -> None:
    """M3: only version numbers are in stable storage."""
    assert [field.name for field in Bully.fields if field.safe] == ["version"]


def test_M3_a_crash_loses_all_but_safe_storage() -> None:
    """M3: a restarted node has its version, and no coordinator, Definition or Up."""
    rig = Rig([1, 2, 3]).started()
    rig.run_until_agreed()
    version = rig.protocol(1).version
    assert version > 0
    rig.do("kill 1", "restart 1")
    restarted = rig.protocol(1)
    assert restarted.version == version
    assert (restarted.coordinator, restarted.definition.version, restarted.up) == (None, 0, frozenset())
    assert rig.cluster.nodes[1].state["version"] == version, "and the fold of the records says so too"


def test_M3_a_wiped_node_has_nothing() -> None:
    """M3, assumption 4: a user breaks it by wiping a node."""
    rig = Rig([1, 2, 3]).started()
    rig.run_until_agreed()
    rig.do("kill 1", "wipe 1", "restart 1")
    assert rig.protocol(1).version == 0
    assert [fault.breaks for fault in rig.cluster.faults.values() if fault.kind == "wipe"] == [(4,)]


def test_M3_a_version_is_never_older_than_a_sent_one() -> None:
    """M3: however often coordinators crash, no node ever stores an older version than before."""
    rig = Rig([1, 2, 3, 4]).started()
    for _ in range(6):
        rig.run_until_agreed()
        rig.do("kill coordinator")
        rig.run(7 * T_US)
        rig.do("restart all")
    stored: dict[int, list[int]] = {}
    for step in rig.steps:
        if "version" in step.stored:
            stored.setdefault(step.node, []).append(step.stored["version"])
    assert all(older < newer for versions in stored.values() for older, newer in pairwise(versions))
    assert max(map(len, stored.values())) > 5


def test_M4_a_crash_stops_a_node_wholly() -> None:
    """M4: a dead node makes no step; messages to it are lost; messages that it had sent still arrive."""
    rig = Rig([1, 2, 3]).started()
    rig.run_until_agreed()
    rig.do("on send AreYouNormal 3->1 kill 3")
    rig.run_until(lambda: 3 not in rig.incarnations, 3 * T_US, "3 dies while it checks")
    died = len(rig.records)
    rig.run(T_US)
    after = [record for record in rig.records[died:] if isinstance(record, Step)]
    assert all(step.node != 3 for step in after)
    assert [step.node for step in after if isinstance(step.input, Received) and step.input.source == 3] == [1]


def test_M4_a_restarted_node_is_down_until_recovery_moves_it_on() -> None:
    """M4: its first step leaves it Down, with an election in progress; before that step, it shows as Down, too."""
    rig = Rig([1, 2, 3]).started()
    rig.run_until_agreed()
    rig.do("kill 2")
    assert rig.cluster.nodes[2].state == {"status": "Down"}
    rig.do("restart 2")
    step = rig.steps[-1]
    assert (step.node, step.incarnation, step.changed["status"]) == (2, 2, "Down")
    assert step.began[0].procedure == "election"


def test_M5_the_bounds() -> None:
    """M5: T is twice Tm plus Tp."""
    assert TIMING.t_us == 2 * TIMING.tm_us + TIMING.tp_us == T_US


@pytest.mark.parametrize("latency_us", [1, TM_US])
def test_M5_an_answer_within_the_bounds_is_in_time(latency_us: int) -> None:
    """M5: with latencies of up to Tm, no answer is late, and no node is taken for dead."""
    rig = Rig([1, 2, 3], latency_us=latency_us).started()
    rig.run_until_agreed()
    since = len(rig.records)
    rig.run(20 * T_US)
    steps = [record for record in rig.records[since:] if isinstance(record, Step)]
    assert len(steps) > 20
    assert not any(step.late or "status" in step.changed for step in steps)


def test_M5_a_latency_beyond_the_bound_breaks_assumption_8() -> None:
    """M5: a delay of T makes answers late, and the run names the broken assumption."""
    rig = Rig([1, 2, 3]).started()
    rig.run_until_agreed()
    rig.do(f"delay 1->3 {T_US // 1000}ms")
    rig.run(3 * T_US)
    (fault,) = rig.cluster.faults.values()
    assert fault.breaks == (8,)
    assert fault.touched > 0
    assert any(step.late for step in rig.steps)


def test_M6_messages_arrive_in_the_order_sent() -> None:
    """M6: with any jitter, the messages of each ordered pair arrive in FIFO order."""
    rig = Rig([1, 2, 3, 4], latency_us=20_000, jitter_us=20_000, seed=7).started()
    rig.do("at 1s kill 4", "at 2s restart 4")
    rig.run(4_000_000)
    arrived: dict[tuple[int, int], list[int]] = {}
    for step in rig.steps:
        if isinstance(step.input, Received):
            arrived.setdefault((step.input.source, step.node), []).append(step.input.serial)
    assert all(serials == sorted(serials) for serials in arrived.values())
    assert len(arrived) == 12


def test_M7_only_a_normal_node_performs_its_task() -> None:
    """M7: at every step of a run with crashes, nodes that are not Normal have stopped."""
    rig = Rig([1, 2, 3, 4]).started()
    seen: set[tuple[Status, bool]] = set()

    def observe_states() -> None:
        seen.update((rig.protocol(node).status, rig.protocol(node).processing) for node in rig.incarnations)

    rig.watchers.append(observe_states)
    rig.do("at 500ms kill 4", "at 1500ms restart 4", "at 2s kill 1", "at 2500ms restart 1")
    rig.run(4_000_000)
    assert seen == {
        (Status.DOWN, False),
        (Status.ELECTION, False),
        (Status.REORGANIZATION, False),
        (Status.NORMAL, True),
    }


def test_M7_entering_an_election_stops_the_task() -> None:
    """M7: in the same step, before the answer leaves."""
    solo, _ = lone()
    assert normal(solo).changed["processing"] is True
    assert enter(solo).changed == {"status": "Election", "processing": False}
