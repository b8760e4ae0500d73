"""Messages from node to host to node: round-trip time, and throughput; of programs as nodes, too."""

import itertools
import sys
from pathlib import Path

from lab.kernel import Received, Step
from lab.protocols import Program
from tests.benchmarks.direct import direct_round_trips_us
from tests.benchmarks.figures import Figure, median, p95
from tests.worlds.live import STEADY, LiveRun
from tests.worlds.protocols import Flood, PingPong

__all__ = ["measure"]

NODES = (1, 2, 3, 4)
PASSER = Path(__file__).with_name("passer.py")


def measure(folder: Path, quick: bool) -> list[Figure]:
    count = 200 if quick else 5_000
    hosted = _hosted_round_trips_us(folder / "pingpong", count)
    direct = direct_round_trips_us(count)
    ratio = median(hosted) / median(direct)
    shown = (
        f"{median(hosted):.0f} µs, p95 {p95(hosted):.0f}; direct trio TCP {median(direct):.0f}, {p95(direct):.0f}"
    )
    count = 500 if quick else 150_000
    (folder / "flood").mkdir()
    flood = LiveRun(folder / "flood", nodes=NODES, protocol=Flood, parameters={"outstanding": 20})
    passed = _messages_per_s(flood, count)
    (folder / "programs").mkdir()
    program = {"program": f"{sys.executable} {PASSER}"}
    passers = LiveRun(folder / "programs", nodes=NODES, protocol=Program, parameters=program, module="lab.worlds")
    of_programs = _messages_per_s(passers, count // 3)
    return [
        Figure("message there and back through the host", ratio, "×", 3, "less", shown),
        Figure("messages through one host", passed, "/s", 15_000, "more", "4 nodes, 20 on their way on each link"),
        Figure(
            "messages of programs through it", of_programs / passed, "×", 0.25, "more", f"{of_programs:.0f} /s"
        ),
    ]


def _hosted_round_trips_us(folder: Path, count: int) -> list[float]:
    folder.mkdir()
    with LiveRun(folder, nodes=(1, 2), protocol=PingPong, timing=STEADY) as run:
        run.until(lambda cluster: cluster.messages.get("Pong", 0) > count, f"{count} answers", 60)
        at = [step.at_us for step in run.tail.of(Step) if step.node == 1]
    return [later - before for before, later in itertools.pairwise(at[10:])]


def _messages_per_s(flood: LiveRun, count: int) -> float:
    """Return the rate of messages taken in, without the first tenth."""
    with flood as run:
        run.until(lambda cluster: cluster.messages.get("Token", 0) > count, f"{count} messages", 120)
        run.host.end()
        steps = run.tail.read().of(Step)
    taken = sorted(step.at_us for step in steps if isinstance(step.input, Received))
    taken = taken[len(taken) // 10 :]
    return len(taken) / (taken[-1] - taken[0]) * 1e6
