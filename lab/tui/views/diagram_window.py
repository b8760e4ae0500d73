"""The part of a run that the diagram is drawn from, and the part of that which it shows.

The *window* is a fold from a keyframe on, fed a little at a time. A frame feeds only the records that it has time
for. The fold restarts when the diagram moves away from it, and forgets what is far behind; so it holds a bounded
number of records, however long the run is. The *focus* follows the cursor in time until it is scrolled.
"""

from bisect import bisect_right

from lab.analysis.causality import CausalEvent, causal_event
from lab.analysis.delivery import delivery_outcome
from lab.analysis.group_history import Point
from lab.analysis.spacetime import MessageEdge, SpaceTime
from lab.export.diagram_layout import Axis, LinearAxis, RecordAxis, RowOrder
from lab.recording.reader import RecordStore
from lab.recording.records import Keyframe, Record
from lab.tui.player import Cursor

MOST_RECORDS = 20_000
"""The most records that the window holds."""
_KEPT = 1_000
"""Records kept before the requested ones, for moving back a little."""
_SLACK = 2_000


class Window:
    """The window holds the records from ``start`` to before ``fed``.

    ``space`` is their space-time diagram, ``happened`` their causal events, ``order`` their rows. These stay the
    same objects until ``begun`` changes.
    """

    def __init__(self, store: RecordStore) -> None:
        self._store = store
        self.begun = 0
        self.start, self.fed = 0, 0
        self.space = SpaceTime(store.header)
        self.happened: list[CausalEvent] = []
        self.order = RowOrder((), 0)
        self._hidden = frozenset(store.header.protocol.heartbeats)
        self._aside: dict[tuple[int, int], MessageEdge] = {}
        """Messages sent long before ``start`` that are still in flight."""
        self._begin_at(0)

    @property
    def version(self) -> tuple[int, int, int]:
        """A value that changes whenever the window holds more or less."""
        return self.begun, self.start, self.fed

    @property
    def is_at_end(self) -> bool:
        """True if the window has read all records so far."""
        return self.fed >= len(self._store)

    def begin(self, record: int, hidden: frozenset[str]) -> None:
        """Hold the records from ``record`` on; forget much older ones.

        Messages of the kinds ``hidden`` have no rows.
        """
        keyframe = self._store.keyframe_before(max(0, record)) or 0
        if record < self.start or keyframe > self.fed or hidden != self._hidden:
            self._hidden = hidden
            self._begin_at(keyframe)
        elif record - self.start > _KEPT + _SLACK:
            self._forget(record - _KEPT)

    def feed(self, upto: int, most: int) -> int:
        """Read the records before ``upto``, at most ``most`` of them. Return how many were read."""
        first = self.fed
        self.fed = max(first, min(upto, first + most, len(self._store), self.start + MOST_RECORDS))
        for number in range(first, self.fed):
            record = self._store.record(number)
            self.space.observe(record)
            self.order.observe(number, record)
            happened = causal_event(number, record)
            if happened is not None:
                self.happened.append(happened)
            if record is not None:
                self._restore(record)
        return self.fed - first

    def record_before(self, at_us: int) -> int:
        """Return a record that is not later than an instant, and not much earlier."""
        place = bisect_right(self._store.times_us, at_us)
        return self._store.keyframes[place - 1] if place else 0

    def is_full(self) -> bool:
        return self.fed - self.start >= MOST_RECORDS

    def _begin_at(self, keyframe: int) -> None:
        header = self._store.header
        record = self._store.record(keyframe) if keyframe else None
        snapshot = record.snapshot if isinstance(record, Keyframe) else None
        self.begun += 1
        self.start = keyframe if snapshot is not None else 0
        self.fed = self.start + 1
        self.space = SpaceTime(header, snapshot)
        self.happened = []
        self.order = RowOrder(self._hidden, header.timing.tm_us, () if snapshot is None else snapshot.in_flight)
        self._aside = {}
        self._set_aside(self.start)

    def _forget(self, before: int) -> None:
        space = self.space
        self.start = before
        space.status_intervals = [
            each for each in space.status_intervals if each.until is None or each.until.record >= before
        ]
        space.messages = [each for each in space.messages if _is_seen_from(each, before)]
        self._set_aside(before)
        space.fault_intervals = [
            each for each in space.fault_intervals if each.until is None or each.until.record >= before
        ]
        space.events = [each for each in space.events if each.record >= before]
        self.happened = [each for each in self.happened if each.record >= before]
        self.order.forget(before)

    def _set_aside(self, before: int) -> None:
        """Set aside messages that have long been in flight; there may be thousands."""
        far = [each for each in self.space.messages if each.end is None and each.sent.record < before]
        self._aside.update((each.line.message, each) for each in far)
        self.space.messages = [each for each in self.space.messages if each.line.message not in self._aside]

    def _restore(self, record: Record) -> None:
        """Restore the message whose end is in this record."""
        ended = delivery_outcome(record) if self._aside else None
        edge = None if ended is None else self._aside.pop(ended[0], None)
        if edge is not None:
            self.space.messages.append(edge)


def _is_seen_from(edge: MessageEdge, record: int) -> bool:
    last = edge.again[-1] if edge.again else edge.end
    return last is None or last.record >= record or edge.sent.record >= record


# the focus

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
