"""The state of the whole cluster after any record."""

from lab.journal.cluster import Cluster
from lab.journal.reader import Lines
from lab.journal.records import Keyframe

__all__ = ["Timeline"]


class Timeline:
    """Seeks in a recording. Moving forward a little continues from where it was; else from a keyframe.

    ``at(number)`` is the cluster after that record. The object returned is the timeline's own, and good
    until the next call.
    """

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._cluster = Cluster.of(lines.header)

    def at(self, number: int) -> Cluster:
        """The cluster after the record with that number; a number past the end means the last one."""
        number = max(-1, min(number, len(self._lines) - 1))
        keyframe = self._lines.keyframe_before(number)
        if number < self._cluster.record or (keyframe is not None and keyframe > self._cluster.record):
            self._cluster = self._from(keyframe)
        for record in self._lines.records(self._cluster.record + 1, number + 1):
            self._cluster.apply(record)
        return self._cluster

    def record_at(self, at_us: int) -> int:
        """The number of the last record that is not later than that instant, by the running clock."""
        keyframes = self._lines.keyframes
        low, high = 0, len(keyframes)
        while low < high:
            middle = (low + high) // 2
            record = self._lines.record(keyframes[middle])
            early = isinstance(record, Keyframe) and record.at_us <= at_us
            low, high = (middle + 1, high) if early else (low, middle)
        start = keyframes[low - 1] if low else 0
        last = start
        for number in range(start, len(self._lines)):
            record = self._lines.record(number)
            if record is not None and getattr(record, "at_us", 0) > at_us:
                break
            last = number
        return last

    def _from(self, keyframe: int | None) -> Cluster:
        if keyframe is not None:
            record = self._lines.record(keyframe)
            if isinstance(record, Keyframe):
                cluster = Cluster.resume(record.snapshot)
                cluster.record = keyframe
                return cluster
        return Cluster.of(self._lines.header)
