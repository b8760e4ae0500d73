"""The holes of the listings, and their repairs in bully.py; and one that remains open.

Each test begins with a settled cluster, and strikes at one message.
"""

import pytest

from lab.kernel import Step
from lab.network import Delay
from lab.protocols import Status
from tests.harness import T_US, TM_US, Rig

LED = (Status.REORGANIZATION, Status.NORMAL)


def _at_work(nodes: int = 4) -> Rig:
    rig = Rig(range(1, nodes + 1)).started()
    assert rig.run_until_agreed() == nodes
    return rig


def _statuses(rig: Rig) -> dict[int, str]:
    return {node: rig.protocol(node).status.value for node in sorted(rig.incarnations)}


def test_the_leader_dies_after_enter_election() -> None:
    """A2: a node in the election of a dead leader then elects by itself.

    Listing 10.18 covers only Normal and Reorganization, and would leave the node in Election forever.
    """
    rig = _at_work()
    rig.do("kill 4")
    rig.run_until_agreed()
    rig.do("restart 4")
    rig.run_until(lambda: set(_statuses(rig).values()) == {"Election"}, T_US, "all were told")
    rig.do("kill 4")
    assert [rig.protocol(node).halted for node in (1, 2, 3)] == [4, 4, 4]
    assert rig.run_until_agreed() == 3


@pytest.mark.parametrize("index", [1, 2, 3])
def test_the_leader_dies_between_two_messages_of_enter_election(index: int) -> None:
    """A2: the higher nodes got it, the lower ones did not; the highest of all leads in the end."""
    rig = _at_work()
    rig.do("kill 4")
    rig.run(50_000)
    since = len(rig.records)
    rig.do(f"on send EnterElection 4->{index} kill 4", "restart 4")
    rig.run_until(lambda: 4 not in rig.incarnations, T_US, "4 dies at that message")
    assert [target for _, _, target in rig.sent("EnterElection", since=since)] == [*range(3, index - 1, -1)]
    assert rig.run_until_agreed() == 3


@pytest.mark.parametrize("kind", ["EnterElection", "SetCoordinator", "NewState"])
@pytest.mark.parametrize("target", [1, 2, 3])
def test_the_leader_dies_at_any_message_of_its_election(kind: str, target: int) -> None:
    """A2: figure 10.8, cut short at each of its messages."""
    rig = _at_work()
    rig.do("kill 4")
    rig.run_until_agreed()
    rig.do(f"on send {kind} 4->{target} kill 4", "restart 4")
    rig.run_until(lambda: 4 not in rig.incarnations, 20 * T_US, "4 dies at that message")
    assert rig.run_until_agreed() == 3


def test_the_higher_one_dies_after_answering_are_you_up() -> None:
    """A2, B4: the lower one left the election to it, and starts again when there is no takeover."""
    rig = _at_work(3)
    rig.do("kill 3")
    since = len(rig.records)
    rig.do("on send AreYouUpAnswer 2->1 kill 2")
    rig.run_until(lambda: 2 not in rig.incarnations, 20 * T_US, "2 answers 1, and dies")
    left_us = rig.now_us
    assert rig.run_until_agreed() == 1
    tries = [source for source, _, target in rig.sent("AreYouUp", since=since) if (source, target) == (1, 2)]
    assert len(tries) >= 2, "1 asked again"
    assert rig.now_us - left_us <= 7 * T_US + 2 * T_US


def test_a_paused_coordinator_makes_two_and_then_one_again() -> None:
    """Assumption 9 broken: a coordinator paused past its timeout is replaced.

    Once resumed, it and its successor both lead; A2 then brings all back under one.
    """
    rig = _at_work()
    rig.do("pause 4")
    rig.run_until(lambda: rig.agreed() == 3, 20 * T_US, "3 has taken over")
    assert rig.protocol(4).status is Status.NORMAL
    rig.do("resume 4")
    leaders = [n for n in rig.ids if rig.protocol(n).status is Status.NORMAL and rig.protocol(n).coordinator == n]
    assert leaders == [3, 4], "A1.1 does not hold now"
    assert rig.run_until_agreed() == 4
    assert {rig.protocol(node).coordinator for node in rig.incarnations} == {4}


@pytest.mark.parametrize("node", [1, 2, 3])
def test_a_paused_member_is_left_out_and_comes_back(node: int) -> None:
    """B3: silent for T, it is taken for dead; once resumed it answers, and becomes a member again."""
    rig = _at_work()
    rig.do(f"pause {node}")
    rig.run_until(lambda: rig.agreed() == 4 and node not in rig.protocol(4).up, 20 * T_US, f"{node} is left out")
    rig.do(f"resume {node}")
    rig.run_until(lambda: rig.agreed() == 4 and node in rig.protocol(4).up, 20 * T_US, f"{node} is back")


@pytest.mark.parametrize("sides", ["1 2 | 3 4", "4", "1 | 2 | 3 | 4", "1 4 | 2 3"])
def test_a_partition_heals_to_one_coordinator(sides: str) -> None:
    """Assumption 8 broken: each side has its own coordinator; after the heal, the highest leads."""
    rig = _at_work()
    rig.do(f"partition {sides}")
    rig.run(30 * T_US)
    assert len({rig.protocol(node).coordinator for node in rig.ids}) == max(2, sides.count("|") + 1)
    assert set(_statuses(rig).values()) == {"Normal"}
    rig.do("heal")
    rig.run_until(lambda: rig.agreed() == 4, 60 * T_US, "4 leads all")


def test_A1_1_when_the_lower_of_two_leaders_is_heard_last() -> None:
    """A1.1 with just a crash: 2 has passed stage 1, and 3 starts.

    At node 1, 2's EnterElection, sent before 3's, arrives after it if 3 halts all nodes at once. 1 would then
    follow 2, while 3 relies on 1's earlier answer. All messages arrive within Tm and in order on each link. Also
    ``Schedule(2889)``, ``(17509)``, ``(19178)``.
    """
    rig = Rig([1, 2, 3], latency_us=1_000).started()
    rig.run_until_agreed()
    rig.do("kill 3")
    rig.rule(Delay(links=frozenset({(2, 1)}), delay_us=20_000))
    rig.rule(Delay(links=frozenset({(3, 2)}), delay_us=30_000))
    assert rig.header.link.latency_us + 30_000 < TM_US
    rig.do("on send EnterElection 2->1 restart 3")

    def check_coordinators() -> None:
        record = rig.records[-1]
        if isinstance(record, Step) and "status" in record.changed:
            led = [node for node in rig.incarnations if rig.protocol(node).status in LED]
            coordinators = {node: rig.protocol(node).coordinator for node in led}
            assert len(set(coordinators.values())) <= 1, f"at {rig.now_us}: {coordinators}"

    rig.watchers.append(check_coordinators)
    rig.run(20 * T_US)


def test_a_node_whose_takeover_never_comes_follows_nobody() -> None:
    """A2: 1 leaves each election to 3, which led before it was paused, and finds 1 Normal at every Check.

    1 follows 2, which is down. It steps down when nothing has come of its election, and the next Check finds it.
    """
    rig = Rig([1, 2, 3]).started()
    assert rig.run_until_agreed() == 3
    rig.do("kill 2")
    rig.run(2 * T_US)
    assert rig.run_until_agreed() == 3
    rig.do("restart 2")
    rig.do("pause 3")
    rig.run_until(lambda: rig.protocol(2).leads and rig.protocol(1).coordinator == 2, 40 * T_US, "2 leads 1")
    rig.do("kill 2")
    rig.do("resume 3")
    assert rig.run_until_agreed() == 3
