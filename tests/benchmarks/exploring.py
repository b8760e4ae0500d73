"""Model checking: states a second, beside the same algorithm as plain functions in the same run."""

import time
from collections.abc import Callable
from pathlib import Path

from lab.kernel import Timing
from lab.protocols import Bully
from lab.worlds.explored.explorer import Explorer
from lab.worlds.explored.states import Timeouts
from tests.benchmarks import naive_bully
from tests.benchmarks.figures import Figure
from tests.harness import simulated_header

__all__ = ["measure"]

NODES = (1, 2, 3)
SUSPICIONS = 9
"""Enough that a budget of them does not end the search."""
HEADER = simulated_header(Bully, NODES, Timing(100_000, 100_000))


def measure(folder: Path, quick: bool) -> list[Figure]:
    """Three nodes of bully and one kill, in the models of time with more states than are searched."""
    states = 1_000 if quick else 1_000_000
    naive, counted = _per_s(lambda: naive_bully.search(len(NODES), states).transitions, states)
    how = f"{naive:,.0f} states/s; {states:,} states, theirs with {counted:,} transitions"
    models: tuple[Timeouts, ...] = ("any", "ordered", "budget")
    return [figure for timeouts in models for figure in _figures(timeouts, states, naive, how)]


def _figures(timeouts: Timeouts, states: int, naive: float, how: str) -> list[Figure]:
    explorer = Explorer(Bully, HEADER, timeouts, 1, suspicions=SUSPICIONS)
    rate, counted = _per_s(lambda: explorer.run(states).transitions, states)
    counts = f"of processor time; {counted:,} transitions, {explorer.locals.replays:,} replays"
    return [
        Figure(f"explored states, timeouts {timeouts}", rate, "states/s", 50_000, "more", counts),
        Figure(f"and over plain functions, timeouts {timeouts}", rate / naive, "×", 1.5, "more", how),
    ]


def _per_s(search: Callable[[], int], states: int) -> tuple[float, int]:
    """Return how many states a second of processor time a search finds, and what it counts."""
    began_s = time.process_time()
    counted = search()
    return states / (time.process_time() - began_s), counted
