"""The report of ``lab compare``: a table with a column for each protocol, and charts of distributions."""

import textwrap
from pathlib import Path
from typing import Any

from lab.cli.chart import print_charts
from lab.cli.chart_svg import charts_as_svg
from lab.cli.terminal import report_width
from lab.tasks.comparison import NOTHING, Comparison, ProtocolTotals
from lab.tasks.extension import comparison_of
from lab.units import format_count


def as_json(totals: ProtocolTotals) -> dict[str, Any]:
    """Return the numbers of the table."""
    violations = {
        name: {"failures": failures, "excused": excused}
        for name, (failures, excused) in sorted(totals.violations.items())
    }
    measured = comparison_of(totals.protocol).as_json(totals)
    return {"protocol": totals.name, "runs": totals.runs, **measured, "violations": violations}


def report(totals: list[ProtocolTotals], comparison: type[Comparison], t_us: int) -> None:
    """Print the table and the charts."""
    rows = [["", *(each.name for each in totals)], *comparison.rows(totals), *_verdict_rows(totals)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for title, *cells in rows:
        shown = [title.ljust(widths[0]), *(cell.rjust(room) for cell, room in zip(cells, widths[1:], strict=True))]
        print("  ".join(shown).rstrip())
    for remark in comparison.remarks(totals):
        print("\n" + "\n".join(textwrap.fill(line, report_width()) for line in remark.split("\n")))
    print_charts(comparison.charts(totals, t_us))


def draw(totals: list[ProtocolTotals], comparison: type[Comparison], t_us: int, path: Path) -> None:
    """Write the charts to an SVG file. Raises OSError."""
    path.write_text(charts_as_svg(comparison.charts(totals, t_us)), "utf-8")


def _verdict_rows(totals: list[ProtocolTotals]) -> list[list[str]]:
    names = sorted({name for each in totals for name in each.violations})
    return [
        [f"violations of {name}", *(_violations(each.violations.get(name)) for each in totals)] for name in names
    ]


def _violations(found: tuple[int, int] | None) -> str:
    """Format the counts of failures and excused violations; a dash if the assertion is not promised."""
    if found is None:
        return NOTHING
    failures, excused = found
    parts = [format_count(failures, "failure")] if failures else []
    parts += [f"{excused:,} excused"] if excused else []
    return ", ".join(parts) or "0"
