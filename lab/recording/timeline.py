"""The state of the whole cluster after any record."""

from bisect import bisect_right

import msgspec
from msgspec import Struct

from lab.recording.cluster_state import ClusterState
from lab.recording.reader import UNREADABLE, RecordStore
from lab.recording.records import Keyframe

__all__ = ["Timeline"]


class _Time(Struct):
    at_us: int = 0


_time_in = msgspec.json.Decoder(_Time).decode
"""The time alone: a fraction of what it takes to decode a record."""


class Timeline:
    """Seeks in a recording. Moving forward a little continues from where it was; else from a keyframe.

    ``at(number)`` is the cluster after that record. The object returned is the timeline's own, and good
    until the next call.
    """

    def __init__(self, lines: RecordStore) -> None:
        self._lines = lines
        self._cluster = ClusterState.of(lines.header)

    def at(self, number: int) -> ClusterState:
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
        place = bisect_right(self._lines.times_us, at_us)
        start = self._lines.keyframes[place - 1] if place else 0
        last = start
        for number in range(start, len(self._lines)):
            if self._is_later(number, at_us):
                break
            last = number
        return last

    def _is_later(self, number: int, at_us: int) -> bool:
        """Whether the record can be read, and is later than that."""
        try:
            told_us = _time_in(self._lines.raw(number)).at_us
        except UNREADABLE:
            return False
        return told_us > at_us and self._lines.record(number) is not None

    def _from(self, keyframe: int | None) -> ClusterState:
        if keyframe is not None:
            record = self._lines.record(keyframe)
            if isinstance(record, Keyframe):
                cluster = ClusterState.resume(record.snapshot)
                cluster.record = keyframe
                return cluster
        return ClusterState.of(self._lines.header)
