"""A chart in the terminal, as text."""

import plotext

from lab.cli.chart import Chart

__all__ = ["plot"]

_CURVES = (("braille", "orange"), ("·", "gray"), ("-", "green"))
"""Marker and colour of one curve after the other, behind the points: to be told apart without colours too."""


def plot(chart: Chart, width: int, height: int, colours: bool) -> str:
    """The chart in so many columns and lines."""
    plotext.clear_figure()
    plotext.theme("clear")
    plotext.limit_size(False, False)
    plotext.plot_size(width, height)
    left, right, bottom, top = chart.bounds()
    plotext.xlim(left, right)
    plotext.ylim(bottom, top)
    for number, series in reversed(list(enumerate(chart.series))):  # what comes first is drawn on top
        xs = [chart.x.place(x) for x, _ in series.points]
        ys = [chart.y.place(y) for _, y in series.points]
        label = series.label if len(chart.series) > 1 else None
        if series.curve:
            marker, colour = _CURVES[(number - 1) % len(_CURVES)]
            plotext.plot(xs, ys, marker=marker, color=colour, label=label)
        else:
            plotext.scatter(xs, ys, marker="●", color="blue+", label=label)
    plotext.xticks([chart.x.place(tick) for tick in chart.x.apart()], [f"{tick:,}" for tick in chart.x.apart()])
    plotext.yticks([chart.y.place(tick) for tick in chart.y.apart()], [f"{tick:,}" for tick in chart.y.apart()])
    plotext.title(chart.title)
    plotext.xlabel(chart.x.name)
    drawn = str(plotext.build())
    if not colours:
        drawn = str(plotext.uncolorize(drawn))
    return "\n".join(line.rstrip() for line in drawn.rstrip("\n").splitlines())
