"""The timers of procedures in one total order: by due time, then by serial. Periodic starts come after them."""

import heapq

__all__ = ["Timers"]


class Timers:
    """A queue of timers by absolute due time in microseconds; equal times fire in the order of setting."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, str]] = []
        self._live: dict[int, str] = {}
        self._serial = 0

    def set(self, due_us: int, owner: str) -> int:
        """Arm a timer for the procedure ``owner``; return its serial."""
        self._serial += 1
        heapq.heappush(self._heap, (due_us, self._serial, owner))
        self._live[self._serial] = owner
        return self._serial

    def cancel(self, serial: int) -> None:
        """Disarm a timer; do nothing if it has fired already."""
        self._live.pop(serial, None)
        if len(self._heap) > 32 and len(self._heap) > 4 * len(self._live):
            self._heap = [entry for entry in self._heap if entry[1] in self._live]
            heapq.heapify(self._heap)

    def next(self) -> tuple[int, int, str] | None:
        """Return (due, serial, owner) of the first timer, or None."""
        heap = self._heap
        while heap and heap[0][1] not in self._live:
            heapq.heappop(heap)
        return heap[0] if heap else None
