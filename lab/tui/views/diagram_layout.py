"""The layout and the content of the diagram: the lines of nodes, the axis of time, and what is highlighted.

*Along* is the direction in which time flows; *across* is the direction from node to node. Both are counted in
cells.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from msgspec import Struct
from rich.style import Style

from lab.analysis.group_history import Point
from lab.analysis.spacetime import MessageEdge, SpaceTime, StatusInterval
from lab.properties.verdicts import Violation
from lab.recording.log_lines import LogLine
from lab.tui.terminal.styles import ThemeStyles
from lab.tui.views.diagram_canvas import Signs
from lab.tui.views.diagram_focus import Scale

_CLOCK = 10
_LEAST_PITCH = 3
_WIDEST_PITCH = 16
_LEGIBLE_PITCH = 11
"""Columns from line to line that leave room for a word."""
_LEAST_MARGIN, _MARGIN = 14, 40
"""Columns for labels of no node: the least, and those left before lines get wider than legible."""
_NAMES = 8
_TALLEST_PITCH = 7


class Plane(Struct, frozen=True):
    """The layout. ``lanes`` are the positions of nodes; the picture begins at ``left`` and ``top``.

    ``along`` is the number of cells of time, ``across`` the number of cells for nodes, and ``pitch`` the distance
    from line to line. ``margin`` is the first column for labels, if time flows down.
    """

    down: bool
    width: int
    height: int
    left: int
    top: int
    along: int
    across: int
    pitch: int
    margin: int
    lanes: dict[int, int]

    def xy(self, along: float, across: float) -> tuple[float, float]:
        """Return a point in canvas coordinates."""
        return (across, self.top + along) if self.down else (self.left + along, across)

    def cell(self, along: int, across: int) -> tuple[int, int]:
        """Return a cell in canvas coordinates."""
        return (across, self.top + along) if self.down else (self.left + along, across)

    def along_at(self, x: int, y: int) -> int:
        """Return the position of a cell along the flow of time."""
        return y - self.top if self.down else x - self.left

    def lane_near(self, x: int, y: int) -> int | None:
        """Return the node whose line is in a cell, or next to it if time flows down."""
        across, reach = (x, 1) if self.down else (y, 0)
        near = [node for node, lane in self.lanes.items() if abs(lane - across) <= reach]
        return near[0] if near else None


def plane_of(nodes: Sequence[int], selected: int | None, width: int, height: int, down: bool) -> Plane:
    """Return the layout for a size. If not all nodes fit, it shows those around the selected one.

    One line above and one below the picture stay free.
    """
    left, top = (_CLOCK, 1) if down else (_NAMES, 1)
    along = max(1, height - 2 if down else width - left)
    if down:
        room = width - left
        legible = min(_LEGIBLE_PITCH, (room - _LEAST_MARGIN) // len(nodes))
        pitch = max(_LEAST_PITCH, legible, min(_WIDEST_PITCH, (room - _MARGIN) // len(nodes)))
        most = max(1, (room - 1) // pitch)
    else:
        room = height - 3  # the line below the nodes is for labels of no node
        pitch = max(1, min(_TALLEST_PITCH, room // len(nodes)))
        most = max(1, room // pitch)
    seen = _around(nodes, selected, most)
    first = left + 1 if down else top + (pitch - 1) // 2
    lanes = {node: first + place * pitch for place, node in enumerate(seen)}
    across = len(seen) * pitch
    margin = left + (len(seen) - 1) * pitch + min(pitch, _WIDEST_PITCH) + 1
    return Plane(down, width, height, left, top, along, across, pitch, margin, lanes)


def _around(nodes: Sequence[int], selected: int | None, most: int) -> Sequence[int]:
    if len(nodes) <= most:
        return nodes
    place = nodes.index(selected) if selected in nodes else 0
    first = max(0, min(place - most // 2, len(nodes) - most))
    return nodes[first : first + most]


# the content

QUIET = Style(color="#7f7f7f", dim=True)
"""The style of what has no causal relation to the selection."""


class Scene(Struct):
    """The content of the picture. ``top`` is its first position; the window holds ``start`` to the point ``last``.

    ``hidden`` are the kinds of messages that are not drawn. ``picked`` is the selected message, or the record of
    the selected step; ``cone`` are the records in its causal past and future, and ``bounds`` are, for each node,
    where that past ends and that future begins. ``cursor`` is the cursor in time; if ``follows``, it stays at the
    end of the run. ``marked`` are the records of a witness.
    """

    space: SpaceTime
    scale: Scale
    plane: Plane
    styles: ThemeStyles
    signs: Signs
    top: int
    start: int
    last: Point
    hidden: frozenset[str]
    cursor: Point
    follows: bool = False
    hides_future: bool = False
    picked: MessageEdge | int | None = None
    cone: AbstractSet[int] | None = None
    bounds: dict[int, tuple[Point | None, Point | None]] = {}
    selected: int | None = None
    marked: frozenset[int] = frozenset()
    violations: Sequence[Violation] = ()

    def place(self, point: Point) -> float:
        """Return a point's position along the picture."""
        return self.scale.place(point) - self.top

    @property
    def cursor_cell(self) -> int:
        """The position of the cursor in time along the picture."""
        return int(self.place(self.cursor) // 1)

    def is_seen(self, first: float, last: float) -> bool:
        """Return whether any part of an interval is in the picture."""
        return last >= 0 and first < self.plane.along

    def messages(self) -> list[MessageEdge]:
        """Return the messages that are drawn, in the order sent."""
        first, last = self.scale.span(self.top, self.plane.along)
        by_records = self.scale.by_records
        return [
            each
            for each in self.space.messages
            if (each.line.record if by_records else each.line.at_us) <= last
            and (each.end is None or _last(each, by_records) >= first)
            and each.line.kind not in self.hidden
        ]

    def status_intervals(self, node: int) -> list[StatusInterval]:
        """Return the visible status intervals of a node."""
        return [
            each
            for each in self.space.status_intervals
            if each.node == node
            and self.is_seen(self.place(each.since), self.place(each.until or self.last) + self.scale.step)
        ]

    def events(self) -> list[LogLine]:
        """Return the visible log lines other than messages."""
        return [
            each
            for each in self.space.events
            if each.record >= self.start and self.is_seen(*[self.place(Point(each.record, each.at_us))] * 2)
        ]

    def end_points(self, edge: MessageEdge) -> list[Point]:
        """Return the ends of a message: several if it was duplicated, the last known point if it has none yet."""
        return [edge.end or self.last, *edge.again]

    def is_apart(self, node: int, along: int) -> bool:
        """Return whether a node, at this position, is in neither the causal past nor future of the selection."""
        if self.cone is None:
            return False
        past, future = self.bounds.get(node, (None, None))
        before = past is not None and along <= int(self.place(past))
        return not before and (future is None or along < int(self.place(future)))

    def is_quiet(self, *records: int) -> bool:
        """Return whether to draw these records in grey: there is a causal cone, and not all belong to it."""
        return self.cone is not None and not all(record in self.cone for record in records)

    def style_of(self, edge: MessageEdge) -> Style:
        """Return the style of a message."""
        if edge is self.picked:
            return Style(bold=True, color="bright_white" if self.styles.dark else "black")
        ends = [edge.end.record] if edge.arrived and edge.end is not None else []
        if self.is_quiet(edge.sent.record, *ends):
            return QUIET
        if not edge.arrived and edge.fate != "in flight":
            return self.styles.fate(edge.fate)
        return self.styles.kind(edge.line.kind)


def _last(edge: MessageEdge, by_records: bool) -> int:
    end = edge.again[-1] if edge.again else edge.end
    assert end is not None
    return end.record if by_records else end.at_us
