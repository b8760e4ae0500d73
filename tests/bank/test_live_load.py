"""Real processes under a load of transactions, killed and restarted at random: no cent and no lock is lost.

The profile ``soak`` runs a thousand transactions of each protocol and prints a
summary.
"""

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
from tests.profile import SOAK
from tests.worlds.live import QUICK, STEADY, LiveRun

pytestmark = pytest.mark.live

WANTED = 1_000 if SOAK else 50
ENDS_WITHIN_S = 60.0
NODES = (1, 2, 3, 4, 5)
ACCOUNTS = 12
CENTS = len(NODES) * ACCOUNTS * 1000 * 100


class Load(NamedTuple):
    """A protocol, its timing, the transactions per second at each node that may begin them, and the duration.

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
    """Return the load, renewed since it dies with its node, and kills and restarts of random nodes."""
    chance, rate, t_ms = Random(f"load/{load.name}"), load.per_second, load.timing.t_us // 1000
    lines = [f"at {ms}ms tell all transactions {rate} at {rate}/s" for ms in range(500, load.for_ms, 200)]
    for kill_ms in range(800, load.for_ms, 9 * t_ms):
        at_ms, node = kill_ms + chance.randrange(9 * t_ms), chance.choice(NODES)
        back_ms = at_ms + chance.choice((5, t_ms, 10 * t_ms))
        lines += [f"at {at_ms}ms kill {node}", f"at {back_ms}ms restart {node}"]
    over_ms = load.for_ms + 20 * t_ms
    return (*lines, f"at {over_ms}ms restart all", f'at {over_ms}ms mark "the load is over"')


def transaction_ends(cluster: ClusterState) -> dict[tuple[int, ...], Counter[str]]:
    """Count the log entries of each transaction by kind."""
    found: dict[tuple[int, ...], Counter[str]] = {}
    for view in cluster.nodes.values():
        for entry in view.state["log"]:
            found.setdefault(tuple(entry["transaction"]), Counter())[entry["what"]] += 1
    return found


def nothing_left(cluster: ClusterState) -> bool:
    """Return whether all nodes are up, and none has a lock or an open transaction."""
    names = ("open", "locks", "work")
    return all(
        view.process == "running" and not any(view.state.get(name, True) for name in names)
        for view in cluster.nodes.values()
    )


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
    ends_of = transaction_ends(cluster)
    begun = [entries for entries in ends_of.values() if entries["begin"]]
    ends = Counter("committed" if entries["committed"] else "aborted" for entries in begun)
    summary = f"{load.name}: {len(begun)} transactions, {dict(ends)}, {kills} kills, {took_s:.1f} s"
    print(summary)
    assert sum(state["cash_out"] + sum(cents for _, cents in state["balances"]) for state in states) == CENTS, (
        summary
    )
    assert not [each for each in ends_of.values() if each["committed"] and each["aborted"]], summary
    assert all(entries["ended"] for entries in begun), summary
    assert len(begun) >= WANTED, summary
    assert min(ends["committed"], ends["aborted"]) > WANTED // 10, summary
    assert kills > load.for_ms // (20 * load.timing.t_us // 1000), summary
    verified = subprocess.run(
        [sys.executable, "-m", "lab", "verify", str(run.path)], capture_output=True, text=True, check=False
    )
    assert verified.returncode == 0, f"{summary}\n{verified.stdout}{verified.stderr}"
