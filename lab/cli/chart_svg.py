"""Charts as an SVG picture, one below the other."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import drawsvg

from lab.charts import Chart, Series
from lab.output import print_line

_WIDTH = 760
_LEFT, _RIGHT, _TOP, _BOTTOM = 92, 24, 44, 52
_INK, _FAINT, _PAPER = "#222222", "#dddddd", "#ffffff"
_HUES = (
    ("#0072b2", "none"),
    ("#d55e00", "none"),
    ("#777777", "6 4"),
    ("#009e73", "2 3"),
    ("#cc79a7", "8 3 2 3"),
    ("#e69f00", "12 4"),
)
"""(colour, dash pattern of curves). Okabe and Ito's colours, which colour-blind people can distinguish."""


def draw_charts(charts: Sequence[Chart], path: Path, quiet: bool) -> None:
    """Write the charts to an SVG file, and say so unless ``quiet``. Raises OSError."""
    path.write_text(charts_as_svg(charts), "utf-8")
    if not quiet:
        print_line()
        print_line(f"drawn: {path}")


def charts_as_svg(charts: Sequence[Chart]) -> str:
    """Return the charts as the text of an SVG file with a white background."""
    total = sum(chart.height for chart in charts)
    width = _WIDTH + max(map(_legend_width, charts))
    drawing = drawsvg.Drawing(width, total, font_family="Helvetica, Arial, sans-serif")
    drawing.append(drawsvg.Rectangle(0, 0, width, total, fill=_PAPER))
    offset = 0
    for chart in charts:
        drawing.append(_Panel(chart).drawn(offset))
        offset += chart.height
    return str(drawing.as_svg())


class _Panel:
    """One chart, with room for its ticks and labels."""

    def __init__(self, chart: Chart) -> None:
        self.chart = chart
        self.height = chart.height
        self.left, self.right, self.bottom, self.top = chart.bounds()

    def x(self, value: float) -> float:
        """Return the horizontal position of a value."""
        part = (self.chart.x.place(value) - self.left) / (self.right - self.left)
        return round(_LEFT + part * (_WIDTH - _LEFT - _RIGHT), 1)

    def y(self, value: float) -> float:
        """Return the vertical position of a value."""
        part = (self.chart.y.place(value) - self.bottom) / (self.top - self.bottom)
        return round(self.height - _BOTTOM - part * (self.height - _TOP - _BOTTOM), 1)

    def drawn(self, offset: int) -> drawsvg.Group:
        """Return the panel at this vertical offset."""
        group = drawsvg.Group(transform=f"translate(0,{offset})")
        self._frame(group)
        for series in reversed(self.chart.series):
            self._series(group, series)
        if len(self.chart.series) > 1:
            for number, series in enumerate(self.chart.series):
                self._legend(group, series, number)
        return group

    def _frame(self, group: drawsvg.Group) -> None:
        chart, foot, end = self.chart, self.height - _BOTTOM, _WIDTH - _RIGHT
        middle = (_LEFT + end) / 2
        group.append(_text(chart.title, 16, middle, 26, text_anchor="middle", font_weight="bold"))
        for tick in chart.y.spaced_ticks():
            group.append(drawsvg.Line(_LEFT, self.y(tick), end, self.y(tick), stroke=_FAINT))
            group.append(_text(f"{tick:,}", 12, _LEFT - 8, self.y(tick) + 4, text_anchor="end"))
        for tick in chart.x.spaced_ticks():
            group.append(drawsvg.Line(self.x(tick), _TOP, self.x(tick), foot, stroke=_FAINT))
            group.append(_text(f"{tick:,}", 12, self.x(tick), foot + 18, text_anchor="middle"))
        group.append(drawsvg.Lines(_LEFT, _TOP, _LEFT, foot, end, foot, fill="none", stroke=_INK))
        group.append(_text(chart.x.name, 13, middle, foot + 38, text_anchor="middle"))
        turned = f"rotate(-90,18,{(_TOP + foot) / 2})"
        group.append(_text(chart.y.name, 13, 18, (_TOP + foot) / 2, text_anchor="middle", transform=turned))

    def _series(self, group: drawsvg.Group, series: Series) -> None:
        places = [(self.x(x), self.y(y)) for x, y in series.points]
        if series.curve:
            group.append(_line([each for place in places for each in place], series.hue))
        else:
            for x, y in places:
                group.append(_point(x, y, series.hue))

    def _legend(self, group: drawsvg.Group, series: Series, number: int) -> None:
        y = _TOP + 8 + 20 * number
        if series.curve:
            group.append(_line((_WIDTH, y, _WIDTH + 30, y), series.hue))
        else:
            group.append(_point(_WIDTH + 15, y, series.hue))
        group.append(_text(series.label, 13, _WIDTH + 40, y + 4))


def _legend_width(chart: Chart) -> int:
    """Return the width of the legend, to the right of the chart; 0 for a single series."""
    return 0 if len(chart.series) < 2 else 60 + 8 * max(len(series.label) for series in chart.series)


def _line(path: Iterable[float], hue: int) -> drawsvg.Lines:
    colour, dashes = _HUES[hue % len(_HUES)]
    return drawsvg.Lines(*path, fill="none", stroke=colour, stroke_width=2, stroke_dasharray=dashes)


def _point(x: float, y: float, hue: int) -> drawsvg.Circle:
    colour, _ = _HUES[hue % len(_HUES)]
    return drawsvg.Circle(x, y, 4.5, fill=colour, stroke=_PAPER)


def _text(text: str, size: int, x: float, y: float, **style: str) -> drawsvg.Text:
    return drawsvg.Text(text, size, x, y, fill=_INK, **style)
