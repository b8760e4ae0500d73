"""Campaigns of bully: under every fault, it keeps its promises while the assumptions hold.

The profile ``soak`` makes thousands of runs of each sort; a failure names its seed.
"""

import pytest

from lab.protocols import Bully
from lab.recording.records import Link
from lab.worlds.campaign.schedule import FAULTS, Schedule, ScheduledFault
from lab.worlds.campaign.trial import run_trial
from tests.campaign.trials import base_of, caught, trial
from tests.profile import amount

RUNS = amount(quick=2, soak=2000)
SORTS = [*FAULTS, "kill,delay", "kill,pause", "kill,wipe,duplicate", ",".join(FAULTS)]


@pytest.mark.parametrize("faults", SORTS)
def test_it_keeps_its_promise(faults: str) -> None:
    """A1.1, A1.2, A2: no failure with all assumptions intact."""
    found = caught(Bully, RUNS, *faults.split(","))
    assert found is None, f"lab check bully --faults {faults} --seed {found.seed} --runs 1: {found.assertion}"


def test_crashes_break_nothing() -> None:
    """Issue 3: with kills alone there is no violation at all, not even an excused one."""
    for seed in range(1, RUNS + 1):
        assert trial(Bully, seed).violations == [], f"lab check bully --seed {seed} --runs 1 --strict"


def test_a_lower_leader_that_leaves_it_to_a_paused_one() -> None:
    """A2: 2 leads 1 while 3, the former coordinator, is paused.

    A lost answer makes 2 hold an election just as 3 resumes: 2 finds 3 up, and leaves the election to it. If 2
    stayed Normal, its own Check, which would alert 3, would not run; and 3's Check asks two members of its Up that
    are both Normal, and finds nothing.
    """
    strikes = (
        ScheduledFault(10_000, "deliver NewStateAnswer", "lose all 100%"),
        ScheduledFault(1_610_000, "", "pause 3"),
        ScheduledFault(2_700_000, "", "heal"),
        ScheduledFault(2_700_000, "", "resume all"),
    )
    schedule = Schedule(102075, (1, 2, 3), Link(1_000), strikes, 2_700_000)
    assert not [
        violation for violation in run_trial(Bully, base_of(Bully), schedule).violations if violation.is_failure
    ]
