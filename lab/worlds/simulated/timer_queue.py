"""The queue of the nodes' timers, with lazy updates.

Each incarnation has at most one valid entry, at ``queued_us``. A timer that is put off keeps its entry, which is
moved only when it comes first.
"""

import heapq
from collections.abc import Mapping

from lab.worlds.simulated.incarnation import Incarnation

__all__ = ["TimerQueue"]


class TimerQueue:
    """A heap with an entry for each incarnation that has a timer, and outdated entries, which are skipped."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, int]] = []

    @property
    def node(self) -> int:
        """The node of the first entry; valid right after ``next_us``."""
        return self._heap[0][1]

    def put(self, node: int, incarnation: Incarnation, due_us: int) -> None:
        """Queue a timer; it replaces any later entry of this incarnation."""
        incarnation.queued_us = due_us
        heapq.heappush(self._heap, (due_us, node, incarnation.number))

    def next_us(self, incarnations: Mapping[int, Incarnation]) -> int | None:
        """Return when the first timer of these incarnations is due."""
        while self._heap:
            at_us, node, number = self._heap[0]
            incarnation = incarnations.get(node)
            if incarnation is None or incarnation.number != number or incarnation.queued_us != at_us:
                heapq.heappop(self._heap)
            elif incarnation.due_us == at_us:
                return at_us
            else:
                heapq.heappop(self._heap)
                incarnation.queued_us = None
                if incarnation.due_us is not None:
                    self.put(node, incarnation, incarnation.due_us)
        return None
