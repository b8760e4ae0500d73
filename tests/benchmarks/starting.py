"""The time to start eight nodes and to replace one, and the memory of a node's process."""

import sys
import time
from pathlib import Path

from lab.recording.records import Fault, Process
from lab.recording.snapshot import NodeState
from tests.benchmarks.figures import Figure, median, p95
from tests.worlds.live import STEADY, LiveRun

__all__ = ["measure"]

NODES = (1, 2, 3, 4, 5, 6, 7, 8)


def measure(folder: Path, quick: bool) -> list[Figure]:
    """Measure several starts, and then a run in which one node is replaced repeatedly."""
    walls, runs, weights = [], [], [0.0]
    for attempt in range(1 if quick else 7):
        place = folder / f"start{attempt}"
        place.mkdir()
        began = time.monotonic()
        with LiveRun(place, nodes=NODES, timing=STEADY) as run:
            run.settled(8)
            walls.append(time.monotonic() - began)
            runs.append(run.tail.elections.settled[0].settled_at_us / 1e6)
            if sys.platform == "linux":
                weights = [_pss_mb(run.pid(node)) for node in NODES]
    replaced = _replaced_ms(folder / "replace", 3 if quick else 40)
    return [
        Figure(
            "8 nodes from the first fork to all Normal",
            median(runs),
            "s",
            0.25,
            "less",
            "bully waits for none",
        ),
        Figure("the same, from the start of the host's interpreter", median(walls), "s", 0.5, "less"),
        Figure(
            "kill and restart of a node until connected",
            median(replaced),
            "ms",
            10,
            "less",
            f"p95 {p95(replaced):.1f}",
        ),
        Figure("memory of a node's process", max(weights), "MB", 6, "less", "PSS, the heaviest of 8"),
    ]


def _replaced_ms(folder: Path, count: int) -> list[float]:
    """Return the time from the kill of a node to the start of its next incarnation."""
    folder.mkdir()
    times, killed_us = [], 0
    with LiveRun(folder, nodes=NODES, timing=STEADY) as run:
        run.process_is(3, "running")
        for incarnation in range(2, count + 2):
            run.order("kill 3")
            run.order("restart 3")
            run.until(lambda cluster: _lives(cluster.nodes[3], incarnation), f"incarnation {incarnation}")  # noqa: B023
        for record in run.tail.records:
            if isinstance(record, Fault) and record.kind == "kill":
                killed_us = record.at_us
            elif isinstance(record, Process) and record.event == "started" and killed_us:
                times.append((record.at_us - killed_us) / 1000)
    return times


def _lives(node: NodeState, incarnation: int) -> bool:
    return node.process == "running" and node.incarnation == incarnation


def _pss_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    raise ValueError("no Pss in smaps_rollup")
