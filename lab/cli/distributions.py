"""Distributions of measurements: as table cells, as JSON, and as cumulative charts."""

from collections.abc import Sequence

from lab.cli.chart import Axis, Chart, Series, whole_numbers
from lab.units import format_us
from lab.worlds.campaign.comparison import quantile

__all__ = ["count_cell", "cumulative_steps", "distribution_chart", "distribution_json", "time_cell"]

_NOTHING = "-"


def count_cell(value: int | None) -> str:
    """Format a number; a dash for None."""
    return _NOTHING if value is None else f"{value:,}"


def time_cell(us: int | None) -> str:
    """Format a duration, rounded to milliseconds; a dash for None."""
    return _NOTHING if us is None else format_us(round(us, -3))


def distribution_json(values: Sequence[int], unit: str) -> dict[str, int | None]:
    """Return the count, the median and the 95th percentile."""
    return {
        "count": len(values),
        f"{unit}_median": quantile(values, 0.5),
        f"{unit}_95th": quantile(values, 0.95),
    }


def distribution_chart(
    title: str, name: str, values: Sequence[tuple[str, Sequence[int]]], unit: int
) -> Chart | None:
    """Return a cumulative curve for each protocol that has values; None if all values are 0."""
    if not any(any(each) for _, each in values):
        return None
    most = max(max(each, default=0) for _, each in values) / unit
    series = tuple(
        Series(label, cumulative_steps(each, unit), curve=True, hue=hue)
        for hue, (label, each) in enumerate(values)
        if each
    )
    return Chart(
        title,
        Axis(name, whole_numbers(most), logarithmic=False),
        Axis("%", (0, 20, 40, 60, 80, 100), logarithmic=False),
        series,
    )


def cumulative_steps(values: Sequence[int], unit: int) -> tuple[tuple[float, float], ...]:
    """Return the points of the cumulative distribution, in percent: a step function."""
    points: list[tuple[float, float]] = []
    for percent in range(101):
        value = quantile(values, percent / 100)
        assert value is not None
        if points and value / unit > points[-1][0]:
            points.append((value / unit, points[-1][1]))
        points.append((value / unit, percent))
    return tuple(points)
