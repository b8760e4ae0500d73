"""A chart as data: what ``plots`` draws in the terminal and ``svg`` into a file."""

from math import ceil, floor, log10

from msgspec import Struct

__all__ = ["Axis", "Chart", "Series", "decades", "whole_numbers"]

_TOO_NEAR = 0.05
"""Ticks nearer to each other than this part of the axis would be written over each other."""

_MARGIN = 0.03
"""So much room, as a part of the axis, around what is drawn."""


class Axis(Struct, frozen=True):
    """A direction: its name, the values that are written beside it, and whether it is logarithmic."""

    name: str
    ticks: tuple[int, ...]
    logarithmic: bool

    def place(self, value: float) -> float:
        """Where the value is, in the axis' own measure."""
        return log10(value) if self.logarithmic else value

    def apart(self) -> tuple[int, ...]:
        """The ticks, without those that come too near to the one before."""
        span = self.place(self.ticks[-1]) - self.place(self.ticks[0])
        kept = self.ticks[:1]
        for tick in self.ticks[1:]:
            if self.place(tick) - self.place(kept[-1]) >= _TOO_NEAR * span:
                kept += (tick,)
        return kept


class Series(Struct, frozen=True):
    """Points, joined to a curve or each marked; the label is for the legend.

    ``hue`` numbers the colours: what belongs together has the same.
    """

    label: str
    points: tuple[tuple[float, float], ...]
    curve: bool = False
    hue: int = 0


class Chart(Struct, frozen=True):
    """Series over two axes; the first is drawn on top."""

    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]

    def bounds(self) -> tuple[float, float, float, float]:
        """(left, right, bottom, top) around everything that is drawn, in the axes' own measure."""
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
    """The powers of ten from ``low`` (at least 1) to ``high``; those around, where fewer than two are between."""
    inside = range(ceil(log10(low)), floor(log10(high)) + 1)
    around = range(floor(log10(low)), ceil(log10(high)) + 1)
    return tuple(10**power for power in (inside if len(inside) > 1 else around))


def whole_numbers(high: float) -> tuple[int, ...]:
    """About six numbers from 0 to ``high``."""
    step = max(1, ceil(high / 6))
    return tuple(range(0, ceil(high / step) * step + 1, step))
