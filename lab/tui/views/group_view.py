"""The history of groups up to the cursor in time."""

from bisect import bisect_right

from rich.segment import Segment
from textual import events
from textual.geometry import Size
from textual.strip import Strip

from lab.analysis.group_history import GroupLog
from lab.recording.records import Header
from lab.tui.player import Cursor
from lab.tui.terminal.styles import DIM, Piece, ThemeStyles, fit, highlight
from lab.tui.views.following_view import FollowingView
from lab.tui.views.group_drawing import DrawnLine, GroupDrawing

_MOST_ROWS = 500
"""The most rows shown; ``lab history`` prints all of them."""


class GroupView(FollowingView):
    """Draws only the visible lines, below a head that does not scroll.

    ``cursor`` is the line to whose record ``Enter`` goes, the first of its row.
    """

    def __init__(self, styles: ThemeStyles, header: Header, groups: GroupLog) -> None:
        super().__init__("groups")
        self._styles = styles
        self._header = header
        self._groups = groups
        self._drawn: tuple[int, int, bool] | None = None
        self._drawing = GroupDrawing((), (), header.nodes, 0, styles, 0)
        self._lines: list[DrawnLine] = []
        self._highlighted = ""

    def show(self, cursor: Cursor) -> None:
        cluster = cursor.cluster
        width = self.scrollable_content_region.width
        to_draw = (self._groups.changes_by(cluster.record), width, self._styles.dark)
        if to_draw != self._drawn:
            self._drawn = to_draw
            groups, cluster_events = self._groups.at(cluster.record)
            nodes, together_us = self._header.nodes, self._header.timing.t_us
            self._drawing = GroupDrawing(
                groups, cluster_events, nodes, together_us, self._styles, width, _MOST_ROWS
            )
            self._lines = self._drawing.lines()
            self.virtual_size = Size(width, len(self._lines) + 1)
            if self.cursor is not None and self.cursor >= len(self._lines):
                self.cursor = None
            self.refresh()
        self._follow |= self.scroll_offset.y >= self._last_top
        if self._follow and self.scroll_offset.y != self._last_top:
            self.scroll_to(y=self._last_top, animate=False, immediate=True)

    def texts(self) -> list[str]:
        """Return its lines, from the top."""
        return ["".join(text for text, _ in self._drawing.line_pieces(line, "")) for line in self._lines]

    def move_cursor(self, place: int) -> None:
        """Move the cursor to a line and scroll it into view."""
        self._follow = False
        self.cursor = next(row for row in range(place, -1, -1) if not self._lines[row].place)
        self._see_cursor(self.cursor)

    def highlight_text(self, text: str) -> None:
        """Highlight every occurrence of a text."""
        self._highlighted = text
        self.refresh()

    def activate(self) -> None:
        """Go to the record of the row under the cursor, or of the last row."""
        if self._lines:
            self.post_message(self.Sought(self._lines[-1 if self.cursor is None else self.cursor].row.at.record))

    def action_cursor(self, by: int) -> None:
        """Move the cursor by rows. At the last row, follow the end."""
        rows = [place for place, line in enumerate(self._lines) if not line.place]
        if not rows:
            return
        here = len(rows) - 1 if self.cursor is None else bisect_right(rows, self.cursor) - 1
        there = max(0, here + by)
        self._follow = there >= len(rows) - 1
        self.cursor = None if self._follow else rows[there]
        if self.cursor is not None:
            self._see_cursor(self.cursor)
        else:
            self.refresh()

    def _see_cursor(self, cursor: int) -> None:
        lowest = cursor - self.size.height + 3  # including the head and the row's second line
        self.scroll_to(y=max(lowest, min(self.scroll_offset.y, cursor)), animate=False)
        self.refresh()

    def action_cursor_page(self, pages: int) -> None:
        """Move the cursor by half a screen."""
        self.action_cursor(pages * max(1, self.size.height // 2 - 1))

    def on_click(self, event: events.Click) -> None:
        """Go to the record of a line."""
        offset = event.get_content_offset(self)
        place = -1 if offset is None else self.scroll_offset.y + offset.y - 1
        if 0 <= place < len(self._lines):
            self.post_message(self.Sought(self._lines[place].row.at.record))

    def render_line(self, y: int) -> Strip:
        width, place = self.size.width, self.scroll_offset.y + y - 1
        pieces: list[Piece] = []
        if not y:
            pieces = self._drawing.head() if self._lines else [("no node is in a group so far", DIM)]
        elif place < len(self._lines):
            mark = self._styles.glyphs.play if place == self.cursor and self.has_focus else ""
            pieces = highlight(
                self._drawing.line_pieces(self._lines[place], mark), [self._highlighted], self._styles.highlight
            )
        base = self.rich_style
        return Strip([Segment(text, base + style) for text, style in fit(pieces, width)], width)

    @property
    def _last_top(self) -> int:
        return max(0, len(self._lines) + 1 - self.size.height)
