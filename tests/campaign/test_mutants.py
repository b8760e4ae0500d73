"""Issue 3: each rule B1 to B10 that is removed or inverted is caught by a campaign, or is harmless, and why.

A mutant that is caught is caught as a *failure*: no assumption was broken. The number is that of the runs it
took when this was written; at most 2,000 may be needed.
"""

import pytest

from lab.protocols import Bully
from tests.campaign import mutants
from tests.campaign.running import caught

MOST = 2_000

CAUGHT: list[tuple[type[Bully], str, str, int]] = []
HARMLESS: tuple[type[Bully], ...] = (
    mutants.NoQuestion,
    mutants.NoTakeoverTime,
    mutants.HaltedNotSet,
    mutants.Stage3Unanswered,
    mutants.Stage4Unanswered,
    mutants.Stages34Unanswered,
    mutants.NormalTooEarly,
    mutants.FollowsAnytime,
    mutants.StateWithoutCoordinator,
    mutants.OwnStateOnly,
)


@pytest.mark.parametrize(("mutant", "assertion", "faults", "runs"), CAUGHT)
def test_it_is_caught(mutant: type[Bully], assertion: str, faults: str, runs: int) -> None:
    """A failure with all assumptions intact."""
    found = caught(mutant, MOST, *faults.split(","))
    assert found is not None, f"{mutant.__doc__}: not within {MOST} runs"
    assert found.assertion == assertion
    assert found.runs <= max(100, 4 * runs), f"it took {found.runs} runs, and once {runs}: is the aim worse now?"


@pytest.mark.parametrize("mutant", HARMLESS)
@pytest.mark.parametrize("faults", ["kill", "kill,pause,partition"])
def test_it_is_harmless(mutant: type[Bully], faults: str) -> None:
    """A1.1, A1.2 and A2 hold with all assumptions intact, as its docstring says why."""
    assert caught(mutant, 40, *faults.split(",")) is None
    assert "Harmless" in (mutant.__doc__ or "")


def test_all_are_tried() -> None:
    """Each is on one of the two lists, and at least sixteen are caught."""
    named = [mutant for mutant, *_ in CAUGHT] + list(HARMLESS)
    there = [each for each in vars(mutants).values() if isinstance(each, type) and issubclass(each, Bully)]
    assert sorted(each.__name__ for each in named) == sorted(each.__name__ for each in there if each is not Bully)
    assert len(CAUGHT) >= 16
