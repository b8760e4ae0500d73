"""Find transactions that some nodes committed and others aborted, which atomic commit must prevent."""

from msgspec import Struct

from lab.protocols.transaction import Transaction
from lab.recording.cluster_state import ClusterState
from lab.recording.decided_transactions import outcome_of

__all__ = ["SplitOutcome", "split_outcomes"]


class SplitOutcome(Struct, frozen=True, order=True):
    """A transaction with two outcomes, and the nodes with each in their logs."""

    transaction: Transaction
    committed: tuple[int, ...]
    aborted: tuple[int, ...]


def split_outcomes(cluster: ClusterState) -> tuple[SplitOutcome, ...]:
    """Return all split outcomes at that record, sorted by transaction."""
    # the logs are read again only if there is a split outcome
    return tuple(
        SplitOutcome(
            Transaction(*name), _nodes_with(cluster, name, "committed"), _nodes_with(cluster, name, "aborted")
        )
        for name in cluster.outcomes.split
    )


def _nodes_with(cluster: ClusterState, name: tuple[int, int], outcome: str) -> tuple[int, ...]:
    return tuple(
        node
        for node, view in sorted(cluster.nodes.items())
        if isinstance(log := view.state.get("log"), list) and any(outcome_of(e) == (outcome, name) for e in log)
    )
