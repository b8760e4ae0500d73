"""The part of a run that the diagram is drawn from, the part of that which it shows, and the selection in it.

The *window* is a fold from a keyframe on, fed a little at a time. A frame feeds only the records that it has time
for. The fold restarts when the diagram moves away from it, and forgets what is far behind; so it holds a bounded
number of records, however long the run is. The *focus* follows the cursor in time until it is scrolled.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any

from lab.analysis.causality import CausalEvent, CausalFuture, causal_event, causal_past
from lab.analysis.delivery import delivery_outcome
from lab.analysis.group_history import RecordedMoment
from lab.analysis.spacetime import MessageEdge, SpaceTime
from lab.export.diagram_layout import ROWS_US, Axis, LinearAxis, RecordAxis, RowOrder
from lab.kernel import CommandInput, Fired, Received, Step, Wrote
from lab.recording.reader import RecordStore
from lab.recording.records import Record
from lab.text import sanitize
from lab.tui.player import Cursor
from lab.units import format_count

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
        snapshot = self._store.snapshot(keyframe) if keyframe else None
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

_US = (0, *ROWS_US)
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
        self.cursor = RecordedMoment(0, 0)
        self.top = 0
        self._along = 1
        self._back = _LEAST_BACK
        self._sought = 0
        """The record around which it read last."""
        self._anchor: RecordedMoment | None = None
        """The position it was scrolled to; None while it follows."""
        self._is_placed = False
        self._drawn_from: tuple[int, frozenset[str]] = (0, frozenset())

    def update(self, cursor: Cursor, along: int, hidden: frozenset[str], step: int) -> None:
        """Read what is visible at the cursor in ``along`` cells, or a part of it; the next frame reads more."""
        point = RecordedMoment(cursor.record, cursor.now_us)
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
            self._anchor = None if found is None else RecordedMoment(*found)
        else:
            self._anchor = RecordedMoment(0, max(0, top) * self.axis.us)
        if self._anchor is not None:
            self.top = int(self.axis.place(self._anchor))  # the next page may be requested before the next frame

    def reveal(self, point: RecordedMoment) -> None:
        """Scroll just far enough to show a point. One that has not been read is shown at the start."""
        if not self.window.start <= point.record < self.window.fed:
            self._anchor = point
            return
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
                apart = abs(self.axis.place(RecordedMoment(each.record, each.at_us)) - self.top - along - 0.5)
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


# the selection: how it moves between steps and messages, its causal cone, and a text about it

PickedKey = tuple[int, int] | int
"""A message as (source, serial), or the record of a step."""


class CausalCone:
    """The causal past and the causal future of the selection, within the window.

    The past includes the selected step, or the step that sent the selected message. The future of a message begins
    at its delivery. ``records`` are the records of both. ``bounds`` are, for each node, the points where the past
    ends and the future begins.
    """

    def __init__(self, window: Window, picked: PickedKey) -> None:
        begins = _point_of(window, picked)
        self._picked = picked
        self._of = (picked, window.begun, window.start, begins)
        self.past = frozenset() if begins is None else causal_past(window.happened, begins.record)
        self.records = set(self.past)
        self.bounds: dict[int, tuple[RecordedMoment | None, RecordedMoment | None]] = {
            each.node: (RecordedMoment(each.record, each.at_us), None)
            for each in window.happened
            if each.record in self.past
        }
        self._future: CausalFuture | None = None
        self._learnt = -1

    def is_of(self, window: Window, picked: PickedKey) -> bool:
        """Return whether this is the cone of the selection, and the window has forgotten nothing since."""
        return self._of == (picked, window.begun, window.start, _point_of(window, picked))

    @property
    def future(self) -> set[int]:
        """The causal future, as far as the window has been read."""
        return set() if self._future is None else self._future.records

    def learn(self, window: Window) -> None:
        """Add what the window has read since."""
        if self._future is None:
            first = _first_after(window, self._picked)
            if first is None:
                return
            self._future = CausalFuture(first)
        happened = window.happened
        for each in happened[bisect_right(happened, self._learnt, key=_record_of) :]:
            self._learnt = each.record
            if self._future.observe(each) and each.record not in self.records:
                self.records.add(each.record)
                past, future = self.bounds.get(each.node, (None, None))
                self.bounds[each.node] = (past, future or RecordedMoment(each.record, each.at_us))


class Selection:
    """The selection in a window: a message or a step is ``picked``, or nothing."""

    def __init__(self, window: Window) -> None:
        self.picked: PickedKey | None = None
        self._window = window
        self._cone: CausalCone | None = None

    @property
    def edge(self) -> MessageEdge | None:
        """The message, if one is picked and in the window."""
        return _edge_of(self._window, self.picked)

    @property
    def point(self) -> RecordedMoment | None:
        """The point of the step, or where the message was sent; None if it is not in the window."""
        return _point_of(self._window, self.picked)

    @property
    def cone(self) -> CausalCone | None:
        """The causal cone. It is extended while it is valid, else replaced."""
        if self.picked is None:
            return None
        if self._cone is None or not self._cone.is_of(self._window, self.picked):
            self._cone = CausalCone(self._window, self.picked)
        self._cone.learn(self._window)
        return self._cone

    def next_step(self, node: int | None, here: int, by: int) -> int | None:
        """Return the record of the next or previous step from record ``here``; of any node if ``node`` is None."""
        seen = set(self._window.order.numbers)
        happened = self._window.happened
        steps = [each.record for each in happened if each.record in seen and node in (None, each.node)]
        place = _neighbour(steps, here, by)
        return None if place is None else steps[place]

    def next_message(self, node: int | None, here: int, by: int, hidden: frozenset[str]) -> tuple[int, int] | None:
        """Return the message sent next or before record ``here``; of any node if ``node`` is None.

        If it is a message that is picked, those of the same record come in the order of their serial numbers.
        """
        edges = sorted(
            (edge.sent.record, edge.line.serial, edge.line.message)
            for edge in self._window.space.messages
            if edge.line.kind not in hidden
            and edge.sent.record >= 0
            and node in (None, edge.line.source, edge.line.target)
        )
        serial = self.picked[1] if isinstance(self.picked, tuple) else 0
        place = _neighbour([edge[:2] for edge in edges], (here, serial), by)
        return None if place is None else edges[place][2]

    def describe(self, store: RecordStore, upto: int) -> str:
        """Return the text about it and its causal past and future, up to the record ``upto``."""
        window, edge, cone = self._window, self.edge, self.cone
        if cone is None or (edge is None and isinstance(self.picked, tuple)):
            return "the selection is no longer visible here; Esc clears it"
        past, future = len(cone.past), sum(record <= upto for record in cone.future)
        if edge is not None:
            text = _describe_message(edge, upto)
        else:
            text = self._describe_step(store)
            past, future = max(0, past - 1), max(0, future - 1)
        of = format_count(bisect_right(window.happened, upto, key=_record_of), "step")
        return f"{text} · causal past {past}, future {future}, of {of} here"

    def _describe_step(self, store: RecordStore) -> str:
        assert isinstance(self.picked, int)
        record, point = store.record(self.picked), self.point
        when = "" if point is None else f" at {point.at_us / 1e6:.3f} s"
        if not isinstance(record, Step):
            return f"record {self.picked}{when}"
        match record.input:
            case Received(source, serial):
                edge = _edge_of(self._window, (source, serial))
                kind = "" if edge is None else sanitize(edge.line.kind, 30)
                what = f"received {kind or 'a message'} from {source}"
            case Fired(procedure):
                what = f"{sanitize(procedure, 30)}: timer expired"
            case Wrote():
                what = "the program wrote a line"
            case CommandInput(command, words):
                what = f"received the command {sanitize(' '.join((command, *words)), 40)}"
            case _:
                what = "started"
        return f"node {record.node}{when}: {what}"


def _describe_message(edge: MessageEdge, upto: int) -> str:
    line = edge.line
    text = f"{sanitize(line.kind, 30)} {line.source} to {line.target}, sent at {line.at_us / 1e6:.3f} s"
    if edge.end is None or edge.end.record > upto:
        return f"{text}, {'in flight' if edge.end else edge.fate}"
    after = f"{(edge.end.at_us - line.at_us) / 1000:.1f} ms later"
    delayed = ", touched by a fault" if edge.by else ""
    again = sum(point.record <= upto for point in edge.again)
    more = f", and {format_count(again, 'time')} more" if again else ""
    return f"{text}, {edge.fate} {after}{more}{delayed}"


def _first_after(window: Window, picked: PickedKey) -> int | None:
    """Return the record at which the causal future begins, or None if the message has not arrived."""
    if isinstance(picked, int):
        return picked
    edge = _edge_of(window, picked)
    return edge.end.record if edge is not None and edge.arrived and edge.end is not None else None


def _edge_of(window: Window, picked: PickedKey | None) -> MessageEdge | None:
    if not isinstance(picked, tuple):
        return None
    return next((edge for edge in window.space.messages if edge.line.message == picked), None)


def _point_of(window: Window, picked: PickedKey | None) -> RecordedMoment | None:
    if not isinstance(picked, int):
        edge = _edge_of(window, picked)
        return None if edge is None else edge.sent
    place = bisect_left(window.happened, picked, key=_record_of)
    found = window.happened[place : place + 1]
    return RecordedMoment(picked, found[0].at_us) if found and found[0].record == picked else None


def _neighbour(keys: Sequence[Any], here: Any, by: int) -> int | None:
    """Return the place of the key after or before ``here`` in the ascending keys."""
    place = bisect_right(keys, here) if by > 0 else bisect_left(keys, here) - 1
    return place if 0 <= place < len(keys) else None


def _record_of(happened: CausalEvent) -> int:
    return happened.record
