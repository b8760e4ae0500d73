"""Compare elections by the work of the field above them: the readings lost, and those made twice."""

from collections.abc import Callable, Sequence
from typing import Any

from lab.protocols import Field
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header, Record, convert_or_none
from lab.tasks.comparison import ProtocolTotals
from lab.tasks.election_comparison import ElectionComparison
from lab.tasks.field_map import Work, WorkLog


class FieldComparison(ElectionComparison):
    """Elections below the field."""

    @classmethod
    def measure_task(cls, header: Header, records: Sequence[Record], cluster: ClusterState) -> Work:
        work = WorkLog()
        for record in records:
            work.observe(record)
        given = convert_or_none(header.protocol.parameters, Field.Parameters) or Field.Parameters()
        return work.work(cluster, given.regions)

    @classmethod
    def as_json(cls, totals: ProtocolTotals) -> dict[str, Any]:
        work = _work(totals)
        readings = {"made": work.made, "lost": work.lost, "twice": work.duplicated}
        return super().as_json(totals) | {"readings": readings}

    @classmethod
    def rows(cls, totals: Sequence[ProtocolTotals]) -> list[list[str]]:
        def row(title: str, count: Callable[[Work], int]) -> list[str]:
            return [title, *(f"{count(_work(each)):,}" for each in totals)]

        return [
            *super().rows(totals),
            row("readings of the field", lambda work: work.made),
            row("  lost", lambda work: work.lost),
            row("  made twice", lambda work: work.duplicated),
        ]


def _work(totals: ProtocolTotals) -> Work:
    return sum((each.task for each in totals.measured if each.task is not None), Work())
