"""The measurements of ``lab scale``, and its report.

It has tables and charts of all cases of one protocol, or of the best and worst cases of several.
"""

import textwrap
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from lab.cli.chart import Axis, Chart, Series, decades, print_charts, whole_numbers
from lab.cli.chart_svg import charts_as_svg
from lab.cli.terminal import report_width
from lab.kernel import Timing
from lab.protocols import Cost, Election
from lab.protocols.cost import Detection
from lab.units import format_us
from lab.worlds.campaign.scalability import Measurement

MOST_MESSAGES = 10_000
"""Cases above this limit, by their formula, are skipped; except for the first, which a plain run shows."""

_MANY = 1_000
"""A cluster size at which the order of the cases is clear."""


class ScaleRow(Struct, frozen=True):
    """A measurement, and how long it took. ``measured`` is None if it was skipped."""

    nodes: int
    measured: Measurement | None
    seconds: float


class ScaleCase(Struct, frozen=True):
    """A case with its formula, and formulas that are only shown next to it."""

    cost: Cost | None
    other_costs: list[Cost]
    rows: list[ScaleRow]

    @property
    def name(self) -> str:
        return "" if self.cost is None else self.cost.case

    @property
    def detection(self) -> Detection:
        """The way in which the nodes detect the crash; by default, each by itself."""
        return "by each" if self.cost is None or self.cost.detection is None else self.cost.detection

    @property
    def measured(self) -> list[Measurement]:
        """The measurements that were not skipped."""
        return [row.measured for row in self.rows if row.measured is not None]

    def messages(self, nodes: float) -> float:
        """Return the number of messages by the formula; 0 without a formula."""
        return 0 if self.cost is None else self.cost.messages(nodes)


class ScaleStudy(Struct, frozen=True):
    """The measurements of one protocol."""

    protocol: type[Election]
    cases: list[ScaleCase]

    @classmethod
    def of(cls, protocol: type[Election]) -> "ScaleStudy":
        """Return an empty study: one case per measurable formula, or a single plain one."""
        cases: list[ScaleCase] = []
        for cost in protocol.costs:
            if cost.detection is not None:
                cases.append(ScaleCase(cost, [], []))
            elif cases:
                cases[-1].other_costs.append(cost)
        return cls(protocol, cases or [ScaleCase(None, list(protocol.costs), [])])

    @property
    def name(self) -> str:
        return self.protocol.name

    @property
    def measured(self) -> list[Measurement]:
        """The measurements of all cases."""
        return [each for case in self.cases for each in case.measured]

    def best(self) -> ScaleCase:
        """Return the case with the fewest messages."""
        return min(self.cases, key=lambda case: case.messages(_MANY))

    def worst(self) -> ScaleCase:
        """Return the case with the most messages."""
        return max(self.cases, key=lambda case: case.messages(_MANY))


_NOTHING = "-"
_NOT_MEASURED = "not measured"
_REMARK = (
    "Heartbeats are not counted. Messages and their handling take no time here: the virtual time is the sum of "
    "the timeouts."
)
_LEFT_OUT = f" Cases with more than {MOST_MESSAGES:,} messages by their formula are not measured."

Table = list[list[str]]


def show(scales: list[ScaleStudy], timing: Timing) -> None:
    """Print tables, formulas and charts of the measured protocols."""
    width = report_width()
    one = len(scales) == 1
    name = f"{scales[0].name}: " if one else ""
    print(f"{name}cost of an election, from the crash of the coordinator until all nodes are Normal")
    for title, rows in _tables_of_one(scales[0], timing) if one else _tables_of_several(scales, timing):
        print("\n" + (textwrap.fill(title, width) + "\n" if title else "") + _aligned(rows))
    left_out = any(row.measured is None for scale in scales for case in scale.cases for row in case.rows)
    print("\n" + textwrap.fill(_REMARK + (_LEFT_OUT if left_out else ""), width) + "\n")
    for scale in scales:
        if not one:
            print(scale.name + ("" if scale.protocol.costs else ": no formula to compare with"))
        _print_formulas(scale, width)
    print_charts(_charts(scales, timing))


def draw(scales: list[ScaleStudy], timing: Timing, path: Path) -> None:
    """Write the charts to an SVG file. Raises OSError."""
    path.write_text(charts_as_svg(_charts(scales, timing)), "utf-8")


def _print_formulas(scale: ScaleStudy, width: int) -> None:
    for cost in scale.protocol.costs:
        source = cost.source.replace(" − ", _unbroken(" − "))  # keep differences on one line
        text = f"{cost.formula:>17}  {cost.case}: {source}"
        print(textwrap.fill(text, width, subsequent_indent=" " * 19))


def _tables_of_one(scale: ScaleStudy, timing: Timing) -> list[tuple[str, Table]]:
    """Return a table for each case; with a title if there are several."""
    return [(case.name if len(scale.cases) > 1 else "", _table_of(case, timing)) for case in scale.cases]


def _table_of(case: ScaleCase, timing: Timing) -> Table:
    expected = [] if case.cost is None else [case.cost.formula, "ratio"]
    other_costs = [cost.formula for cost in case.other_costs]
    rows = [["nodes", "messages", *expected, *other_costs, "virtual", "in T", "real"]]
    for row in case.rows:
        counted, ratio, in_t = _result_cells(case, row, timing)
        expected = [] if case.cost is None else [_count(case.messages(row.nodes)), ratio]
        other_costs = [_count(cost.messages(row.nodes)) for cost in case.other_costs]
        virtual = _NOTHING if row.measured is None else format_us(round(row.measured.virtual_us, -3))
        real = _NOTHING if row.measured is None else f"{row.seconds:.1f} s"
        rows.append([_count(row.nodes), counted, *expected, *other_costs, virtual, in_t, real])
    return rows


