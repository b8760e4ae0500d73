"""Compare elections by the work of the field above them: the readings lost, and those made twice."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from msgspec import Struct

from lab.protocols import Field
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header, Record, convert_or_none
from lab.table_files import Column, Row
from lab.tasks.comparison import ProtocolTotals
from lab.tasks.election_comparison import ElectionComparison, ElectionFigures, ElectionMeasurement
from lab.tasks.field_map import ReadingCounts, WorkLog


class Readings(Struct, frozen=True):
    """The readings of the field: how many were made, lost, and made twice."""

    made: int
    lost: int
    twice: int


class FieldFigures(ElectionFigures, frozen=True, tag="elections below the field"):
    """The same of elections below the field, and its readings."""

    readings: Readings


class FieldMeasurement(ElectionMeasurement, frozen=True):
    """One run below the field; ``task`` is the work done."""

    task: ReadingCounts | None = None


class FieldComparison(ElectionComparison):
    """Elections below the field."""

    Figures: ClassVar[type[ElectionFigures]] = FieldFigures
    Measured: ClassVar[type[ElectionMeasurement]] = FieldMeasurement
    columns: ClassVar[tuple[Column, ...]] = (
        *ElectionComparison.columns,
        Column("readings_made", "integer", "readings of regions"),
        Column("readings_lost", "integer", "readings that no running node knows at the end"),
        Column("readings_twice", "integer", "readings of a region that had already been read"),
    )

    @classmethod
    def measure_task(cls, header: Header, records: Sequence[Record], cluster: ClusterState) -> ReadingCounts:
        work = WorkLog()
        for record in records:
            work.observe(record)
        given = convert_or_none(header.protocol.parameters, Field.Parameters) or Field.Parameters()
        return work.work(cluster, given.regions)

    @classmethod
    def figures(cls, totals: ProtocolTotals) -> FieldFigures:
        work, election = _work(totals), super().figures(totals)
        readings = Readings(work.made, work.lost, work.duplicated)
        return FieldFigures(
            election.elections, election.without_coordinator, election.several_coordinators, readings
        )

    @classmethod
    def row(cls, measured: ElectionMeasurement) -> Row:
        work = measured.task if isinstance(measured.task, ReadingCounts) else ReadingCounts()
        return *super().row(measured), work.made, work.lost, work.duplicated

    @classmethod
    def rows(cls, totals: Sequence[ProtocolTotals]) -> list[list[str]]:
        def row(title: str, count: Callable[[ReadingCounts], int]) -> list[str]:
            return [title, *(f"{count(_work(each)):,}" for each in totals)]

        return [
            *super().rows(totals),
            row("readings of the field", lambda work: work.made),
            row("  lost", lambda work: work.lost),
            row("  made twice", lambda work: work.duplicated),
        ]


def _work(totals: ProtocolTotals) -> ReadingCounts:
    return sum((each.task for each in totals.measured if each.task is not None), ReadingCounts())
