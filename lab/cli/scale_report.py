"""What ``lab scale`` says: of one protocol all its formulas, of several how they compare; tables and charts."""

import os
import shutil
import sys
import textwrap
from pathlib import Path

from msgspec import Struct

from lab.cli.chart import Axis, Chart, Series, decades, whole_numbers
from lab.cli.plots import plot
from lab.cli.svg import picture
from lab.kernel import Timing
from lab.protocols import Cost, Election
from lab.units import format_us
from lab.worlds.scaling import Measurement

__all__ = ["Row", "Scale", "draw", "show"]

_WIDEST = 120
_CURVE_POINTS = 200
_NOTHING = "-"
_REMARK = (
    "Heartbeats are not counted. Messages take no time here, and nodes none to handle them: the virtual time is "
    "what the timeouts add up to."
)


class Row(Struct, frozen=True):
    """One measurement, and how long it took to make."""

    measured: Measurement
    seconds: float


class Scale(Struct, frozen=True):
    """What was measured of one protocol, in growing clusters."""

    protocol: type[Election]
    rows: list[Row]

    @property
    def name(self) -> str:
        """The protocol's."""
        return self.protocol.name

    @property
    def cost(self) -> Cost | None:
        """The formula of what a plain run shows."""
        return next(iter(self.protocol.costs), None)


def show(scales: list[Scale], timing: Timing) -> None:
    """Print tables, formulas and charts of those of which something was measured."""
    columns, lines = shutil.get_terminal_size((100, 30))
    width = min(columns, _WIDEST)
    if len(scales) == 1:
        (scale,) = scales
        print(f"{scale.name}: what an election takes, from the crash of the coordinator to all Normal\n")
        print(_table(_rows_of_one(scale, timing)))
    else:
        print("what an election takes, from the crash of the coordinator to all Normal\n")
        print(_table(_rows_of_several(scales, timing)))
    print("\n" + textwrap.fill(_REMARK, width) + "\n")
    for scale in scales:
        if len(scales) > 1:
            print(scale.name + ("" if scale.protocol.costs else ": there is no formula to compare it with"))
        _print_formulas(scale, width)
    colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    messages, virtual = _charts(scales, timing)
    for chart, height in ((messages, min(lines - 2, 26)), (virtual, min(lines - 2, 16))):
        print("\n" + plot(chart, width, height, colours))


def draw(scales: list[Scale], timing: Timing, path: Path) -> None:
    """The charts, into an SVG file. OSError."""
    path.write_text(picture(list(zip(_charts(scales, timing), (440, 280), strict=True))), "utf-8")


def _print_formulas(scale: Scale, width: int) -> None:
    for cost in scale.protocol.costs:
        source = cost.source.replace(" − ", "\xa0−\xa0")  # no line ends within a difference
        said = f"{cost.formula:>14}  {cost.case}: {source}"
        print(textwrap.fill(said, width, subsequent_indent=" " * 16))


def _rows_of_one(scale: Scale, timing: Timing) -> list[list[str]]:
    costs = scale.protocol.costs
    titles = ["nodes", "messages"]
    for cost in costs:
        titles += [cost.formula, "ratio"] if cost is costs[0] else [cost.formula]
    rows = [[*titles, "virtual", "in T", "real"]]
    for row in scale.rows:
        measured = row.measured
        cells = [f"{measured.nodes:,}", f"{measured.messages:,}"]
        for cost in costs:
            cells.append(f"{cost.messages(measured.nodes):,}")
            if cost is costs[0]:
                cells.append(_ratio(measured, cost))
        in_t = measured.virtual_us / timing.t_us
        rows.append([*cells, format_us(round(measured.virtual_us, -3)), f"{in_t:.2f}", f"{row.seconds:.1f} s"])
    return rows


def _rows_of_several(scales: list[Scale], timing: Timing) -> list[list[str]]:
    """For each of them the messages, those by its formula, and the time."""
    titles = ["nodes"]
    for scale in scales:
        titles += [scale.name, "ratio" if scale.cost is None else f"to {scale.cost.formula}", "in T"]
    rows = [titles]
    for nodes in sorted({row.measured.nodes for scale in scales for row in scale.rows}):
        cells = [f"{nodes:,}"]
        for scale in scales:
            measured = next((row.measured for row in scale.rows if row.measured.nodes == nodes), None)
            if measured is None:
                cells += [_NOTHING] * 3
            else:
                ratio = _NOTHING if scale.cost is None else _ratio(measured, scale.cost)
                cells += [f"{measured.messages:,}", ratio, f"{measured.virtual_us / timing.t_us:.2f}"]
        rows.append(cells)
    return rows


def _ratio(measured: Measurement, cost: Cost) -> str:
    return f"{measured.messages / cost.messages(measured.nodes):.3f}"


def _table(rows: list[list[str]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def _charts(scales: list[Scale], timing: Timing) -> tuple[Chart, Chart]:
    """Messages with the formulas' curves, and the virtual time, over the number of nodes.

    Of one protocol all formulas are drawn, of several the first of each, in its protocol's colour.
    """
    one = len(scales) == 1
    sizes = tuple(sorted({row.measured.nodes for scale in scales for row in scale.rows}))
    first, last = sizes[0], sizes[-1]
    between = [first * (last / first) ** (step / _CURVE_POINTS) for step in range(_CURVE_POINTS + 1)]
    counted, in_t, curves = [], [], []
    for place, scale in enumerate(scales):
        elections = [row.measured for row in scale.rows]
        label = "measured" if one else scale.name
        counted.append(Series(label, tuple((each.nodes, each.messages) for each in elections), hue=place))
        in_t.append(
            Series(label, tuple((each.nodes, each.virtual_us / timing.t_us) for each in elections), hue=place)
        )
        for number, cost in enumerate(scale.protocol.costs if one else scale.protocol.costs[:1]):
            said = f"{cost.formula}, {cost.case}" if one else f"{cost.formula}, {scale.name}"
            points = tuple((n, cost.messages(n)) for n in between)
            curves.append(Series(said, points, curve=True, hue=number + 1 if one else place))
    counts = [y for series in (*curves, *counted) for _, y in series.points]
    nodes = Axis("nodes", sizes, logarithmic=True)
    name = f"{scales[0].name}: " if one else ""
    longest = max(y for series in in_t for _, y in series.points)
    return (
        Chart(
            f"{name}messages of an election",
            nodes,
            Axis("messages", decades(max(1, min(counts)), max(counts)), logarithmic=True),
            (*counted, *curves),
        ),
        Chart(
            f"{name}virtual time of an election, in T = {format_us(timing.t_us)}",
            nodes,
            Axis("virtual time, T", whole_numbers(longest), logarithmic=False),
            tuple(in_t),
        ),
    )
