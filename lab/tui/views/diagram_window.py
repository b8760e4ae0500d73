"""The part of a run that the diagram is drawn from, as a fold from a keyframe on, fed a little at a time.

A frame feeds only the records that it has time for. The fold restarts when the diagram moves away from it, and
forgets what is far behind; so it holds a bounded number of records, however long the run is.

At the finest scale, a row stands for each record that shows anything. Many things happen within a millisecond, and
then nothing for a second. So rows count records, not time. Where nothing happened for longer than a message may
take, an extra row tells how long.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from lab.analysis.causality import CausalEvent, causal_event
from lab.analysis.delivery import DeliveryTracker, delivery_outcome
from lab.analysis.spacetime import MessageEdge, SpaceTime, StatusInterval
from lab.kernel import Received, Step
from lab.recording.log_lines import count_lines
from lab.recording.reader import RecordStore
from lab.recording.records import Header, Keyframe, Process, Record, Routed
from lab.recording.snapshot import InFlightMessage

_SEEN = ("dropped", "held", "released")


class RowOrder:
    """The rows, numbered from 0 at the window's start.

    ``numbers`` are the records that have a row, ``rows`` their rows. Messages of the kinds ``hidden`` have no
    rows; ``in_flight`` are the messages in flight at the start.
    """

    def __init__(self, hidden: Iterable[str], quiet_us: int, in_flight: Iterable[InFlightMessage] = ()) -> None:
        self.numbers: list[int] = []
        self.rows: list[int] = []
        self._times_us: list[int] = []
        self._kinds = frozenset(hidden)
        self._quiet_us = quiet_us
        self._newest_us: int | None = None
        self._hidden = DeliveryTracker()
        """The messages without rows, as long as copies of them are in flight."""
        for flight in in_flight:
            if flight.kind in self._kinds:
                self._hidden.sent((flight.source, flight.serial), flight.copies)

    @property
    def end(self) -> int:
        """The row after the last one."""
        return self.rows[-1] + 1 if self.rows else 0

    def observe(self, number: int, record: Record | None) -> None:
        """Add the next record."""
        if record is None or isinstance(record, Header):
            return
        shows = self._shows(record)
        self._hidden.observe(record)
        if not shows:
            return
        quiet = self._newest_us is not None and record.at_us - self._newest_us > self._quiet_us
        self.rows.append(self.end + quiet)
        self.numbers.append(number)
        self._newest_us = max(self._newest_us or 0, record.at_us)
        self._times_us.append(self._newest_us)

    def row(self, record: int) -> int:
        """Return the row of a record, or of the last one before it that has a row; -1 if there is none."""
        place = bisect_right(self.numbers, record) - 1
        return self.rows[place] if place >= 0 else (self.rows[0] - 1 if self.rows else -1)

    def at(self, row: int) -> tuple[int, int] | None:
        """Return (record, time) of a row; None for a quiet row, and for no row."""
        place = bisect_left(self.rows, row)
        if place < len(self.rows) and self.rows[place] == row:
            return self.numbers[place], self._times_us[place]
        return None

    def quiet_us(self, row: int) -> int | None:
        """Return the length of a quiet row; None for any other row."""
        place = bisect_left(self.rows, row)
        if not 0 < place < len(self.rows) or self.rows[place] == row:
            return None
        return self._times_us[place] - self._times_us[place - 1]

    def forget(self, before: int) -> None:
        """Forget the records before this one. The rows keep their numbers."""
        place = bisect_left(self.numbers, before)
        del self.numbers[:place], self.rows[:place], self._times_us[:place]

    def _shows(self, record: Record) -> bool:
        if isinstance(record, Step):
            return self._shows_step(record)
        if isinstance(record, Routed):
            return record.fate in _SEEN and (record.source, record.serial) not in self._hidden
        return isinstance(record, Process) or (not isinstance(record, Keyframe) and count_lines(record) > 0)

    def _shows_step(self, step: Step) -> bool:
        unseen = [message for message in step.sent if message.kind in self._kinds]
        for message in unseen:
            self._hidden.sent((step.node, message.serial))
        given = step.input
        received = isinstance(given, Received) and (given.source, given.serial) not in self._hidden
        return received or count_lines(step) > len(unseen)


# the window

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
        keyframe = self._keyframe_before(record)
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
        """Return whether the window holds as many records as it may."""
        return self.fed - self.start >= MOST_RECORDS

    def _keyframe_before(self, record: int) -> int:
        return self._store.keyframe_before(max(0, record)) or 0

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
        space.status_intervals = [each for each in space.status_intervals if _lasts_until(each, before)]
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


def _lasts_until(interval: StatusInterval, record: int) -> bool:
    return interval.until is None or interval.until.record >= record


def _is_seen_from(edge: MessageEdge, record: int) -> bool:
    last = edge.again[-1] if edge.again else edge.end
    return last is None or last.record >= record or edge.sent.record >= record
