"""The report of ``lab compare``: a table with a column for each protocol, and charts of distributions."""

import os
import shutil
import sys
import textwrap
from pathlib import Path
from typing import Any

from lab.analysis.field_work import Work
from lab.cli.chart import Chart
from lab.cli.commit_report import COMMITS_REMARK, commit_charts, commit_rows, commits_as_json, longest_blocked
from lab.cli.distributions import count_cell, distribution_chart, distribution_json, time_cell
from lab.cli.plots import plot
from lab.cli.svg import charts_as_svg
from lab.properties import A4
from lab.units import format_count, format_us
from lab.worlds.campaign.comparison import ProtocolTotals, quantile

__all__ = ["as_json", "draw", "report"]

_WIDEST = 120
_NOTHING = "-"
_REMARK = (
    "Messages are counted without heartbeats. A violation is a failure if all relevant assumptions are intact, "
    "and excused otherwise. lab compare --help defines elections, times without a coordinator, and lost readings."
)


def as_json(sums: ProtocolTotals) -> dict[str, Any]:
    """Return the numbers of the table."""
    measured = commits_as_json(sums) if sums.commits else _elections_as_json(sums)
    violations = {
        name: {"failures": failures, "excused": excused}
        for name, (failures, excused) in sorted(sums.violations.items())
    }
    return {"protocol": sums.name, "runs": sums.runs, **measured, "violations": violations}


def _elections_as_json(sums: ProtocolTotals) -> dict[str, Any]:
    return {
        "elections": distribution_json(sums.elections, "messages"),
        "without_coordinator": distribution_json(sums.outages_us, "us"),
        "several_coordinators": {
            "runs": sum(us > 0 for us in sums.several_us),
            "total_us": sum(sums.several_us),
            "worst_run_us": max(sums.several_us, default=0),
        },
        "readings": None
        if sums.work is None
        else {"made": sums.work.made, "lost": sums.work.lost, "twice": sums.work.duplicated},
    }


def report(sums: list[ProtocolTotals], t_us: int) -> None:
    """Print the table and the charts."""
    columns, lines = shutil.get_terminal_size((100, 30))
    width = min(columns, _WIDEST)
    commits = bool(sums[0].commits)
    rows = [
        ["", *(each.name for each in sums)],
        *(commit_rows(sums) if commits else _rows(sums)),
        *_verdict_rows(sums),
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for title, *cells in rows:
        shown = [title.ljust(widths[0]), *(cell.rjust(room) for cell, room in zip(cells, widths[1:], strict=True))]
        print("  ".join(shown).rstrip())
    if blocked := longest_blocked(sums):
        print("\n" + textwrap.fill(blocked, width))
    print("\n" + textwrap.fill(COMMITS_REMARK if commits else _REMARK, width))
    if grouped := _group_protocols(sums):
        print(
            textwrap.fill(f"* Each group of {' and '.join(grouped)} has its own coordinator, as specified.", width)
        )
    colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    for chart in _charts(sums, t_us):
        print("\n" + plot(chart, width, min(lines - 2, 20), colours))


def draw(sums: list[ProtocolTotals], t_us: int, path: Path) -> None:
    """Write the charts to an SVG file. Raises OSError."""
    path.write_text(charts_as_svg([(chart, 360) for chart in _charts(sums, t_us)]), "utf-8")


def _rows(sums: list[ProtocolTotals]) -> list[list[str]]:
    rows = [
        ["elections", *(f"{len(each.elections):,}" for each in sums)],
        ["  messages of one, median", *(count_cell(quantile(each.elections, 0.5)) for each in sums)],
        ["                   95th %", *(count_cell(quantile(each.elections, 0.95)) for each in sums)],
        ["times without a coordinator", *(f"{len(each.outages_us):,}" for each in sums)],
        ["  length, median", *(time_cell(quantile(each.outages_us, 0.5)) for each in sums)],
        ["          95th %", *(time_cell(quantile(each.outages_us, 0.95)) for each in sums)],
        [
            f"runs with several coordinators{' *' if _group_protocols(sums) else ''}",
            *(f"{sum(us > 0 for us in each.several_us):,}" for each in sums),
        ],
        ["  time with several, total", *(time_cell(sum(each.several_us)) for each in sums)],
        ["                     in the worst run", *(time_cell(max(each.several_us)) for each in sums)],
    ]
    if any(each.work for each in sums):
        work = [each.work or Work() for each in sums]
        rows += [
            ["readings of the field", *(f"{each.made:,}" for each in work)],
            ["  lost", *(f"{each.lost:,}" for each in work)],
            ["  made twice", *(f"{each.duplicated:,}" for each in work)],
        ]
    return rows


def _verdict_rows(sums: list[ProtocolTotals]) -> list[list[str]]:
    names = sorted({name for each in sums for name in each.violations})
    return [
        [f"violations of {name}", *(_violations(each.violations.get(name)) for each in sums)] for name in names
    ]


def _group_protocols(sums: list[ProtocolTotals]) -> list[str]:
    """Return the protocols that elect a coordinator per group: those that promise A4."""
    return [each.name for each in sums if A4.id in each.violations]


def _violations(found: tuple[int, int] | None) -> str:
    """Format the counts of failures and excused violations; a dash if the assertion is not promised."""
    if found is None:
        return _NOTHING
    failures, excused = found
    parts = [format_count(failures, "failure")] if failures else []
    parts += [f"{excused:,} excused"] if excused else []
    return ", ".join(parts) or "0"


def _charts(sums: list[ProtocolTotals], t_us: int) -> list[Chart]:
    if sums[0].commits:
        return commit_charts(sums, t_us)
    in_t = f"in T = {format_us(t_us)}"
    found = (
        ("% of elections that took at most", "messages", [each.elections for each in sums], 1),
        (
            "% of times without a coordinator that lasted at most",
            in_t,
            [each.outages_us for each in sums],
            t_us,
        ),
        (
            "% of runs with several coordinators for at most",
            in_t,
            [each.several_us for each in sums],
            t_us,
        ),
    )
    names = [each.name for each in sums]
    charts = (
        distribution_chart(title, axis, list(zip(names, values, strict=True)), unit)
        for title, axis, values, unit in found
    )
    return [chart for chart in charts if chart is not None]
