"""The transactions that some nodes have committed and others aborted: what atomic commit is to prevent."""

from msgspec import Struct

from lab.protocols.transaction import Transaction
from lab.recording.cluster_state import ClusterState
from lab.recording.decided_transactions import outcome_of

__all__ = ["Split", "splits_in"]


class Split(Struct, frozen=True, order=True):
    """A transaction, and where it is what; by the nodes' logs."""

    transaction: Transaction
    committed: tuple[int, ...]
    aborted: tuple[int, ...]


def splits_in(cluster: ClusterState) -> tuple[Split, ...]:
    """All that there are at that record, by their names. The logs are read again only where there is one."""
    return tuple(
        Split(Transaction(*name), _nodes_with(cluster, name, "committed"), _nodes_with(cluster, name, "aborted"))
        for name in cluster.outcomes.split
    )


def _nodes_with(cluster: ClusterState, name: tuple[int, int], outcome: str) -> tuple[int, ...]:
    """The nodes whose logs have this outcome of the transaction."""
    return tuple(
        node
        for node, view in sorted(cluster.nodes.items())
        if isinstance(log := view.state.get("log"), list) and any(outcome_of(e) == (outcome, name) for e in log)
    )
