"""The message log: every message with its delivery outcome, and all other events, up to the cursor in time."""

from itertools import zip_longest

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip

from lab.analysis.delivery import DeliveryOutcome
from lab.recording.log_lines import LogLine
from lab.script.query import LogFilter
from lab.text import sanitize
from lab.tui.player import Cursor
from lab.tui.terminal.styles import DIM, Piece, ThemeStyles, fit, highlight
from lab.tui.views.following_view import FollowingView
from lab.tui.views.log_rows import LogRows
from lab.tui.widgets.pane import short_body


def clock_piece(line: LogLine, marked: bool, styles: ThemeStyles) -> Piece:
    """Return the time of a line, highlighted if it belongs to the marked violation."""
    return f"{line.at_us / 1e6:9.3f} ", styles.warning + Style(reverse=True) if marked else DIM


def row_pieces(line: LogLine, ending: DeliveryOutcome | None, styles: ThemeStyles) -> list[Piece]:
    """Return what happened; of a message, also its delivery outcome if known."""
    if line.what != "message":
        return _event_pieces(line, styles)
    fate = "in flight" if ending is None else ending.fate
    outcome_text = f"+{(ending.at_us - line.at_us) / 1000:.1f} ms" if ending and fate == "delivered" else fate
    is_answer = line.kind.endswith("Answer")
    kind = f"{styles.glyphs.answer if is_answer else ' '} {sanitize(line.kind, 22)}"
    return [
        (f"{line.source:>2} {styles.glyphs.arrow} {line.target:<2} ", Style(bold=not is_answer)),
        (f"{kind:24} ", styles.kind(line.kind)),
        (f"{outcome_text:>13} ", styles.fate(fate)),
        (sanitize(short_body(line.text), 400), DIM),
    ]


def row_text(line: LogLine, ending: DeliveryOutcome | None, styles: ThemeStyles) -> str:
    """Return the whole row as plain text."""
    pieces = [clock_piece(line, False, styles), *row_pieces(line, ending, styles)]
    return " ".join("".join(text for text, _ in pieces).split())


def searchable_text(line: LogLine, styles: ThemeStyles) -> str:
    """Return the text that a search looks in, in lower case: without time, outcome and answer sign."""
    if line.what == "message":
        link = f"{line.source} {styles.glyphs.arrow} {line.target}"
        text = f"{link} {sanitize(line.kind)} {short_body(line.text)}"
    else:
        text = "".join(text for text, _ in _event_pieces(line, styles))
    return " ".join(text.lower().split())


def _event_pieces(line: LogLine, styles: ThemeStyles) -> list[Piece]:
    if line.what == "status":
        style = styles.status(line.kind) + Style(bold=True)
        return [(f"{line.source:>2}      {styles.glyph(line.kind)} ", style), (sanitize(line.text, 80), style)]
    if line.what in ("caption", "mark", "expectation"):
        kind = line.kind or line.what
        text = f"{'' if line.kind else f'{line.what}: '}{line.text}"
        return [
            (f"        {styles.glyphs.marks[kind]} ", styles.mark(kind)),
            (sanitize(text, 300), styles.mark(kind)),
        ]
    if line.what == "command":
        return [(f"        {styles.glyphs.play} ", styles.accent), (sanitize(line.text, 200), styles.accent)]
    if line.what == "process":
        style = styles.status({"resumed": "Normal", "started": "Normal"}.get(line.kind, line.kind))
        return [
            (f"{line.source:>2}      {styles.glyph(line.kind)} ", style + Style(bold=True)),
            (sanitize(line.text, 80), style + Style(bold=True)),
        ]
    style = {"failure": styles.warning, "log": DIM}.get(line.what, Style(italic=True))
    who = "  " if line.source is None else f"{line.source:>2}"
    label = {"protocol-command": "command: ", "log": "log: "}.get(line.what, "")
    return [(f"{who}      {styles.glyphs.dot} ", style), (sanitize(f"{label}{line.text}", 300), style)]


# the widget


