"""Looking for a record, forward from another one or back, a piece at a time: in a million it may be far away.

Where what is sought depends on the state of the cluster, that is known from a keyframe on. So the way back goes
from keyframe to keyframe, and the last find between two of them is the nearest.
"""

from typing import Protocol

from lab.kernel import Received, Step
from lab.recording.cluster_state import ClusterState
from lab.recording.reader import RecordStore
from lab.recording.records import Header, Injected, Keyframe, Process, Record
from lab.recording.timeline import Timeline

__all__ = ["Hunt", "MessageOf", "Quarry", "RecordOf"]


class Quarry(Protocol):
    """What is looked for. ``needs_all``: it has to see a run from its first record on."""

    needs_all: bool

    def begin(self, cluster: ClusterState) -> None:
        """The cluster before the records that come next; the quarry may change it."""

    def take(self, record: Record | None) -> bool:
        """The next record; None stands for one that could not be read. Whether it is what is sought."""


class RecordOf:
    """A record of what a node did, or of what its process did; of any node where ``node`` is None."""

    needs_all = False

    def __init__(self, node: int | None) -> None:
        self._node = node

    def begin(self, cluster: ClusterState) -> None:
        """It does not matter how the cluster is."""

    def take(self, record: Record | None) -> bool:
        """Whether it is one."""
        if self._node is None:
            return not isinstance(record, Keyframe)
        return isinstance(record, Step | Process) and record.node == self._node


class MessageOf:
    """A record in which a node sends a message or gets one, or any node. The ``hidden`` kinds do not count."""

    needs_all = False

    def __init__(self, node: int | None, hidden: frozenset[str]) -> None:
        self._node = node
        self._hidden = hidden
        self._cluster = ClusterState(())

    def begin(self, cluster: ClusterState) -> None:
        """It knows which messages are on their way."""
        self._cluster = cluster

    def take(self, record: Record | None) -> bool:
        """Whether it is one."""
        found = self._is_sought(record)
        self._cluster.apply(record)
        return found

    def _is_sought(self, record: Record | None) -> bool:
        if isinstance(record, Injected):
            return self._node is None
        if not isinstance(record, Step) or self._node not in (None, record.node):
            return False
        if any(message.kind not in self._hidden for message in record.sent):
            return True
        given = record.input
        if not isinstance(given, Received):
            return False
        flight = self._cluster.in_flight.get((given.source, given.serial))
        return flight is None or flight.kind not in self._hidden


class Hunt:
    """Looks for the record nearest to that with this number. ``found`` is its number, once that is known.

    ``place`` is the number of the record that it has come to.
    """

    def __init__(self, lines: RecordStore, number: int, forward: bool, quarry: Quarry) -> None:
        self.found: int | None = None
        self._lines = lines
        self._forward = forward
        self._quarry = quarry
        self._from = number
        self._upto = number
        self._last: int | None = None
        self._begin(number if forward else number - 1)

    def go_on(self, most: int) -> bool:
        """Look at so many records; whether there is no more to look at, at present."""
        for _ in range(most):
            if self.found is not None:
                return True
            if self._forward:
                if self.place + 1 >= len(self._lines):
                    return True
                if self._take() and self.place > self._from:
                    self.found = self.place
            elif self.place + 1 < self._upto:
                if self._take():
                    self._last = self.place
            elif self._last is not None or self._began < 0:
                self.found = self._last
                return True
            else:
                self._upto = self._began + 1
                self._begin(self._began - 1)
        return False

    def _take(self) -> bool:
        self.place += 1
        record = self._lines.record(self.place)
        return self._quarry.take(record) and not isinstance(record, Header)

    def _begin(self, number: int) -> None:
        """Begin with the state as of the last keyframe by that record."""
        keyframe = None if self._quarry.needs_all else self._lines.keyframe_before(max(0, number))
        self.place = self._began = -1 if keyframe is None else keyframe
        self._quarry.begin(Timeline(self._lines).at(self._began))
