"""Measure the work of a run whose task is the field of sensors (rules F1-F3)."""

from typing import Any

from msgspec import Struct

from lab.kernel import Step
from lab.protocols.survey import Survey, join
from lab.recording.cluster_state import ClusterState
from lab.recording.conversion import convert_or_none
from lab.recording.records import Record

__all__ = ["Work", "WorkLog"]


class Work(Struct, frozen=True):
    """The number of readings ``made``.

    Of these, ``lost`` are known to no node that runs at the end, and ``duplicated`` repeat a result. All others
    are results.
    """

    made: int = 0
    lost: int = 0
    duplicated: int = 0

    def __add__(self, other: "Work") -> "Work":
        return Work(self.made + other.made, self.lost + other.lost, self.duplicated + other.duplicated)


class WorkLog:
    """Collect the readings from all records; only a node itself knows how many it made, in each incarnation.

    A value in a state that is called ``survey`` but is none is ignored.
    """

    def __init__(self) -> None:
        self._made: dict[tuple[int, int], int] = {}

    def observe(self, record: Record | None) -> None:
        """Add the next record."""
        if isinstance(record, Step) and "survey" in record.changed:
            for each in _survey_in(record.changed).made:
                if each.node == record.node:
                    self._made[each.node, each.since_us] = each.readings

    def work(self, cluster: ClusterState, regions: int) -> Work:
        """Return the work done, given the cluster at the end and the number of regions of the field."""
        known = join(_survey_in(view.state) for view in cluster.nodes.values() if view.process == "running")
        made = sum(self._made.values())
        return Work(made, made - known.readings(), known.duplicates(regions))


def _survey_in(state: dict[str, Any]) -> Survey:
    """Return the survey in a state; an empty one if there is none."""
    return convert_or_none(state.get("survey"), Survey) or Survey()
