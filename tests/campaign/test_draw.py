"""Random schedules depend on the plan and the seed alone, and aim at critical moments."""

import subprocess
import sys
from collections import Counter
from functools import cache
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.kernel import Step
from lab.protocols import Bully, TwoPhaseCommit
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Commanded, Process, Routed
from lab.script.parse import parse
from lab.worlds.campaign.schedule import FAULTS, STRONGEST, Schedule, ScheduledFault, draw
from lab.worlds.campaign.trial import FaultCount, Trial, count_faults
from lab.worlds.loading.targets import load_protocol
from tests.campaign.trials import plan, trial
from tests.profile import amount

SEEDS = amount(quick=6, soak=60)
STORED = {
    "wipe": {"kill", "wipe"},
    "disk": {"kill", "unwrite", "tear", "flip", "wipe"},
    "slow-disk": {"slow-disk"},
}
KINDS = {"loss": "lose"}
"""The faults that are called otherwise as commands."""
WITHIN = """
import msgspec
from lab.protocols import Bully, TwoPhaseCommit
from lab.worlds.campaign.schedule import draw
from tests.campaign.trials import plan
print([msgspec.json.encode(draw(plan(Bully, "kill", "loss", "partition"), seed)) for seed in range(40)])
"""

seeds = st.integers(0, 1 << 40)
some_faults = st.lists(st.sampled_from(sorted(FAULTS)), min_size=1, unique=True)


@cache
def runs_under_kills() -> list[Trial]:
    """Runs of the bully, which several tests look at."""
    return [trial(Bully, seed) for seed in range(2 * SEEDS)]


@given(seeds, some_faults, st.integers(1, 5), st.integers(0, 5))
def test_every_fault_is_a_command(seed: int, faults: list[str], least: int, more: int) -> None:
    """Commands name existing nodes, are in the order of time, and end before the schedule does."""
    wanted = plan(Bully, *faults, nodes=(least, least + more))
    schedule = draw(wanted, seed)
    assert draw(wanted, seed) == schedule
    assert least <= len(schedule.nodes) <= least + more
    assert schedule.link.latency_us - schedule.link.jitter_us >= 0
    assert schedule.link.latency_us + schedule.link.jitter_us < wanted.timing.tm_us
    times = [strike.at_us for strike in schedule.faults]
    assert times == sorted(times)
    for strike in schedule.faults:
        assert parse(str(strike)).source == str(strike)
        assert strike.named_nodes() <= set(schedule.nodes)
        assert strike.at_us % 1000 == 0
        assert strike.at_us <= schedule.end_us


def test_seeds_draw_differently() -> None:
    """Two hundred seeds give almost as many schedules."""
    drawn = {draw(plan(Bully, *FAULTS), seed) for seed in range(200)}
    assert len({msgspec.structs.replace(schedule, seed=0) for schedule in drawn}) > 190


def test_a_draw_depends_on_nothing_else() -> None:
    """Processes with different hash seeds draw the same schedules."""
    outputs = [
        subprocess.run(
            [sys.executable, "-c", WITHIN], env={"PYTHONHASHSEED": hash_}, capture_output=True, check=True
        )
        for hash_ in ("1", "2")
    ]
    assert outputs[0].stdout == outputs[1].stdout
    assert len(outputs[0].stdout) > 5_000


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_drawn_and_touches_something(fault: str) -> None:
    """More than half of each kind do; of those of storage, every fifth where a protocol writes much."""
    protocol = TwoPhaseCommit if fault in STORED else Bully
    seeds = 2 * SEEDS if fault in STORED else SEEDS  # many of these touch nothing
    sums: dict[str, FaultCount] = {}
    for seed in range(seeds):
        for kind, count in count_faults(trial(protocol, seed, fault).records).items():
            total = sums.setdefault(kind, FaultCount())
            total.faults += count.faults
            total.touched += count.touched
    assert set(sums) == STORED.get(fault, {KINDS.get(fault, fault)})
    for kind, total in sums.items():
        assert total.faults >= seeds / (3 if fault == "disk" else 1), kind
        assert total.touched > total.faults / (5 if fault in STORED else 2), kind


