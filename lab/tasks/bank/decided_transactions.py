"""Count the committed and the aborted transactions in the logs of all nodes, as the logs grow."""

from collections import Counter
from typing import Any

from lab.recording.cluster_state import ClusterState


class DecidedTransactions:
    """An incremental count of outcomes in logs.

    ``read`` goes on where it stopped in a log, or starts over if it is given another log.
    """

    def __init__(self) -> None:
        self._logs: dict[int, list[Any]] = {}
        self._entries: dict[str, Counter[tuple[int, int]]] = {"committed": Counter(), "aborted": Counter()}

    def count(self, outcome: str) -> int:
        """Return the number of transactions with this outcome (committed, aborted) in at least one log."""
        return len(self._entries[outcome])

    def read(self, node: int, log: list[Any]) -> None:
        """Read the new entries of a node's log; ``log`` is the whole log in the node's state."""
        before = self._logs.get(node, [])
        if log is before:
            return
        known = len(before)
        if known and (len(log) < known or log[known - 1] is not before[-1]):  # it was wiped, or read from storage
            self._add(before, -1)
            known = 0
        self._add(log[known:], 1)
        self._logs[node] = log

    @property
    def split(self) -> list[tuple[int, int]]:
        """Transactions that are committed in some logs and aborted in others."""
        return sorted(self._entries["committed"].keys() & self._entries["aborted"].keys())

    def _add(self, entries: list[Any], times: int) -> None:
        for outcome, name in filter(None, map(outcome_of, entries)):
            counter = self._entries[outcome]
            counter[name] += times
            if not counter[name]:
                del counter[name]


def decided_in(cluster: ClusterState) -> DecidedTransactions:
    """Return the outcomes in the logs of all nodes as of now."""
    decided = cluster.derived(DecidedTransactions)
    for view in cluster.nodes.values():
        log = view.state.get("log")
        decided.read(view.id, log if isinstance(log, list) else [])
    return decided


def outcome_of(entry: Any) -> tuple[str, tuple[int, int]] | None:
    """Return (committed or aborted, the transaction) for an entry that decides one, else None."""
    match entry:
        case {"what": "committed" | "aborted" as what, "transaction": [int(node), int(number)]}:
            return what, (node, number)
    return None
