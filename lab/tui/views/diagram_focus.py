"""The part of a run that the diagram shows, and its scale: a record or a span of time for each cell.

It follows the cursor in time until it is scrolled.
"""

import sys
from bisect import bisect_left, bisect_right

from lab.analysis.group_history import Point
from lab.recording.reader import RecordStore
from lab.tui.player import Cursor
from lab.tui.views.diagram_window import MOST_RECORDS, RowOrder, Window
from lab.units import format_us

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


# the visible part

_AT_ONCE = 1_000
"""The most records read in a frame."""
_LEAST_BACK = 300
"""Records read before the point of interest at first."""
_AHEAD = 60
"""Rows read beyond the picture, to learn what happens to its messages."""


class Focus:
    """The visible part. ``top`` is its first position by ``scale``; ``cursor`` is the cursor in time."""

    def __init__(self, store: RecordStore) -> None:
        self._store = store
        self.window = Window(store)
        self.scale = Scale(STEPS_US, self.window.order, 1)
        self.cursor = Point(0, 0)
        self.top = 0
        self._along = 1
        self._back = _LEAST_BACK
        self._sought = 0
        """The record around which it read last."""
        self._anchor: Point | None = None
        """The position it was scrolled to; None while it follows."""
        self._is_placed = False
        self._drawn_from: tuple[int, frozenset[str]] = (0, frozenset())

    def update(self, cursor: Cursor, along: int, hidden: frozenset[str], step: int) -> None:
        """Read what is visible at the cursor in ``along`` cells, or a part of it; the next frame reads more."""
        point = Point(cursor.record, cursor.now_us)
        if not cursor.following and self.cursor.record != point.record:
            self._anchor = None
        if (along, hidden) != self._drawn_from:
            self._drawn_from, self._is_placed = (along, hidden), False
        self.cursor, self._along = point, along
        begun = self.window.begun
        if self.scale.by_records:
            self._learn_records(along // step + 1, hidden)
        else:
            self._learn_times(hidden)
        if self.window.begun != begun:
            self._is_placed = False
        self.scale = Scale(self.scale.us, self.window.order, step)
        self._place(cursor.following)

    def zoom(self, by: int) -> bool:
        """Change the scale. Return False if there is no other."""
        us = zoomed(self.scale.us, by)
        changed = us != self.scale.us
        self.scale = Scale(us, self.scale.order, 1)
        self.recentre()
        return changed

    def recentre(self) -> None:
        """Return to the cursor in time."""
        self._anchor, self._is_placed = None, False

    def pan(self, by: int) -> None:
        """Scroll by a number of cells."""
        top = self.top + by
        if self.scale.by_records:
            order = self.scale.order
            if not order.rows:
                return
            row = max(order.rows[0], min(top // self.scale.step, order.end - 1))
            found = order.at(row) or order.at(row + 1)
            self._anchor = None if found is None else Point(*found)
        else:
            self._anchor = Point(0, max(0, top) * self.scale.us)
        if self._anchor is not None:
            self.top = int(self.scale.place(self._anchor))  # the next page may be requested before the next frame

    def reveal(self, point: Point) -> None:
        """Scroll just far enough to show a point."""
        place = int(self.scale.place(point)) - self.top
        if place < 1:
            self.pan(place - self._along // 3)
        elif place > self._along - 2:
            self.pan(place - self._along * 2 // 3)

    def step_at(self, node: int, along: int) -> int | None:
        """Return the record of the node's step in that cell or the next one."""
        near: tuple[float, int] | None = None
        for each in self.window.happened:
            if each.node == node:
                apart = abs(self.scale.place(Point(each.record, each.at_us)) - self.top - along - 0.5)
                if apart <= 1 and (near is None or apart < near[0]):
                    near = (apart, each.record)
        return None if near is None else near[1]

    def _learn_records(self, rows: int, hidden: frozenset[str]) -> None:
        window, left = self.window, _AT_ONCE
        record = self.cursor.record if self._anchor is None else self._anchor.record
        if abs(record - self._sought) > _AT_ONCE:
            self._back = _LEAST_BACK
        self._sought = record
        window.begin(max(0, record - self._back), hidden)
        left -= window.feed(record + 1, left)
        order = window.order
        while left > 0 and not window.is_at_end and order.end < order.row(record) + rows + _AHEAD:
            learnt = window.feed(window.fed + 50, left)
            if not learnt:
                break
            left -= learnt
        is_short = not order.rows or order.row(record) - order.rows[0] < rows
        if is_short and window.fed > record and window.start > 0:
            self._back = min(
                self._back * 4, MOST_RECORDS // 2
            )  # with more, the window might be full before the cursor

    def _learn_times(self, hidden: frozenset[str]) -> None:
        window, us = self.window, self.scale.us
        half_us = self._along * us
        centre_us = self.cursor.at_us if self._anchor is None else self._anchor.at_us
        first = window.record_before(max(0, centre_us - half_us))
        if self._anchor is None:
            first = max(first, self.cursor.record - MOST_RECORDS // 2)
        window.begin(first, hidden)
        left = _AT_ONCE
        upto = len(self._store)
        while left > 0 and window.space.last.at_us < centre_us + 2 * half_us:
            learnt = window.feed(min(upto, window.fed + 200), left)
            if not learnt:
                break
            left -= learnt

    def _place(self, follows: bool) -> None:
        scale, along = self.scale, self._along
        if self._anchor is not None:
            self.top = int(scale.place(self._anchor) // 1)
        else:
            here = int(scale.place(self.cursor) // 1)
            if follows and scale.by_records:
                self.top = here - along + 2
            elif not self._is_placed or not self.top + 1 <= here < self.top + along - 1:
                self.top = here - along * (4 if follows else 3) // 5
        self._is_placed = True
        first, end = self._bounds()
        self.top = max(first, min(self.top, end - along))

    def _bounds(self) -> tuple[int, int]:
        """Return the first position and the one after the last, as far as they are known."""
        if self.scale.by_records:
            order = self.scale.order
            first = order.rows[0] * self.scale.step if order.rows else 0
            return first, order.end * self.scale.step + 1
        last = self.window.space.last.at_us // self.scale.us + 2
        if not self.window.is_at_end:
            last = max(last, self.top + self._along)
        return 0, max(last, int(self.cursor.at_us // self.scale.us) + 2)