class MessageLog(FollowingView):
    """Draws only the visible rows. ``cursor`` is the row that ``Enter`` opens."""

    class Opened(Message):
        """Request to show the record of a line in full."""

        def __init__(self, line: LogLine) -> None:
            super().__init__()
            self.line = line

    def __init__(self, styles: ThemeStyles, rows: LogRows, name: str = "log") -> None:
        super().__init__(name)
        self.rows = rows
        self._styles = styles
        self._count = 0
        self._number = -1
        self._seen: tuple[object, ...] = ()
        self._marked: frozenset[int] = frozenset()
        self._search: LogFilter | None = None
        self._hit: tuple[int, int] | None = None
        self._drawn_top = 0
        self._drawn: list[tuple[LogLine, DeliveryOutcome | None] | None] = []

    def show(self, cursor: Cursor) -> None:
        cluster = cursor.cluster
        filter_key = None if self.rows.filter is None else (id(self.rows.filter), self.rows.count(cluster))
        seen = (cluster.record, self.rows.heartbeats, filter_key)
        behind = self._follow and self.scroll_offset.y != self._last_top  # scrolling takes effect a frame later
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
        drawn = [self._row_at(row) for row in range(top, top + self.size.height)]
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

    def highlight_hits(self, search: LogFilter | None, hit: tuple[int, int] | None) -> None:
        """Highlight the hits of a search; ``hit`` is the current one, as (record, place within it)."""
        self._search, self._hit = search, hit
        self.refresh()

    def move_cursor(self, row: int) -> None:
        """Move the cursor to a row and scroll it into view."""
        self.action_cursor(row - (self._count - 1 if self.cursor is None else self.cursor))

    @property
    def under_cursor(self) -> tuple[LogLine, DeliveryOutcome | None] | None:
        """The row under the cursor, or the last one while following the end."""
        return self._row_at(self._count - 1 if self.cursor is None else self.cursor)

    def copied(self) -> tuple[str, str] | None:
        """Return the row under the cursor as text."""
        found = self.under_cursor
        return None if found is None else ("the line", row_text(*found, self._styles))

    def activate(self) -> None:
        """Open the row under the cursor."""
        if (found := self.under_cursor) is not None:
            self.post_message(self.Opened(found[0]))

    def action_cursor(self, by: int) -> None:
        """Move the cursor. At the last row, follow the end."""
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
        self.action_cursor(pages * max(1, self.size.height - 1))

    def on_resize(self) -> None:
        self._seen = ()

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to a row; a second click opens it."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        row = self.scroll_offset.y + offset.y
        if row < self._count:
            again = row == self.cursor or event.chain > 1
            self.cursor = row
            self.refresh()
            if again:
                self.activate()

    def render_line(self, y: int) -> Strip:
        row = self.scroll_offset.y + y
        width = self.size.width
        base = self.rich_style
        found = self._row_at(row)
        if found is None:
            return Strip.blank(width, base)
        if row == self.cursor and self.has_focus:
            base += Style(reverse=True)
        pieces = self._pieces(*found)
        return Strip([Segment(text, base + style) for text, style in fit(pieces, width)], width)

    def _row_at(self, row: int) -> tuple[LogLine, DeliveryOutcome | None] | None:
        return self.rows.row(row, self._number) if 0 <= row < self._count else None

    @property
    def _last_top(self) -> int:
        return max(0, self._count - self.size.height)

    def _pieces(self, line: LogLine, ending: DeliveryOutcome | None) -> list[Piece]:
        styles = self._styles
        clock, pieces = (clock_piece(line, line.record in self._marked, styles), row_pieces(line, ending, styles))
        if self._search is None:
            return [clock, *pieces]
        place = self.rows.place_of(line)
        if not self._search.has(line.record, place):
            return [clock, *pieces]
        is_here = (line.record, place) == self._hit
        clock = clock[0], styles.accent + Style(reverse=is_here, underline=not is_here)
        return [clock, *highlight(pieces, self._search.query.texts, styles.highlight)]
