"""The history of groups up to the cursor in time."""

from bisect import bisect_right

from textual import events

from lab.export.group_layout import GroupLayout
from lab.styles import DIM, Line, ThemeStyles, highlight
from lab.tui.player import Cursor
from lab.tui.source import Source
from lab.tui.views.group_drawing import DrawnLine, GroupDrawing
from lab.tui.views.lines_view import RowsView

_MOST_ROWS = 500
"""The most rows shown; ``lab history`` prints all of them."""
_NOTHING = "no node is in a group so far"


class GroupView(RowsView):
    """Draws only the visible lines, below a head that does not scroll.

    ``cursor`` is the row to whose record ``Enter`` goes.
    """

    def __init__(self, styles: ThemeStyles, source: Source) -> None:
        super().__init__("groups", styles)
        self._header = source.store.header
        self._groups = source.groups
        self._drawing = GroupDrawing(GroupLayout((), (), self._header.nodes, 0), styles, 0)
        self._lines: list[DrawnLine] = []

    def show(self, cursor: Cursor) -> None:
        if self._is_new(self._groups.changes_by(cursor.record)):
            groups, cluster_events = self._groups.at(cursor.record)
            together_us = self._header.timing.t_us
            layout = GroupLayout(groups, cluster_events, self._header.nodes, together_us, _MOST_ROWS)
            self._drawing = GroupDrawing(layout, self._styles, self.scrollable_content_region.width)
            self._lines = self._drawing.lines()
            self._put(len(self._lines), [self._drawing.head() if self._lines else [(_NOTHING, DIM)]])
            if self.cursor is not None and self.cursor >= len(self._lines):
                self.cursor = None
            self._redraw()
        self._follow |= self.scroll_offset.y >= self._last_top
        self._follow_end()

    def line(self, place: int) -> Line:
        mark = self._styles.glyphs.play if place == self.cursor and self.has_focus else ""
        pieces = self._drawing.line_pieces(self._lines[place], mark)
        return highlight(pieces, [self._highlighted], self._styles.highlight)

    def texts(self) -> list[str]:
        return ["".join(text for text, _ in self._drawing.line_pieces(line)) for line in self._lines]

    def move_cursor(self, place: int) -> None:
        self._follow = False
        self._see(next(row for row in range(place, -1, -1) if not self._lines[row].place))

    def activate(self) -> None:
        """Go to the record of the row under the cursor, or of the last row."""
        if self._lines:
            self._seek(len(self._lines) - 1 if self.cursor is None else self.cursor)

    def action_cursor(self, by: int) -> None:
        """Move the cursor by rows. At the last row, follow the end."""
        rows = [place for place, line in enumerate(self._lines) if not line.place]
        if not rows:
            return
        here = len(rows) - 1 if self.cursor is None else bisect_right(rows, self.cursor) - 1
        there = max(0, here + by)
        self._follow = there >= len(rows) - 1
        if self._follow:
            self.cursor = None
            self.refresh()
        else:
            self._see(rows[there])

    @property
    def _page(self) -> int:
        return self.size.height // 2 - 1

    def on_click(self, event: events.Click) -> None:
        place = self._place_at(event)
        if place is not None:
            self._seek(place)

    def _seek(self, place: int) -> None:
        self.post_message(self.Sought(self._lines[place].row.at.record))

    def _see(self, place: int) -> None:
        """Move the cursor to the first line of a row, and scroll it and the second one into view."""
        self.cursor = place
        self.scroll_to(y=max(place - self._height + 2, min(self.scroll_offset.y, place)), animate=False)
        self.refresh()
