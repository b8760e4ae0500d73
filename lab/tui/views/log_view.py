"""The message log: every message with its delivery outcome, and all other events, up to the cursor in time."""

from rich.style import Style
from textual import events
from textual.message import Message

from lab.analysis.delivery import DeliveryOutcome
from lab.recording.log_lines import LogLine
from lab.script.query import LogFilter
from lab.text import sanitize
from lab.tui.player import Cursor
from lab.tui.terminal.styles import DIM, Line, Piece, ThemeStyles, highlight
from lab.tui.views.lines_view import LinesView
from lab.tui.views.log_rows import LogRows
from lab.tui.widgets.pane import short_body


def clock_piece(line: LogLine, marked: bool, styles: ThemeStyles) -> Piece:
    """Return the time of a line, highlighted if it belongs to the marked violation."""
    return f"{line.at_us / 1e6:9.3f} ", styles.warning + Style(reverse=True) if marked else DIM


def row_pieces(line: LogLine, ending: DeliveryOutcome | None, styles: ThemeStyles) -> Line:
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


def _event_pieces(line: LogLine, styles: ThemeStyles) -> Line:
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


class MessageLog(LinesView):
    """``cursor`` is the row that ``Enter`` opens."""

    class Opened(Message):
        """Request to show the record of a line in full."""

        def __init__(self, line: LogLine) -> None:
            super().__init__()
            self.line = line

    def __init__(self, styles: ThemeStyles, rows: LogRows, name: str = "log") -> None:
        super().__init__(name, styles)
        self.rows = rows
        self._number = -1
        self._marked: frozenset[int] = frozenset()
        self._search: LogFilter | None = None
        self._hit: tuple[int, int] | None = None

    def show(self, cursor: Cursor) -> None:
        cluster = cursor.cluster
        behind = self._follow and self.scroll_offset.y != self._last_top  # scrolling takes effect a frame later
        count = self.rows.count(cluster)
        if not self._is_new(cluster.record, self.rows.heartbeats, id(self.rows.filter), count) and not behind:
            return
        self._follow |= self.scroll_offset.y >= self._last_top
        self._number = cluster.record
        self._put(count)
        if self.cursor is not None and self.cursor >= count:
            self.cursor = None
        self._follow_end()
        self._redraw()

    def line(self, place: int) -> Line:
        found = self._row_at(place)
        if found is None:
            return []
        is_here = place == self.cursor and self.has_focus
        return self._in_style(self._pieces(*found), Style(reverse=True)) if is_here else self._pieces(*found)

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
        self.action_cursor(row - self._here)

    @property
    def under_cursor(self) -> tuple[LogLine, DeliveryOutcome | None] | None:
        """The row under the cursor, or the last one while following the end."""
        return self._row_at(self._here)

    def copied(self) -> tuple[str, str] | None:
        found = self.under_cursor
        return None if found is None else ("the line", row_text(*found, self._styles))

    def activate(self) -> None:
        if (found := self.under_cursor) is not None:
            self.post_message(self.Opened(found[0]))

    def action_cursor(self, by: int) -> None:
        """Move the cursor. At the last row, follow the end."""
        place = self._here + by
        self.cursor = None if place >= self._count - 1 else max(0, place)
        self._follow = self.cursor is None
        lowest = self._here - self._height + 1
        self.scroll_to(y=min(self._here, max(lowest, self.scroll_offset.y)), animate=False)
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to a row; a second click opens it."""
        row = self._place_at(event)
        if row is not None:
            again = row == self.cursor or event.chain > 1
            self.cursor = row
            self.refresh()
            if again:
                self.activate()

    @property
    def _here(self) -> int:
        """The row under the cursor."""
        return self._count - 1 if self.cursor is None else self.cursor

    def _row_at(self, row: int) -> tuple[LogLine, DeliveryOutcome | None] | None:
        return self.rows.row(row, self._number) if 0 <= row < self._count else None

    def _pieces(self, line: LogLine, ending: DeliveryOutcome | None) -> Line:
        styles = self._styles
        clock, pieces = (
            clock_piece(line, line.record in self._marked, styles),
            row_pieces(line, ending, styles),
        )
        if self._search is None:
            return [clock, *pieces]
        place = self.rows.place_of(line)
        if not self._search.has(line.record, place):
            return [clock, *pieces]
        is_here = (line.record, place) == self._hit
        clock = clock[0], styles.accent + Style(reverse=is_here, underline=not is_here)
        return [clock, *highlight(pieces, self._search.query.texts, styles.highlight)]
