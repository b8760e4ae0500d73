"""The content of the diagram and its place: the lanes in cells, the part of a run, and what is highlighted."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from rich.style import Style

from lab.analysis.group_history import RecordedMoment
from lab.analysis.spacetime import MessageEdge, StatusInterval
from lab.export.diagram_layout import Layout
from lab.properties.verdicts import Violation
from lab.recording.log_lines import LogLine
from lab.styles import ThemeStyles
from lab.tui.player import Cursor
from lab.tui.views.diagram_canvas import signs_for
from lab.tui.views.diagram_window import Focus, Selection

_CLOCK, _CLOCK_DECIMALS = 10, 7
_LEAST_PITCH, _LEGIBLE_PITCH, _WIDEST_PITCH = 3, 11, 40
"""Columns from line to line: the least, those with room for a word, and the most."""
_LAST_PITCH = 16
"""The most columns for the words of the last line."""
_LEAST_MARGIN, _MARGIN = 14, 40
"""Columns for labels of no node: the least, and those left before lines get wider than legible."""
_NAMES = 8
_TALLEST_PITCH = 9


class Plane(Layout[int], frozen=True):
    """The layout of a picture of ``width`` by ``height`` cells, which begins at ``left`` and ``top``.

    ``along`` is the number of cells of time; ``margin`` is the first column for labels, if time flows down.
    """

    width: int
    height: int
    left: int
    top: int
    along: int
    margin: int

    def cell(self, along: int, across: int) -> tuple[int, int]:
        return (across, self.top + along) if self.down else (self.left + along, across)

    def along_at(self, x: int, y: int) -> int:
        """Return the position of a cell along the flow of time."""
        return y - self.top if self.down else x - self.left


def plane_of(
    nodes: Sequence[int], selected: int | None, width: int, height: int, down: bool, end_us: int = 0
) -> Plane:
    """Return the layout for a size. If not all nodes fit, it shows those around the selected one.

    One line above and one below the picture stay free, and the clock has room for times up to ``end_us``.
    """
    clock = max(_CLOCK, len(str(end_us // 1_000_000)) + _CLOCK_DECIMALS)
    left, top = (clock, 1) if down else (_NAMES, 1)
    along = max(1, height - 2 if down else width - left)
    if down:
        room = width - left - 1
        pitch = _pitch(len(nodes), len(str(max(nodes))), room)
        most = 1 + max(0, room - _LEAST_MARGIN - min(pitch, _LAST_PITCH)) // pitch
    else:
        room = height - 3  # the line below the nodes is for labels of no node
        least = 1 if len(nodes) <= room else 2  # if some have no line, the others have room for arrows
        pitch = max(least, min(_TALLEST_PITCH, room // len(nodes)))
        most = max(1, room // pitch)
    seen = _around(nodes, selected, most)
    first = left + 1 if down else top + (pitch - 1) // 2
    lanes = {node: first + place * pitch for place, node in enumerate(seen)}
    margin = left + (len(seen) - 1) * pitch + min(pitch, _LAST_PITCH) + 1
    origin = top if down else left
    return Plane(down, lanes, pitch, origin, width, height, left, top, along, margin)


def _pitch(count: int, digits: int, room: int) -> int:
    """Return the columns from line to line that use all of the room but a margin."""
    legible = min(_LEGIBLE_PITCH, (room - _LEAST_MARGIN) // count)
    room -= max(_LEAST_MARGIN, min(_MARGIN, room // 5))
    wide = room // count
    if wide > _LAST_PITCH and count > 1:
        wide = (room - _LAST_PITCH) // (count - 1)
    return max(_LEAST_PITCH, digits + 1, legible, min(_WIDEST_PITCH, wide))


def _around(nodes: Sequence[int], selected: int | None, most: int) -> Sequence[int]:
    if len(nodes) <= most:
        return nodes
    place = nodes.index(selected) if selected in nodes else 0
    first = max(0, min(place - most // 2, len(nodes) - most))
    return nodes[first : first + most]


DIMMED = Style(color="#7f7f7f", dim=True)
"""The style of what has no causal relation to the selection."""


class Scene:
    """The content of the picture: the part in focus, at the cursor in time.

    ``hidden`` are the kinds of messages that are not drawn, ``marked`` the records of a witness. ``cone`` is the
    causal past and future of the selection. ``names`` are those of clients and services.
    """

    def __init__(
        self,
        focus: Focus,
        plane: Plane,
        cursor: Cursor,
        styles: ThemeStyles,
        hidden: frozenset[str],
        selection: Selection,
        marked: frozenset[int] = frozenset(),
        violations: Sequence[Violation] = (),
        names: Mapping[int, str] = MappingProxyType({}),
    ) -> None:
        self.names = names
        self.plane = plane
        self.cursor = cursor
        self.styles = styles
        self.signs = signs_for(styles.glyphs)
        self.space = focus.window.space
        self.axis = focus.axis
        self.top = focus.top
        self.last = self.space.last
        """The point at which the known part of the run ends."""
        self.cone = selection.cone
        self.marked = marked
        self.violations = violations
        self.cursor_cell = int(self.place(focus.cursor) // 1)
        """The position of the cursor in time along the picture."""
        self._start = focus.window.start
        self._hidden = hidden
        self._picked = selection.picked

    def place(self, point: RecordedMoment) -> float:
        return self.axis.place(point) - self.top

    def is_seen(self, first: float, last: float) -> bool:
        """Return whether any part of an interval is in the picture."""
        return last >= 0 and first < self.plane.along

    def messages(self) -> list[MessageEdge]:
        """Return the messages that are drawn, in the order sent."""
        key, (first, last) = self.axis.key, self.axis.span(self.top, self.plane.along)
        return [
            edge
            for edge in self.space.messages
            if key(edge.sent) <= last
            and (edge.end is None or key(edge.again[-1] if edge.again else edge.end) >= first)
            and edge.line.kind not in self._hidden
        ]

    def status_intervals(self, node: int) -> list[StatusInterval]:
        """Return the visible status intervals of a node."""
        return [
            each
            for each in self.space.status_intervals
            if each.node == node
            and self.is_seen(self.place(each.since), self.place(each.until or self.last) + self.axis.step)
        ]

    def events(self) -> list[tuple[int, LogLine]]:
        """Return the visible log lines other than messages, with their positions along the picture."""
        lines = [line for line in self.space.events if line.record >= self._start]
        places = [self.place(RecordedMoment(line.record, line.at_us)) for line in lines]
        return [
            (int(place), line) for place, line in zip(places, lines, strict=True) if self.is_seen(place, place)
        ]

    def is_picked(self, edge: MessageEdge) -> bool:
        return edge.line.message == self._picked

    def is_apart(self, node: int, along: int) -> bool:
        """Return whether a node, at this position, is in neither the causal past nor future of the selection."""
        if self.cone is None:
            return False
        past, future = self.cone.bounds.get(node, (None, None))
        before = past is not None and along <= int(self.place(past))
        return not before and (future is None or along < int(self.place(future)))

    def style_of(self, edge: MessageEdge) -> Style:
        """Return the style of a message; grey if part of it is in neither the causal past nor the future."""
        if self.is_picked(edge):
            return Style(bold=True, color="bright_white" if self.styles.dark else "black")
        ends = [edge.end.record] if edge.arrived and edge.end is not None else []
        if self.cone is not None and not self.cone.records.issuperset((edge.sent.record, *ends)):
            return DIMMED
        if not edge.arrived and edge.fate != "in flight":
            return self.styles.fate(edge.fate)
        return self.styles.kind(edge.line.kind)
