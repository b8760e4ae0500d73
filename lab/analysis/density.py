"""How much happened where in a run: so many lines of the log, without heartbeats, in each stretch of its time.

Each record is counted as it goes by, so it costs the same to know of a thousand records as of a million. Where
nobody has gone yet, the keyframes of a recording know: roughly, but at once.
"""

from array import array

from lab.kernel import Step
from lab.recording.log_lines import count_lines
from lab.recording.reader import RecordStore
from lab.recording.records import Header, Record

__all__ = ["Density"]

_BUCKETS = 2048
_FIRST_WIDTH_US = 1000


class Density:
    """Show it the records of ``lines`` in their order.

    Time is in buckets of one width. What is later than the last of them makes all of them twice as wide.
    """

    def __init__(self, lines: RecordStore) -> None:
        self.observed = 0
        self._lines = lines
        self._heartbeats = frozenset(lines.header.protocol.heartbeats)
        self._width_us = _FIRST_WIDTH_US
        self._buckets = array("Q", bytes(8 * _BUCKETS))
        self._us = 0

    def observe(self, record: Record | None) -> None:
        """Count the next record."""
        self.observed += 1
        if record is None or isinstance(record, Header):
            return
        self._us = max(self._us, record.at_us)
        while self._us >= self._width_us * _BUCKETS:
            self._widen()
        count = count_lines(record)
        if count and isinstance(record, Step):
            count -= sum(message.kind in self._heartbeats for message in record.sent)
        self._buckets[self._us // self._width_us] += count

    def cells(self, count: int, end_us: int) -> list[int]:
        """How much happened at each of so many places, of which the first is the start and the last ``end_us``."""
        found = [0] * count
        for place in range(min(_BUCKETS, self._us // self._width_us + 1)):
            found[_cell(place * self._width_us, count, end_us)] += self._buckets[place]
        for at_us, lines in self._ahead():
            found[_cell(at_us, count, end_us)] += lines
        return found

    def _ahead(self) -> list[tuple[int, int]]:
        """(when, how much): by each keyframe that was not come to yet, since the one before it."""
        lines = self._lines
        said = [one - other for one, other in zip(lines.lines_at, lines.heartbeats_at, strict=True)]
        since = zip(lines.keyframes, lines.times_us, [0, *said], said, strict=False)
        return [(at_us, max(0, now - before)) for number, at_us, before, now in since if number >= self.observed]

    def _widen(self) -> None:
        pairs = zip(self._buckets[::2], self._buckets[1::2], strict=True)
        self._buckets = array("Q", [one + other for one, other in pairs]) + array("Q", bytes(4 * _BUCKETS))
        self._width_us *= 2


def _cell(at_us: int, count: int, end_us: int) -> int:
    return max(0, min(count - 1, at_us * (count - 1) // max(1, end_us)))
