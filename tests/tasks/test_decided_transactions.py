"""Counting committed and aborted transactions: incrementally as logs grow, otherwise from the start."""

from typing import Any

import pytest

from lab.protocols import TwoPhaseCommit
from lab.tasks.bank.commit_history import DecidedTransactions, decided_in
from tests.harness import T_US, Rig


def _entry(what: str, number: int) -> dict[str, Any]:
    return {"what": what, "transaction": [3, number]}


def _counts(outcomes: DecidedTransactions) -> tuple[int, int]:
    return outcomes.count("committed"), outcomes.count("aborted")


def test_a_transaction_in_several_logs_counts_once() -> None:
    """Only the entries that decide it count."""
    outcomes = DecidedTransactions()
    log = [_entry("begin", 1), _entry("prepared", 1), _entry("committed", 1), _entry("ended", 1)]
    outcomes.read(3, log)
    outcomes.read(1, [_entry("committed", 1)])
    assert _counts(outcomes) == (1, 0)
    outcomes.read(3, [*log, _entry("aborted", 2)])
    outcomes.read(1, [_entry("aborted", 3)])
    assert _counts(outcomes) == (1, 2), "one that is committed at 3 alone, and two"


def test_two_outcomes_are_a_split() -> None:
    """While both are in the logs; equal outcomes are not."""
    outcomes = DecidedTransactions()
    outcomes.read(1, [_entry("committed", 1), _entry("committed", 2)])
    outcomes.read(2, [_entry("aborted", 1), _entry("committed", 2)])
    assert outcomes.split == [(3, 1)]
    outcomes.read(2, [])
    assert outcomes.split == []


@pytest.mark.parametrize("other", [[], [_entry("aborted", 5)], [_entry("begin", 1), _entry("committed", 1)]])
def test_a_new_log_is_read_from_the_start(other: list[Any]) -> None:
    """It is shorter, or its last known entry is another object, even with the same content."""
    outcomes, anew = DecidedTransactions(), DecidedTransactions()
    outcomes.read(3, [_entry("committed", 1), _entry("committed", 2)])
    outcomes.read(3, other)
    anew.read(3, other)
    assert _counts(outcomes) == _counts(anew)


def test_unreadable_entries_are_ignored() -> None:
    outcomes = DecidedTransactions()
    odd: list[Any] = [7, {}, {"what": "committed"}, {"what": [], "transaction": [1, 2]}, _entry("committed", 1)]
    outcomes.read(3, [*odd, {"what": "aborted", "transaction": ["1", 2]}])
    assert _counts(outcomes) == (1, 0)


def test_outcomes_across_crashes() -> None:
    """The log of a dead node counts, a wiped one does not, and one read from storage does not count twice."""
    rig = Rig((1, 2, 3), protocol=TwoPhaseCommit).started()
    rig.do("tell 3 withdraw 350")
    rig.run(10 * T_US)
    assert _counts(decided_in(rig.cluster)) == (1, 0)
    rig.do("kill 2", "tell 3 transfer 10 checking savings")
    rig.run(10 * T_US)
    assert _counts(decided_in(rig.cluster)) == (1, 1)
    rig.do("restart 2")
    rig.run(10 * T_US)
    assert _counts(decided_in(rig.cluster)) == (1, 1)
    rig.do("kill 1 2 3", "wipe 1 2")
    assert _counts(decided_in(rig.cluster)) == (1, 1)
    rig.do("wipe 3")
    assert _counts(decided_in(rig.cluster)) == (0, 0)
