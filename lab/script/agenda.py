"""What comes by the clock: lines, those of ``every`` again and again, and the ends of time limits."""

import heapq
from collections.abc import Iterator

from lab.script.lookout import Look
from lab.script.triggers import Every, Scripted

__all__ = ["Agenda"]


class Agenda:
    """Gives back what was put there, in the order of the instants; of equal ones, as they were put."""

    def __init__(self) -> None:
        self._put = 0
        self._entries: list[tuple[int, int, Scripted | Look]] = []

    @property
    def next_us(self) -> int | None:
        """When the next comes, if one does."""
        return self._entries[0][0] if self._entries else None

    def put(self, at_us: int, waiting: Scripted | Look) -> None:
        """A line that comes at this instant, or a look that is given up then."""
        self._put += 1
        heapq.heappush(self._entries, (at_us, self._put, waiting))

    def due(self, now_us: int) -> Iterator[Scripted | Look]:
        """What has come by now, one after the other; what is put meanwhile and has come, too."""
        while self._entries and self._entries[0][0] <= now_us:
            at_us, _, waiting = heapq.heappop(self._entries)
            if isinstance(waiting, Scripted) and isinstance(waiting.trigger, Every):
                late_us = (
                    now_us - at_us
                ) % waiting.trigger.us  # once, however often it should have come meanwhile
                self.put(now_us - late_us + waiting.trigger.us, waiting)
            yield waiting
