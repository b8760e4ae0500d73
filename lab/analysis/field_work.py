"""What became of the work of a run, where its task is the field of sensors (rules F1-F3)."""

from typing import Any

from msgspec import Struct

from lab.kernel import Step
from lab.protocols.survey import Survey, join
from lab.recording.cluster_state import ClusterState
from lab.recording.conversion import converted
from lab.recording.records import Record

__all__ = ["Work", "WorkLog"]


class Work(Struct, frozen=True):
    """Readings: how many were ``made``; of those, ``lost`` are known to no node that runs in the end, and
    ``duplicated`` gave a result that there was already. All others are results.
    """

    made: int = 0
    lost: int = 0
    duplicated: int = 0

    def __add__(self, other: "Work") -> "Work":
        return Work(self.made + other.made, self.lost + other.lost, self.duplicated + other.duplicated)


class WorkLog:
    """A fold: show it every record; a node alone knows for certain how many readings it made, in each life.

    Whatever else has the name of a survey in a node's state is passed over.
    """

    def __init__(self) -> None:
        self._made: dict[tuple[int, int], int] = {}

    def observe(self, record: Record | None) -> None:
        """Take the next record."""
        if isinstance(record, Step) and "survey" in record.changed:
            for each in _survey_in(record.changed).made:
                if each.node == record.node:
                    self._made[each.node, each.since_us] = each.readings

    def work(self, cluster: ClusterState, regions: int) -> Work:
        """What has become of it in the end, which is the cluster's; of a field with so many regions."""
        known = join(_survey_in(view.state) for view in cluster.nodes.values() if view.process == "running")
        made = sum(self._made.values())
        return Work(made, made - known.readings(), known.duplicates(regions))


def _survey_in(state: dict[str, Any]) -> Survey:
    """What is known there; nothing, where there is no survey."""
    return converted(state.get("survey"), Survey) or Survey()
