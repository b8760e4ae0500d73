"""The elections of a run: when a coordinator was lost, and when all agreed on the next.

An *election* is what happens from when the nodes that run no longer agree on a coordinator (A2) to when they do
again.
"""

from collections.abc import Mapping

from msgspec import Struct

from lab.kernel import Step
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Process, Record
from lab.recording.snapshot import NodeState

__all__ = ["ElectionLog", "SettledElection", "agreed_coordinator", "may_change_leader"]


class SettledElection(Struct, frozen=True):
    """An election that came to its end. ``lost_at_us`` is None where no coordinator had been lost."""

    lost_at_us: int | None
    settled_at_us: int
    coordinator: int


def agreed_coordinator(nodes: Mapping[int, NodeState]) -> int | None:
    """The node that every running node, itself included, is Normal under; None where there is none (A2).

    A node that has yet to come up for the first time has yet to agree: the first of all is not alone.
    """
    agreed = None
    for view in nodes.values():
        if view.process == "absent":
            return None
        if view.process == "running":
            followed = _followed(view)
            if followed is None or agreed not in (None, followed):
                return None
            agreed = followed
    leader = None if agreed is None else nodes.get(agreed)
    return agreed if leader is not None and leader.process == "running" else None


def _followed(view: NodeState) -> int | None:
    return view.coordinator if view.status == "Normal" else None


def may_change_leader(record: Record | None) -> bool:
    """Whether who leads, or who agrees to that, may be another after it than before."""
    if isinstance(record, Step):
        return "status" in record.changed or "coordinator" in record.changed
    return isinstance(record, Process)


class ElectionLog:
    """Collects the elections while records go by; show it the cluster after each record."""

    def __init__(self) -> None:
        self.settled: list[SettledElection] = []
        self.coordinator: int | None = None
        """Whom all agree on now."""
        self._last: int | None = None
        self._lost_at_us: int | None = None

    def observe(self, record: Record | None, cluster: ClusterState) -> None:
        """Look at the cluster after ``record``."""
        if not may_change_leader(record):
            return
        agreed = agreed_coordinator(cluster.nodes)
        if agreed is None:
            lost = self._last is not None and cluster.nodes[self._last].process != "running"
            if lost and self._lost_at_us is None:
                self._lost_at_us = cluster.at_us
        elif self.coordinator is None:
            self.settled.append(SettledElection(self._lost_at_us, cluster.at_us, agreed))
            self._last, self._lost_at_us = agreed, None
        self.coordinator = agreed
