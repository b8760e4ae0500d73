"""A campaign on one worker and on two: runs and steps a second, and the gain of the second worker."""

import os
import time
from pathlib import Path

from lab.kernel import Timing
from lab.protocols import Bully
from lab.worlds.campaign.campaign import Campaign, run_campaign
from lab.worlds.campaign.schedule import plan_of
from lab.worlds.campaign.trial import SearchGoal
from tests.benchmarks.figures import Figure
from tests.harness import simulated_header

__all__ = ["measure"]

TIMING = Timing(80_000, 40_000)


def measure(folder: Path, quick: bool) -> list[Figure]:
    """Measure from the moment at which the workers are there, by so many runs, to the last outcome."""
    starting, runs = (4, 6) if quick else (20, 1_500)
    plan = plan_of(Bully, (3, 7), ("kill",), TIMING)
    campaign = Campaign("bully", simulated_header(Bully, (1,), TIMING), plan, SearchGoal(), 1, runs)
    one, steps = _runs_per_s(campaign, 1, starting)
    two, _ = _runs_per_s(campaign, 2, starting)
    shown = f"{one:,.0f} and {two:,.0f} runs/s on {os.cpu_count()} cores"
    return [
        Figure("a campaign on two workers, by one", two / one, "×", 1.7, "more", shown),
        Figure("steps judged on one worker", one * steps / runs / 1000, "thousand/s", 10, "more", f"{runs} runs"),
    ]


def _runs_per_s(campaign: Campaign, workers: int, starting: int) -> tuple[float, int]:
    """Return (runs a second once the workers are at work, total steps)."""
    steps = done = 0
    began_s = 0.0
    for outcome in run_campaign(campaign, workers):
        steps += outcome.steps
        done += 1
        if done == starting:
            began_s = time.perf_counter()
    return (done - starting) / (time.perf_counter() - began_s), steps
