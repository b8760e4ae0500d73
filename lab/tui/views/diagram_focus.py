"""The part of a run that the diagram shows, and its scale: a record or a span of time for each cell.

It follows the cursor in time until it is scrolled.
"""

from lab.analysis.group_history import Point
from lab.export.diagram_layout import Axis, LinearAxis, RecordAxis
from lab.recording.reader import RecordStore
from lab.tui.player import Cursor
from lab.tui.views.diagram_window import MOST_RECORDS, Window

_US = (0, 200, 1_000, 5_000, 20_000, 100_000, 500_000, 2_000_000, 10_000_000, 60_000_000)
"""The scales: the time of a cell. At the finest one, rows stand for records."""
_AT_ONCE = 1_000
"""The most records read in a frame."""
_LEAST_BACK = 300
"""Records read before the point of interest at first."""
_AHEAD = 60
"""Rows read beyond the picture, to learn what happens to its messages."""


class Focus:
    """The visible part. ``top`` is its first position on the ``axis``; ``cursor`` is the cursor in time."""

    def __init__(self, store: RecordStore) -> None:
        self._store = store
        self.window = Window(store)
        self.axis: Axis = RecordAxis(self.window.order, 1)
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
        if not self.axis.us:
            self._learn_records(along // step + 1, hidden)
        else:
            self._learn_times(hidden)
        if self.window.begun != begun:
            self._is_placed = False
        self._set_axis(self.axis.us, step)
        self._place(cursor.following)

    def zoom(self, by: int) -> bool:
        """Change the scale. Return False if there is no other."""
        before, place = self.axis.us, _US.index(self.axis.us) + by
        self._set_axis(_US[max(0, min(place, len(_US) - 1))], 1)
        self.recentre()
        return self.axis.us != before

    def recentre(self) -> None:
        self._anchor, self._is_placed = None, False

    def pan(self, by: int) -> None:
        top = self.top + by
        if isinstance(self.axis, RecordAxis):
            order = self.axis.order
            if not order.rows:
                return
            row = max(order.rows[0], min(top // self.axis.step, order.end - 1))
            found = order.at(row) or order.at(row + 1)
            self._anchor = None if found is None else Point(*found)
        else:
            self._anchor = Point(0, max(0, top) * self.axis.us)
        if self._anchor is not None:
            self.top = int(self.axis.place(self._anchor))  # the next page may be requested before the next frame

    def reveal(self, point: Point) -> None:
        """Scroll just far enough to show a point."""
        place = int(self.axis.place(point)) - self.top
        if place < 1:
            self.pan(place - self._along // 3)
        elif place > self._along - 2:
            self.pan(place - self._along * 2 // 3)

    def step_at(self, node: int, along: int) -> int | None:
        """Return the record of the node's step in that cell or the next one."""
        near: tuple[float, int] | None = None
        for each in self.window.happened:
            if each.node == node:
                apart = abs(self.axis.place(Point(each.record, each.at_us)) - self.top - along - 0.5)
                if apart <= 1 and (near is None or apart < near[0]):
                    near = (apart, each.record)
        return None if near is None else near[1]

    def _set_axis(self, us: int, step: int) -> None:
        self.axis = LinearAxis(us) if us else RecordAxis(self.window.order, step)

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
            # with more, the window might be full before the cursor
            self._back = min(self._back * 4, MOST_RECORDS // 2)

    def _learn_times(self, hidden: frozenset[str]) -> None:
        window, us = self.window, self.axis.us
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
        axis, along = self.axis, self._along
        if self._anchor is not None:
            self.top = int(axis.place(self._anchor) // 1)
        else:
            here = int(axis.place(self.cursor) // 1)
            if follows and not self.axis.us:
                self.top = here - along + 2
            elif not self._is_placed or not self.top + 1 <= here < self.top + along - 1:
                self.top = here - along * (4 if follows else 3) // 5
        self._is_placed = True
        first, end = self._bounds()
        self.top = max(first, min(self.top, end - along))

    def _bounds(self) -> tuple[int, int]:
        """Return the first position and the one after the last, as far as they are known."""
        if isinstance(self.axis, RecordAxis):
            order, step = self.axis.order, self.axis.step
            return order.rows[0] * step if order.rows else 0, order.end * step + 1
        last = self.window.space.last.at_us // self.axis.us + 2
        if not self.window.is_at_end:
            last = max(last, self.top + self._along)
        return 0, max(last, self.cursor.at_us // self.axis.us + 2)
