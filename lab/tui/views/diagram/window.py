"""The part of a run that the diagram is drawn from: one fold from a keyframe on, fed forward a little at a time.

A frame feeds no more records than it has time for. The fold begins anew only where the diagram is sought away from
it, and forgets what is far behind; so it holds a bounded number of records, however long the run is.
"""

from bisect import bisect_right

from lab.analysis.causal_cone import Happened, happened_in
from lab.analysis.delivery import fate_in
from lab.analysis.spacetime import MessageEdge, SpaceTime, StatusInterval
from lab.recording.reader import RecordStore
from lab.recording.records import Keyframe, Record
from lab.tui.views.diagram.order import Order

__all__ = ["MOST_RECORDS", "Window"]

MOST_RECORDS = 20_000
"""So many records the window holds at most."""
_KEPT = 1_000
"""So many records are kept before those that are asked for, for who goes back a little."""
_SLACK = 2_000


class Window:
    """``start`` is the first record that it knows, ``fed`` the one that comes next.

    ``space`` is what they come to, ``happened`` what they are to causality, ``order`` which rows they have: always
    the same, as long as ``begun`` is.
    """

    def __init__(self, lines: RecordStore) -> None:
        self._lines = lines
        self.begun = 0
        self.start, self.fed = 0, 0
        self.space = SpaceTime(lines.header)
        self.happened: list[Happened] = []
        self.order = Order((), 0)
        self._hidden = frozenset(lines.header.protocol.heartbeats)
        self._far: dict[tuple[int, int], MessageEdge] = {}
        """Messages that were sent long before what it knows, and are under way as far as it knows."""
        self._begin_at(0)

    @property
    def version(self) -> tuple[int, int, int]:
        """Another one whenever it knows more, or less."""
        return self.begun, self.start, self.fed

    @property
    def is_at_end(self) -> bool:
        """Whether it knows all that there is so far."""
        return self.fed >= len(self._lines)

    def begin(self, record: int, hidden: frozenset[str]) -> None:
        """Know what there is from that record on; forget what is long before. Messages ``hidden`` have no rows."""
        keyframe = self._keyframe_before(record)
        if record < self.start or keyframe > self.fed or hidden != self._hidden:
            self._hidden = hidden
            self._begin_at(keyframe)
        elif record - self.start > _KEPT + _SLACK:
            self._forget(record - _KEPT)

    def feed(self, upto: int, most: int) -> int:
        """Learn the records before ``upto``, but no more than that many; how many were learnt."""
        first = self.fed
        self.fed = max(first, min(upto, first + most, len(self._lines), self.start + MOST_RECORDS))
        for number in range(first, self.fed):
            record = self._lines.record(number)
            self.space.observe(record)
            self.order.observe(number, record)
            happened = happened_in(number, record)
            if happened is not None:
                self.happened.append(happened)
            if record is not None:
                self._come_near(record)
        return self.fed - first

    def record_before(self, at_us: int) -> int:
        """A record that is not later than that instant, and not much earlier."""
        place = bisect_right(self._lines.times_us, at_us)
        return self._lines.keyframes[place - 1] if place else 0

    def is_full(self) -> bool:
        """Whether it holds as many records as it may."""
        return self.fed - self.start >= MOST_RECORDS

    def _keyframe_before(self, record: int) -> int:
        return self._lines.keyframe_before(max(0, record)) or 0

    def _begin_at(self, keyframe: int) -> None:
        header = self._lines.header
        record = self._lines.record(keyframe) if keyframe else None
        snapshot = record.snapshot if isinstance(record, Keyframe) else None
        self.begun += 1
        self.start = keyframe if snapshot is not None else 0
        self.fed = self.start + 1
        self.space = SpaceTime(header, snapshot)
        self.happened = []
        self.order = Order(self._hidden, header.timing.tm_us, () if snapshot is None else snapshot.in_flight)
        self._far = {}
        self._go_far(self.start)

    def _forget(self, before: int) -> None:
        space = self.space
        self.start = before
        space.stretches = [each for each in space.stretches if _lasts(each, before)]
        space.arrows = [each for each in space.arrows if _is_seen_from(each, before)]
        self._go_far(before)
        space.strikes = [each for each in space.strikes if each.until is None or each.until.record >= before]
        space.events = [each for each in space.events if each.record >= before]
        self.happened = [each for each in self.happened if each.record >= before]
        self.order.forget(before)

    def _go_far(self, before: int) -> None:
        """Put aside what has been under way since long before: there may be thousands of it."""
        far = [each for each in self.space.arrows if each.end is None and each.sent.record < before]
        self._far.update((each.line.message, each) for each in far)
        self.space.arrows = [each for each in self.space.arrows if each.line.message not in self._far]

    def _come_near(self, record: Record) -> None:
        """Take up again what the record says the end of."""
        ended = fate_in(record) if self._far else None
        arrow = None if ended is None else self._far.pop(ended[0], None)
        if arrow is not None:
            self.space.arrows.append(arrow)


def _lasts(stretch: StatusInterval, record: int) -> bool:
    return stretch.until is None or stretch.until.record >= record


def _is_seen_from(arrow: MessageEdge, record: int) -> bool:
    last = arrow.again[-1] if arrow.again else arrow.end
    return last is None or last.record >= record or arrow.sent.record >= record
