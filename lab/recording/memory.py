"""Keep records in memory, for runs that are not written to a file."""

from collections.abc import Callable
from typing import Protocol

from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header, Record

__all__ = ["MemoryLog", "RecordLog"]


class RecordLog(Protocol):
    """The log to which a world writes its records; ``cluster`` is the state after the last one."""

    header: Header

    @property
    def cluster(self) -> ClusterState:
        """The cluster after the last record."""

    def append(self, record: Record) -> None:
        """Add a record."""


class MemoryLog:
    """A list of records. The cluster is computed on access; ``watch`` is called with every record."""

    def __init__(self, header: Header, watch: Callable[[Record], object] | None = None) -> None:
        self.header = header
        self.records: list[Record] = [header]
        self._watch = watch
        self._cluster = ClusterState.of(header)
        self._folded = 0

    @property
    def cluster(self) -> ClusterState:
        """The cluster after the last record; always the same object."""
        records = self.records
        while self._folded < len(records):
            self._cluster.apply(records[self._folded])
            self._folded += 1
        return self._cluster

    def append(self, record: Record) -> None:
        """Add a record."""
        self.records.append(record)
        if self._watch is not None:
            self._watch(record)