def _tables_of_several(scales: list[ScaleStudy], timing: Timing) -> list[tuple[str, Table]]:
    best, worst = [scale.best() for scale in scales], [scale.worst() for scale in scales]
    tables = {"the only case": best} if best == worst else {"best case": best, "worst case": worst}
    return [
        (f"{title}: {_formulas(scales, cases)}", _side_by_side(scales, cases, timing))
        for title, cases in tables.items()
    ]


def _formulas(scales: list[ScaleStudy], cases: list[ScaleCase]) -> str:
    parts = [
        _unbroken(f"{case.cost.formula} of {scale.name}")
        for scale, case in zip(scales, cases, strict=True)
        if case.cost is not None
    ]
    return ", ".join(parts) or "no formula"


def _side_by_side(scales: list[ScaleStudy], cases: list[ScaleCase], timing: Timing) -> Table:
    """Return a table with messages, ratio to the formula, and time of each protocol."""
    rows = [["nodes", *(title for scale in scales for title in (scale.name, "ratio", "in T"))]]
    for nodes in sorted({row.nodes for case in cases for row in case.rows}):
        cells = [_count(nodes)]
        for case in cases:
            found = next((row for row in case.rows if row.nodes == nodes), None)
            cells += [_NOTHING] * 3 if found is None else _result_cells(case, found, timing)
        rows.append(cells)
    return rows


def _result_cells(case: ScaleCase, row: ScaleRow, timing: Timing) -> list[str]:
    """Return the messages, their ratio to the formula, and the virtual time in T."""
    measured = row.measured
    if measured is None:
        return [_NOT_MEASURED, _NOTHING, _NOTHING]
    return [_count(measured.messages), _ratio(case, measured), f"{measured.virtual_us / timing.t_us:.2f}"]


def _ratio(case: ScaleCase, measured: Measurement) -> str:
    expected = case.messages(measured.nodes)
    return f"{measured.messages / expected:.3f}" if expected > 0 else _NOTHING


def _unbroken(text: str) -> str:
    return text.replace(" ", "\xa0")


def _count(number: float) -> str:
    return f"{number:,.0f}"


def _aligned(rows: Table) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


_CURVE_POINTS = 200


def _charts(scales: list[ScaleStudy], timing: Timing) -> tuple[Chart, Chart]:
    """Return the charts of the messages in all cases, and of the virtual time in the first case.

    In the other cases the time is an artefact of how the detection is controlled.
    """
    sizes = tuple(sorted({each.nodes for scale in scales for each in scale.measured}))
    name = f"{scales[0].name}: " if len(scales) == 1 else ""
    counted = [
        each
        for each in (_series_of_one(scales[0], sizes) if name else _series_of_several(scales, sizes))
        if each.points
    ]
    in_t = [_times(scale, timing, place) for place, scale in enumerate(scales)]
    nodes = Axis("nodes", sizes, logarithmic=True)
    counts = [y for series in counted for _, y in series.points] or [1]
    longest = max((y for series in in_t for _, y in series.points), default=1)
    return (
        Chart(
            f"{name}messages of an election",
            nodes,
            Axis("messages", decades(max(1, min(counts)), max(counts)), logarithmic=True),
            tuple(counted),
            lines=26,
            height=440,
        ),
        Chart(
            f"{name}virtual time of an election, in T = {format_us(timing.t_us)}",
            nodes,
            Axis("virtual time, T", whole_numbers(longest), logarithmic=False),
            tuple(in_t),
            lines=16,
            height=280,
        ),
    )


def _series_of_one(scale: ScaleStudy, sizes: tuple[int, ...]) -> list[Series]:
    """Return the series of one protocol: a colour for each case, points and curve, and for each extra formula."""
    alone = [cost for cost in scale.protocol.costs if cost not in [case.cost for case in scale.cases]]
    counted, curves = [], []
    for hue, case in enumerate(scale.cases):
        counted.append(_points(f"measured: {case.name}" if case.name else "measured", case.measured, hue))
        if case.cost is not None:
            curves.append(_curve(case.cost, case.name, sizes, hue))
    curves += [_curve(cost, cost.case, sizes, hue) for hue, cost in enumerate(alone, len(scale.cases))]
    return [*counted, *curves]


def _series_of_several(scales: list[ScaleStudy], sizes: tuple[int, ...]) -> list[Series]:
    """Return the series of several protocols: a colour for each protocol, points and curves."""
    counted = [_points(scale.name, scale.measured, hue) for hue, scale in enumerate(scales)]
    curves = [
        _curve(case.cost, scale.name, sizes, hue)
        for hue, scale in enumerate(scales)
        for case in scale.cases
        if case.cost is not None
    ]
    return [*counted, *curves]


def _points(label: str, measured: list[Measurement], hue: int) -> Series:
    return Series(label, _drawable((each.nodes, each.messages) for each in measured), hue=hue)


def _curve(cost: Cost, label: str, sizes: tuple[int, ...], hue: int) -> Series:
    first, last = sizes[0], sizes[-1]
    between = [first * (last / first) ** (step / _CURVE_POINTS) for step in range(_CURVE_POINTS + 1)]
    points = _drawable((n, cost.messages(n)) for n in between)
    return Series(f"{cost.formula}, {label}", points, curve=True, hue=hue)


def _drawable(points: Iterable[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    # the axis is logarithmic, and two nodes may need no messages
    return tuple((nodes, messages) for nodes, messages in points if messages > 0)


def _times(scale: ScaleStudy, timing: Timing, hue: int) -> Series:
    measured = scale.cases[0].measured
    return Series(scale.name, tuple((each.nodes, each.virtual_us / timing.t_us) for each in measured), hue=hue)
