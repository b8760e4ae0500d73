"""Find the elections of a run: when a coordinator was lost, and when all nodes agreed on the next.

An *election* lasts from the time at which the running nodes no longer agree on a coordinator (A2) until they agree
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
    """A completed election. ``lost_at_us`` is None if no coordinator had been lost."""

    lost_at_us: int | None
    settled_at_us: int
    coordinator: int


def agreed_coordinator(nodes: Mapping[int, NodeState]) -> int | None:
    """Return the node under which every running node, itself included, is Normal, or None (A2).

    None also while a node has not been started yet: the first node to start must not count as all of them.
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
    """Return whether the record may change who leads, or who agrees on the leader."""
    if isinstance(record, Step):
        return "status" in record.changed or "coordinator" in record.changed
    return isinstance(record, Process)


class ElectionLog:
    """Collect the elections; call ``observe`` after each record is applied."""

    def __init__(self) -> None:
        self.settled: list[SettledElection] = []
        self.coordinator: int | None = None
        """The node on which all agree now."""
        self._last: int | None = None
        self._lost_at_us: int | None = None

    def observe(self, record: Record | None, cluster: ClusterState) -> None:
        """Note the cluster after ``record``."""
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
