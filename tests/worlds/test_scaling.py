"""What an election costs: the formulas of the bully against what is counted in simulation, to the message."""

import pytest

from lab.protocols import Bully, BullyTanenbaum, Election
from lab.worlds.scaling import NeverSettledError, measure
from tests.harness import T_US, TIMING, Rig

EVERYONE, TANENBAUM, NEXT = Bully.costs


class Silent(Election):
    """Elects nobody."""

    name = "silent"


class Broken(Election):
    """Raises as it comes up."""

    name = "broken"

    def started(self) -> None:
        raise ZeroDivisionError("nothing to divide by")


@pytest.mark.parametrize("nodes", [2, 3, 4, 5, 6, 7, 8, 40])
def test_everyone_notices(nodes: int) -> None:
    """A plain run is the formula's first case: no message more, and none less."""
    measured = measure(Bully, nodes, TIMING, 1)
    assert measured.coordinator == nodes - 1
    assert measured.messages == EVERYONE.messages(nodes)


def test_five_nodes_by_hand() -> None:
    """Nodes 1 to 4 ask the dead 5, then all above: 10, of which 6 are answered; then three rounds of 3 and 3."""
    measured = measure(Bully, 5, TIMING, 1)
    assert measured.kinds == {
        "AreYouUp": 4 + 10,
        "AreYouUpAnswer": 6,
        "EnterElection": 3,
        "EnterElectionAnswer": 3,
        "SetCoordinator": 3,
        "SetCoordinatorAnswer": 3,
        "NewState": 3,
        "NewStateAnswer": 3,
    }
    assert measured.messages == 38


