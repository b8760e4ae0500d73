"""A run as a film: the mapping between time in the film and time in the run.

Time passes as in the run, at the given speed, except that no wait in the film is longer than ``idle_us``.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate, pairwise

from msgspec import Struct

__all__ = ["Film", "Pace", "frames"]


class Film(Struct, frozen=True):
    """The options of a film. ``view`` is the name of a view of the interface."""

    columns: int = 120
    rows: int = 40
    frames_per_s: int = 10
    speed: float = 1.0
    view: str = "log"
    idle_us: int = 2_000_000


class Pace:
    """The mapping between film time and run time, from ``from_us`` to ``until_us``, in microseconds.

    ``busy_us`` are the times of the run at which something happens.
    """

    def __init__(self, busy_us: Iterable[int], from_us: int, until_us: int, film: Film) -> None:
        self.until_us = until_us
        inside = (at_us for at_us in busy_us if from_us < at_us < until_us)
        self._moments_us: list[float] = [from_us, *sorted(set(inside)), until_us]
        lasts_us = (
            min((after_us - before_us) / film.speed, film.idle_us)
            for before_us, after_us in pairwise(self._moments_us)
        )
        self._seen_us = list(accumulate(lasts_us, initial=0.0))

    @property
    def lasts_us(self) -> int:
        """The duration of the film."""
        return round(self._seen_us[-1])

    def seen_us(self, moment_us: int) -> int:
        """Return the film time at which that moment of the run is shown."""
        return _interpolate(moment_us, self._moments_us, self._seen_us)

    def moment_us(self, seen_us: int) -> int:
        """Return the moment of the run shown at that film time."""
        return _interpolate(seen_us, self._seen_us, self._moments_us)


def frames(pace: Pace, film: Film) -> Iterator[tuple[int, int]]:
    """Yield (film time, moment of the run) of every frame; the last is the end."""
    last = pace.lasts_us * film.frames_per_s // 1_000_000
    for number in range(last + 1):
        seen_us = number * 1_000_000 // film.frames_per_s
        yield seen_us, pace.moment_us(seen_us)
    yield pace.lasts_us, pace.until_us


def _interpolate(value: int, xs: list[float], ys: list[float]) -> int:
    """Map ``value`` from the rising ``xs`` to the rising ``ys``, linearly between two of them."""
    place = max(1, min(bisect_right(xs, value), len(xs) - 1))
    low, high = xs[place - 1], xs[place]
    share = (max(low, min(value, high)) - low) / (high - low) if high > low else 1.0
    return round(ys[place - 1] + share * (ys[place] - ys[place - 1]))
