"""Where things are in a picture: a lane for each node, and time down or to the right."""

from collections.abc import Iterator

from lab.analysis.spacetime import FaultInterval, MessageEdge, StatusInterval
from lab.export.excerpt import Excerpt
from lab.export.paper import Place
from lab.export.scale import Scale
from lab.export.words import Remark, remarks_of

__all__ = ["Frame"]


class Frame:
    """The places of an excerpt's instants and nodes, below the head. ``lane_gap``: between lanes."""

    def __init__(self, excerpt: Excerpt) -> None:
        self.excerpt = excerpt
        self.is_right = excerpt.wanted.time == "right"
        self.remarks: list[Remark] = remarks_of(excerpt)
        self.lane_gap = 96 if self.is_right else 144
        begin, first = (116, 34) if self.is_right else (44, 96)
        self.scale = Scale(self._instants(), begin, 1.7 if self.is_right else 1.0)
        self._lanes = {node: first + self.lane_gap * (n + 0.5) for n, node in enumerate(excerpt.nodes)}
        self.lanes_begin, self.lanes_end = first, first + self.lane_gap * len(excerpt.nodes)
        self.begin, self.end = begin, self.scale.end

    def lane(self, node: int) -> float:
        """Where that node's lane is, across time."""
        return self._lanes[node]

    def along(self, at_us: int) -> float:
        """Where that time is; one outside the window is at its edge."""
        return self.scale.place(self.excerpt.clip(at_us))

    def place(self, along: float, across: float) -> Place:
        """The point in the picture."""
        return (along, across) if self.is_right else (across, along)

    def at(self, at_us: int, node: int) -> Place:
        """The point of a node at a time."""
        return self.place(self.along(at_us), self.lane(node))

    def ends(self, arrow: MessageEdge, end_us: int, share: float = 1.0) -> tuple[Place, Place]:
        """From where to where an arrow goes that ends then, so far on its way; only what is in the window."""
        source, target = arrow.line.source, arrow.line.target
        assert source is not None
        assert target is not None
        begin_us, lane = arrow.line.at_us, self.lane(source)
        across = (self.lane(target) - lane) * share

        def point(at_us: int) -> Place:
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
        standing: list[StatusInterval | FaultInterval] = [*excerpt.stretches, *excerpt.strikes]
        for each in standing:
            yield from (clip(point.at_us) for point in (each.since, each.until) if point is not None)
        for arrow in excerpt.arrows:
            ends = (arrow.sent, arrow.end, *arrow.again)
            yield from (clip(point.at_us) for point in ends if point is not None)
        yield from (clip(remark.at_us) for remark in self.remarks)
