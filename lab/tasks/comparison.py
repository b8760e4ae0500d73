"""The interface by which ``lab compare`` measures and compares protocols of one kind.

``Comparison`` is that interface; ``ElectionComparison`` serves every election, and tasks bring their own. The
functions below format the cells of a table, and draw distributions.
"""

from collections.abc import Sequence
from math import ceil
from typing import Any, ClassVar

from msgspec import Struct

from lab.charts import Axis, Chart, Series, whole_numbers
from lab.kernel import Timing
from lab.protocols import Algorithm
from lab.recording.records import Header, Record
from lab.table_files import Column, Row
from lab.units import format_us

NOTHING = "-"


class ProtocolTotals:
    """All runs of one protocol; ``measured`` is what its comparison measured of each run, ``seeds`` are theirs.

    ``violations``: for each promised assertion, the number of failures and of excused violations.
    """

    def __init__(self, name: str, protocol: type[Algorithm]) -> None:
        self.name = name
        self.protocol = protocol
        self.seeds: list[int] = []
        self.measured: list[Any] = []
        self.violations: dict[str, tuple[int, int]] = {}

    @property
    def runs(self) -> int:
        return len(self.measured)

    def add(self, measured: Any, violations: dict[str, tuple[int, int]], seed: int = 1) -> None:
        """Add the run with this seed."""
        self.seeds.append(seed)
        self.measured.append(measured)
        for assertion, (failures, excused) in violations.items():
            before = self.violations.get(assertion, (0, 0))
            self.violations[assertion] = (before[0] + failures, before[1] + excused)


class Comparison:
    """The measurement of a run, and the presentation of several protocols side by side.

    Only protocols of one ``kind`` are compared; ``example`` names two of this kind. ``load_text`` and
    ``script_text`` describe ``load`` and ``default_script``.
    """

    Figures: ClassVar[type[Struct]]
    """The type of the figures in the document, a struct whose tag ``of`` tells it from those of other kinds."""
    Measured: ClassVar[Any] = Any
    """The type of what ``measure`` returns, with which a recorded comparison is read."""
    columns: ClassVar[tuple[Column, ...]] = ()
    """The columns of the table of runs that ``lab compare --table`` writes."""
    kind: ClassVar[str]
    example: ClassVar[str]
    load_text: ClassVar[str] = ""
    script_text: ClassVar[str] = ""

    @classmethod
    def measure(cls, header: Header, records: Sequence[Record], end_us: int) -> Any:
        """Return what is measured of a run that ended then; it is sent between processes."""
        raise NotImplementedError

    @classmethod
    def figures(cls, totals: ProtocolTotals) -> Struct:
        """Return the figures of a protocol in all its runs, an instance of ``Figures``."""
        raise NotImplementedError

    @classmethod
    def row(cls, measured: Any) -> Row:
        """Return the cells of these columns for what was measured of one run."""
        return ()

    @classmethod
    def rows(cls, totals: Sequence[ProtocolTotals]) -> list[list[str]]:
        """Return the rows of the table: a title, and a cell for each protocol."""
        raise NotImplementedError

    @classmethod
    def remarks(cls, totals: Sequence[ProtocolTotals]) -> list[str]:
        """Return the paragraphs below the table, each of one or several lines to wrap."""
        return []

    @classmethod
    def charts(cls, totals: Sequence[ProtocolTotals], t_us: int) -> list[Chart]:
        """Return the charts; ``t_us`` is the bound T."""
        return []

    @classmethod
    def load(cls, nodes: Sequence[int], timing: Timing, end_us: int) -> tuple[str, ...]:
        """Return the lines of a script that give the nodes work until then, besides random faults."""
        return ()

    @classmethod
    def default_script(cls, nodes: Sequence[int], timing: Timing) -> tuple[str, ...] | None:
        """Return the lines of a script that replaces random faults unless they are asked for; None: they stay."""
        return None


def quantile(values: Sequence[int], share: float) -> int | None:
    """Return the least value that at least this share of all values do not exceed; None if there are none."""
    ordered = sorted(values)
    return ordered[max(0, ceil(share * len(ordered)) - 1)] if ordered else None


def mean(values: Sequence[int]) -> float | None:
    """Return the mean; None if there are no values."""
    return sum(values) / len(values) if values else None


def mean_cell(value: float | None) -> str:
    """Format a mean; a dash for None."""
    return NOTHING if value is None else f"{value:,.2f}"


def count_cell(value: int | None) -> str:
    """Format a number; a dash for None."""
    return NOTHING if value is None else f"{value:,}"


def time_cell(us: int | None) -> str:
    """Format a duration, rounded to milliseconds; a dash for None."""
    return NOTHING if us is None else format_us(round(us, -3))


class TimeDistribution(Struct, frozen=True):
    """How many durations there were, their median and their 95th percentile, in microseconds."""

    count: int
    us_median: int | None
    us_95th: int | None


class MessageDistribution(Struct, frozen=True):
    """How many numbers of messages there were, their median and their 95th percentile."""

    count: int
    messages_median: int | None
    messages_95th: int | None


def distribution_of(values: Sequence[int]) -> tuple[int, int | None, int | None]:
    """Return the count, the median and the 95th percentile, the values of a distribution."""
    return len(values), quantile(values, 0.5), quantile(values, 0.95)


def distribution_chart(
    title: str, name: str, values: Sequence[tuple[str, Sequence[int]]], unit: int
) -> Chart | None:
    """Return a cumulative curve for each protocol that has values; None if all values are 0."""
    if not any(any(each) for _, each in values):
        return None
    most = max(max(each, default=0) for _, each in values) / unit
    series = tuple(
        Series(label, cumulative_steps(each, unit), curve=True, hue=hue)
        for hue, (label, each) in enumerate(values)
        if each
    )
    return Chart(
        title,
        Axis(name, whole_numbers(most), logarithmic=False),
        Axis("%", (0, 20, 40, 60, 80, 100), logarithmic=False),
        series,
    )


def cumulative_steps(values: Sequence[int], unit: int) -> tuple[tuple[float, float], ...]:
    """Return the points of the cumulative distribution, in percent: a step function."""
    points: list[tuple[float, float]] = []
    for percent in range(101):
        value = quantile(values, percent / 100)
        assert value is not None
        if points and value / unit > points[-1][0]:
            points.append((value / unit, points[-1][1]))
        points.append((value / unit, percent))
    return tuple(points)
