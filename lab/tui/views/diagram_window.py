"""The part of a run that the diagram is drawn from, as a fold from a keyframe on, fed a little at a time.

A frame feeds only the records that it has time for. The fold restarts when the diagram moves away from it, and
forgets what is far behind; so it holds a bounded number of records, however long the run is.
"""

from bisect import bisect_right

from lab.analysis.causality import CausalEvent, causal_event
from lab.analysis.delivery import delivery_outcome
from lab.analysis.spacetime import MessageEdge, SpaceTime, StatusInterval
from lab.export.diagram_layout import RowOrder
from lab.recording.reader import RecordStore
from lab.recording.records import Keyframe, Record

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
