"""Issue 4: each rule R2 to R6 that is removed or inverted is caught by a campaign, or is harmless, and why.

As in ``test_mutants.py``: a mutant is caught as a failure, with no assumption broken, by so many runs from seed 1
on; a test begins shortly before that run, with LAB_SOAK=1 at the first.
"""

import pytest

from lab.protocols import Ring
from tests.campaign import ring_mutants as mutants
from tests.campaign.running import caught
from tests.campaign.test_mutants import BEFORE, MOST, SOAK

CAUGHT: list[tuple[type[Ring], str, str, int]] = [
    (mutants.NobodyNotices, "A2", "kill", 3),
    (mutants.NobodySkipped, "A2", "kill", 1),
    (mutants.LateComersSkip, "A1.1", "kill", 1311),
    (mutants.SkippedForGood, "A2", "kill", 1),
    (mutants.NotAcknowledged, "A1.1", "kill", 9),
    (mutants.NotAppended, "A2", "kill", 1),
    (mutants.HalfTheRing, "A1.1", "kill", 1),
    (mutants.NeverCoordinator, "A2", "kill", 1),
    (mutants.NotPassedOn, "A2", "kill", 1),
    (mutants.OldCoordinatorKept, "A1.1", "kill", 1),
    (mutants.NotNormal, "A2", "kill", 1),
    (mutants.EveryCoordinatorFollowed, "A1.1", "kill", 9),
    (mutants.MetIgnored, "A1.1", "kill", 50),
    (mutants.LowerEntered, "A1.1", "kill", 9),
    (mutants.WaitsForEver, "A2", "kill", 1),
    (mutants.NoRecovery, "A2", "kill", 1),
    (mutants.NobodyMissed, "A2", "partition", 1),
    (mutants.SilentInElection, "A2", "kill", 10),
    (mutants.NeverComplete, "A2", "kill", 24),
]
HARMLESS: tuple[type[Ring], ...] = (
    mutants.CirclesForEver,
    mutants.TooLowForGood,
    mutants.NumberForgotten,
    mutants.AnswersStrangers,
)


@pytest.mark.parametrize(("mutant", "assertion", "faults", "runs"), CAUGHT)
def test_it_is_caught(mutant: type[Ring], assertion: str, faults: str, runs: int) -> None:
    """A failure with all assumptions intact."""
    first = 1 if SOAK else max(1, runs - BEFORE)
    found = caught(mutant, MOST + 1 - first, *faults.split(","), first=first)
    assert found is not None, f"{mutant.__doc__}: not within {MOST} runs"
    assert found.assertion == assertion


@pytest.mark.parametrize("mutant", HARMLESS)
@pytest.mark.parametrize("faults", ["kill", "kill,pause,partition"])
def test_it_is_harmless(mutant: type[Ring], faults: str) -> None:
    """A1.1 and A2 hold with all assumptions intact, as its docstring says why."""
    assert caught(mutant, 500 if SOAK else 15, *faults.split(",")) is None
    assert "Harmless" in (mutant.__doc__ or "")


def test_all_are_tried() -> None:
    """Each is on one of the two lists, and at least eight are caught."""
    named = [mutant for mutant, *_ in CAUGHT] + list(HARMLESS)
    there = [each for each in vars(mutants).values() if isinstance(each, type) and issubclass(each, Ring)]
    assert sorted(each.__name__ for each in named) == sorted(each.__name__ for each in there if each is not Ring)
    assert len(CAUGHT) >= 8
