"""Partition 1 2 | 3 4 5 and its end, under invitation and under bully.

The profile ``soak`` makes thousands of runs; with LAB_FIGURES=1 and -s it prints
durations.
"""

import os
from random import Random
from statistics import median

from lab.properties.judge import Judge
from lab.protocols import Bully, Group, InvitationElection, Status
from tests.harness import T_US, TIMING, TM_US, Rig
from tests.profile import amount
from tests.properties.recorded import judged

RUNS = amount(quick=20, soak=2000)
SIDES = ((1, 2), (3, 4, 5))
PROMISED = ("A3.1", "A3.2", "A4", "A5", "M7")
BOUND_US = T_US + 3 * T_US + TM_US + TIMING.tp_us
"""As ``test_I5_a_partition_heals_to_one_group`` derives it, with Check every T: 550 ms."""


def _partitioned(seed: int) -> tuple[Rig, set[Group]]:
    """Return a cluster whose two sides have settled, at some instant, and the groups of the two sides."""
    chance = Random(f"partition {seed}")
    jitter_us = chance.choice([0, 5_000, 20_000])
    latency_us = chance.choice([1_000, 10_000, TM_US - 1 - jitter_us])
    rig = Rig((1, 2, 3, 4, 5), protocol=InvitationElection, latency_us=latency_us, jitter_us=jitter_us, seed=seed)
    rig.started().run(10 * T_US)
    rig.do("partition 1 2 | 3 4 5")
    rig.run(22 * T_US + chance.randrange(3 * T_US))
    nodes = {node: rig.protocol(node) for node in rig.ids}
    for side in SIDES:
        led = {(nodes[n].status, nodes[n].coordinator, nodes[n].group, nodes[n].definition) for n in side}
        assert len(led) == 1, f"seed {seed}: {led}"
        ((status, coordinator, _, definition),) = led
        assert status is Status.NORMAL
        assert coordinator in side
        assert definition.members == side
    return rig, {nodes[1].group, nodes[5].group}


def _words(judge: Judge) -> dict[str, str]:
    """Return the verdicts on what the listings promise."""
    return {each.assertion: each.word for each in judge.verdicts() if each.assertion in PROMISED}


def _is_whole(rig: Rig) -> bool:
    return rig.agreed() is not None and len({rig.protocol(node).group for node in rig.ids}) == 1


def _until_whole(rig: Rig, seed: int) -> int:
    return rig.run_until(lambda: _is_whole(rig), 100 * T_US, f"seed {seed}: one group")


def test_I5_a_partition_heals_to_one_group() -> None:
    """I3, I5: two Normal groups; after the heal, one with a new identifier, within a bounded time.

    Both coordinators check every ``check_every``, or every T if that is longer, since a Check without an answer
    takes T. So 5's next Check begins at the latest that long after the heal. It finds 2 within T, since 2 is
    Normal: 2 may have found 5 before, but then waits 2·T for each of the nodes above it. 5 does not wait, collects
    Accepts for T + Tm + Tp, and has the answers to Ready within T. Together max(check_every, T) + 3·T + Tm + Tp.
    """
    took = []
    for seed in range(RUNS):
        rig, groups = _partitioned(seed)
        assert len(groups) == 2
        healed_us = rig.now_us
        rig.do("heal")
        took.append(_until_whole(rig, seed) - healed_us)
        assert took[-1] <= BOUND_US, f"seed {seed}"
        assert rig.protocol(1).group not in groups
        assert rig.protocol(1).definition.members == (1, 2, 3, 4, 5)
        if seed < 20:
            assert _words(judged(rig.records)) == dict.fromkeys(PROMISED, "holds"), f"seed {seed}"
    if "LAB_FIGURES" in os.environ:
        print(f"{RUNS} runs, bound {BOUND_US} µs: median {median(took)}, from {min(took)} to {max(took)}")


def test_A4_is_judged_while_the_partition_is_in_force() -> None:
    """A4: both sides must settle within the bound that the protocol declares."""
    rig, _ = _partitioned(1)
    rig.run(rig.header.protocol.settles_within_us)
    judge = judged(rig.records)
    assert 0 < judge.decided_us < rig.now_us
    assert _words(judge) == dict.fromkeys(PROMISED, "holds")


def test_the_same_under_bully() -> None:
    """Each side elects as if the other had crashed, so there are two coordinators.

    A1.1 and A1.2 are violated, excused by broken assumption 8; after the heal, A2 brings all back under 5.
    """
    rig = Rig((1, 2, 3, 4, 5)).started()
    rig.run(20 * T_US)
    rig.do("partition 1 2 | 3 4 5")
    rig.run(40 * T_US)
    assert {node: rig.protocol(node).coordinator for node in rig.ids} == {1: 2, 2: 2, 3: 5, 4: 5, 5: 5}
    assert {rig.protocol(node).status for node in rig.ids} == {Status.NORMAL}
    rig.do("heal")
    rig.run(60 * T_US)
    judge = judged(rig.records)
    assert rig.agreed() == 5
    assert {verdict.assertion: verdict.word for verdict in judge.verdicts()} == {
        "A1.1": "excused",
        "A1.2": "excused",
        "A2": "holds",
        "highest": "holds",
        "M7": "holds",
        "stages": "holds",
        "B10": "holds",
        "spreads": "holds",
        "defined": "holds",
    }
    assert {tuple(broken.assumption for broken in each.broken) for each in judge.violations} == {(8,)}
    assert {"A1.1", "A1.2", "A2", "highest", "M7", "B10"} <= {*Bully.promises}
