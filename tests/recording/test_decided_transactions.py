"""How many transactions the logs have as committed and as aborted: read on as they grow, or else anew."""

from typing import Any

import pytest

from lab.protocols import TwoPhaseCommit
from lab.recording.decided_transactions import Outcomes
from tests.harness import T_US, Rig


def _entry(what: str, number: int) -> dict[str, Any]:
    return {"what": what, "transaction": [3, number]}


def _counts(outcomes: Outcomes) -> tuple[int, int]:
    return outcomes.count("committed"), outcomes.count("aborted")


def test_a_transaction_counts_once_however_many_logs_have_it() -> None:
    """And only with the entries that end it."""
    outcomes = Outcomes()
    log = [_entry("begin", 1), _entry("prepared", 1), _entry("committed", 1), _entry("ended", 1)]
    outcomes.read(3, log)
    outcomes.read(1, [_entry("committed", 1)])
    assert _counts(outcomes) == (1, 0)
    outcomes.read(3, [*log, _entry("aborted", 2)])
    outcomes.read(1, [_entry("aborted", 3)])
    assert _counts(outcomes) == (1, 2), "one that is committed at 3 alone, and two"


def test_committed_here_and_aborted_there_is_split() -> None:
    """As long as both logs say so; two that agree are not."""
    outcomes = Outcomes()
    outcomes.read(1, [_entry("committed", 1), _entry("committed", 2)])
    outcomes.read(2, [_entry("aborted", 1), _entry("committed", 2)])
    assert outcomes.split == [(3, 1)]
    outcomes.read(2, [])
    assert outcomes.split == []


@pytest.mark.parametrize("other", [[], [_entry("aborted", 5)], [_entry("begin", 1), _entry("committed", 1)]])
def test_another_log_is_read_anew(other: list[Any]) -> None:
    """It is shorter, or has another entry where the last one was, were it of the same content."""
    outcomes, anew = Outcomes(), Outcomes()
    outcomes.read(3, [_entry("committed", 1), _entry("committed", 2)])
    outcomes.read(3, other)
    anew.read(3, other)
    assert _counts(outcomes) == _counts(anew)


def test_a_log_from_anybody_counts_for_what_can_be_read_of_it() -> None:
    """And nothing else."""
    outcomes = Outcomes()
    odd: list[Any] = [7, {}, {"what": "committed"}, {"what": [], "transaction": [1, 2]}, _entry("committed", 1)]
    outcomes.read(3, [*odd, {"what": "aborted", "transaction": ["1", 2]}])
    assert _counts(outcomes) == (1, 0)


def test_a_cluster_counts_them_across_crashes() -> None:
    """A dead node's log counts, a wiped one does not, and one that is read from storage does not count twice."""
    rig = Rig((1, 2, 3), protocol=TwoPhaseCommit).started()
    rig.do("tell 3 withdraw 350")
    rig.run(10 * T_US)
    assert _counts(rig.cluster.outcomes) == (1, 0)
    rig.do("kill 2", "tell 3 transfer 10 checking savings")
    rig.run(10 * T_US)
    assert _counts(rig.cluster.outcomes) == (1, 1)
    rig.do("restart 2")
    rig.run(10 * T_US)
    assert _counts(rig.cluster.outcomes) == (1, 1)
    rig.do("kill 1 2 3", "wipe 1 2")
    assert _counts(rig.cluster.outcomes) == (1, 1)
    rig.do("wipe 3")
    assert _counts(rig.cluster.outcomes) == (0, 0)
