"""Campaigns of Tanenbaum's bully: under every fault, it keeps its promises while the assumptions hold.

The profile ``soak`` makes thousands of runs of each sort.
"""

import pytest

from lab.protocols import BullyTanenbaum
from lab.worlds.campaign.schedule import FAULTS
from tests.campaign.trials import caught, trial
from tests.profile import amount

RUNS = amount(quick=3, soak=100)
SORTS = [*FAULTS, "kill,delay", "kill,pause", "kill,wipe,duplicate", ",".join(FAULTS)]


@pytest.mark.parametrize("faults", SORTS)
def test_it_keeps_its_promise(faults: str) -> None:
    """A1.1, A2: no failure with all assumptions intact."""
    found = caught(BullyTanenbaum, RUNS, *faults.split(","))
    assert found is None, f"lab check bully-tanenbaum --faults {faults} --seed {found.seed} --runs 1"


def test_crashes_break_nothing() -> None:
    """With kills alone there is no violation at all, not even an excused one."""
    for seed in range(1, 2 * RUNS + 1):
        assert trial(BullyTanenbaum, seed).violations == [], f"lab check bully-tanenbaum --seed {seed} --runs 1"
