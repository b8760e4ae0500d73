"""The time axis of pictures: a logarithmic length for every wait between two events.

Elections are bursts of milliseconds between seconds of silence, so a linear scale cannot show both. With this
scale a longer wait is always drawn longer, and the shortest is still visible.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from math import log2

__all__ = ["TimeScale"]

_LEAST, _DOUBLED = 9.0, 8.0
"""The minimum length of a wait, and the length added when its duration doubles."""
_BETWEEN_TICKS = 42.0
_MILLISECOND_US = 1_000
_REST = 100.0
"""Waits drawn longer than this are labelled with their duration."""


class TimeScale:
    """The positions of times, from ``begin`` on. ``times_us`` are the times of all events."""

    def __init__(self, times_us: Iterable[int], begin: float, interval: float = 1.0) -> None:
        self._times_us = sorted(set(times_us))
        self._places = [begin]
        for before, after in zip(self._times_us, self._times_us[1:], strict=False):
            wait = _LEAST + _DOUBLED * log2(1 + (after - before) / 1000)
            self._places.append(round(self._places[-1] + wait * interval, 1))

    @property
    def end(self) -> float:
        """The position of the last event."""
        return self._places[-1]

    def place(self, at_us: int) -> float:
        """Return the position of a time; between two events, that of the earlier one."""
        return self._places[max(0, bisect_right(self._times_us, at_us) - 1)]

    def ticks(self) -> Iterator[tuple[float, str]]:
        """Yield (position, label in seconds) of events that are far enough apart to label."""
        last, before_us = -_BETWEEN_TICKS, -_MILLISECOND_US
        for place, at_us in zip(self._places, self._times_us, strict=True):
            if place - last >= _BETWEEN_TICKS:
                yield place, f"{at_us / 1e6:.{3 if at_us - before_us >= _MILLISECOND_US else 4}f}"
                last, before_us = place, at_us

    def rests(self) -> Iterator[tuple[float, int]]:
        """Yield (position of the middle, duration) of waits that are drawn much too short."""
        for number, at_us in enumerate(self._times_us[1:]):
            here, next_ = self._places[number], self._places[number + 1]
            if next_ - here > _REST:
                yield (here + next_) / 2, at_us - self._times_us[number]
