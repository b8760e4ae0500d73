"""The layout of pictures: a lane for each node, and time downwards or to the right."""

from collections.abc import Iterator

from lab.analysis.spacetime import FaultInterval, MessageEdge, StatusInterval
from lab.export.annotations import Annotation, annotations_in
from lab.export.excerpt import Excerpt
from lab.export.scale import TimeScale
from lab.export.shapes import Position

__all__ = ["Frame"]


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
