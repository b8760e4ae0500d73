"""Campaigns of the ring: under every fault, it keeps its promises while the assumptions hold.

The profile ``soak`` makes thousands of runs of each sort; a failure names its seed.
"""

import pytest

from lab.protocols import Ring
from lab.protocols.ring import ELECTION, RingText
from lab.recording.records import Link
from lab.worlds.campaign.schedule import FAULTS, Schedule, ScheduledFault
from lab.worlds.campaign.trial import run_trial
from tests.campaign.trials import base_of, caught, trial
from tests.profile import amount

RUNS = amount(quick=2, soak=10000)
SKIPPING = (
    ScheduledFault(0, "", "kill 1"),
    ScheduledFault(2_240_000, "", "kill 5"),
    ScheduledFault(2_630_000, "", "restart 5"),
    ScheduledFault(2_700_000, "", "restart 1"),
)
SORTS = [*FAULTS, "kill,delay", "kill,pause", "kill,wipe", ",".join(FAULTS)]


@pytest.mark.parametrize("faults", SORTS)
def test_it_keeps_its_promise(faults: str) -> None:
    """A1.1, A2: no failure with all assumptions intact."""
    found = caught(Ring, RUNS, *faults.split(","))
    assert found is None, f"lab check ring --faults {faults} --seed {found.seed} --runs 1: {found.assertion}"


def test_crashes_break_nothing() -> None:
    """A1.1 in every consistent state: with kills alone there is no violation at all."""
    for seed in range(1, RUNS + 1):
        assert trial(Ring, seed).violations == [], f"lab check ring --seed {seed} --runs 1 --strict"


class RestNotAsked(Ring):
    """R4: an ELECTION back at its starter becomes COORDINATOR without asking nodes that came up too late."""

    def proclaim(self, message: ELECTION) -> None:
        RingText.proclaim(self, message)


def test_two_that_come_up_and_skip_each_other() -> None:
    """A1.1 with kills alone: 1 and 5 come up within T, and each was tried too early by the other."""
    schedule = Schedule(1, (1, 2, 3, 4, 5), Link(1_000), SKIPPING, 4_000_000)
    assert run_trial(Ring, base_of(Ring), schedule).violations == []
    violations = run_trial(RestNotAsked, base_of(RestNotAsked), schedule).violations
    assert {each.assertion for each in violations if each.is_failure} == {"A1.1"}
