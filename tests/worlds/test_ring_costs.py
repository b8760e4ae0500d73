"""The cost of a ring election: the formulas equal the counts in simulation, to the message."""

import pytest

from lab.protocols import Ring
from lab.worlds.campaign.scalability import ScalabilityTrial
from tests.harness import T_US, TIMING, Rig
from tests.profile import amount

ONE, EVERYONE = Ring.costs
SEEDS = range(1, 1 + amount(quick=3, soak=8))


@pytest.mark.parametrize("nodes", [3, 4, 5, 6, 7, 8, 40])
def test_one_notices(nodes: int) -> None:
    """A plain run is the formula's first case: messages take no time, so only one node detects the crash."""
    measured = ScalabilityTrial(Ring, nodes, TIMING, 1).measure()
    assert measured.coordinator == nodes - 1
    assert measured.messages == ONE.messages(nodes)


def test_five_nodes_by_hand() -> None:
    """ELECTION to the four that are up, and to the dead one; COORDINATOR to the four; these eight acknowledge."""
    measured = ScalabilityTrial(Ring, 5, TIMING, 1).measure()
    assert measured.kinds == {"ELECTION": 5, "COORDINATOR": 4, "Passed": 8}


def test_the_time_is_the_timeouts() -> None:
    """The sum of the timeouts is the time taken.

    At most T since the coordinator was last asked, T until it is missed, T to skip it, T in which it has not come
    up, and at most T until all have asked the new one.
    """
    for nodes in (3, 30):
        took = [ScalabilityTrial(Ring, nodes, TIMING, seed).measure().virtual_us for seed in SEEDS]
        assert all(3 * T_US < us <= 5 * T_US for us in took)


@pytest.mark.parametrize("nodes", [3, 5, 8])
def test_everyone_starts_an_election(nodes: int) -> None:
    """As in the worst case, when all but the highest come up at once.

    The last node tries the highest once, with its own election, and not with those that have arrived by then.
    """
    left = range(1, nodes)
    rig = Rig(range(1, nodes + 1), protocol=Ring).started(*left)
    assert rig.run_until_agreed() == nodes - 1
    rig.run(10 * T_US)
    sent = rig.sent("ELECTION", "COORDINATOR", "Passed")
    assert [target for _, _, target in sent].count(nodes) == 1
    assert len(sent) == EVERYONE.messages(nodes)
