"""Campaigns for tests: over any class, in this process, without the command line."""

from msgspec import Struct

from lab.kernel import Timing
from lab.protocols import Algorithm
from lab.recording.records import Header
from lab.worlds.campaign.draw import Plan, draw, plan_of
from lab.worlds.campaign.trial import Trial, carry_out
from tests.harness import simulated_header

__all__ = ["TIMING", "Caught", "base_of", "caught", "plan", "trial"]

TIMING = Timing(80_000, 40_000)
"""As ``lab check`` has it where nothing is said: T is 200 ms."""


class Caught(Struct, frozen=True):
    """The assertion that failed first, with the seed; how many runs that took."""

    assertion: str
    seed: int
    runs: int


def base_of(protocol: type[Algorithm]) -> Header:
    """The campaign's header, for as many nodes as ``plan`` may draw: the more, the longer an election may take."""
    if "name" not in vars(protocol):
        protocol.name = protocol.__name__
    return simulated_header(protocol, tuple(range(1, 8)), TIMING)


def plan(protocol: type[Algorithm], *faults: str, nodes: tuple[int, int] = (3, 7)) -> Plan:
    """As ``lab check`` plans."""
    return plan_of(protocol, nodes, faults or ("kill",), TIMING)


def trial(protocol: type[Algorithm], seed: int, *faults: str) -> Trial:
    """The run with that seed."""
    return carry_out(protocol, base_of(protocol), draw(plan(protocol, *faults), seed))


def caught(protocol: type[Algorithm], runs: int, *faults: str, first: int = 1) -> Caught | None:
    """The first failure with all assumptions intact, in so many runs."""
    base, drawn_from = base_of(protocol), plan(protocol, *faults)
    for seed in range(first, first + runs):
        for violation in carry_out(protocol, base, draw(drawn_from, seed)).violations:
            if violation.is_failure:
                return Caught(violation.assertion, seed, seed - first + 1)
    return None
