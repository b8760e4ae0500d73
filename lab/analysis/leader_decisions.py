"""The points of a run at which it is open who will lead next, and what came of each.

It is *settled* who leads while every node that runs is Normal under a node that runs, is Normal and leads itself:
one for all, or one in each group. A *decision* lasts from the record after which that is no longer so to the one
after which it is so again; before all nodes have come up for the first time there is none.
"""

from collections.abc import Mapping

from msgspec import Struct

from lab.analysis.elections import may_change_leader
from lab.kernel import Received, Step
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Record
from lab.recording.snapshot import NodeState

__all__ = ["Decision", "DecisionLog", "settled_leaders"]


class Decision(Struct):
    """``began`` is the record with which it began, ``settled`` the one that ended it, None: it goes on.

    ``leaders`` lead then; ``before`` led until it began. ``told`` are the (leader, who was told, by which node, in
    which kind of message), as nodes learned of their coordinators.
    """

    began: int
    before: tuple[int, ...]
    settled: int | None = None
    leaders: tuple[int, ...] = ()
    told: list[tuple[int, int, int, str]] = []


def settled_leaders(nodes: Mapping[int, NodeState]) -> tuple[int, ...] | None:
    """Who leads, where that is settled."""
    running = [view for view in nodes.values() if view.process == "running"]
    leaders = {view.id for view in running if view.leads}
    followed = {view.coordinator if view.status == "Normal" else None for view in running}
    return tuple(sorted(leaders)) if leaders and followed <= leaders else None


class DecisionLog:
    """A fold: ``observe`` each record before it is applied to the cluster, which this does.

    ``decision`` is the last one that began, ``leaders`` who leads while that is settled.
    """

    def __init__(self, cluster: ClusterState) -> None:
        self.cluster = cluster
        self.decision: Decision | None = None
        self.leaders = settled_leaders(cluster.nodes)

    def observe(self, record: Record | None) -> None:
        """Take the next record of the run."""
        told = self._told(record)
        self.cluster.apply(record)
        if not may_change_leader(record):
            return
        nodes, was_settled = self.cluster.nodes, self.leaders
        if any(view.process == "absent" for view in nodes.values()):
            return
        self.leaders = settled_leaders(nodes)
        is_open = self.decision is not None and self.decision.settled is None
        if not is_open and self.leaders is None:
            self.decision = Decision(self.cluster.record, was_settled or (), told=[])
            is_open = True
        if self.decision is not None and is_open:
            self.decision.told += told
            if self.leaders is not None:
                self.decision.settled, self.decision.leaders = self.cluster.record, self.leaders

    def _told(self, record: Record | None) -> list[tuple[int, int, int, str]]:
        """Whom the record's node follows from now on, because it was told so."""
        if not isinstance(record, Step) or not isinstance(record.input, Received):
            return []
        leader = record.changed.get("coordinator")
        flight = self.cluster.in_flight.get((record.input.source, record.input.serial))
        if not isinstance(leader, int) or leader == record.node or flight is None:
            return []
        return [(leader, record.node, flight.source, flight.kind)]
