"""What ``lab compare`` says: a table with a column for each protocol, and charts of how measures are spread."""

import os
import shutil
import sys
import textwrap
from pathlib import Path
from typing import Any

from lab.cli.chart import Axis, Chart, Series, whole_numbers
from lab.cli.plots import plot
from lab.cli.svg import picture
from lab.journal import Work
from lab.properties import A4
from lab.units import count_of, format_us
from lab.worlds.campaign.comparison import Sums, quantile

__all__ = ["as_json", "course", "draw", "report"]

_WIDEST = 120
_NOTHING = "-"
_REMARK = (
    "Messages are counted without heartbeats. Violations are failures, with all assumptions that matter intact, "
    "or outside the promise. What an election, a time without a coordinator, and a lost reading are: "
    "lab compare --help"
)


def as_json(sums: Sums) -> dict[str, Any]:
    """The numbers of the table."""
    return {
        "protocol": sums.name,
        "runs": sums.runs,
        "elections": _spread(sums.elections, "messages"),
        "without_coordinator": _spread(sums.outages_us, "us"),
        "several_coordinators": {
            "runs": sum(us > 0 for us in sums.several_us),
            "total_us": sum(sums.several_us),
            "worst_run_us": max(sums.several_us, default=0),
        },
        "violations": {
            name: {"failures": failures, "outside": outside}
            for name, (failures, outside) in sorted(sums.violations.items())
        },
        "readings": None
        if sums.work is None
        else {"made": sums.work.made, "lost": sums.work.lost, "twice": sums.work.duplicated},
    }


def _spread(values: list[int], unit: str) -> dict[str, int | None]:
    return {
        "count": len(values),
        f"{unit}_median": quantile(values, 0.5),
        f"{unit}_95th": quantile(values, 0.95),
    }


def report(sums: list[Sums], t_us: int) -> None:
    """The table, and the charts."""
    columns, lines = shutil.get_terminal_size((100, 30))
    width = min(columns, _WIDEST)
    rows = [["", *(each.name for each in sums)], *_rows(sums)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for title, *cells in rows:
        shown = [title.ljust(widths[0]), *(cell.rjust(room) for cell, room in zip(cells, widths[1:], strict=True))]
        print("  ".join(shown).rstrip())
    print("\n" + textwrap.fill(_REMARK, width))
    if grouped := _grouped(sums):
        print(textwrap.fill(f"* Each group of {' and '.join(grouped)} has a coordinator, as it should.", width))
    colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    for chart in _charts(sums, t_us):
        print("\n" + plot(chart, width, min(lines - 2, 20), colours))


def draw(sums: list[Sums], t_us: int, path: Path) -> None:
    """The charts, into an SVG file. OSError."""
    path.write_text(picture([(chart, 360) for chart in _charts(sums, t_us)]), "utf-8")


def _rows(sums: list[Sums]) -> list[list[str]]:
    rows = [
        ["elections", *(f"{len(each.elections):,}" for each in sums)],
        ["  messages of one, median", *(_count(quantile(each.elections, 0.5)) for each in sums)],
        ["                   95th %", *(_count(quantile(each.elections, 0.95)) for each in sums)],
        ["times without a coordinator", *(f"{len(each.outages_us):,}" for each in sums)],
        ["  length, median", *(_time(quantile(each.outages_us, 0.5)) for each in sums)],
        ["          95th %", *(_time(quantile(each.outages_us, 0.95)) for each in sums)],
        [
            f"runs with several coordinators{' *' if _grouped(sums) else ''}",
            *(f"{sum(us > 0 for us in each.several_us):,}" for each in sums),
        ],
        ["  time with several, in all", *(_time(sum(each.several_us)) for each in sums)],
        ["                     in the worst run", *(_time(max(each.several_us)) for each in sums)],
    ]
    if any(each.work for each in sums):
        work = [each.work or Work() for each in sums]
        rows += [
            ["readings of the field", *(f"{each.made:,}" for each in work)],
            ["  lost", *(f"{each.lost:,}" for each in work)],
            ["  made twice", *(f"{each.duplicated:,}" for each in work)],
        ]
    for name in sorted({name for each in sums for name in each.violations}):
        rows.append([f"violations of {name}", *(_violations(each.violations.get(name)) for each in sums)])
    return rows


def _grouped(sums: list[Sums]) -> list[str]:
    """Those that lead groups, and not the nodes: they promise A4."""
    return [each.name for each in sums if A4.id in each.violations]


def _count(value: int | None) -> str:
    return _NOTHING if value is None else f"{value:,}"


def _time(us: int | None) -> str:
    return _NOTHING if us is None else format_us(round(us, -3))


def _violations(found: tuple[int, int] | None) -> str:
    """Failures, and outside the promise; a dash where it is not promised."""
    if found is None:
        return _NOTHING
    failures, outside = found
    said = [count_of(failures, "failure")] if failures else []
    said += [f"{outside:,} outside"] if outside else []
    return ", ".join(said) or "0"


def _charts(sums: list[Sums], t_us: int) -> list[Chart]:
    """How the measures are spread: what part of them is at most so high."""
    in_t = f"in T = {format_us(t_us)}"
    outages, several = [each.outages_us for each in sums], [each.several_us for each in sums]
    found = (
        ("% of elections that took at most so many messages", "messages", [each.elections for each in sums], 1),
        ("% of times without a coordinator that were at most so long", in_t, outages, t_us),
        ("% of runs with several coordinators for at most so long", in_t, several, t_us),
    )
    charts = []
    for title, name, values, unit in found:
        if any(any(each) for each in values):
            most = max(max(each, default=0) for each in values) / unit
            series = tuple(
                Series(one.name, course(each, unit), curve=True, hue=hue)
                for hue, (one, each) in enumerate(zip(sums, values, strict=True))
                if each
            )
            charts.append(
                Chart(
                    title,
                    Axis(name, whole_numbers(most), logarithmic=False),
                    Axis("%", (0, 20, 40, 60, 80, 100), logarithmic=False),
                    series,
                )
            )
    return charts


def course(values: list[int], unit: int) -> tuple[tuple[float, float], ...]:
    """Level between two values: what is at most so high changes at a value, and nowhere else."""
    points: list[tuple[float, float]] = []
    for percent in range(101):
        value = quantile(values, percent / 100)
        assert value is not None
        if points and value / unit > points[-1][0]:
            points.append((value / unit, points[-1][1]))
        points.append((value / unit, percent))
    return tuple(points)
