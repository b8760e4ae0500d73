"""Search for a record, forwards or backwards from another one, a piece at a time.

A match may depend on the state of the cluster, which is known only from a keyframe on. So a backward search goes
from keyframe to keyframe, and the last match between two of them is the nearest.
"""

from typing import Protocol

from lab.kernel import Received, Step
from lab.recording.cluster_state import ClusterState
from lab.recording.reader import RecordStore
from lab.recording.records import Header, Injected, Keyframe, Process, Record
from lab.recording.timeline import Timeline


class Matcher(Protocol):
    """The condition of a search. ``needs_all``: it must see a run from its first record on."""

    needs_all: bool

    def begin(self, cluster: ClusterState) -> None:
        """Start with the cluster before the next record; the matcher may change it."""

    def match(self, record: Record | None) -> bool:
        """Return whether the next record matches; None stands for one that could not be read."""


class NodeRecordMatcher:
    """Matches the steps and process events of a node, or all records if ``node`` is None."""

    needs_all = False

    def __init__(self, node: int | None) -> None:
        self._node = node

    def begin(self, cluster: ClusterState) -> None:
        """Ignore the cluster."""

    def match(self, record: Record | None) -> bool:
        if self._node is None:
            return not isinstance(record, Keyframe)
        return isinstance(record, Step | Process) and record.node == self._node


class MessageMatcher:
    """Matches records in which a node (None: any) sends or receives a message, except for the ``hidden`` kinds."""

    needs_all = False

    def __init__(self, node: int | None, hidden: frozenset[str]) -> None:
        self._node = node
        self._hidden = hidden
        self._cluster = ClusterState(())

    def begin(self, cluster: ClusterState) -> None:
        """Start with the cluster, which knows the messages in flight."""
        self._cluster = cluster

    def match(self, record: Record | None) -> bool:
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


class RecordSearch:
    """A search for the matching record nearest to ``number``. ``found`` is its number, once it is known.

    ``place`` is the number of the last record examined.
    """

    def __init__(self, store: RecordStore, number: int, forward: bool, matcher: Matcher) -> None:
        self.found: int | None = None
        self._store = store
        self._forward = forward
        self._matcher = matcher
        self._from = number
        self._upto = number
        self._last: int | None = None
        self._begin(number if forward else number - 1)

    def advance(self, most: int) -> bool:
        """Examine at most ``most`` records; return whether the search is over, at least for now."""
        for _ in range(most):
            if self.found is not None:
                return True
            if self._forward:
                if self.place + 1 >= len(self._store):
                    return True
                if self._match_next() and self.place > self._from:
                    self.found = self.place
            elif self.place + 1 < self._upto:
                if self._match_next():
                    self._last = self.place
            elif self._last is not None or self._began < 0:
                self.found = self._last
                return True
            else:
                self._upto = self._began + 1
                self._begin(self._began - 1)
        return False

    def _match_next(self) -> bool:
        self.place += 1
        record = self._store.record(self.place)
        return self._matcher.match(record) and not isinstance(record, Header)

    def _begin(self, number: int) -> None:
        """Restart from the last keyframe at or before that record."""
        keyframe = None if self._matcher.needs_all else self._store.keyframe_before(max(0, number))
        self.place = self._began = -1 if keyframe is None else keyframe
        self._matcher.begin(Timeline(self._store).at(self._began))
