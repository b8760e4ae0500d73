"""How many transactions the logs of all nodes have as committed, and as aborted, counted as the logs grow."""

from collections import Counter
from typing import Any

__all__ = ["Outcomes", "outcome_of"]


class Outcomes:
    """Show it the log of a node, as its state has it: it reads on where it was, or anew if it is another log."""

    def __init__(self) -> None:
        self._logs: dict[int, list[Any]] = {}
        self._entries: dict[str, Counter[tuple[int, int]]] = {"committed": Counter(), "aborted": Counter()}

    def count(self, outcome: str) -> int:
        """How many transactions some node's log has as ``committed``, or ``aborted``."""
        return len(self._entries[outcome])

    def read(self, node: int, log: list[Any]) -> None:
        """This is the node's log now."""
        before = self._logs.get(node, [])
        if log is before:
            return
        known = len(before)
        if known and (len(log) < known or log[known - 1] is not before[-1]):  # it was wiped, or read from storage
            self._take(before, -1)
            known = 0
        self._take(log[known:], 1)
        self._logs[node] = log

    @property
    def split(self) -> list[tuple[int, int]]:
        """The transactions that some logs have as committed, and others as aborted."""
        return sorted(self._entries["committed"].keys() & self._entries["aborted"].keys())

    def _take(self, entries: list[Any], times: int) -> None:
        for what, name in filter(None, map(outcome_of, entries)):
            counter = self._entries[what]
            counter[name] += times
            if not counter[name]:
                del counter[name]


def outcome_of(entry: Any) -> tuple[str, tuple[int, int]] | None:
    """(``committed`` or ``aborted``, which transaction), of an entry that says so."""
    match entry:
        case {"what": "committed" | "aborted" as what, "transaction": [int(node), int(number)]}:
            return what, (node, number)
    return None
