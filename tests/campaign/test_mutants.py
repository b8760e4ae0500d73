"""Issue 3: each rule B1 to B10 that is removed or inverted is caught by a campaign, or is harmless, and why.

A mutant that is caught is caught as a *failure*: no assumption was broken. The number is that of the runs from
seed 1 on that it took when this was written, and at most 2,000 may be needed. So as not to take minutes, a test
begins shortly before that run; all of them are tried with

    LAB_SOAK=1 pytest tests/campaign/test_mutants.py
"""

import os

import pytest

from lab.protocols import Bully
from tests.campaign import mutants
from tests.campaign.running import caught

SOAK = "LAB_SOAK" in os.environ
MOST = 2_000
BEFORE = 15

CAUGHT: list[tuple[type[Bully], str, str, int]] = [
    (mutants.NoTimeout, "A2", "kill", 1),
    (mutants.NoRecovery, "A2", "kill", 1),
    (mutants.NormalAtOnce, "A1.1", "kill", 1),
    (mutants.BlindCheck, "A2", "kill", 2),
    (mutants.AstrayUnseen, "A2", "kill", 9),
    (mutants.NoStage1, "A1.1", "kill", 2),
    (mutants.Stage1Ignored, "A1.1", "kill", 2),
    (mutants.NoFurtherWait, "A2", "kill", 340),
    (mutants.UpKept, "A2", "kill", 2),
    (mutants.LeadsBeforeStage2, "A1.1", "kill", 6),
    (mutants.NobodyEnters, "A2", "kill", 1),
    (mutants.NeverUp, "A1.1", "kill", 4),
    (mutants.AlwaysNormal, "A2", "kill", 136),
    (mutants.NoHalt, "A1.1", "kill", 18),
    (mutants.StatusKept, "A2", "kill", 1),
    (mutants.HaltedByNobody, "A2", "kill", 1),
    (mutants.FollowsAnyone, "A1.1", "kill", 91),
    (mutants.FollowsAnyLeader, "A1.1", "kill", 91),
    (mutants.AnyState, "A1.1", "kill", 6),
    (mutants.LateAnswersCount, "A2", "kill", 4),
    (mutants.LeaderNotMissed, "A2", "kill", 1),
    (mutants.LowerLeftInSilence, "A1.1", "kill", 992),
    (mutants.LeadsOn, "A2", "pause", 7),
    (mutants.StrangersUnseen, "A2", "partition", 74),
    (mutants.LowerNotRefused, "A1.1", "kill", 915),
]
HARMLESS: tuple[type[Bully], ...] = (
    mutants.NoQuestion,
    mutants.SilenceUnseen,
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
    first = 1 if SOAK else max(1, runs - BEFORE)
    found = caught(mutant, MOST + 1 - first, *faults.split(","), first=first)
    assert found is not None, f"{mutant.__doc__}: not within {MOST} runs"
    assert found.assertion == assertion


@pytest.mark.parametrize("mutant", HARMLESS)
@pytest.mark.parametrize("faults", ["kill", "kill,pause,partition"])
def test_it_is_harmless(mutant: type[Bully], faults: str) -> None:
    """A1.1, A1.2 and A2 hold with all assumptions intact, as its docstring says why."""
    assert caught(mutant, 1_000 if SOAK else 25, *faults.split(",")) is None
    assert "Harmless" in (mutant.__doc__ or "")


def test_all_are_tried() -> None:
    """Each is on one of the two lists, and at least sixteen are caught."""
    named = [mutant for mutant, *_ in CAUGHT] + list(HARMLESS)
    there = [each for each in vars(mutants).values() if isinstance(each, type) and issubclass(each, Bully)]
    assert sorted(each.__name__ for each in named) == sorted(each.__name__ for each in there if each is not Bully)
    assert len(CAUGHT) >= 16
