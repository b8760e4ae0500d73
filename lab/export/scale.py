"""The axis of time in pictures: every instant at which something happens has a place of its own.

Elections are bursts of milliseconds between seconds of rest, so no even scale shows both. Here a wait is as long
as the logarithm of its time: a longer one always looks longer, and none is too short to be seen.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from math import log2

__all__ = ["Scale"]

_LEAST, _DOUBLED = 9.0, 8.0
"""So long is a wait at least, and so much is added to 1 ms when it is doubled."""
_BETWEEN_TICKS = 42.0
_MILLISECOND_US = 1_000
_REST = 100.0
"""Longer waits are marked with how long they are."""


class Scale:
    """Places of times, from ``begin`` on. ``times_us`` are the instants at which anything happens."""

    def __init__(self, times_us: Iterable[int], begin: float, stretch: float = 1.0) -> None:
        self._times_us = sorted(set(times_us))
        self._places = [begin]
        for before, after in zip(self._times_us, self._times_us[1:], strict=False):
            wait = _LEAST + _DOUBLED * log2(1 + (after - before) / 1000)
            self._places.append(round(self._places[-1] + wait * stretch, 1))

    @property
    def end(self) -> float:
        """The place of the last instant."""
        return self._places[-1]

    def place(self, at_us: int) -> float:
        """Where that instant is; of another time, where the instant before it is."""
        return self._places[max(0, bisect_right(self._times_us, at_us) - 1)]

    def ticks(self) -> Iterator[tuple[float, str]]:
        """(place, its time in seconds) of instants that are far enough apart to be read."""
        last, before_us = -_BETWEEN_TICKS, -_MILLISECOND_US
        for place, at_us in zip(self._places, self._times_us, strict=True):
            if place - last >= _BETWEEN_TICKS:
                yield place, f"{at_us / 1e6:.{3 if at_us - before_us >= _MILLISECOND_US else 4}f}"
                last, before_us = place, at_us

    def rests(self) -> Iterator[tuple[float, int]]:
        """(place of its middle, how long it is) of the waits that are much longer than they look."""
        for number, at_us in enumerate(self._times_us[1:]):
            here, next_ = self._places[number], self._places[number + 1]
            if next_ - here > _REST:
                yield (here + next_) / 2, at_us - self._times_us[number]
