"""The widget of the space-time diagram: draws it at the cursor in time, and handles keys and clicks."""

import sys
from typing import ClassVar

from textual import events
from textual.binding import BindingType

from lab.analysis.group_history import RecordedMoment
from lab.analysis.spacetime import MessageEdge
from lab.kernel import Step
from lab.recording.log_lines import LogLine
from lab.recording.records import Process
from lab.styles import DIM, Line, ThemeStyles
from lab.text import sanitize
from lab.tui.player import Cursor, Picked
from lab.tui.source import Source
from lab.tui.views.diagram_canvas import Canvas
from lab.tui.views.diagram_picture import draw
from lab.tui.views.diagram_scene import Plane, Scene, plane_of
from lab.tui.views.diagram_window import Focus, PickedKey, Selection
from lab.tui.views.lines_view import PictureView
from lab.tui.views.log_view import LogRows, MessageLog
from lab.units import format_count, format_ranges

_WHEEL = 3
_MOST_VIOLATIONS = 200
"""At most this many violations are drawn, the latest ones."""


class DiagramView(PictureView, inherit_bindings=False):
    """A line for each node, coloured by its status, and arrows for the messages between them.

    It follows the cursor in time until it is scrolled away.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        ("up", "pick('up')"),
        ("down", "pick('down')"),
        ("left", "pick('left')"),
        ("right", "pick('right')"),
        ("pageup", "page(-1)"),
        ("pagedown", "page(1)"),
    ]

    def __init__(self, styles: ThemeStyles, source: Source, rows: LogRows) -> None:
        super().__init__("diagram", styles)
        self._source = source
        self._rows = rows
        self._focus = Focus(source.store)
        self._down = True
        self._selection = Selection(self._focus.window)
        self._marked: frozenset[int] = frozenset()
        self._cursor: Cursor | None = None
        self._plane: Plane | None = None
        self._canvas: Canvas | None = None

    def show(self, cursor: Cursor) -> None:
        if self._cursor is not None and cursor.jumps != self._cursor.jumps:
            self._focus.recentre()  # the user moved in time, and wants to see what was there
        self._cursor = cursor
        width, height = self.size
        if width < 20 or height < 4:
            return
        nodes = sorted(self._source.store.header.all_nodes)
        plane = self._plane = plane_of(nodes, cursor.selected, width, height, self._down, cursor.now_us)
        focus, hidden = self._focus, self._rows.hidden_kinds
        focus.update(cursor, plane.along, hidden, 1 if self._down else 3)
        at = cursor.record, cursor.following, cursor.selected, cursor.hides_future
        part = focus.window.version, focus.top, focus.axis.us, plane, hidden
        if self._is_new(at, part, self._selection.picked, self._marked, len(self._source.judge.violations)):
            violations = self._source.judge.violations[-_MOST_VIOLATIONS:]
            selection, marked = self._selection, self._marked
            names = self._source.store.header.names
            scene = Scene(focus, plane, cursor, self._styles, hidden, selection, marked, violations, names)
            self._canvas = draw(scene)
            self._put_lines([*map(self._canvas.row, range(height - 1)), self._foot(plane)])

    def mark(self, records: frozenset[int]) -> None:
        """Mark the status intervals that begin with these records, and no others."""
        self._marked = records

    def select(self, picked: Picked | None) -> None:
        """Mark what was selected in another view, and scroll to it. What happened at no node has no place here."""
        super().select(picked)
        if picked is None or picked.node is None:
            self._selection.picked = None
        else:
            self._selection.picked = picked.message or picked.record
            self._focus.reveal(RecordedMoment(picked.record, picked.at_us))

    def zoom(self, by: int) -> str:
        """Change the scale. Return a message for the user."""
        if not self._focus.zoom(by):
            return "this is the finest scale: a step" if by < 0 else "this is the coarsest scale"
        return f"a {'row' if self._down else 'column'} is {self._focus.axis.unit_text}"

    def turn(self) -> str:
        """Change the direction of time. Return a message for the user."""
        self._down = not self._down
        self._focus.recentre()
        return f"time flows {'down' if self._down else 'to the right'}"

    def activate(self) -> None:
        """Move the cursor in time to the selection; if it is there, or nothing is selected, open the record."""
        if self._cursor is None:
            return
        point, edge = self._selection.point, self._selection.edge
        if point is None or point.record < 0 or point.record == self._cursor.record:
            line = LogLine(self._cursor.record, 0, "note", "") if edge is None else edge.line
            self.post_message(MessageLog.Opened(line))
        else:
            self._focus.recentre()
            self.post_message(self.Sought(point.record))

    def action_pick(self, way: str) -> None:
        """Select the next or previous step along the flow of time, or message across it."""
        if self._cursor is None:
            return
        selection, node, by = self._selection, self._cursor.selected, 1 if way in ("down", "right") else -1
        before, point = selection.picked, selection.point
        here = point.record if point is not None else self._cursor.record + (by < 0)
        if (way in ("up", "down")) == self._down:
            found: PickedKey | None = selection.next_step(node, here, by)
        else:
            found = selection.next_message(node, here, by, self._rows.hidden_kinds)
        if found is None:
            return
        selection.picked = found
        if not self._is_visible:
            selection.picked = before
            return
        if selection.point is not None:
            self._focus.reveal(selection.point)
        self._pick_selection()

    def action_page(self, pages: int) -> None:
        if self._plane is not None:
            self._focus.pan(pages * max(1, self._plane.along - 2))

    def on_mouse_scroll_down(self) -> None:
        self._focus.pan(_WHEEL)

    def on_mouse_scroll_up(self) -> None:
        self._focus.pan(-_WHEEL)

    def on_click(self, event: events.Click) -> None:
        """Select what is under the mouse; a double click goes there."""
        offset = event.get_content_offset(self)
        if self._canvas is None or self._plane is None or offset is None:
            return
        if event.chain > 1:
            self.activate()
            return
        found: PickedKey | None = None
        owner = self._canvas.owner(offset.x, offset.y)
        if isinstance(owner, MessageEdge):
            found = owner.line.message
        elif isinstance(owner, int):
            found = self._focus.step_at(owner, self._plane.along_at(offset.x, offset.y))
        self._selection.picked = found
        self._pick_selection()

    def _pick_selection(self) -> None:
        """Select in the other views what is selected here."""
        key, edge, point = self._selection.picked, self._selection.edge, self._selection.point
        if edge is not None:
            self._pick(Picked.of_line(edge.line))
        elif isinstance(key, int) and point is not None:
            record = self._source.store.record(key)
            self._pick(Picked(key, point.at_us, record.node if isinstance(record, Step | Process) else None))
        else:
            self._pick(None)

    @property
    def _upto(self) -> int:
        """The last record that may be shown."""
        cursor = self._cursor
        return cursor.record if cursor is not None and cursor.hides_future else sys.maxsize

    @property
    def _is_visible(self) -> bool:
        """True if the selection may be shown."""
        point = self._selection.point
        return point is None or point.record <= self._upto

    def _foot(self, plane: Plane) -> Line:
        """Return the text about the selection, or about the picture."""
        window = self._focus.window
        if self._selection.picked is not None and self._is_visible:
            text = self._selection.describe(self._source.store, self._upto)
            return [(" ", DIM), (sanitize(text, 300), self._styles.accent)]
        row = "row" if self._down else "column"
        parts = [f"a {row} is {self._focus.axis.unit_text}", "arrows or a click select"]
        nodes = sorted(self._source.store.header.all_nodes)
        if len(plane.lanes) < len(nodes):
            seen = format_ranges(sorted(plane.lanes))
            parts.insert(0, f"nodes {seen} of {len(nodes)}: the number of another shows it")
        if window.is_full():
            parts.insert(0, f"only {format_count(window.fed - window.start, 'record')} shown: zoom in to see all")
        return [(f" {' · '.join(parts)}", DIM)]
