"""A run as a film: which moment of it is seen when.

Time passes as in the run, at the speed that is wanted. Where nothing happens for long it passes faster, so that
nobody waits for longer than ``idle_us`` of the film.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate, pairwise

from msgspec import Struct

__all__ = ["Film", "Pace", "frames"]


class Film(Struct, frozen=True):
    """How it is to be shown. ``view`` is the word of a view of the interface."""

    columns: int = 120
    rows: int = 40
    frames_per_s: int = 10
    speed: float = 1.0
    view: str = "log"
    idle_us: int = 2_000_000


class Pace:
    """Which moment of the run, from ``from_us`` to ``until_us``, is seen at which time of the film.

    Both are in microseconds. ``busy_us`` are the moments at which something happens.
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
        """How long the film is."""
        return round(self._seen_us[-1])

    def seen_us(self, moment_us: int) -> int:
        """When that moment is seen."""
        return _between(moment_us, self._moments_us, self._seen_us)

    def moment_us(self, seen_us: int) -> int:
        """What is seen at that time."""
        return _between(seen_us, self._seen_us, self._moments_us)


def frames(pace: Pace, film: Film) -> Iterator[tuple[int, int]]:
    """(time of the film, moment of the run) of every frame, the end being one."""
    last = pace.lasts_us * film.frames_per_s // 1_000_000
    for number in range(last + 1):
        seen_us = number * 1_000_000 // film.frames_per_s
        yield seen_us, pace.moment_us(seen_us)
    yield pace.lasts_us, pace.until_us


def _between(value: int, those: list[float], others: list[float]) -> int:
    """What ``value`` among ``those`` is among ``others``, both rising; between two of them, in proportion."""
    place = max(1, min(bisect_right(those, value), len(those) - 1))
    low, high = those[place - 1], those[place]
    share = (max(low, min(value, high)) - low) / (high - low) if high > low else 1.0
    return round(others[place - 1] + share * (others[place] - others[place - 1]))
