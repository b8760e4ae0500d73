"""The state of the whole cluster after any record."""

from bisect import bisect_right

import msgspec
from msgspec import Struct

from lab.recording.cluster_state import ClusterState
from lab.recording.reader import UNREADABLE, RecordStore


class _Time(Struct):
    at_us: int = 0


_time_in = msgspec.json.Decoder(_Time).decode
"""Decodes the time alone, in a fraction of the time that the whole record takes."""


class Timeline:
    """Seek in a recording: a short way forward from the last position, otherwise from a keyframe."""

    def __init__(self, store: RecordStore) -> None:
        self._store = store
        self._cluster = ClusterState.of(store.header)

    def at(self, number: int) -> ClusterState:
        """Return the cluster after the record with that number, or after the last one.

        The object belongs to the timeline and is valid until the next call.
        """
        number = max(-1, min(number, len(self._store) - 1))
        keyframe = self._store.keyframe_before(number)
        if number < self._cluster.record or (keyframe is not None and keyframe > self._cluster.record):
            self._cluster = self._from(keyframe)
        self._cluster.apply_all(self._store.records(self._cluster.record + 1, number + 1))
        return self._cluster

    def record_at(self, at_us: int) -> int:
        """Return the number of the last record before the first one that is later than ``at_us``."""
        place = bisect_right(self._store.times_us, at_us)
        start = self._store.keyframes[place - 1] if place else 0
        last = start
        for number in range(start, len(self._store)):
            if self._is_later(number, at_us):
                break
            last = number
        return last

    def _is_later(self, number: int, at_us: int) -> bool:
        try:
            record_us = _time_in(self._store.raw(number)).at_us
        except UNREADABLE:
            return False
        return record_us > at_us and self._store.record(number) is not None

    def _from(self, keyframe: int | None) -> ClusterState:
        if keyframe is not None:
            snapshot = self._store.snapshot(keyframe)
            if snapshot is not None:
                cluster = ClusterState.resume(snapshot, self._store.header)
                cluster.record = keyframe
                return cluster
        return ClusterState.of(self._store.header)
