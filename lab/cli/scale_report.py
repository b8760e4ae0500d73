"""What ``lab scale`` says: of one protocol all its cases, of several the best and the worst of each."""

import os
import shutil
import sys
import textwrap
from pathlib import Path

from lab.cli.plots import plot
from lab.cli.scale_cases import MOST_MESSAGES, Case, Row, Scale
from lab.cli.scale_charts import charts
from lab.cli.svg import picture
from lab.kernel import Timing
from lab.units import format_us
from lab.worlds.scaling import Measurement

__all__ = ["draw", "show"]

_WIDEST = 120
_NOTHING = "-"
_NOT_MEASURED = "not measured"
_REMARK = (
    "Heartbeats are not counted. Messages take no time here, and nodes none to handle them: the virtual time is "
    "what the timeouts add up to."
)
_LEFT_OUT = f" Not measured is what takes more than {MOST_MESSAGES:,} messages by its formula."

Table = list[list[str]]


def show(scales: list[Scale], timing: Timing) -> None:
    """Print tables, formulas and charts of those of which something was measured."""
    columns, lines = shutil.get_terminal_size((100, 30))
    width = min(columns, _WIDEST)
    one = len(scales) == 1
    name = f"{scales[0].name}: " if one else ""
    print(f"{name}what an election takes, from the crash of the coordinator to all Normal")
    for title, rows in _tables_of_one(scales[0], timing) if one else _tables_of_several(scales, timing):
        print("\n" + (textwrap.fill(title, width) + "\n" if title else "") + _aligned(rows))
    left_out = any(row.measured is None for scale in scales for case in scale.cases for row in case.rows)
    print("\n" + textwrap.fill(_REMARK + (_LEFT_OUT if left_out else ""), width) + "\n")
    for scale in scales:
        if not one:
            print(scale.name + ("" if scale.protocol.costs else ": there is no formula to compare it with"))
        _print_formulas(scale, width)
    colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    messages, virtual = charts(scales, timing)
    for chart, height in ((messages, min(lines - 2, 26)), (virtual, min(lines - 2, 16))):
        print("\n" + plot(chart, width, height, colours))


def draw(scales: list[Scale], timing: Timing, path: Path) -> None:
    """The charts, into an SVG file. OSError."""
    path.write_text(picture(list(zip(charts(scales, timing), (440, 280), strict=True))), "utf-8")


def _print_formulas(scale: Scale, width: int) -> None:
    for cost in scale.protocol.costs:
        source = cost.source.replace(" − ", _unbroken(" − "))  # no line ends within a difference
        said = f"{cost.formula:>17}  {cost.case}: {source}"
        print(textwrap.fill(said, width, subsequent_indent=" " * 19))


def _tables_of_one(scale: Scale, timing: Timing) -> list[tuple[str, Table]]:
    """Each case with its name, if there are several."""
    return [(case.name if len(scale.cases) > 1 else "", _table_of(case, timing)) for case in scale.cases]


def _table_of(case: Case, timing: Timing) -> Table:
    expected = [] if case.cost is None else [case.cost.formula, "ratio"]
    beside = [cost.formula for cost in case.beside]
    rows = [["nodes", "messages", *expected, *beside, "virtual", "in T", "real"]]
    for row in case.rows:
        counted, ratio, in_t = _told(case, row, timing)
        expected = [] if case.cost is None else [_count(case.messages(row.nodes)), ratio]
        beside = [_count(cost.messages(row.nodes)) for cost in case.beside]
        virtual = _NOTHING if row.measured is None else format_us(round(row.measured.virtual_us, -3))
        real = _NOTHING if row.measured is None else f"{row.seconds:.1f} s"
        rows.append([_count(row.nodes), counted, *expected, *beside, virtual, in_t, real])
    return rows


def _tables_of_several(scales: list[Scale], timing: Timing) -> list[tuple[str, Table]]:
    best, worst = [scale.best() for scale in scales], [scale.worst() for scale in scales]
    tables = {"the case of each": best} if best == worst else {"the best case": best, "the worst case": worst}
    return [
        (f"{title}: {_formulas(scales, cases)}", _side_by_side(scales, cases, timing))
        for title, cases in tables.items()
    ]


def _formulas(scales: list[Scale], cases: list[Case]) -> str:
    told = [
        _unbroken(f"{case.cost.formula} of {scale.name}")
        for scale, case in zip(scales, cases, strict=True)
        if case.cost is not None
    ]
    return ", ".join(told) or "no formula"


def _side_by_side(scales: list[Scale], cases: list[Case], timing: Timing) -> Table:
    """For each of them the messages, their ratio to those by its formula, and the time."""
    rows = [["nodes", *(title for scale in scales for title in (scale.name, "ratio", "in T"))]]
    for nodes in sorted({row.nodes for case in cases for row in case.rows}):
        cells = [_count(nodes)]
        for case in cases:
            found = next((row for row in case.rows if row.nodes == nodes), None)
            cells += [_NOTHING] * 3 if found is None else _told(case, found, timing)
        rows.append(cells)
    return rows


def _told(case: Case, row: Row, timing: Timing) -> list[str]:
    """The messages, their ratio to those by the formula, and the virtual time in T."""
    measured = row.measured
    if measured is None:
        return [_NOT_MEASURED, _NOTHING, _NOTHING]
    return [_count(measured.messages), _ratio(case, measured), f"{measured.virtual_us / timing.t_us:.2f}"]


def _ratio(case: Case, measured: Measurement) -> str:
    expected = case.messages(measured.nodes)
    return f"{measured.messages / expected:.3f}" if expected > 0 else _NOTHING


def _unbroken(text: str) -> str:
    return text.replace(" ", "\xa0")


def _count(number: float) -> str:
    return f"{number:,.0f}"


def _aligned(rows: Table) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
