"""The message log: every message and what became of it, and whatever else happened, up to the cursor in time."""

from itertools import zip_longest

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip

from lab.journal import Cluster, Ending, LogLine
from lab.text import sanitize
from lab.tui.fitting import Piece, fit
from lab.tui.following import FollowingView
from lab.tui.logrows import LogRows
from lab.tui.look import DIM, Look
from lab.tui.view import short_body

__all__ = ["MessageLog"]


class MessageLog(FollowingView):
    """Draws only the rows that are seen. ``cursor`` is the row that ``Enter`` opens; ``mark`` marks records."""

    class Opened(Message):
        """The record of a line is to be shown in full."""

        def __init__(self, line: LogLine) -> None:
            super().__init__()
            self.line = line

    def __init__(self, look: Look, rows: LogRows) -> None:
        super().__init__("log")
        self.rows = rows
        self._look = look
        self._count = 0
        self._number = -1
        self._seen = (-1, False)
        self._marked: frozenset[int] = frozenset()
        self._drawn_top = 0
        self._drawn: list[tuple[LogLine, Ending | None] | None] = []

    def show(self, cluster: Cluster) -> None:
        """Draw the log up to the record that the cluster is at."""
        seen = (cluster.record, self.rows.heartbeats)
        behind = self._follow and self.scroll_offset.y != self._last_top  # it can be scrolled a frame later only
        if seen == self._seen and not behind:
            return
        self._seen = seen
        self._follow |= self.scroll_offset.y >= self._last_top
        count = self.rows.count(cluster)
        self._number = cluster.record
        if count != self._count:
            self._count = count
            self.virtual_size = Size(self.size.width, count)
            if self.cursor is not None and self.cursor >= count:
                self.cursor = None
        if self._follow or self.scroll_offset.y > self._last_top:
            self.scroll_to(y=self._last_top, animate=False, immediate=True)
        top = self.scroll_offset.y
        drawn = [self._found(row) for row in range(top, top + self.size.height)]
        if top != self._drawn_top:
            self.refresh()
        else:
            changed = (y for y, (now, was) in enumerate(zip_longest(drawn, self._drawn)) if now != was)
            regions = [Region(0, y, self.size.width, 1) for y in changed]
            if regions:
                self.refresh(*regions)
        self._drawn_top, self._drawn = top, drawn

    def mark(self, records: frozenset[int]) -> None:
        """Mark the rows of these records, and no others."""
        if records != self._marked:
            self._marked = records
            self.refresh()

    def open_cursor(self) -> None:
        """Open the row under the cursor."""
        found = self.rows.row(self._count - 1 if self.cursor is None else self.cursor, self._number)
        if found is not None:
            self.post_message(self.Opened(found[0]))

    def action_cursor(self, by: int) -> None:
        """Move the cursor; at the last row it follows the end."""
        place = (self._count - 1 if self.cursor is None else self.cursor) + by
        self.cursor = None if place >= self._count - 1 else max(0, place)
        self._follow = self.cursor is None
        top, height = self.scroll_offset.y, self.size.height
        shown = self._count - 1 if self.cursor is None else self.cursor
        if shown < top:
            self.scroll_to(y=shown, animate=False)
        elif shown >= top + height:
            self.scroll_to(y=shown - height + 1, animate=False)
        self.refresh()

    def action_cursor_page(self, pages: int) -> None:
        """Move the cursor by what fits on the screen."""
        self.action_cursor(pages * max(1, self.size.height - 1))

    def on_resize(self) -> None:
        """Draw anew, at the end if that was followed."""
        self._seen = (-1, False)

    def on_click(self, event: events.Click) -> None:
        """Put the cursor on a row; a second click opens it."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        row = self.scroll_offset.y + offset.y
        if row < self._count:
            again = row == self.cursor or event.chain > 1
            self.cursor = row
            self.refresh()
            if again:
                self.open_cursor()

    def render_line(self, y: int) -> Strip:
        """One row."""
        row = self.scroll_offset.y + y
        width = self.size.width
        base = self.rich_style
        found = self._found(row)
        if found is None:
            return Strip.blank(width, base)
        if row == self.cursor and self.has_focus:
            base += Style(reverse=True)
        return Strip([Segment(text, base + style) for text, style in fit(self._pieces(*found), width)], width)

    def _found(self, row: int) -> tuple[LogLine, Ending | None] | None:
        return self.rows.row(row, self._number) if row < self._count else None

    @property
    def _last_top(self) -> int:
        return max(0, self._count - self.size.height)

    def _pieces(self, line: LogLine, ending: Ending | None) -> list[Piece]:
        marked = line.record in self._marked
        clock = (f"{line.at_us / 1e6:9.3f} ", self._look.warning + Style(reverse=True) if marked else DIM)
        if line.what != "message":
            return [clock, *self._event(line)]
        look = self._look
        answers = line.kind.endswith("Answer")
        kind = f"{look.glyphs.answer if answers else ' '} {sanitize(line.kind, 22)}"
        fate = "in flight" if ending is None else ending.fate
        told = f"+{(ending.at_us - line.at_us) / 1000:.1f} ms" if ending and fate == "delivered" else fate
        return [
            clock,
            (f"{line.source:>2} {look.glyphs.arrow} {line.target:<2} ", Style(bold=not answers)),
            (f"{kind:24} ", look.kind(line.kind)),
            (f"{told:>13} ", look.fate(fate)),
            (sanitize(short_body(line.text), 400), DIM),
        ]

    def _event(self, line: LogLine) -> list[Piece]:
        look = self._look
        if line.what == "status":
            style = look.status(line.kind) + Style(bold=True)
            return [(f"{line.source:>2}      {look.glyph(line.kind)} ", style), (sanitize(line.text, 80), style)]
        if line.what in ("caption", "mark", "expectation"):
            kind = line.kind or line.what
            said = f"{'' if line.kind else f'{line.what}: '}{line.text}"
            return [
                (f"        {look.glyphs.marks[kind]} ", look.mark(kind)),
                (sanitize(said, 300), look.mark(kind)),
            ]
        if line.what == "command":
            return [(f"        {look.glyphs.play} ", look.accent), (sanitize(line.text, 200), look.accent)]
        if line.what == "process":
            style = look.status({"resumed": "Normal", "started": "Normal"}.get(line.kind, line.kind))
            return [
                (f"{line.source:>2}      {look.glyph(line.kind)} ", style + Style(bold=True)),
                (sanitize(line.text, 80), style + Style(bold=True)),
            ]
        style = {"failure": look.warning, "log": DIM}.get(line.what, Style(italic=True))
        who = "  " if line.source is None else f"{line.source:>2}"
        told = f"{line.what}: {line.text}" if line.what in ("told", "log") else line.text
        return [(f"{who}      {look.glyphs.dot} ", style), (sanitize(told, 300), style)]
