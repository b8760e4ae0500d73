"""The places at which the listings leave a node in the lurch, and what bully.py does there; and one that is open.

Each begins with a cluster at work, and strikes at one message.
"""

import pytest

from lab.kernel import Step
from lab.network import Delay
from lab.protocols import Status
from tests.harness import T_US, TM_US, Rig

LED = (Status.REORGANIZATION, Status.NORMAL)


def _at_work(nodes: int = 4) -> Rig:
    rig = Rig(range(1, nodes + 1)).started()
    assert rig.settle() == nodes
    return rig


def _statuses(rig: Rig) -> dict[int, str]:
    return {node: rig.protocol(node).status.value for node in sorted(rig.lives)}


def test_the_leader_dies_after_enter_election() -> None:
    """A2: whoever was told to enter an election whose leader is dead then elects by itself. Listing 10.18 looks
    at Normal and Reorganization only, and would leave it in Election for ever."""
    rig = _at_work()
    rig.do("kill 4")
    rig.settle()
    rig.do("restart 4")
    rig.run_until(lambda: set(_statuses(rig).values()) == {"Election"}, T_US, "all were told")
    rig.do("kill 4")
    assert [rig.protocol(node).halted for node in (1, 2, 3)] == [4, 4, 4]
    assert rig.settle() == 3


@pytest.mark.parametrize("index", [1, 2, 3])
def test_the_leader_dies_between_two_messages_of_enter_election(index: int) -> None:
    """A2: some were told, some not; the highest of them leads in the end."""
    rig = _at_work()
    rig.do("kill 4")
    rig.do(f"on send EnterElection 4->{index} kill 4")
    rig.run(50_000)
    rig.do("restart 4")
    assert 4 not in rig.lives
    told = {target for _, _, target in rig.sent("EnterElection")[-3:]}
    assert index in told
    assert rig.settle() == 3


@pytest.mark.parametrize("kind", ["EnterElection", "SetCoordinator", "NewState"])
@pytest.mark.parametrize("target", [1, 2, 3])
def test_the_leader_dies_at_any_message_of_its_election(kind: str, target: int) -> None:
    """A2: figure 10.8 cut short at each of its messages."""
    rig = _at_work()
    rig.do("kill 4")
    rig.settle()
    rig.do(f"on send {kind} 4->{target} kill 4", "restart 4")
    rig.run_until(lambda: 4 not in rig.lives, 20 * T_US, "4 dies at that message")
    assert rig.settle() == 3


def test_the_higher_one_dies_after_answering_are_you_up() -> None:
    """A2, B4: the lower left the election to it, and starts again when nothing has come of that."""
    rig = _at_work(3)
    rig.do("kill 3")
    since = len(rig.records)
    rig.do("on send AreYouUpAnswer 2->1 kill 2")
    rig.run_until(lambda: 2 not in rig.lives, 20 * T_US, "2 answers 1, and dies")
    left_us = rig.now_us
    assert rig.settle() == 1
    tries = [source for source, _, target in rig.sent("AreYouUp", since=since) if (source, target) == (1, 2)]
    assert len(tries) >= 2, "1 asked again"
    assert rig.now_us - left_us <= 6 * T_US + 2 * T_US


def test_a_paused_coordinator_makes_two_and_then_one_again() -> None:
    """Assumption 9 broken: a coordinator paused past its timeout is replaced; resumed, it and its successor both
    lead; A2 then brings them back under one."""
    rig = _at_work()
    rig.do("pause 4")
    rig.run_until(lambda: rig.agreed() == 3, 20 * T_US, "3 has taken over")
    assert rig.protocol(4).status is Status.NORMAL
    rig.do("resume 4")
    leaders = [n for n in rig.ids if rig.protocol(n).status is Status.NORMAL and rig.protocol(n).coordinator == n]
    assert leaders == [3, 4], "A1.1 does not hold now"
    assert rig.settle() == 4
    assert {rig.protocol(node).coordinator for node in rig.lives} == {4}


@pytest.mark.parametrize("node", [1, 2, 3])
def test_a_paused_member_is_left_out_and_comes_back(node: int) -> None:
    """B3: silent for T, it is taken for dead; when it goes on it answers, and is taken in again."""
    rig = _at_work()
    rig.do(f"pause {node}")
    rig.run_until(lambda: rig.agreed() == 4 and node not in rig.protocol(4).up, 20 * T_US, f"{node} is left out")
    rig.do(f"resume {node}")
    rig.run_until(lambda: rig.agreed() == 4 and node in rig.protocol(4).up, 20 * T_US, f"{node} is back")


@pytest.mark.parametrize("sides", ["1 2 | 3 4", "4", "1 | 2 | 3 | 4", "1 4 | 2 3"])
def test_a_partition_heals_to_one_coordinator(sides: str) -> None:
    """Assumption 8 broken: each side has its own coordinator; when it is whole again, the highest leads."""
    rig = _at_work()
    rig.do(f"partition {sides}")
    rig.run(30 * T_US)
    assert len({rig.protocol(node).coordinator for node in rig.ids}) == max(2, sides.count("|") + 1)
    assert set(_statuses(rig).values()) == {"Normal"}
    rig.do("heal")
    rig.run_until(lambda: rig.agreed() == 4, 60 * T_US, "4 leads all")


def test_A1_1_when_the_lower_of_two_leaders_is_heard_last() -> None:
    """A1.1 with nothing but a crash: 2 has passed stage 1, 3 comes up. At node 1, 2's EnterElection, sent before
    3's, arrives after it. By the listing 1 would follow 2, while 3 counts on the answer that 1 gave it before.

    All messages arrive within Tm, in order on each link. Also ``Schedule(2889)``, ``(17509)``, ``(19178)``.
    """
    rig = Rig([1, 2, 3], latency_us=1_000).started()
    rig.settle()
    rig.do("kill 3")
    rig.rule(Delay(links=frozenset({(2, 1)}), delay_us=20_000))
    rig.rule(Delay(links=frozenset({(3, 2)}), delay_us=30_000))
    assert rig.header.link.latency_us + 30_000 < TM_US
    rig.do("on send EnterElection 2->1 restart 3")

    def look() -> None:
        record = rig.records[-1]
        if isinstance(record, Step) and "status" in record.changed:
            led = [node for node in rig.lives if rig.protocol(node).status in LED]
            told = {node: rig.protocol(node).coordinator for node in led}
            assert len(set(told.values())) <= 1, f"at {rig.now_us}: {told}"

    rig.watchers.append(look)
    rig.run(20 * T_US)
