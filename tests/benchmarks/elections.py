"""From the kill of the coordinator to all Normal under the next, compared with the sum of the timeouts.

The next coordinator, node 4, last heard the dead one some time before the kill. It then waits for its timeout,
asks the dead one for T, and for T again in stage 1 of the election. Everything beyond that is overhead of this
program.
"""

import time
from pathlib import Path
from random import Random

from lab.kernel import Received, Step, Timing
from lab.recording.records import Fault, Process
from tests.benchmarks.figures import Figure, median, p95
from tests.worlds.live import LiveRun, Tail

__all__ = ["measure"]

TIMING = Timing(20_000, 10_000)
TIMEOUT_US = 500_000
PARAMETERS = {"coordinator_timeout_us": TIMEOUT_US, "check_every_us": 100_000}
PUBLISHED = "so configured, etcd took 524 ms, p95 1,102, and a bare bully loop 511, 550"


def measure(folder: Path, quick: bool) -> list[Figure]:
    """Kill and restart node 5 repeatedly, at random phases of its heartbeats."""
    folder = folder / "elections"
    folder.mkdir()
    chance = Random("phases")
    with LiveRun(folder, timing=TIMING, parameters=PARAMETERS) as run:
        run.settled(5)
        for _ in range(2 if quick else 24):
            time.sleep(0.2 + chance.random() * 0.2)
            run.order("kill 5")
            run.settled(4)
            run.order("restart 5")
            run.process_is(5, "running")
            run.settled(5)
        tail = run.tail
    took = _kill_to_normal(tail)
    ratios = [real / least for real, least in took]
    real_ms = [real / 1000 for real, _ in took]
    shown = f"{median(real_ms):.0f} ms, p95 {p95(real_ms):.0f}, {len(took)} kills; {PUBLISHED}"
    return [
        Figure("kill to all Normal, by the timeouts: median", median(ratios), "×", 1.15, "less", shown),
        Figure("kill to all Normal, by the timeouts: p95", p95(ratios), "×", 1.15, "less"),
    ]


def _kill_to_normal(tail: Tail) -> list[tuple[int, int]]:
    """Return (time taken, sum of the timeouts) of each kill, in microseconds."""
    took = []
    heard_us = killed_us = 0
    settled = iter([election for election in tail.elections.settled if election.coordinator == 4])
    for record in tail.records:
        if isinstance(record, Step) and record.node == 4:
            if isinstance(record.input, Received) and record.input.source == 5:
                heard_us = record.at_us
        elif isinstance(record, Fault) and record.kind == "kill" and not record.lifted:
            killed_us = record.at_us
        elif isinstance(record, Process) and (record.node, record.event) == (5, "killed"):
            least_us = heard_us + TIMEOUT_US + 2 * TIMING.t_us - killed_us
            took.append((next(settled).settled_at_us - killed_us, least_us))
    return took
