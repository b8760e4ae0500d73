"""The report of ``lab scale``: all cases of one protocol, or the best and worst case of several."""

import os
import shutil
import sys
import textwrap
from pathlib import Path

from lab.cli.plots import plot
from lab.cli.scale_cases import MOST_MESSAGES, ScaleCase, ScaleRow, ScaleStudy
from lab.cli.scale_charts import charts
from lab.cli.svg import charts_as_svg
from lab.kernel import Timing
from lab.units import format_us
from lab.worlds.scalability import Measurement

__all__ = ["draw", "show"]

_WIDEST = 120
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
    columns, lines = shutil.get_terminal_size((100, 30))
    width = min(columns, _WIDEST)
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
    colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    messages, virtual = charts(scales, timing)
    for chart, height in ((messages, min(lines - 2, 26)), (virtual, min(lines - 2, 16))):
        print("\n" + plot(chart, width, height, colours))


def draw(scales: list[ScaleStudy], timing: Timing, path: Path) -> None:
    """Write the charts to an SVG file. Raises OSError."""
    path.write_text(charts_as_svg(list(zip(charts(scales, timing), (440, 280), strict=True))), "utf-8")


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
