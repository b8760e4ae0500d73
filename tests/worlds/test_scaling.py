"""The cost of an election: the formulas equal the counts in simulation, to the message."""

import pytest

from lab.kernel import Timing, periodic
from lab.protocols import Algorithm, Bully, BullyTanenbaum, Election, InvitationElection, Ring
from lab.protocols.cost import Cost
from lab.worlds.campaign.scalability import Measurement, NoAgreementError, ScalabilityTrial
from tests.harness import T_US, TIMING, Rig
from tests.profile import sampled

EVERYONE, TANENBAUM, NEXT = Bully.costs
MEASURED = [
    (protocol, cost)
    for protocol in (Bully, BullyTanenbaum, Ring, InvitationElection)
    for cost in protocol.costs
    if cost.detection is not None
]


def measure(protocol: type[Algorithm], nodes: int, timing: Timing, seed: int) -> Measurement:
    """Measure a plain run."""
    return ScalabilityTrial(protocol, nodes, timing, seed).measure()


class Silent(Election):
    """Elects nobody."""

    name = "silent"


class Patient(Bully):
    """Node 1 leaves detection to the others."""

    name = "patient"

    def _silence_ends_us(self) -> int | None:
        return None if self.id == 1 else super()._silence_ends_us()

    @periodic(_silence_ends_us)
    async def coordinator_timeout(self) -> None:
        await super().coordinator_timeout()


class Broken(Election):
    """Raises when it comes up."""

    name = "broken"

    def started(self) -> None:
        raise ZeroDivisionError("nothing to divide by")


@pytest.mark.parametrize("nodes", sampled([3, 4, 5, 8, 20], 2))
@pytest.mark.parametrize(("protocol", "cost"), MEASURED, ids=lambda each: getattr(each, "case", None))
def test_every_case_equals_its_formula(protocol: type[Algorithm], cost: Cost, nodes: int) -> None:
    """Exactly as many messages, and the highest remaining node leads."""
    assert cost.detection is not None
    measured = ScalabilityTrial(protocol, nodes, TIMING, 1).measure(cost.detection)
    assert measured.messages == cost.messages(nodes)
    assert (measured.nodes, measured.detection, measured.coordinator) == (nodes, cost.detection, nodes - 1)


@pytest.mark.parametrize("protocol", [Bully, BullyTanenbaum, Ring, InvitationElection])
def test_one_case_after_the_other(protocol: type[Algorithm]) -> None:
    """The cluster is complete again before the next case, so earlier measurements make no difference."""
    trial = ScalabilityTrial(protocol, 6, TIMING, 1)
    for cost in (*protocol.costs, *reversed(protocol.costs)):
        if cost.detection is not None:
            assert trial.measure(cost.detection).messages == cost.messages(6)


@pytest.mark.parametrize("protocol", [Bully, BullyTanenbaum, Ring, InvitationElection])
def test_the_first_case_is_a_plain_run(protocol: type[Algorithm]) -> None:
    """There is at most one case of each kind, or two measurements would have one formula."""
    kinds = [cost.detection for cost in protocol.costs if cost.detection is not None]
    assert kinds[0] == "by each"
    assert len(set(kinds)) == len(kinds)


def test_in_turn_the_others_hear_of_it_before_they_notice() -> None:
    """Only node 4 asks the dead coordinator, or nodes above it: the messages by kind are of its election."""
    measured = ScalabilityTrial(Bully, 5, TIMING, 1).measure("in turn")
    assert measured.kinds == {
        "AreYouUp": 2,
        **dict.fromkeys(("EnterElection", "EnterElectionAnswer", "SetCoordinator", "SetCoordinatorAnswer"), 3),
        **dict.fromkeys(("NewState", "NewStateAnswer"), 3),
    }


def test_in_turn_each_group_is_invited_anew() -> None:
    """Node 4 is a group alone, then with 3, with 2 and 3, with all: each merge invites the members again."""
    measured = ScalabilityTrial(InvitationElection, 5, TIMING, 1).measure("in turn")
    kinds = ("Invitation", "Accept", "AcceptAnswer", "Ready", "ReadyAnswer")
    assert measured.kinds == dict.fromkeys(kinds, 1 + 2 + 3)


def test_at_once_all_begin() -> None:
    """Four elections of the ring, each passed on by four; node 4 tries the dead 5 with its own election alone."""
    measured = ScalabilityTrial(Ring, 5, TIMING, 1).measure("at once")
    assert measured.kinds == {"ELECTION": 4 * 4 + 1, "COORDINATOR": 4 * 4, "Passed": 4 * 8}


def test_a_node_that_never_begins_is_an_error() -> None:
    """*At once* is impossible if a node waits for a message while messages wait for it."""
    with pytest.raises(NoAgreementError, match="after the crash of 3 2 nodes did not agree"):
        ScalabilityTrial(Patient, 3, TIMING, 1).measure("at once")


