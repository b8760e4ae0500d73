"""A campaign on one worker, and on two: how many runs and steps a second, and what the second worker brings."""

import os
import time
from pathlib import Path

from lab.kernel import Timing
from lab.protocols import Bully
from lab.worlds.campaign.campaign import Campaign, Wanted, outcomes
from lab.worlds.campaign.draw import plan_of
from tests.benchmarks.figures import Figure
from tests.harness import simulated_header

__all__ = ["measure"]

TIMING = Timing(80_000, 40_000)
STARTING = 20
"""By so many runs the workers are there."""


def measure(folder: Path, quick: bool) -> list[Figure]:
    """The same campaign, the workers' start apart: it is measured between the first outcome and the last."""
    runs = 40 if quick else 1_500
    plan = plan_of(Bully, (3, 7), ("kill",), TIMING)
    campaign = Campaign("bully", simulated_header(Bully, (1,), TIMING), plan, Wanted(), 1, runs)
    one, steps = _runs_per_s(campaign, 1)
    two, _ = _runs_per_s(campaign, 2)
    shown = f"{one:,.0f} and {two:,.0f} runs/s on {os.cpu_count()} cores"
    return [
        Figure("a campaign on two workers, by one", two / one, "×", 1.7, "more", shown),
        Figure("steps judged on one worker", one * steps / runs / 1000, "thousand/s", 10, "more", f"{runs} runs"),
    ]


def _runs_per_s(campaign: Campaign, workers: int) -> tuple[float, int]:
    """(runs a second once the workers are at work, steps in all)."""
    steps = done = 0
    began_s = 0.0
    for outcome in outcomes(campaign, workers):
        steps += outcome.steps
        done += 1
        if done == STARTING:
            began_s = time.perf_counter()
    return (done - STARTING) / (time.perf_counter() - began_s), steps
