"""Find the points of a run at which the next leader is undecided, and the outcome of each.

The leadership is *settled* while every running node is Normal under a running node that is Normal and leads
itself: one for all, or one in each group. A *decision* lasts from the record that ends this to the record that
restores it. There is no decision before all nodes have started for the first time.
"""

from collections.abc import Mapping

from msgspec import Struct

from lab.analysis.elections import may_change_leader
from lab.kernel import Received, Step
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Record
from lab.recording.snapshot import NodeState

__all__ = ["DecisionLog", "LeaderDecision", "settled_leaders"]


class LeaderDecision(Struct):
    """A decision: the record with which it ``began``, and the one that ``settled`` it, or None.

    The nodes ``before`` led until it began, and the ``leaders`` lead after it. ``notifications`` are the messages
    by which nodes learned of their coordinators, as (leader, node, sender, kind).
    """

    began: int
    before: tuple[int, ...]
    settled: int | None = None
    leaders: tuple[int, ...] = ()
    notifications: list[tuple[int, int, int, str]] = []


def settled_leaders(nodes: Mapping[int, NodeState]) -> tuple[int, ...] | None:
    """Return the leaders if the leadership is settled, else None."""
    running = [view for view in nodes.values() if view.process == "running"]
    leaders = {view.id for view in running if view.leads}
    followed = {view.coordinator if view.status == "Normal" else None for view in running}
    return tuple(sorted(leaders)) if leaders and followed <= leaders else None


class DecisionLog:
    """Find the decisions, and keep the last that began, as ``decision``.

    ``observe`` itself applies each record to the cluster. ``leaders`` is None while the leadership is not settled.
    """

    def __init__(self, cluster: ClusterState) -> None:
        self.cluster = cluster
        self.decision: LeaderDecision | None = None
        self.leaders = settled_leaders(cluster.nodes)

    def observe(self, record: Record | None) -> None:
        """Apply the next record of the run."""
        notifications = self._notifications(record)
        self.cluster.apply(record)
        if not may_change_leader(record):
            return
        nodes, was_settled = self.cluster.nodes, self.leaders
        if any(view.process == "absent" for view in nodes.values()):
            return
        self.leaders = settled_leaders(nodes)
        is_open = self.decision is not None and self.decision.settled is None
        if not is_open and self.leaders is None:
            self.decision = LeaderDecision(self.cluster.record, was_settled or (), notifications=[])
            is_open = True
        if self.decision is not None and is_open:
            self.decision.notifications += notifications
            if self.leaders is not None:
                self.decision.settled, self.decision.leaders = self.cluster.record, self.leaders

    def _notifications(self, record: Record | None) -> list[tuple[int, int, int, str]]:
        """Return the notification by which the record's node learns of its coordinator: a list of one or none."""
        if not isinstance(record, Step) or not isinstance(record.input, Received):
            return []
        leader = record.changed.get("coordinator")
        flight = self.cluster.in_flight.get((record.input.source, record.input.serial))
        if not isinstance(leader, int) or leader == record.node or flight is None:
            return []
        return [(leader, record.node, flight.source, flight.kind)]
