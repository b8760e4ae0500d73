"""Campaigns for tests: over any class, in this process, without the command line."""

import pytest
from msgspec import Struct

from lab.kernel import Timing
from lab.protocols import Algorithm
from lab.recording.records import Header
from lab.worlds.campaign import campaign, guidance
from lab.worlds.campaign.schedule import SchedulePlan, draw, plan_of
from lab.worlds.campaign.trial import Trial, run_trial
from tests.harness import simulated_header
from tests.profile import SOAK

__all__ = ["TIMING", "Caught", "base_of", "caught", "learn_sooner", "plan", "trial"]

TIMING = Timing(80_000, 40_000)
"""The default of ``lab check``: T is 200 ms."""


class Caught(Struct, frozen=True):
    """The first assertion that failed, its seed, and the number of runs that it took."""

    assertion: str
    seed: int
    runs: int


def learn_sooner(patch: pytest.MonkeyPatch) -> None:
    """Let guided campaigns draw from earlier outcomes after 8 runs; in the profile ``soak`` after 32."""
    for module in () if SOAK else (campaign, guidance):
        patch.setattr(module, "LAG", 4)


def base_of(protocol: type[Algorithm]) -> Header:
    """Return the campaign's header, for the most nodes that ``plan`` may draw."""
    if "name" not in vars(protocol):
        protocol.name = protocol.__name__
    return simulated_header(protocol, tuple(range(1, 8)), TIMING)


def plan(protocol: type[Algorithm], *faults: str, nodes: tuple[int, int] = (3, 7)) -> SchedulePlan:
    """Return the plan of ``lab check``."""
    return plan_of(protocol, nodes, faults or ("kill",), TIMING)


def trial(protocol: type[Algorithm], seed: int, *faults: str) -> Trial:
    """Run the schedule of that seed."""
    return run_trial(protocol, base_of(protocol), draw(plan(protocol, *faults), seed))


def caught(
    protocol: type[Algorithm], runs: int, *faults: str, first: int = 1, find: str | None = None
) -> Caught | None:
    """Return the first failure, or the first one of an assertion, within this many runs."""
    base, drawn_from = base_of(protocol), plan(protocol, *faults)
    for seed in range(first, first + runs):
        for violation in run_trial(protocol, base, draw(drawn_from, seed)).violations:
            if violation.is_failure and find in (None, violation.assertion):
                return Caught(violation.assertion, seed, seed - first + 1)
    return None
