"""The density of a run: the number of log lines, without heartbeats, in each interval of its time.

Each record is counted once, as it is read, so a query costs the same for a thousand records as for a million. For
the part that has not been read yet, the keyframes give a coarse count at once.
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
    """The density of the records passed to ``observe``, in order.

    Time is divided into buckets of equal width. A record later than the last bucket doubles the width of all.
    """

    def __init__(self, lines: RecordStore) -> None:
        self.observed = 0
        self._store = lines
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
        """Return the number of lines in each of ``count`` cells, from the start of the run to ``end_us``."""
        found = [0] * count
        for place in range(min(_BUCKETS, self._us // self._width_us + 1)):
            found[_cell(place * self._width_us, count, end_us)] += self._buckets[place]
        for at_us, lines in self._ahead():
            found[_cell(at_us, count, end_us)] += lines
        return found

    def _ahead(self) -> list[tuple[int, int]]:
        """Return (time, lines since the previous keyframe) for each keyframe that was not read yet."""
        lines = self._store
        log_lines = [one - other for one, other in zip(lines.lines_at, lines.heartbeats_at, strict=True)]
        since = zip(lines.keyframes, lines.times_us, [0, *log_lines], log_lines, strict=False)
        return [(at_us, max(0, now - before)) for number, at_us, before, now in since if number >= self.observed]

    def _widen(self) -> None:
        pairs = zip(self._buckets[::2], self._buckets[1::2], strict=True)
        self._buckets = array("Q", [one + other for one, other in pairs]) + array("Q", bytes(4 * _BUCKETS))
        self._width_us *= 2


def _cell(at_us: int, count: int, end_us: int) -> int:
    return max(0, min(count - 1, at_us * (count - 1) // max(1, end_us)))