@pytest.mark.parametrize("nodes", [2, 3, 4, 5, 6, 7, 8, 40])
def test_everyone_notices(nodes: int) -> None:
    """A plain run is the formula's first case, to the message."""
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

    With more than 2·T between two Checks, the others hear of the election before they miss the coordinator.
    """
    parameters = Bully.Parameters(check_every_us=5 * T_US // 2)
    rig = Rig(range(1, nodes + 1), latency_us=0, parameters=parameters).started()
    assert rig.run_until_agreed() == nodes
    rig.run(T_US)
    rig.do(f"on send AreYouNormal {nodes}->{nodes - 2} kill {nodes}")
    rig.run_until(lambda: nodes not in rig.incarnations, 4 * T_US, "the coordinator dies")
    dead = len(rig.records)
    assert rig.run_until_agreed() == nodes - 1
    sent = [kind for _, kind, _ in rig.sent(since=dead) if not kind.startswith("AreYouNormal")]
    assert len(sent) == NEXT.messages(nodes)


def test_the_case_of_tanenbaum_is_his_figure() -> None:
    """T1-T3 for eight nodes, the lowest detecting, message by message: his node sends only ELECTION."""
    ids, dead = range(1, 9), 8
    election = [(i, j) for i in ids if i != dead for j in ids if j > i]
    ok = [(j, i) for i, j in election if j != dead]
    coordinator = [(7, i) for i in ids if i != 7]
    assert TANENBAUM.messages(8) == len(election) + len(ok) + len(coordinator)


@pytest.mark.parametrize("nodes", [2, 3, 4, 5, 6, 7, 8, 40])
def test_tanenbaums_bully(nodes: int) -> None:
    """All nodes detect the crash: each asks all above it once, and the highest informs all."""
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
def test_tanenbaums_bully_when_only_the_next_coordinator_detects_it(nodes: int) -> None:
    """The coordinator answers all but its question, and dies; two of the messages are lost on the dead node."""
    parameters = BullyTanenbaum.Parameters(ask_every_us=6 * T_US)
    rig = Rig(range(1, nodes + 1), latency_us=0, protocol=BullyTanenbaum, parameters=parameters).started()
    assert rig.run_until_agreed() == nodes
    rig.do(f"on send AreYouThere {nodes - 1}->{nodes} kill {nodes}")
    rig.run_until(lambda: nodes not in rig.incarnations, 8 * T_US, "the coordinator dies")
    dead = len(rig.records)
    assert rig.run_until_agreed() == nodes - 1
    sent = [(kind, to) for _, kind, to in rig.sent(since=dead) if kind not in rig.header.protocol.heartbeats]
    assert len(sent) == BullyTanenbaum.costs[1].messages(nodes)
    assert len([to for _, to in sent if to != nodes]) == BullyTanenbaum.costs[2].messages(nodes)


def test_it_grows_between_the_cases() -> None:
    """With n, above the best case, and towards Tanenbaum's worst: the share of the answered stages shrinks."""
    sizes = [3, 6, 12, 25, 50, 100]
    counted = [measure(Bully, nodes, TIMING, 1).messages for nodes in sizes]
    assert counted == sorted(set(counted))
    ratios = [count / TANENBAUM.messages(nodes) for nodes, count in zip(sizes, counted, strict=True)]
    assert ratios == sorted(ratios, reverse=True)
    assert 1 < ratios[-1] < 1.1
    assert all(count > NEXT.messages(nodes) for nodes, count in zip(sizes, counted, strict=True))


def test_the_time_is_the_timeouts() -> None:
    """3·T of silence, T to ask the dead one, T of stage 1, less the time since the last Check."""
    took = [measure(Bully, nodes, TIMING, seed).virtual_us for nodes in (3, 30) for seed in range(1, 9)]
    assert all(4 * T_US < us <= 5 * T_US for us in took)
    assert len(set(took)) == len(took)


def test_the_seed_decides() -> None:
    """One seed gives one measurement."""
    assert measure(Bully, 6, TIMING, 7) == measure(Bully, 6, TIMING, 7)
    assert measure(Bully, 6, TIMING, 7) != measure(Bully, 6, TIMING, 8)


def test_its_counts_equal_those_of_a_recorded_run() -> None:
    """An equal crash in a run that keeps its records takes the same messages and time."""
    rig = Rig(range(1, 7), latency_us=0).started()
    rig.run_until_agreed()
    rig.run(T_US + 12_345)
    killed, killed_us = len(rig.records), rig.now_us
    rig.do("kill coordinator")
    rig.run_until_agreed()
    sent = [kind for _, kind, _ in rig.sent(since=killed)]
    assert len([kind for kind in sent if kind not in rig.header.protocol.heartbeats]) == EVERYONE.messages(6)
    assert rig.now_us - killed_us == 5 * T_US - 12_345


def test_progress_is_reported() -> None:
    """Now and then, with the messages and the share so far; at the start, whenever a node comes up."""
    reported: list[tuple[int, float]] = []
    trial = ScalabilityTrial(Bully, 120, TIMING, 1, lambda *done: reported.append(done), cases=2)
    trial.measure()
    trial.measure()
    assert reported == sorted(reported)
    assert len(reported) > 120
    assert reported[-1][0] > EVERYONE.messages(120)
    assert [round(3 * share, 2) for _, share in (reported[59], reported[119], reported[-1])] == [0.5, 1, 2]


def test_nodes_that_never_agree_are_an_error() -> None:
    """The error has the time that they had."""
    with pytest.raises(NoAgreementError, match=r"at the start 3 nodes did not agree within 3\.6s"):
        measure(Silent, 3, TIMING, 1)


def test_a_node_that_raises_is_an_error() -> None:
    """The error has the exception."""
    with pytest.raises(NoAgreementError, match="node 3 failed: ZeroDivisionError: nothing to divide by"):
        measure(Broken, 3, TIMING, 1)
