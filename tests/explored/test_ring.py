"""Exploration of the ring: every order of events, with a coordinator that dies at any moment."""

from lab.protocols import Ring
from tests.explored.toys import explorer_of
from tests.profile import SOAK


def test_a_crash_and_a_restart_of_two() -> None:
    """A1.1 and A2, from all Normal; exhaustively in the profile ``soak``."""
    explorer = explorer_of(Ring, 2, "synchronous", 1, 1, True)
    stopped_by = explorer.run(60_000 if SOAK else 1_500).stopped_by
    assert explorer.violated == []
    if SOAK:
        assert stopped_by == ""
        assert explorer.judges_liveness


def test_a_crash_among_three() -> None:
    """A1.1 and A2, from all Normal; exhaustively in the profile ``soak``."""
    explorer = explorer_of(Ring, 3, "synchronous", 1, 0, True)
    stopped_by = explorer.run(60_000 if SOAK else 2_000).stopped_by
    assert explorer.violated == []
    if SOAK:
        assert stopped_by == ""
        assert explorer.judges_liveness
