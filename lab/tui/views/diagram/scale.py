"""How much of a run a cell of the diagram stands for: a record, or a time."""

import sys
from bisect import bisect_left, bisect_right

from lab.analysis.group_history import Point
from lab.tui.views.diagram.order import Order
from lab.units import format_us

__all__ = ["STEPS_US", "Scale", "zoomed"]

_US = (0, 200, 1_000, 5_000, 20_000, 100_000, 500_000, 2_000_000, 10_000_000, 60_000_000)
STEPS_US = _US[0]
"""The finest scale: by records."""
_UNITS_US = (100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
_TICKS_US = [digit * unit_us for unit_us in _UNITS_US for digit in (1, 2, 5)]


class Scale:
    """Places in cells along the flow of time. A row of ``order`` has ``step`` of them where a cell is no time."""

    def __init__(self, us: int, order: Order, step: int) -> None:
        self.us = us
        self.order = order
        self.step = 1 if us else step

    @property
    def by_records(self) -> bool:
        """Whether places count records, not time."""
        return not self.us

    @property
    def said(self) -> str:
        """What a row is, or a column."""
        return format_us(self.us) if self.us else "a step"

    def place(self, point: Point) -> float:
        """Where that is; the middle of a cell where places count records."""
        if self.us:
            return point.at_us / self.us
        return self.order.row(point.record) * self.step + 0.5

    def span(self, top: int, along: int) -> tuple[int, int]:
        """The first and the last record, or instant, that is in so many cells from that place on."""
        if self.us:
            return top * self.us, (top + along) * self.us - 1
        order = self.order
        first = bisect_left(order.rows, top // self.step)
        last = bisect_right(order.rows, (top + along - 1) // self.step) - 1
        return (
            order.numbers[first] if first < len(order.numbers) else sys.maxsize,
            order.numbers[last] if last >= 0 else -1,
        )

    def tick_us(self, apart: int) -> int:
        """The time between two ticks that are about so many cells apart."""
        return next((us for us in _TICKS_US if us >= apart * self.us), _TICKS_US[-1])


def zoomed(us: int, by: int) -> int:
    """The next scale, finer or coarser; the same one where there is none."""
    return _US[max(0, min(_US.index(us) + by, len(_US) - 1))]
