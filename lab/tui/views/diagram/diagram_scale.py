"""The scale of the diagram: whether a cell represents a record or a span of time, and how long a span."""

import sys
from bisect import bisect_left, bisect_right

from lab.analysis.group_history import Point
from lab.tui.views.diagram.order import RowOrder
from lab.units import format_us

__all__ = ["STEPS_US", "Scale", "zoomed"]

_US = (0, 200, 1_000, 5_000, 20_000, 100_000, 500_000, 2_000_000, 10_000_000, 60_000_000)
STEPS_US = _US[0]
"""The finest scale, which counts records."""
_UNITS_US = (100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
_TICKS_US = [digit * unit_us for unit_us in _UNITS_US for digit in (1, 2, 5)]


class Scale:
    """A map from points of a run to cells along the flow of time.

    A cell represents ``us`` microseconds. If that is 0, cells count records, and a row takes ``step`` cells.
    """

    def __init__(self, us: int, order: RowOrder, step: int) -> None:
        self.us = us
        self.order = order
        self.step = 1 if us else step

    @property
    def by_records(self) -> bool:
        """True if cells count records, not time."""
        return not self.us

    @property
    def unit_text(self) -> str:
        """The meaning of a row or a column, in words."""
        return format_us(self.us) if self.us else "a step"

    def place(self, point: Point) -> float:
        """Return the position of a point; by records, the middle of its cell."""
        if self.us:
            return point.at_us / self.us
        return self.order.row(point.record) * self.step + 0.5

    def span(self, top: int, along: int) -> tuple[int, int]:
        """Return the first and last record, or instant, in the ``along`` cells from ``top`` on."""
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
        """Return the shortest round time that spans at least ``apart`` cells, or the longest one known."""
        return next((us for us in _TICKS_US if us >= apart * self.us), _TICKS_US[-1])


def zoomed(us: int, by: int) -> int:
    """Return the next finer or coarser scale, or the same one if there is none."""
    return _US[max(0, min(_US.index(us) + by, len(_US) - 1))]
