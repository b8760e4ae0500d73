"""Each rule of a protocol that is removed or inverted is caught by a campaign, or is harmless for a stated reason.

The mutants of each protocol are in one file, with two lists at its end. A caught mutant is caught as a *failure*:
no assumption that the assertion relies on was broken. The number is that of the runs from seed 1 that this took
when it was written; at most 2,200 may be needed. The profile ``quick`` tries one mutant in three, and begins with
that run; ``soak`` tries all mutants, and all runs.
"""

from types import ModuleType

import pytest

from lab.protocols import Algorithm, Bully, InvitationElection, Ring, TwoPhaseCommit
from tests.campaign import commit_mutants, invitation_mutants, mutants, ring_mutants
from tests.campaign.trials import caught
from tests.profile import SOAK, sampled

MOST = 2_200
MUTATED = (
    (Bully, mutants, 16),
    (Ring, ring_mutants, 8),
    (InvitationElection, invitation_mutants, 8),
    (TwoPhaseCommit, commit_mutants, 16),
)
EVERYTHING = "kill,pause,partition,delay,loss,duplicate,reorder"

CAUGHT = sampled([case for _, module, _ in MUTATED for case in module.CAUGHT], 3)
HARMLESS = sampled([mutant for _, module, _ in MUTATED for mutant in module.HARMLESS], 3)


@pytest.mark.parametrize(("mutant", "assertion", "faults", "runs"), CAUGHT)
def test_it_is_caught(mutant: type[Algorithm], assertion: str, faults: str, runs: int) -> None:
    """It violates the assertion with all relevant assumptions intact."""
    first = 1 if SOAK else runs
    found = caught(mutant, MOST + 1 - first, *faults.split(","), first=first, find=assertion)
    assert found is not None, f"{mutant.__doc__}: not within {MOST} runs"


@pytest.mark.parametrize("mutant", HARMLESS)
@pytest.mark.parametrize(
    "faults",
    [*(pytest.param(faults, marks=pytest.mark.soak) for faults in ("kill", "kill,pause,partition")), EVERYTHING],
)
def test_it_is_harmless(mutant: type[Algorithm], faults: str) -> None:
    """All promises hold; its docstring says why."""
    assert caught(mutant, 1_000 if SOAK else 1, *faults.split(",")) is None
    assert "Harmless" in (mutant.__doc__ or "")


@pytest.mark.parametrize(("protocol", "module", "least"), MUTATED)
def test_all_are_tried(protocol: type[Algorithm], module: ModuleType, least: int) -> None:
    """Each is in one of the two lists, and at least this many are caught."""
    named = [mutant for mutant, *_ in module.CAUGHT] + list(module.HARMLESS)
    there = [each for each in vars(module).values() if isinstance(each, type) and issubclass(each, protocol)]
    assert sorted(each.__name__ for each in named) == sorted(
        each.__name__ for each in there if each is not protocol
    )
    assert len(module.CAUGHT) >= least
