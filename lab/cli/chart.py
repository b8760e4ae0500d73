"""A chart as data, and drawn in the terminal; ``chart_svg`` draws it as a picture."""

import os
import shutil
import sys
from collections.abc import Iterable
from math import ceil, floor, log10

import plotext
from msgspec import Struct

from lab.cli.terminal import report_width
from lab.glyphs import draws_unicode

_TOO_NEAR = 0.05
"""Ticks closer than this fraction of the axis would overlap."""

_MARGIN = 0.03
"""Margin around the points, as a fraction of the axis."""


class Axis(Struct, frozen=True):
    """An axis: its name, its ticks, and whether it is logarithmic."""

    name: str
    ticks: tuple[int, ...]
    logarithmic: bool

    def place(self, value: float) -> float:
        """Return the position of the value, in the axis' own unit."""
        return log10(value) if self.logarithmic else value

    def spaced_ticks(self) -> tuple[int, ...]:
        """Return the ticks without those too close to the previous one."""
        span = self.place(self.ticks[-1]) - self.place(self.ticks[0])
        kept = self.ticks[:1]
        for tick in self.ticks[1:]:
            if self.place(tick) - self.place(kept[-1]) >= _TOO_NEAR * span:
                kept += (tick,)
        return kept


class Series(Struct, frozen=True):
    """Points, drawn as a curve or as marks. ``label`` is for the legend; equal ``hue`` means equal colour."""

    label: str
    points: tuple[tuple[float, float], ...]
    curve: bool = False
    hue: int = 0


class Chart(Struct, frozen=True):
    """Series over two axes; the first series is drawn on top.

    ``lines`` is the greatest height in the terminal, ``height`` that in a picture.
    """

    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    lines: int = 20
    height: int = 360

    def bounds(self) -> tuple[float, float, float, float]:
        """Return (left, right, bottom, top) of everything drawn, in the axes' own units."""
        xs = [self.x.place(x) for series in self.series for x, _ in series.points]
        ys = [self.y.place(y) for series in self.series for _, y in series.points]
        xs += [self.x.place(tick) for tick in self.x.ticks]
        ys += [self.y.place(tick) for tick in self.y.ticks]
        return *_around(xs), *_around(ys)


def _around(places: list[float]) -> tuple[float, float]:
    low, high = min(places), max(places)
    margin = _MARGIN * (high - low) or 0.5
    return low - margin, high + margin


def decades(low: float, high: float) -> tuple[int, ...]:
    """Return the powers of ten from ``low`` (at least 1) to ``high``, or the two around if fewer lie between."""
    inside = range(ceil(log10(low)), floor(log10(high)) + 1)
    around = range(floor(log10(low)), ceil(log10(high)) + 1)
    return tuple(10**power for power in (inside if len(inside) > 1 else around))


def whole_numbers(high: float) -> tuple[int, ...]:
    """Return about six evenly spaced integers from 0 to at least ``high``."""
    step = max(1, ceil(high / 6))
    return tuple(range(0, ceil(high / step) * step + 1, step))


# in the terminal

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
        print("\n" + plot(chart, report_width(), min(lines - 2, chart.lines), colours))


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
