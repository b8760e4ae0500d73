"""Bully under campaigns: whatever is struck, it keeps its promise while the assumptions hold.

LAB_SOAK=2000 pytest tests/campaign/test_bully.py   makes so many runs of each sort; a failure names its seed.
"""

import os

import pytest

from lab.protocols import Bully
from lab.worlds.campaign.draw import FAULTS
from tests.campaign.running import caught, trial

RUNS = int(os.environ.get("LAB_SOAK", "25"))
SORTS = [*FAULTS, "kill,delay", "kill,pause", "kill,wipe,duplicate", ",".join(FAULTS)]


@pytest.mark.timeout(0 if "LAB_SOAK" in os.environ else 120)
@pytest.mark.parametrize("faults", SORTS)
def test_it_keeps_its_promise(faults: str) -> None:
    """A1.1, A1.2, A2: no failure with all assumptions intact."""
    found = caught(Bully, RUNS, *faults.split(","))
    assert found is None, f"lab check bully --faults {faults} --seed {found.seed} --runs 1: {found.assertion}"


def test_crashes_break_nothing() -> None:
    """Issue 3: with kills alone there is no violation at all, in the promise or outside."""
    for seed in range(1, RUNS + 1):
        assert trial(Bully, seed).violations == [], f"lab check bully --seed {seed} --runs 1 --strict"
