"""Issue 4: each rule I1 to I8 that is removed or inverted is caught by a campaign, or is harmless, and why.

As in ``test_mutants.py``: a mutant is caught as a failure, with no assumption broken that the assertion relies on,
by so many runs from seed 1 on; a test begins shortly before that run, with LAB_SOAK=1 at the first.
"""

import pytest

from lab.protocols import InvitationElection
from tests.campaign import invitation_mutants as mutants
from tests.campaign.running import caught
from tests.campaign.test_mutants import BEFORE, MOST, SOAK

EVERYTHING = "kill,pause,partition,delay,loss,duplicate,reorder"
CAUGHT: list[tuple[type[InvitationElection], str, str, int]] = [
    (mutants.CounterOfOneLife, "A5", "kill", 1),
    (mutants.CounterRaisedAtRecoveryOnly, "A3.2", "kill", 1),
    (mutants.CounterAlone, "A3.1", "kill", 1),
    (mutants.RecoversInItsGroup, "A3.2", "kill", 1),
    (mutants.NobodyRecovers, "A4", "kill", 1),
    (mutants.BlindCheck, "A4", "kill", 1),
    (mutants.NoCourtesy, "A4", "kill", 1),
    (mutants.NoTimeout, "A4", "kill", 1),
    (mutants.AlwaysThere, "A4", "kill", 1),
    (mutants.MergeAtOnce, "A4", "kill", 1),
    (mutants.OldMembersNotInvited, "A4", "kill", 1),
    (mutants.ReadyTwice, "A3.2", "kill", 1),
    (mutants.NormalTooEarly, "A3.2", EVERYTHING, 31),
    (mutants.InvitedAnytime, "A3.2", "kill", 24),
    (mutants.ReadyOfAnyGroup, "A3.2", "kill,pause,partition", 3),
    (mutants.AnyReady, "A3.2", "kill,pause,partition", 3),
    (mutants.AlwaysCoordinator, "A4", "kill", 2),
    (mutants.ReadyWaitedFor, "A4", "kill", 2),
    (mutants.TwoThreads, "A4", EVERYTHING, 29),
]
HARMLESS: tuple[type[InvitationElection], ...] = (
    mutants.CounterRaisedAfterwards,
    mutants.ReadyUnanswered,
    mutants.OldVersionKept,
    mutants.NotPassedOn,
    mutants.UnacceptedJoin,
    mutants.ReadyInAnyStatus,
    mutants.LateAccept,
    mutants.AcceptOfAnyGroup,
    mutants.MembersUnseen,
)


@pytest.mark.parametrize(("mutant", "assertion", "faults", "runs"), CAUGHT)
def test_it_is_caught(mutant: type[InvitationElection], assertion: str, faults: str, runs: int) -> None:
    """A failure with all assumptions intact."""
    first = 1 if SOAK else max(1, runs - BEFORE)
    found = caught(mutant, MOST + 1 - first, *faults.split(","), first=first)
    assert found is not None, f"{mutant.__doc__}: not within {MOST} runs"
    assert found.assertion == assertion


@pytest.mark.parametrize("mutant", HARMLESS)
@pytest.mark.parametrize("faults", ["kill", EVERYTHING])
def test_it_is_harmless(mutant: type[InvitationElection], faults: str) -> None:
    """A3.1, A3.2, A4 and A5 hold, as its docstring says why."""
    assert caught(mutant, 1_000 if SOAK else 12, *faults.split(",")) is None
    assert "Harmless" in (mutant.__doc__ or "")


def test_all_are_tried() -> None:
    """Each is on one of the two lists, and at least eight are caught."""
    named = [mutant for mutant, *_ in CAUGHT] + list(HARMLESS)
    there = [
        each for each in vars(mutants).values() if isinstance(each, type) and issubclass(each, InvitationElection)
    ]
    there.remove(InvitationElection)
    assert sorted(each.__name__ for each in named) == sorted(each.__name__ for each in there)
    assert len(CAUGHT) >= 8
