"""The layout of pictures: a lane for each node, and time downwards or to the right.

The time axis has a logarithmic length for every wait between two events. Elections are bursts of milliseconds
between seconds of silence, so a linear scale cannot show both. With this scale a longer wait is always drawn
longer, and the shortest is still visible.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from math import log2

from lab.analysis.spacetime import FaultInterval, MessageEdge, StatusInterval
from lab.export.annotations import Annotation, annotations_in
from lab.export.excerpt import Excerpt
from lab.export.svg_shapes import Position

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


class Frame:
    """The positions of times and nodes, below the head. ``lane_gap`` is the distance between lanes."""

    def __init__(self, excerpt: Excerpt) -> None:
        self.excerpt = excerpt
        self.is_right = excerpt.options.time == "right"
        self.remarks: list[Annotation] = annotations_in(excerpt)
        self.lane_gap = 96 if self.is_right else 144
        begin, first = (116, 34) if self.is_right else (44, 96)
        self.scale = TimeScale(self._instants(), begin, 1.7 if self.is_right else 1.0)
        self._lanes = {node: first + self.lane_gap * (n + 0.5) for n, node in enumerate(excerpt.nodes)}
        self.lanes_begin, self.lanes_end = first, first + self.lane_gap * len(excerpt.nodes)
        self.begin, self.end = begin, self.scale.end

    def lane(self, node: int) -> float:
        """Return the position of the node's lane, across time."""
        return self._lanes[node]

    def along(self, at_us: int) -> float:
        """Return the position of a time; times outside the window are at its edge."""
        return self.scale.place(self.excerpt.clip(at_us))

    def place(self, along: float, across: float) -> Position:
        """Return the point in the picture."""
        return (along, across) if self.is_right else (across, along)

    def at(self, at_us: int, node: int) -> Position:
        """Return the point of a node at a time."""
        return self.place(self.along(at_us), self.lane(node))

    def ends(self, edge: MessageEdge, end_us: int, share: float = 1.0) -> tuple[Position, Position]:
        """Return the ends of an arrow that arrives at ``end_us``, cut off at the window.

        ``share`` is the fraction of the way between the lanes that it covers.
        """
        source, target = edge.line.source, edge.line.target
        assert source is not None
        assert target is not None
        begin_us, lane = edge.line.at_us, self.lane(source)
        across = (self.lane(target) - lane) * share

        def point(at_us: int) -> Position:
            shown_us = self.excerpt.clip(at_us)
            done = 0.0 if at_us == begin_us else 1.0
            if shown_us != at_us:
                done = (shown_us - begin_us) / (end_us - begin_us)
            return self.place(self.along(at_us), lane + across * done)

        if end_us == begin_us:
            return self.at(begin_us, source), self.place(self.along(end_us), lane + across)
        return point(begin_us), point(end_us)

    def _instants(self) -> Iterator[int]:
        excerpt = self.excerpt
        clip = excerpt.clip
        yield excerpt.from_us
        yield excerpt.until_us
        intervals: list[StatusInterval | FaultInterval] = [*excerpt.status_intervals, *excerpt.fault_intervals]
        for each in intervals:
            yield from (clip(point.at_us) for point in (each.since, each.until) if point is not None)
        for edge in excerpt.messages:
            ends = (edge.sent, edge.end, *edge.again)
            yield from (clip(point.at_us) for point in ends if point is not None)
        yield from (clip(remark.at_us) for remark in self.remarks)
