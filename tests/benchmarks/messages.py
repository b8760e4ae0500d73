"""Messages from node to host to node: round-trip time, and throughput."""

import itertools
from pathlib import Path

from lab.kernel import Received, Step
from tests.benchmarks.direct import direct_round_trips_us
from tests.benchmarks.figures import Figure, median, p95
from tests.worlds.live import STEADY, LiveRun
from tests.worlds.protocols import Flood, PingPong

__all__ = ["measure"]


def measure(folder: Path, quick: bool) -> list[Figure]:
    count = 200 if quick else 5_000
    hosted = _hosted_round_trips_us(folder / "pingpong", count)
    direct = direct_round_trips_us(count)
    ratio = median(hosted) / median(direct)
    shown = (
        f"{median(hosted):.0f} µs, p95 {p95(hosted):.0f}; direct trio TCP {median(direct):.0f}, {p95(direct):.0f}"
    )
    passed = _messages_per_s(folder / "flood", 5_000 if quick else 150_000)
    return [
        Figure("message there and back through the host", ratio, "×", 3, "less", shown),
        Figure("messages through one host", passed, "/s", 15_000, "more", "4 nodes, 20 on their way on each link"),
    ]


def _hosted_round_trips_us(folder: Path, count: int) -> list[float]:
    folder.mkdir()
    with LiveRun(folder, nodes=(1, 2), protocol=PingPong, timing=STEADY) as run:
        run.until(lambda cluster: cluster.messages.get("Pong", 0) > count, f"{count} answers", 60)
        at = [step.at_us for step in run.tail.of(Step) if step.node == 1]
    return [later - before for before, later in itertools.pairwise(at[10:])]


def _messages_per_s(folder: Path, count: int) -> float:
    """Return the rate of messages taken in, without the first tenth."""
    folder.mkdir()
    with LiveRun(folder, nodes=(1, 2, 3, 4), protocol=Flood, parameters={"outstanding": 20}) as run:
        run.until(lambda cluster: cluster.messages.get("Token", 0) > count, f"{count} messages", 120)
        run.host.end()
        steps = run.tail.read().of(Step)
    taken = sorted(step.at_us for step in steps if isinstance(step.input, Received))
    taken = taken[len(taken) // 10 :]
    return len(taken) / (taken[-1] - taken[0]) * 1e6
