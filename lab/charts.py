"""A chart as data: axes, and series of points. ``lab.cli.chart`` and ``chart_svg`` draw it."""

from math import ceil, floor, log10

from msgspec import Struct

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
