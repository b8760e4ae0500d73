"""How measures are spread, as cells of a table, as JSON, and as charts of what part of them is at most so high."""

from collections.abc import Sequence

from lab.cli.chart import Axis, Chart, Series, whole_numbers
from lab.units import format_us
from lab.worlds.campaign.comparison import quantile

__all__ = ["count_cell", "course", "spread_chart", "spread_json", "time_cell"]

_NOTHING = "-"


def count_cell(value: int | None) -> str:
    """A number; a dash where nothing was measured."""
    return _NOTHING if value is None else f"{value:,}"


def time_cell(us: int | None) -> str:
    """A duration, in milliseconds."""
    return _NOTHING if us is None else format_us(round(us, -3))


def spread_json(values: Sequence[int], unit: str) -> dict[str, int | None]:
    """How many there are, the one in the middle, and the one that 95 % do not exceed."""
    return {
        "count": len(values),
        f"{unit}_median": quantile(values, 0.5),
        f"{unit}_95th": quantile(values, 0.95),
    }


def spread_chart(title: str, name: str, values: Sequence[tuple[str, Sequence[int]]], unit: int) -> Chart | None:
    """A curve for each protocol that has values; None where all of these are 0."""
    if not any(any(each) for _, each in values):
        return None
    most = max(max(each, default=0) for _, each in values) / unit
    series = tuple(
        Series(said, course(each, unit), curve=True, hue=hue) for hue, (said, each) in enumerate(values) if each
    )
    return Chart(
        title,
        Axis(name, whole_numbers(most), logarithmic=False),
        Axis("%", (0, 20, 40, 60, 80, 100), logarithmic=False),
        series,
    )


def course(values: Sequence[int], unit: int) -> tuple[tuple[float, float], ...]:
    """Level between two values: what is at most so high changes at a value, and nowhere else."""
    points: list[tuple[float, float]] = []
    for percent in range(101):
        value = quantile(values, percent / 100)
        assert value is not None
        if points and value / unit > points[-1][0]:
            points.append((value / unit, points[-1][1]))
        points.append((value / unit, percent))
    return tuple(points)
