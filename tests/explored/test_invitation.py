"""Exploration of the invitation algorithm under message loss: A3.1, A3.2 and A5 in every state, and A4."""

import pytest

from lab.protocols import InvitationElection
from lab.worlds.explored.states import Timeouts
from tests.campaign import invitation_mutants as mutants
from tests.explored.toys import explorer_of
from tests.profile import SOAK

SAFE = ("A3.1", "A3.2", "A5")
STATES = 20_000 if SOAK else 1_000


@pytest.mark.parametrize(
    ("count", "timeouts", "kills", "restarts", "cuts"),
    [
        pytest.param(2, "synchronous", 1, 0, 1, marks=pytest.mark.soak),
        pytest.param(2, "prompt", 1, 1, 1, marks=pytest.mark.soak),
        (2, "prompt", 1, 1, 0),
        (2, "prompt", 1, 0, 1),
        pytest.param(3, "prompt", 1, 0, 1, marks=pytest.mark.soak),
        pytest.param(3, "prompt", 1, 1, 0, marks=pytest.mark.soak),
        (3, "prompt", 1, 0, 0),
        (3, "synchronous", 0, 0, 0),
    ],
)
def test_all_states(count: int, timeouts: Timeouts, kills: int, restarts: int, cuts: int) -> None:
    """I1-I8: exhaustive, without violations; up to three nodes with one kill and one cut."""
    explorer = explorer_of(InvitationElection, count, timeouts, kills, restarts, True, cuts)
    tally = explorer.run(200_000)
    assert tally.stopped_by == ""
    assert explorer.judges_liveness
    assert not any(tally.violated.values())


@pytest.mark.parametrize("timeouts", ["ordered", "any"])
def test_slow_nodes_and_links(timeouts: Timeouts) -> None:
    """A3 and A5 need no bound on time: every order of events, up to a bound on states."""
    explorer = explorer_of(InvitationElection, 3, timeouts, 1, 0, True, 1)
    tally = explorer.run(STATES)
    assert tally.states == STATES
    assert not any(tally.violated[name] for name in SAFE)


@pytest.mark.parametrize(
    ("mutant", "kills", "cuts", "assertion"),
    [
        (mutants.CounterOfOneLife, 1, 0, "A5"),
        (mutants.CounterAlone, 0, 1, "A3.2"),
        (mutants.RecoversInItsGroup, 0, 1, "A3.1"),
        (mutants.NobodyRecovers, 0, 1, "A4"),
        (mutants.NoTimeout, 0, 1, "A4"),
        (mutants.ReadyTwice, 0, 0, "A3.2"),
    ],
)
def test_a_mutant_is_caught(mutant: type[InvitationElection], kills: int, cuts: int, assertion: str) -> None:
    """Two nodes, and a kill with a restart or a cut: a failure, as no assertion here needs a working network."""
    explorer = explorer_of(mutant, 2, "prompt", kills, kills, True, cuts)
    explorer.run(20_000)
    assert explorer.broken[assertion] == ()
    if cuts:
        whole = explorer_of(mutant, 2, "prompt", 0, 0, True)
        whole.run(20_000)
        assert whole.violated == [], "only the cut shows it"
