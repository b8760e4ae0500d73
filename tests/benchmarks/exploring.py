"""Model checking: transitions a second, in the second half, when most local states are known."""

import time
from pathlib import Path

from lab.kernel import Timing
from lab.protocols import Bully
from lab.worlds.explored.explorer import Explorer
from lab.worlds.explored.states import Timeouts
from tests.benchmarks.figures import Figure
from tests.harness import simulated_header

__all__ = ["measure"]

HEADER = simulated_header(Bully, (1, 2, 3), Timing(100_000, 100_000))


def measure(folder: Path, quick: bool) -> list[Figure]:
    """Three nodes of bully and one kill, in the two models of time with infinitely many states."""
    states = 10_000 if quick else 1_000_000
    return [_figure("any", states), _figure("ordered", states)]


def _figure(timeouts: Timeouts, most_states: int) -> Figure:
    explorer = Explorer(Bully, HEADER, timeouts, 1)
    moments: list[tuple[float, int]] = []
    tally = explorer.run(
        most_states, progress=lambda: moments.append((time.process_time(), explorer.tally.transitions))
    )
    moments.append((time.process_time(), tally.transitions))
    began, counted = moments[len(moments) // 2]
    ended, all_of_them = moments[-1]
    how = f"of processor time; {tally.transitions:,} in all, by {explorer.locals.replays:,} replays"
    rate = (all_of_them - counted) / (ended - began)
    return Figure(f"explored transitions, second half, timeouts {timeouts}", rate, "/s", 150_000, "more", how)
