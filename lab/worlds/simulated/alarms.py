"""When the first timer of all nodes is due. A timer that was put off keeps its alarm, which is put off later."""

import heapq
from collections.abc import Mapping

from lab.worlds.simulated.incarnation import Life

__all__ = ["Alarms"]


class Alarms:
    """One for each life that has a timer, and perhaps some for lives that are over, which count no more."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, int]] = []

    @property
    def node(self) -> int:
        """The node whose alarm is the first, which ``next_us`` has just looked for."""
        return self._heap[0][1]

    def put(self, node: int, incarnation: Life, due_us: int) -> None:
        """Set an alarm, which takes the place of any later one."""
        incarnation.alarm_us = due_us
        heapq.heappush(self._heap, (due_us, node, incarnation.number))

    def next_us(self, lives: Mapping[int, Life]) -> int | None:
        """When the first timer of these lives is due."""
        while self._heap:
            at_us, node, number = self._heap[0]
            incarnation = lives.get(node)
            if incarnation is None or incarnation.number != number or incarnation.alarm_us != at_us:
                heapq.heappop(self._heap)
            elif incarnation.due_us == at_us:
                return at_us
            else:
                heapq.heappop(self._heap)
                incarnation.alarm_us = None
                if incarnation.due_us is not None:
                    self.put(node, incarnation, incarnation.due_us)
        return None
