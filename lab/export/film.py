"""A run as a film: the mapping between time in the film and time in the run, and the chapters.

Time passes as in the run, at the given speed, except that no wait in the film is longer than ``idle_us``. Chapters
begin at faults, elections, captions and marks of the script, and verdicts.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, groupby, pairwise

from msgspec import Struct

from lab.analysis.elections import agreed_coordinator
from lab.export.annotations import describe_fault
from lab.export.excerpt import Excerpt, Film
from lab.recording.snapshot import NodeState
from lab.text import sanitize


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
        return round(self._seen_us[-1])

    def seen_us(self, moment_us: int) -> int:
        """Return the film time at which that moment of the run is shown."""
        return interpolate(moment_us, self._moments_us, self._seen_us)

    def moment_us(self, seen_us: int) -> int:
        """Return the moment of the run shown at that film time."""
        return interpolate(seen_us, self._seen_us, self._moments_us)


def frames(pace: Pace, film: Film) -> Iterator[tuple[int, int]]:
    """Yield (film time, moment of the run) of every frame; the last is the end."""
    last = pace.lasts_us * film.frames_per_s // 1_000_000
    for number in range(last + 1):
        seen_us = number * 1_000_000 // film.frames_per_s
        yield seen_us, pace.moment_us(seen_us)
    yield pace.lasts_us, pace.until_us


def busy_us(excerpt: Excerpt) -> Iterator[int]:
    """Yield the times at which something happens."""
    yield from (line.at_us for line in excerpt.events)
    for edge in excerpt.messages:
        yield edge.sent.at_us
        if edge.end is not None:
            yield edge.end.at_us


def interpolate(value: float, xs: Sequence[float], ys: Sequence[float]) -> int:
    """Map ``value`` from the rising ``xs`` to the rising ``ys``, linearly between two of them."""
    place = max(1, min(bisect_right(xs, value), len(xs) - 1))
    low, high = xs[place - 1], xs[place]
    share = (max(low, min(value, high)) - low) / (high - low) if high > low else 1.0
    return round(ys[place - 1] + share * (ys[place] - ys[place - 1]))


# chapters

_LONGEST = 100
_CAPTIONS = ("caption", "mark")


class Chapter(Struct, frozen=True, order=True):
    """A chapter: the record and time at which it begins, and its title."""

    record: int
    at_us: int
    title: str


def chapters_of(excerpt: Excerpt) -> list[Chapter]:
    """Return the chapters in the window, in the order of the records."""
    every = [*_faults(excerpt), *_elections(excerpt), *_script_chapters(excerpt), *_verdicts(excerpt)]
    inside = sorted(each for each in every if excerpt.first <= each.record <= excerpt.last)
    return [Chapter(each.record, excerpt.clip(each.at_us), sanitize(each.title, _LONGEST)) for each in inside]


def _faults(excerpt: Excerpt) -> Iterator[Chapter]:
    for fault_interval in excerpt.fault_intervals:
        text = describe_fault(fault_interval.fault)
        yield Chapter(fault_interval.since.record, fault_interval.since.at_us, text)
        if fault_interval.until is not None:
            yield Chapter(fault_interval.until.record, fault_interval.until.at_us, f"end of {text}")


def _elections(excerpt: Excerpt) -> Iterator[Chapter]:
    """Yield where a first node calls an election, and where all nodes of the run agree again."""
    views = {node: NodeState(node) for node in excerpt.header.nodes}
    agreed, is_called = None, False
    for _, those in groupby(excerpt.space.status_intervals, key=lambda interval: interval.since.record):
        for interval in those:
            state = {"status": interval.status, "coordinator": interval.coordinator}
            views[interval.node] = NodeState(interval.node, interval.process, state=state)
            if interval.shown == "Election" and not is_called:
                is_called = True
                yield Chapter(
                    interval.since.record, interval.since.at_us, f"node {interval.node} calls an election"
                )
        before, agreed = agreed, agreed_coordinator(views)
        if agreed is not None and before is None and is_called:
            is_called = False
            yield Chapter(interval.since.record, interval.since.at_us, f"all agree on node {agreed}")


def _script_chapters(excerpt: Excerpt) -> Iterator[Chapter]:
    for line in excerpt.events:
        if line.what in _CAPTIONS or (line.what, line.kind) == ("expectation", "unmet"):
            yield Chapter(line.record, line.at_us, line.text)


def _verdicts(excerpt: Excerpt) -> Iterator[Chapter]:
    """Yield, for each assertion, the first failure and the first violation that is not a failure."""
    known = set()
    for violation in excerpt.violations:
        kind = violation.assertion, violation.is_failure
        if kind not in known:
            known.add(kind)
            yield Chapter(violation.record, violation.at_us, f"{violation}")
