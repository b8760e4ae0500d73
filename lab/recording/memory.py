"""Records that are kept in memory, for runs that nobody may ever look at."""

from collections.abc import Callable
from typing import Protocol

from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header, Record

__all__ = ["Log", "MemoryLog"]


class Log(Protocol):
    """Where a world writes its records; ``cluster`` is the state after the last one."""

    header: Header

    @property
    def cluster(self) -> ClusterState:
        """The cluster as it is now."""

    def append(self, record: Record) -> None:
        """Write a record down."""


class MemoryLog:
    """A list of records. The cluster is folded only when somebody asks; ``watch`` is shown every record."""

    def __init__(self, header: Header, watch: Callable[[Record], object] | None = None) -> None:
        self.header = header
        self.records: list[Record] = [header]
        self._watch = watch
        self._cluster = ClusterState.of(header)
        self._folded = 0

    @property
    def cluster(self) -> ClusterState:
        """The cluster after the last record; the same object always."""
        records = self.records
        while self._folded < len(records):
            self._cluster.apply(records[self._folded])
            self._folded += 1
        return self._cluster

    def append(self, record: Record) -> None:
        """Keep a record."""
        self.records.append(record)
        if self._watch is not None:
            self._watch(record)
