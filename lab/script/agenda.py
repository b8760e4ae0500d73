"""The queue of everything that is due by the clock: lines of the script, and the ends of time limits."""

import heapq
from collections.abc import Iterator

from lab.script.predicate_watch import PredicateWait
from lab.script.triggers import Every, Statement

__all__ = ["Agenda"]


class Agenda:
    """A priority queue of entries by time; entries of the same time come out in the order of insertion."""

    def __init__(self) -> None:
        self._put = 0
        self._entries: list[tuple[int, int, Statement | PredicateWait]] = []

    @property
    def next_us(self) -> int | None:
        return self._entries[0][0] if self._entries else None

    def put(self, at_us: int, entry: Statement | PredicateWait) -> None:
        """Add a line that is due at this time, or a wait that expires then."""
        self._put += 1
        heapq.heappush(self._entries, (at_us, self._put, entry))

    def due(self, now_us: int) -> Iterator[Statement | PredicateWait]:
        """Yield the entries that are due by ``now_us``, including those added while the caller iterates."""
        while self._entries and self._entries[0][0] <= now_us:
            at_us, _, entry = heapq.heappop(self._entries)
            if isinstance(entry, Statement) and isinstance(entry.trigger, Every):
                # Late by several periods, the line still runs once; the next time stays on the original grid.
                late_us = (now_us - at_us) % entry.trigger.us
                self.put(now_us - late_us + entry.trigger.us, entry)
            yield entry
