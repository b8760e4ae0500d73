"""What an election costs: the formulas against what is counted in simulation, to the message."""

import pytest

from lab.kernel import Timing, periodic
from lab.protocols import Algorithm, Bully, BullyTanenbaum, Election, InvitationElection, Ring
from lab.protocols.cost import Cost
from lab.worlds.scaling import Measurement, NeverSettledError, Trial
from tests.harness import T_US, TIMING, Rig

EVERYONE, TANENBAUM, NEXT = Bully.costs
MEASURED = [
    (protocol, cost)
    for protocol in (Bully, BullyTanenbaum, Ring, InvitationElection)
    for cost in protocol.costs
    if cost.noticed is not None
]


def measure(protocol: type[Algorithm], nodes: int, timing: Timing, seed: int) -> Measurement:
    """A plain run."""
    return Trial(protocol, nodes, timing, seed).measure()


class Silent(Election):
    """Elects nobody."""

    name = "silent"


class Patient(Bully):
    """Node 1 leaves it to the others to notice."""

    name = "patient"

    def _silence_ends_us(self) -> int | None:
        return None if self.id == 1 else super()._silence_ends_us()

    @periodic(_silence_ends_us)
    async def coordinator_timeout(self) -> None:
        """As it is."""
        await super().coordinator_timeout()


class Broken(Election):
    """Raises as it comes up."""

    name = "broken"

    def started(self) -> None:
        raise ZeroDivisionError("nothing to divide by")


@pytest.mark.parametrize("nodes", [3, 4, 5, 8, 20])
@pytest.mark.parametrize(("protocol", "cost"), MEASURED, ids=lambda each: getattr(each, "case", None))
def test_every_case_is_its_formula(protocol: type[Algorithm], cost: Cost, nodes: int) -> None:
    """Brought about as it says, it takes no message more, and none less, and the highest that is left leads."""
    assert cost.noticed is not None
    measured = Trial(protocol, nodes, TIMING, 1).measure(cost.noticed)
    assert measured.messages == cost.messages(nodes)
    assert (measured.nodes, measured.noticed, measured.coordinator) == (nodes, cost.noticed, nodes - 1)


@pytest.mark.parametrize("protocol", [Bully, BullyTanenbaum, Ring, InvitationElection])
def test_one_case_after_the_other(protocol: type[Algorithm]) -> None:
    """The cluster is whole again before the next case, so what was measured before makes no difference."""
    trial = Trial(protocol, 6, TIMING, 1)
    for cost in (*protocol.costs, *reversed(protocol.costs)):
        if cost.noticed is not None:
            assert trial.measure(cost.noticed).messages == cost.messages(6)


@pytest.mark.parametrize("protocol", [Bully, BullyTanenbaum, Ring, InvitationElection])
def test_the_first_case_is_a_plain_run(protocol: type[Algorithm]) -> None:
    """And there is one of each kind at most, or two measurements would have one formula."""
    kinds = [cost.noticed for cost in protocol.costs if cost.noticed is not None]
    assert kinds[0] == "by each"
    assert len(set(kinds)) == len(kinds)


def test_in_turn_the_others_hear_of_it_before_they_notice() -> None:
    """Nobody but node 4 asks the dead coordinator, or those above it: the messages by kind are of its election."""
    measured = Trial(Bully, 5, TIMING, 1).measure("in turn")
    assert measured.kinds == {
        "AreYouUp": 2,
        **dict.fromkeys(("EnterElection", "EnterElectionAnswer", "SetCoordinator", "SetCoordinatorAnswer"), 3),
        **dict.fromkeys(("NewState", "NewStateAnswer"), 3),
    }


def test_in_turn_nobody_tells_the_others() -> None:
    """Node 4 is a group alone, then with 3, with 2 and 3, with all: each merge invites who was in before anew."""
    measured = Trial(InvitationElection, 5, TIMING, 1).measure("in turn")
    kinds = ("Invitation", "Accept", "AcceptAnswer", "Ready", "ReadyAnswer")
    assert measured.kinds == dict.fromkeys(kinds, 1 + 2 + 3)


def test_at_once_all_begin() -> None:
    """Four elections of the ring, each passed on by four; node 4 tries the dead 5 with its own election alone."""
    measured = Trial(Ring, 5, TIMING, 1).measure("at once")
    assert measured.kinds == {"ELECTION": 4 * 4 + 1, "COORDINATOR": 4 * 4, "Passed": 4 * 8}


def test_who_is_never_told_and_never_begins_is_an_error() -> None:
    """At once is in vain where one waits for a message, and messages wait for it."""
    with pytest.raises(NeverSettledError, match="after the crash of 3 2 nodes did not agree"):
        Trial(Patient, 3, TIMING, 1).measure("at once")


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
    Trial(Bully, 120, TIMING, 1, told.append).measure()
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
