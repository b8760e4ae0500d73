"""Compare elections: their messages, the times without a coordinator, and those with several."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from msgspec import Struct

from lab.analysis.elections import Leadership
from lab.analysis.history import History
from lab.charts import Chart
from lab.properties.assertions import A4
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header, Record
from lab.table_files import Column, Row
from lab.tasks.comparison import (
    Comparison,
    MessageDistribution,
    ProtocolTotals,
    TimeDistribution,
    count_cell,
    distribution_chart,
    distribution_of,
    quantile,
    time_cell,
)
from lab.units import format_us


class ElectionMeasurement(Struct, frozen=True):
    """One run. ``elections``: the messages of each; ``several_us``: the time with several leaders.

    ``task``: what the task above the election adds.
    """

    elections: tuple[int, ...]
    outages_us: tuple[int, ...]
    several_us: int
    task: Any = None


class SeveralCoordinators(Struct, frozen=True):
    """In how many runs several nodes led at once, for how long in all, and in the worst run."""

    runs: int
    total_us: int
    worst_run_us: int


class ElectionFigures(Struct, frozen=True, tag_field="of", tag="elections"):
    """Elections in all runs: messages of one, times without a coordinator, times with several."""

    elections: MessageDistribution
    without_coordinator: TimeDistribution
    several_coordinators: SeveralCoordinators


class ElectionComparison(Comparison):
    """Elections; for those below a task, a subclass measures the task too, and shows it."""

    Figures: ClassVar[type[ElectionFigures]] = ElectionFigures
    Measured: ClassVar[type[ElectionMeasurement]] = ElectionMeasurement
    columns: ClassVar[tuple[Column, ...]] = (
        Column("elections", "integer", "number of completed elections in which messages were sent"),
        Column("messages", "integer", "messages of all these elections, without heartbeats"),
        Column("outages", "integer", "number of times without a coordinator"),
        Column("outages_us", "integer", "their duration, summed"),
        Column("several_us", "integer", "time with several coordinators"),
    )
    kind: ClassVar[str] = "an election"
    example: ClassVar[str] = "bully ring"

    @classmethod
    def measure(cls, header: Header, records: Sequence[Record], end_us: int) -> ElectionMeasurement:
        history = History(header)
        leadership = history.add(Leadership(history.cluster, header.protocol.heartbeats))
        history.read(records)
        return cls.Measured(
            tuple(leadership.elections),
            tuple(outage.us(end_us) for outage in leadership.outages),
            sum(span.us(end_us) for span in leadership.multiple_leaders),
            cls.measure_task(header, records, history.cluster),
        )

    @classmethod
    def measure_task(cls, header: Header, records: Sequence[Record], cluster: ClusterState) -> Any:
        """Return what is measured of the task; ``cluster`` is the state at the end."""
        return None

    @classmethod
    def figures(cls, totals: ProtocolTotals) -> ElectionFigures:
        several_us = _several(totals)
        return ElectionFigures(
            MessageDistribution(*distribution_of(_messages(totals))),
            TimeDistribution(*distribution_of(_outages(totals))),
            SeveralCoordinators(sum(us > 0 for us in several_us), sum(several_us), max(several_us, default=0)),
        )

    @classmethod
    def row(cls, measured: ElectionMeasurement) -> Row:
        outages_us, elections = measured.outages_us, measured.elections
        return len(elections), sum(elections), len(outages_us), sum(outages_us), measured.several_us

    @classmethod
    def rows(cls, totals: Sequence[ProtocolTotals]) -> list[list[str]]:
        def row(title: str, cell: Callable[[ProtocolTotals], str]) -> list[str]:
            return [title, *map(cell, totals)]

        star = " *" if _group_protocols(totals) else ""
        return [
            row("elections", lambda each: f"{len(_messages(each)):,}"),
            row("  messages of one, median", lambda each: count_cell(quantile(_messages(each), 0.5))),
            row("                   95th %", lambda each: count_cell(quantile(_messages(each), 0.95))),
            row("times without a coordinator", lambda each: f"{len(_outages(each)):,}"),
            row("  length, median", lambda each: time_cell(quantile(_outages(each), 0.5))),
            row("          95th %", lambda each: time_cell(quantile(_outages(each), 0.95))),
            row(
                f"runs with several coordinators{star}",
                lambda each: f"{sum(us > 0 for us in _several(each)):,}",
            ),
            row("  time with several, total", lambda each: time_cell(sum(_several(each)))),
            row("                     in the worst run", lambda each: time_cell(max(_several(each)))),
        ]

    @classmethod
    def remarks(cls, totals: Sequence[ProtocolTotals]) -> list[str]:
        remark = (
            "Messages are counted without heartbeats. A violation is a failure if all relevant assumptions are "
            "intact, and excused otherwise. lab compare --help defines elections, times without a coordinator, "
            "and lost readings."
        )
        grouped = _group_protocols(totals)
        if grouped:
            remark += f"\n* Each group of {' and '.join(grouped)} has its own coordinator, as specified."
        return [remark]

    @classmethod
    def charts(cls, totals: Sequence[ProtocolTotals], t_us: int) -> list[Chart]:
        in_t = f"in T = {format_us(t_us)}"

        def times(title: str, values: Callable[[ProtocolTotals], list[int]]) -> Chart | None:
            return distribution_chart(title, in_t, [(each.name, values(each)) for each in totals], t_us)

        messages = [(each.name, _messages(each)) for each in totals]
        found = [
            distribution_chart("% of elections that took at most", "messages", messages, 1),
            times("% of times without a coordinator that lasted at most", _outages),
            times("% of runs with several coordinators for at most", _several),
        ]
        return [chart for chart in found if chart is not None]


def _messages(totals: ProtocolTotals) -> list[int]:
    return [messages for each in totals.measured for messages in each.elections]


def _outages(totals: ProtocolTotals) -> list[int]:
    return [us for each in totals.measured for us in each.outages_us]


def _several(totals: ProtocolTotals) -> list[int]:
    return [each.several_us for each in totals.measured]


def _group_protocols(totals: Sequence[ProtocolTotals]) -> list[str]:
    """Return the protocols that elect a coordinator per group: those that promise A4."""
    return [each.name for each in totals if A4.id in each.violations]