def test_faults_hit_elections_and_the_middle_of_steps() -> None:
    """Most kills strike while not all are Normal; many strike between two messages of one step."""
    struck: Counter[str] = Counter()
    for ran in runs_under_kills():
        cluster, halfway = ClusterState(ran.schedule.nodes), False
        for record in ran.records:
            if isinstance(record, Process) and record.event == "killed":
                struck["all"] += 1
                struck["in an election"] += any(view.status != "Normal" for view in cluster.nodes.values())
            halfway = isinstance(record, Routed) and record.why == "unsent"
            struck["unsent"] += halfway
            cluster.apply(record)
    assert struck["all"] > 3 * SEEDS
    assert struck["in an election"] > struck["all"] / 2
    assert struck["unsent"] > SEEDS / 4


def test_the_next_fault_comes_during_recovery() -> None:
    """In many schedules a fault comes between another and its recovery."""
    overlapping = 0
    for seed in range(100):
        commands = [strike.command.split()[0] for strike in draw(plan(Bully), seed).faults]
        overlapping += any(one == other == "kill" for one, other in pairwise(commands))
    assert overlapping > 40


def test_commands_reach_the_elected_coordinator() -> None:
    """Most of those of 3pc name no node, and so go to whoever leads then; nobody else begins a transaction."""
    elected, all_alike = plan(load_protocol("3pc"), *STRONGEST), plan(TwoPhaseCommit, *STRONGEST)
    assert "transfer" in elected.bare
    assert not all_alike.bare
    for wanted, least, most in ((elected, 0.4, 0.7), (all_alike, 0, 0)):
        faults = [fault for seed in range(40) for fault in draw(wanted, seed).faults]
        named, bare = (
            sum(fault.command.removeprefix("tell ").lstrip("0123456789 ") in wanted.commands for fault in some)
            for some in (
                [fault for fault in faults if fault.command.startswith("tell ")],
                [fault for fault in faults if not fault.command.startswith("tell ")],
            )
        )
        assert named + bare > 100
        assert least <= bare / (named + bare) <= most


def test_triggers_come() -> None:
    """A good share of the commands that wait for a message get it."""
    waiting = done = 0
    for ran in runs_under_kills():
        carried_out = {record.text for record in ran.records if isinstance(record, Commanded)}
        on = [strike for strike in ran.schedule.faults if strike.on]
        waiting += len(on)
        done += sum(str(strike) in carried_out for strike in on)
    assert waiting > 2 * SEEDS
    assert done > 0.4 * waiting


def test_a_fault_without_a_node() -> None:
    """A fault that names the node is removed; a partition remains until a side is empty."""
    assert ScheduledFault(5_000, "send NewState 3->1", "kill 2").named_nodes() == {1, 2, 3}
    assert ScheduledFault(5_000, "", "delay 2->3 400ms ±100ms").named_nodes() == {2, 3}
    assert ScheduledFault(5_000, "", "lose all 30%").named_nodes() == set()
    assert ScheduledFault(5_000, "send NewState 3->1", "kill 2").without(3) is None
    split = ScheduledFault(5_000, "", "partition 1 2 | 3")
    assert split.without(1) == ScheduledFault(5_000, "", "partition 2 | 3")
    assert split.without(3) is None
    schedule = Schedule(1, (1, 2, 3), draw(plan(Bully), 1).link, (split, ScheduledFault(6_000, "", "heal")), 7_000)
    assert schedule.without_node(3).faults == (ScheduledFault(6_000, "", "heal"),)
    assert schedule.without_node(3).nodes == (1, 2)


def test_the_steps_of_a_run() -> None:
    """A trial is a complete recording: the header, and steps."""
    ran = trial(Bully, 1)
    assert any(isinstance(record, Step) for record in ran.records)
    assert ran.end_us >= ran.schedule.end_us
