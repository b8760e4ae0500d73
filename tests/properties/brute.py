"""Enumerate every consistent cut of a small run, and what is violated in each: slow, and obviously correct.

Nothing of the judge is used: the local states are those of ``ClusterState``, happens-before is a list of pairs of
records, and a cut is a set of records that contains, with each of them, all that happened before it.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations

from msgspec import Struct

from lab.kernel import Fired, Received, Step
from lab.properties.declarations import Agreement
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header, Process, Record
from lab.recording.snapshot import NodeState

__all__ = ["Cut", "Run"]

Cut = tuple[int, ...]
"""How many events of each node have happened, in the order of the nodes."""


def disagree(agreement: Agreement, one: NodeState, other: NodeState) -> bool:
    """Return whether two nodes in these local states violate the agreement if the states are concurrent."""
    this, that = agreement.value_of(one), agreement.value_of(other)
    return this is not None and that is not None and this[0] == that[0] and this[1] != that[1]


class _Event(Struct):
    record: int
    view: NodeState


class Run:
    """The events of each node, and for each event its immediate predecessors."""

    def __init__(self, records: list[Record]) -> None:
        header = records[0]
        assert isinstance(header, Header)
        self.nodes = header.nodes
        self.events: dict[int, list[_Event]] = {node: [] for node in self.nodes}
        self.before: dict[int, set[int]] = defaultdict(set)
        cluster = ClusterState.of(header)
        sent: dict[tuple[int, int], int] = {}
        crashes: list[int] = []
        for number, record in enumerate(records):
            cluster.apply(record)
            if not isinstance(record, Step | Process):
                continue
            events = self.events[record.node]
            if events:
                self.before[number].add(events[-1].record)
            events.append(_Event(number, cluster.nodes[record.node]))
            if isinstance(record, Process):
                if record.event in ("killed", "failed"):
                    crashes.append(number)
                continue
            if isinstance(record.input, Received):
                self.before[number].add(sent[record.input.source, record.input.serial])
            elif isinstance(record.input, Fired):
                self.before[number].update(crashes)
            sent.update(((message.source, message.serial), number) for message in record.sent)

    def records_of(self, cut: Cut) -> set[int]:
        """Return the records in the cut."""
        return {
            event.record
            for node, count in zip(self.nodes, cut, strict=True)
            for event in self.events[node][:count]
        }

    def is_consistent(self, cut: Cut) -> bool:
        """Return whether it contains all predecessors of its records."""
        there = self.records_of(cut)
        return all(self.before[number] <= there for number in there)

    def cuts(self) -> Iterator[Cut]:
        """Yield all consistent cuts, each from another by adding one event."""
        first = (0,) * len(self.nodes)
        found, open_ = {first}, [first]
        while open_:
            cut = open_.pop()
            yield cut
            there = self.records_of(cut)
            for place, node in enumerate(self.nodes):
                if cut[place] < len(self.events[node]):
                    next_ = (*cut[:place], cut[place] + 1, *cut[place + 1 :])
                    if next_ not in found and self.before[self.events[node][cut[place]].record] <= there:
                        found.add(next_)
                        open_.append(next_)

    def state(self, node: int, count: int) -> NodeState | None:
        """Return the node's state after this number of its events; None while it is not up."""
        view = self.events[node][count - 1].view if count else None
        return view if view is not None and view.process in ("running", "paused") else None

    def offending(self, agreement: Agreement) -> set[tuple[int, int]]:
        """Return the pairs of nodes that violate the agreement in some consistent cut."""
        found = set()
        for cut in self.cuts():
            states = {n: self.state(n, count) for n, count in zip(self.nodes, cut, strict=True)}
            for one, other in combinations(self.nodes, 2):
                this, that = states[one], states[other]
                if this is not None and that is not None and disagree(agreement, this, that):
                    found.add((one, other))
        return found

    def cut_at(self, last: dict[int, int]) -> Cut:
        """Return the cut in which each node has reached this record."""
        return tuple(sum(event.record <= last[node] for event in self.events[node]) for node in self.nodes)
