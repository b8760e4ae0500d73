"""Draw charts in the terminal."""

import os
import shutil
import sys
from collections.abc import Iterable

import plotext
from rich.text import Text

from lab.charts import Chart, Series
from lab.cli.terminal import console, report_width
from lab.glyphs import draws_unicode
from lab.output import print_line

_HUES = (
    ("●", "•", "blue+"),
    ("■", "braille", "orange"),
    ("▲", "·", "gray"),
    ("◆", "-", "green"),
    ("○", "x", "magenta"),
    ("□", "+", "red"),
)
"""(mark of points, mark of curves, colour) of each hue, distinguishable without colours."""
_ASCII_MARKS = (("o", "."), ("#", ":"), ("^", "'"), ("*", "-"), ("@", "x"), ("%", "+"))
"""The marks for ASCII terminals."""


def print_charts(charts: Iterable[Chart]) -> None:
    """Print the charts; in colours on a terminal."""
    colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    lines = shutil.get_terminal_size((100, 30)).lines
    for chart in charts:
        print_line()
        drawn = plot(chart, report_width(), min(lines - 2, chart.lines), colours)
        console().print(Text.from_ansi(drawn), soft_wrap=True)


def plot(chart: Chart, width: int, height: int, colours: bool) -> str:
    """Return the chart as text of this width and height."""
    plotext.clear_figure()
    plotext.theme("clear")
    plotext.limit_size(False, False)
    legend = _legend(chart, width)
    plotext.plot_size(width, height - len(legend))
    left, right, bottom, top = chart.bounds()
    plotext.xlim(left, right)
    plotext.ylim(bottom, top)
    for series in reversed(chart.series):  # the first series is drawn last, on top
        xs = [chart.x.place(x) for x, _ in series.points]
        ys = [chart.y.place(y) for _, y in series.points]
        point, line, colour = _series_marks(series)
        if series.curve:
            plotext.plot(xs, ys, marker=line, color=colour)
        else:
            plotext.scatter(xs, ys, marker=point, color=colour)
    plotext.xticks(
        [chart.x.place(tick) for tick in chart.x.spaced_ticks()], [f"{tick:,}" for tick in chart.x.spaced_ticks()]
    )
    plotext.yticks(
        [chart.y.place(tick) for tick in chart.y.spaced_ticks()], [f"{tick:,}" for tick in chart.y.spaced_ticks()]
    )
    plotext.title(chart.title)
    plotext.xlabel(chart.x.name)
    drawn = "\n".join([str(plotext.build()).rstrip("\n"), *legend])
    if not colours:
        drawn = str(plotext.uncolorize(drawn))
    return "\n".join(line.rstrip() for line in drawn.splitlines())


def _series_marks(series: Series) -> tuple[str, str, str]:
    """Return the mark of points, the mark of curves, and the colour."""
    place = series.hue % len(_HUES)
    point, line, colour = _HUES[place]
    return (point, line, colour) if draws_unicode() else (*_ASCII_MARKS[place], colour)


def _legend(chart: Chart, width: int) -> list[str]:
    """Return the lines of the legend, shown below the chart; none for a single series."""
    lines: list[str] = []
    room = 0
    for series in chart.series if len(chart.series) > 1 else ():
        point, line, colour = _series_marks(series)
        mark = point if not series.curve else "⠒⠒" if line == "braille" else line * 2
        row = f"  {plotext.colorize(mark, colour)} {series.label}"
        taken = len(mark) + len(series.label) + 3
        if taken > room:
            lines.append("")
            room = width
        lines[-1] += row
        room -= taken
    return lines
