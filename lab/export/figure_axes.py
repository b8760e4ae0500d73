"""The time axes of pictures, in pixels.

Elections are bursts of milliseconds between seconds of silence. A logarithmic axis shows both: a longer wait is
always drawn longer, and the shortest is still visible. A true axis is to scale; it may be broken where nothing
happens for long, which the picture marks.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import log2

from msgspec import Struct

from lab.export.diagram_layout import tick_at_least

_LEAST, _DOUBLED = 9.0, 8.0
"""The minimum length of a wait, and the length added when its duration doubles."""
_BETWEEN_TICKS = 42.0
_IDLE = 100.0
"""Waits drawn longer than this are labelled with their duration."""
_BREAK = 30.0
"""The length of a break in a true axis."""
_MOST_DIGITS = 4

Tick = tuple[float, str]
Knot = tuple[int, float]
"""A time in microseconds, and its position."""


class ShortenedWait(Struct, frozen=True):
    """A wait that is drawn shorter than it is; ``broken``: the axis is interrupted there."""

    begin: float
    end: float
    us: int
    broken: bool = False

    @property
    def middle(self) -> float:
        return (self.begin + self.end) / 2


class LogarithmicAxis:
    """An axis of pixels, from ``begin`` on. ``times_us`` are the times of all events."""

    note = "log"
    row_us = 0

    def __init__(self, times_us: Iterable[int], begin: float, stretch: float = 1.0) -> None:
        self._times_us = sorted(set(times_us))
        self._places = [begin]
        self._stretch = stretch
        for before, after in pairwise(self._times_us):
            wait = _LEAST + _DOUBLED * log2(1 + (after - before) / 1000)
            self._places.append(round(self._places[-1] + wait * stretch, 1))

    @property
    def end(self) -> float:
        return self._places[-1]

    @property
    def knots(self) -> list[Knot]:
        """The times whose positions are not on a straight line between those of their neighbours."""
        return [*zip(self._times_us, self._places, strict=True)]

    def place(self, at_us: int) -> float:
        """Return the position of a time; between two events, that of the earlier one."""
        return self._places[max(0, bisect_right(self._times_us, at_us) - 1)]

    def ticks(self, apart: float = _BETWEEN_TICKS) -> list[Tick]:
        """Return (position, label in seconds) of events that are far enough apart to label."""
        places: list[float] = []
        times_us = []
        for place, at_us in zip(self._places, self._times_us, strict=True):
            if not places or place - places[-1] >= apart:
                places.append(place)
                times_us.append(at_us)
        return _labelled(places, times_us)

    def waits(self) -> Iterator[ShortenedWait]:
        """Yield the waits that are drawn much too short."""
        points = zip(self._places, self._times_us, strict=True)
        for (here, since_us), (there, until_us) in pairwise(points):
            if there - here > _IDLE * self._stretch:
                yield ShortenedWait(here, there, until_us - since_us)


class TrueAxis:
    """An axis to scale, of about ``length`` pixels. Waits longer than ``break_us`` are broken.

    ``row_us`` is the time of a row, in which what happened is drawn together; 0 if everything is drawn.
    """

    note = ""

    def __init__(
        self,
        times_us: Iterable[int],
        begin: float,
        length: float,
        break_us: int | None = None,
        row_us: int = 0,
    ) -> None:
        times = sorted(set(times_us))
        self.row_us = row_us
        waits = [*pairwise(times)]
        broken = [] if break_us is None else [pair for pair in waits if pair[1] - pair[0] > break_us]
        lasts_us = times[-1] - times[0] - sum(until_us - since_us for since_us, until_us in broken)
        self._px_per_us = max(length - _BREAK * len(broken), length / 4) / max(1, lasts_us)
        self._times_us, self._places = [times[0]], [begin]
        self._waits: list[ShortenedWait] = []
        for since_us, until_us in broken:
            self._knot(since_us, (since_us - self._times_us[-1]) * self._px_per_us)
            self._knot(until_us, _BREAK)
            self._waits.append(ShortenedWait(self._places[-2], self._places[-1], until_us - since_us, broken=True))
        self._knot(times[-1], (times[-1] - self._times_us[-1]) * self._px_per_us)

    def _knot(self, at_us: int, after: float) -> None:
        self._times_us.append(at_us)
        self._places.append(self._places[-1] + after)

    @property
    def end(self) -> float:
        return self._places[-1]

    @property
    def knots(self) -> list[Knot]:
        """The times between which the scale is the same."""
        return [*zip(self._times_us, self._places, strict=True)]

    def place(self, at_us: int) -> float:
        knot = max(1, min(bisect_right(self._times_us, at_us), len(self._times_us) - 1))
        since_us, until_us = self._times_us[knot - 1 : knot + 1]
        here, there = self._places[knot - 1 : knot + 1]
        share = (at_us - since_us) / (until_us - since_us) if until_us > since_us else 0.0
        return round(here + (there - here) * max(0.0, min(share, 1.0)), 1)

    def ticks(self, apart: float = _BETWEEN_TICKS) -> list[Tick]:
        """Return (position, label in seconds): round times, and those at which the axis goes on after a break."""
        step_us = tick_at_least(apart / self._px_per_us)
        times_us = [wait for wait in self._times_us[::2] if self._waits] or [self._times_us[0]]
        first, last = self._times_us[0], self._times_us[-1]
        times_us += range(-(-first // step_us) * step_us, last + 1, step_us)
        places: list[float] = []
        kept: list[int] = []
        for at_us in sorted(set(times_us)):
            place = self.place(at_us)
            in_break = any(wait.begin < place < wait.end for wait in self._waits)
            if not in_break and (not places or place - places[-1] >= apart * 0.75):
                places.append(place)
                kept.append(at_us)
        return _labelled(places, kept)

    def waits(self) -> Iterator[ShortenedWait]:
        return iter(self._waits)


PictureAxis = LogarithmicAxis | TrueAxis


def _labelled(places: Sequence[float], times_us: Sequence[int]) -> list[Tick]:
    """Label the times with as few decimals as tell them apart; of equal labels the first is kept."""
    shown = [f"{at_us / 1e6:.{_MOST_DIGITS}f}" for at_us in times_us]
    for digits in range(_MOST_DIGITS + 1):
        rounded = [f"{at_us / 1e6:.{digits}f}" for at_us in times_us]
        if len(set(rounded)) == len(rounded) and all(
            _is_near(*each) for each in zip(rounded, times_us, strict=True)
        ):
            shown = rounded
            break
    first = dict(zip(reversed(shown), reversed(places), strict=True))
    return [(place, label) for label, place in reversed(first.items())]


def _is_near(label: str, at_us: int) -> bool:
    """Return whether a label is a time to the millisecond, as far as a reader of the axis can tell."""
    return abs(float(label) * 1e6 - at_us) <= 500