@pytest.mark.parametrize("nodes", [3, 4, 5, 8, 20])
def test_only_the_next_coordinator_notices(nodes: int) -> None:
    """The coordinator dies in the middle of a Check, before it has asked the highest of the others.

    With more than 2·T between two Checks, the others are told of the election before they miss anybody.
    """
    parameters = Bully.Parameters(check_every_us=5 * T_US // 2)
    rig = Rig(range(1, nodes + 1), latency_us=0, parameters=parameters).started()
    assert rig.settle() == nodes
    rig.run(T_US)
    rig.do(f"on send AreYouNormal {nodes}->{nodes - 2} kill {nodes}")
    rig.run_until(lambda: nodes not in rig.lives, 4 * T_US, "the coordinator dies")
    dead = len(rig.records)
    assert rig.settle() == nodes - 1
    sent = [kind for _, kind, _ in rig.sent(since=dead) if not kind.startswith("AreYouNormal")]
    assert len(sent) == NEXT.messages(nodes)


def test_the_case_of_tanenbaum_is_his_figure() -> None:
    """T1-T3 for eight nodes, the lowest noticing, message by message: his node asks nobody but with ELECTION."""
    ids, dead = range(1, 9), 8
    election = [(i, j) for i in ids if i != dead for j in ids if j > i]
    ok = [(j, i) for i, j in election if j != dead]
    coordinator = [(7, i) for i in ids if i != 7]
    assert TANENBAUM.messages(8) == len(election) + len(ok) + len(coordinator)


@pytest.mark.parametrize("nodes", [2, 3, 4, 5, 6, 7, 8, 40])
def test_as_tanenbaum_tells_it(nodes: int) -> None:
    """Whoever notices, and all do here: each asks all above it once, and the highest tells all."""
    measured = measure(BullyTanenbaum, nodes, TIMING, 1)
    asked, answered = nodes * (nodes - 1) // 2, (nodes - 1) * (nodes - 2) // 2
    assert measured.coordinator == nodes - 1
    assert measured.kinds == {
        kind: count
        for kind, count in (("ELECTION", asked), ("OK", answered), ("COORDINATOR", nodes - 1))
        if count > 0
    }
    assert measured.messages == BullyTanenbaum.costs[0].messages(nodes) == TANENBAUM.messages(nodes)


@pytest.mark.parametrize("nodes", [3, 4, 5, 8, 20])
def test_as_tanenbaum_tells_it_when_only_the_next_coordinator_notices(nodes: int) -> None:
    """The coordinator answers all but its question, and dies; two of the messages are lost on the dead node."""
    parameters = BullyTanenbaum.Parameters(ask_every_us=6 * T_US)
    rig = Rig(range(1, nodes + 1), latency_us=0, protocol=BullyTanenbaum, parameters=parameters).started()
    assert rig.settle() == nodes
    rig.do(f"on send AreYouThere {nodes - 1}->{nodes} kill {nodes}")
    rig.run_until(lambda: nodes not in rig.lives, 8 * T_US, "the coordinator dies")
    dead = len(rig.records)
    assert rig.settle() == nodes - 1
    sent = [(kind, to) for _, kind, to in rig.sent(since=dead) if kind not in rig.header.protocol.heartbeats]
    assert len(sent) == BullyTanenbaum.costs[1].messages(nodes)
    assert len([to for _, to in sent if to != nodes]) == BullyTanenbaum.costs[2].messages(nodes)


def test_it_grows_between_the_cases() -> None:
    """With n, above the best case, and towards Tanenbaum's worst: the answered stages weigh less and less."""
    sizes = [3, 6, 12, 25, 50, 100]
    counted = [measure(Bully, nodes, TIMING, 1).messages for nodes in sizes]
    assert counted == sorted(set(counted))
    ratios = [count / TANENBAUM.messages(nodes) for nodes, count in zip(sizes, counted, strict=True)]
    assert ratios == sorted(ratios, reverse=True)
    assert 1 < ratios[-1] < 1.1
    assert all(count > NEXT.messages(nodes) for nodes, count in zip(sizes, counted, strict=True))


def test_the_time_is_the_timeouts() -> None:
    """3·T of silence, T to ask the dead one, T of stage 1, less what had passed since the last Check."""
    took = [measure(Bully, nodes, TIMING, seed).virtual_us for nodes in (3, 30) for seed in range(1, 9)]
    assert all(4 * T_US < us <= 5 * T_US for us in took)
    assert len(set(took)) == len(took)


def test_the_seed_decides() -> None:
    """The same one gives the same measurement."""
    assert measure(Bully, 6, TIMING, 7) == measure(Bully, 6, TIMING, 7)
    assert measure(Bully, 6, TIMING, 7) != measure(Bully, 6, TIMING, 8)


def test_it_counts_what_a_recorded_run_shows() -> None:
    """The same crash in a run that keeps its records: the same messages, the same time."""
    rig = Rig(range(1, 7), latency_us=0).started()
    rig.settle()
    rig.run(T_US + 12_345)
    killed, killed_us = len(rig.records), rig.now_us
    rig.do("kill coordinator")
    rig.settle()
    sent = [kind for _, kind, _ in rig.sent(since=killed)]
    assert len([kind for kind in sent if kind not in rig.header.protocol.heartbeats]) == EVERYONE.messages(6)
    assert rig.now_us - killed_us == 5 * T_US - 12_345


def test_progress_is_told() -> None:
    """Every now and then, with the messages so far; a small cluster tells once a node, as it comes up."""
    told: list[int] = []
    measure(Bully, 120, TIMING, 1, told.append)
    assert told == sorted(told)
    assert len(told) > 120
    assert told[-1] > EVERYONE.messages(120)


def test_nodes_that_never_agree_are_an_error() -> None:
    """With how long they were given."""
    with pytest.raises(NeverSettledError, match=r"at the start 3 nodes did not agree within 3\.6s"):
        measure(Silent, 3, TIMING, 1)


def test_a_node_that_raises_is_an_error() -> None:
    """With what it raised."""
    with pytest.raises(NeverSettledError, match="node 3 failed: ZeroDivisionError: nothing to divide by"):
        measure(Broken, 3, TIMING, 1)
