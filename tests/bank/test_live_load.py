"""Real processes under a load of transactions, killed and restarted at random: no cent is lost, and no lock left.

LAB_SOAK=1 pytest -s tests/bank/test_live_load.py   makes a thousand transactions of each, and tells of them.
"""

import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from lab.kernel import Timing
from lab.protocols import find_protocol
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Captioned, Process
from tests.worlds.live import QUICK, STEADY, LiveRun

SOAK = "LAB_SOAK" in os.environ
WANTED = 1_000 if SOAK else 50
ENDS_WITHIN_S = 60.0
NODES = (1, 2, 3, 4, 5)
ACCOUNTS = 12
CENTS = len(NODES) * ACCOUNTS * 1000 * 100


class Load(NamedTuple):
    """A protocol, its timing, how many transactions a second are begun at each node that may, and for how long.

    Three-phase commit relies on its timeouts, and only the elected coordinator begins transactions.
    """

    name: str
    timing: Timing
    per_second: int
    for_ms: int


LOADS = (
    Load("2pc", QUICK, 20, 20_000 if SOAK else 2_500),
    Load("3pc", STEADY, 100, 25_000 if SOAK else 5_000),
)


def commands(load: Load) -> tuple[str, ...]:
    """The load, renewed as it dies with its node; and kills of random nodes, each of which comes back soon."""
    chance, rate, t_ms = Random(f"load/{load.name}"), load.per_second, load.timing.t_us // 1000
    lines = [f"at {ms}ms tell all transactions {rate} at {rate}/s" for ms in range(500, load.for_ms, 200)]
    for kill_ms in range(800, load.for_ms, 9 * t_ms):
        at_ms, node = kill_ms + chance.randrange(9 * t_ms), chance.choice(NODES)
        back_ms = at_ms + chance.choice((5, t_ms, 10 * t_ms))
        lines += [f"at {at_ms}ms kill {node}", f"at {back_ms}ms restart {node}"]
    over_ms = load.for_ms + 20 * t_ms
    return (*lines, f"at {over_ms}ms restart all", f'at {over_ms}ms mark "the load is over"')


def fates(cluster: ClusterState) -> dict[tuple[int, ...], Counter[str]]:
    """Of each transaction, how often which entry is in the logs."""
    found: dict[tuple[int, ...], Counter[str]] = {}
    for view in cluster.nodes.values():
        for entry in view.state["log"]:
            found.setdefault(tuple(entry["transaction"]), Counter())[entry["what"]] += 1
    return found


def nothing_left(cluster: ClusterState) -> bool:
    """Whether all nodes are up, and none holds a lock or is about any transaction."""
    names = ("open", "locks", "work")
    return all(
        view.process == "running" and not any(view.state.get(name, True) for name in names)
        for view in cluster.nodes.values()
    )


@pytest.mark.timeout(300 if SOAK else 120)
@pytest.mark.parametrize("load", LOADS, ids=lambda load: load.name)
def test_no_cent_is_lost_under_load_and_kills(tmp_path: Path, load: Load) -> None:
    """Issue 6: the total is conserved to the cent, no lock is left, all ended, and the recording verifies."""
    given, began_s = {"accounts": ACCOUNTS}, time.monotonic()
    protocol = find_protocol(load.name)
    run = LiveRun(
        tmp_path, commands=commands(load), timing=load.timing, protocol=protocol, parameters=given, nodes=NODES
    )
    with run:
        run.until(lambda _: bool(run.tail.of(Captioned)), "the load is over", load.for_ms / 1000 + 30)
        run.until(nothing_left, "nothing is left to do", ENDS_WITHIN_S)
        cluster = run.cluster
    took_s = time.monotonic() - began_s
    states = [view.state for view in cluster.nodes.values()]
    kills = sum(each.event == "killed" for each in run.tail.of(Process))
    told = fates(cluster)
    begun = [entries for entries in told.values() if entries["begin"]]
    ends = Counter("committed" if entries["committed"] else "aborted" for entries in begun)
    said = f"{load.name}: {len(begun)} transactions, {dict(ends)}, {kills} kills, {took_s:.1f} s"
    print(said)
    assert sum(state["dispensed"] + sum(cents for _, cents in state["balances"]) for state in states) == CENTS, (
        said
    )
    assert not [each for each in told.values() if each["committed"] and each["aborted"]], said
    assert all(entries["ended"] for entries in begun), said
    assert len(begun) >= WANTED, said
    assert min(ends["committed"], ends["aborted"]) > WANTED // 10, said
    assert kills > load.for_ms // (20 * load.timing.t_us // 1000), said
    verified = subprocess.run(
        [sys.executable, "-m", "lab", "verify", str(run.path)], capture_output=True, text=True, check=False
    )
    assert verified.returncode == 0, f"{said}\n{verified.stdout}{verified.stderr}"
