"""The message log: every message with its delivery outcome, and all other events, up to the cursor in time.

It shows any one of a million rows without reading the million. Keyframes hold the number of log lines before them,
and how many of those are heartbeats. So the page of a row is found by bisection, with heartbeats shown or hidden,
and only that page is decoded. With a filter, the filter knows the records of the matching lines, and each record
is a page of its own.
"""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import msgspec
from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import BindingType
from textual.message import Message

from lab.analysis.delivery import DeliveryOutcome, LogPage
from lab.analysis.inspection import sending_of
from lab.kernel import Received, Step
from lab.recording.cluster_state import ClusterState
from lab.recording.log_lines import LogLine, lines_of
from lab.recording.reader import RecordStore
from lab.recording.records import Keyframe
from lab.script.query import LogFilter
from lab.styles import DIM, Line, Piece, ThemeStyles, highlight
from lab.text import sanitize
from lab.tui.player import Cursor, Picked
from lab.tui.views.lines_view import Copied, LinesView
from lab.tui.widgets.dialogs import TextBox
from lab.tui.widgets.pane import short_body
from lab.units import format_count

_KEPT_PAGES = 12
_KEPT_RECORDS = 400
_OUTCOME_WINDOW = 4000
"""Records after a page's end that are searched for the delivery outcomes of its messages."""


class _Page(LogPage):
    def __init__(self, start: int, end: int | None) -> None:
        super().__init__(start, end)
        self.visible: list[LogLine] = []
        self.filtered = 0


class LogRows:
    """The rows of the log up to a record. ``heartbeats``: whether they are shown.

    With a ``filter``, only the matching lines found so far. ``names``: those of the nodes outside the cluster.
    """

    def __init__(self, store: RecordStore, growing: bool) -> None:
        self.heartbeats = False
        self.filter: LogFilter | None = None
        self.names = store.header.names
        self._store = store
        self._growing = growing
        self._hidden = frozenset(store.header.protocol.heartbeats)
        self._pages: dict[int, _Page] = {}
        self._records: dict[int, LogPage] = {}
        self._first_rows = [0]
        self._starts_of = (0, False)

    def count(self, cluster: ClusterState) -> int:
        """Return the number of rows up to the cluster's record."""
        return self.count_of_all(cluster) if self.filter is None else self.filter.upto(cluster.record)

    def count_of_all(self, cluster: ClusterState) -> int:
        """Return the number of rows without a filter."""
        return cluster.lines if self.heartbeats else cluster.lines - self.hidden_count(cluster)

    def hidden_count(self, cluster: ClusterState) -> int:
        """Return the number of heartbeats so far."""
        return sum(cluster.messages.get(kind, 0) for kind in self._hidden)

    def counts(self, cluster: ClusterState) -> tuple[int, int]:
        """Return (rows, heartbeats) so far."""
        return self.count(cluster), self.hidden_count(cluster)

    def is_hidden_step(self, before: tuple[int, int], cluster: ClusterState, label: str) -> bool:
        """Return whether the event since ``before`` was a heartbeat without a row; ``label`` describes it."""
        rows, heartbeats = self.counts(cluster)
        if self.heartbeats or rows != before[0]:
            return False
        return heartbeats > before[1] or label.partition(" ")[0] in self._hidden

    def row(self, index: int, number: int) -> tuple[LogLine, DeliveryOutcome | None] | None:
        """Return (line, delivery outcome) of a row as of record ``number``, or None if there is no such row."""
        if self.filter is not None:
            return self._filtered_row(self.filter, index, number)
        starts = self._starts()
        place = bisect_right(starts, index) - 1
        page = self._page(place, number)
        lines = page.lines if self.heartbeats else page.visible
        inside = index - starts[place]
        if inside >= len(lines) or lines[inside].record > number:
            return None
        line = lines[inside]
        return line, page.outcome(line, number)

    def row_of(self, record: int, place: int, cluster: ClusterState) -> int:
        """Return the row of the line at ``place`` in ``record``, which is the cluster's record."""
        if self.filter is not None:
            return self.filter.index(record, place)
        after = self._lines_in(record)[place:]
        return self.count(cluster) - sum(line.kind not in self.hidden_kinds for line in after)

    def row_with(self, picked: Picked, number: int) -> int | None:
        """Return the first row about a selection, as of record ``number``; None if there is none."""
        if picked.record > number:
            return None
        if self.filter is not None:
            record, matches = picked.record, self.filter
            places = [place for place, line in enumerate(self._lines_in(record)) if picked.is_in(line)]
            return next((matches.index(record, each) for each in places if matches.has(record, each)), None)
        place = bisect_right(self._store.keyframes, picked.record)
        page, starts = self._page(place, number), self._starts()
        lines = page.lines if self.heartbeats else page.visible
        return next((starts[place] + inside for inside, line in enumerate(lines) if picked.is_in(line)), None)

    def place_of(self, line: LogLine) -> int:
        """Return the line's place among the lines of its record."""
        return self._lines_in(line.record).index(line)

    def is_hidden(self, number: int) -> bool:
        """Return whether a record has to do with hidden heartbeats alone: it sends or receives them."""
        record = self._store.record(number)
        if not isinstance(record, Step) or record.changes_state or record.failed or record.notes:
            return isinstance(record, Keyframe)
        kinds = {message.kind for message in record.sent}
        if isinstance(record.input, Received) and kinds <= self.hidden_kinds:
            kinds.add(self._kind_of(record.input, number))
        return bool(kinds) and kinds <= self.hidden_kinds

    def _kind_of(self, received: Received, number: int) -> str:
        sending = sending_of(self._store, number, (received.source, received.serial))
        return "" if sending is None else sending[1].kind

    @property
    def hidden_kinds(self) -> frozenset[str]:
        """The message kinds that are hidden now."""
        return frozenset() if self.heartbeats else self._hidden

    def _lines_in(self, number: int) -> list[LogLine]:
        record = self._store.record(number)
        return [] if record is None else lines_of(number, record)

    def _filtered_row(
        self, log_filter: LogFilter, index: int, number: int
    ) -> tuple[LogLine, DeliveryOutcome | None] | None:
        if index >= len(log_filter):
            return None
        record, place = log_filter.at(index)
        if record > number:
            return None
        page = self._records.pop(record, None) or LogPage(record, record + 1)
        self._records[record] = page
        if len(self._records) > _KEPT_RECORDS:
            del self._records[next(iter(self._records))]
        self._feed(page, number)
        return page.lines[place], page.outcome(page.lines[place], number)

    def _starts(self) -> list[int]:
        """Return the first row of each page."""
        at = self._store.lines_at
        if self._starts_of != (len(at), self.heartbeats):
            hidden = [0] * len(at) if self.heartbeats else self._store.heartbeats_at
            self._first_rows = [0, *(lines - of_them for lines, of_them in zip(at, hidden, strict=True))]
            self._starts_of = (len(at), self.heartbeats)
        return self._first_rows

    def _page(self, place: int, number: int) -> _Page:
        keyframes = self._store.keyframes
        page = self._pages.pop(place, None)
        if page is None:
            page = _Page(keyframes[place - 1] if place else 0, None)
        self._pages[place] = page
        if len(self._pages) > _KEPT_PAGES:
            del self._pages[next(iter(self._pages))]
        if page.end is None:
            if place < len(keyframes):
                page.end = keyframes[place]
            elif not self._growing:
                page.end = len(self._store)
        self._feed(page, number)
        if page.filtered < len(page.lines):
            page.visible += [line for line in page.lines[page.filtered :] if line.kind not in self._hidden]
            page.filtered = len(page.lines)
        return page

    def _feed(self, page: LogPage, number: int) -> None:
        """Feed the page the records that decide its lines and their outcomes as of ``number``."""
        upto = min(len(self._store), number + 1)
        if page.end is not None:
            upto = min(upto, max(page.end, page.fed_to) + _OUTCOME_WINDOW)
        while page.fed_to < upto and not page.settled:
            page.feed(self._store.record(page.fed_to))


def clock_piece(line: LogLine, marked: bool, styles: ThemeStyles) -> Piece:
    """Return the time of a line, highlighted if it belongs to the marked violation."""
    return f"{line.at_us / 1e6:9.3f} ", styles.warning + Style(reverse=True) if marked else DIM


class RowFormat:
    """The text of rows, with the ``names`` of the nodes outside the cluster."""

    def __init__(self, styles: ThemeStyles, names: Mapping[int, str]) -> None:
        self._styles = styles
        self._names = names
        self._width = max((2, *map(len, names.values())))

    def pieces(self, line: LogLine, ending: DeliveryOutcome | None) -> Line:
        """Return what happened; of a message, also its delivery outcome if known."""
        if line.what != "message":
            return self._event_pieces(line)
        styles, fate = self._styles, "in flight" if ending is None else ending.fate
        outcome_text = f"+{(ending.at_us - line.at_us) / 1000:.1f} ms" if ending and fate == "delivered" else fate
        is_answer = line.kind.endswith("Answer")
        kind = f"{styles.glyphs.answer if is_answer else ' '} {sanitize(line.kind, 22)}"
        source, target = self._name(line.source), self._name(line.target)
        width = self._width
        return [
            (f"{source:>{width}} {styles.glyphs.arrow} {target:<{width}} ", Style(bold=not is_answer)),
            (f"{kind:24} ", styles.kind(line.kind)),
            (f"{outcome_text:>13} ", styles.fate(fate)),
            (sanitize(short_body(line.text), 400), DIM),
        ]

    def text(self, line: LogLine, ending: DeliveryOutcome | None) -> str:
        """Return the whole row as plain text."""
        pieces = [clock_piece(line, False, self._styles), *self.pieces(line, ending)]
        return " ".join("".join(text for text, _ in pieces).split())

    def searchable(self, line: LogLine) -> str:
        """Return the text that a search looks in, in lower case: without time, outcome and answer sign."""
        if line.what == "message":
            link = f"{self._name(line.source)} {self._styles.glyphs.arrow} {self._name(line.target)}"
            text = f"{link} {sanitize(line.kind)} {short_body(line.text)}"
        else:
            text = "".join(text for text, _ in self._event_pieces(line))
        return " ".join(text.lower().split())

    def _name(self, node: int | None) -> str:
        return "" if node is None else self._names.get(node, str(node))

    def _event_pieces(self, line: LogLine) -> Line:
        styles = self._styles
        who, nobody = f"{self._name(line.source):>{self._width}}", " " * self._width
        if line.what == "status":
            style = styles.status(line.kind) + Style(bold=True)
            return [(f"{who}      {styles.glyph(line.kind)} ", style), (sanitize(line.text, 80), style)]
        if line.what in ("caption", "mark", "expectation"):
            kind = line.kind or line.what
            text = f"{'' if line.kind else f'{line.what}: '}{line.text}"
            return [
                (f"{nobody}      {styles.glyphs.marks[kind]} ", styles.mark(kind)),
                (sanitize(text, 300), styles.mark(kind)),
            ]
        if line.what == "command":
            return [
                (f"{nobody}      {styles.glyphs.play} ", styles.accent),
                (sanitize(line.text, 200), styles.accent),
            ]
        if line.what == "process":
            style = styles.status({"resumed": "Normal", "started": "Normal"}.get(line.kind, line.kind))
            return [
                (f"{who}      {styles.glyph(line.kind)} ", style + Style(bold=True)),
                (sanitize(line.text, 80), style + Style(bold=True)),
            ]
        style = {"failure": styles.warning, "stall": styles.warning, "log": DIM}.get(line.what, Style(italic=True))
        label = {"protocol-command": "command: ", "log": "log: "}.get(line.what, "")
        return [(f"{who}      {styles.glyphs.dot} ", style), (sanitize(f"{label}{line.text}", 300), style)]


# the widget


class MessageLog(LinesView):
    """``cursor`` is the row to which ``Enter`` goes. In the log ``of_other`` recordings, ``Enter`` opens it."""

    @dataclass
    class Opened(Message):
        """Request to show the record of a line in full."""

        line: LogLine

    def __init__(self, styles: ThemeStyles, rows: LogRows, name: str = "log", of_other: bool = False) -> None:
        super().__init__(name, styles)
        self.rows = rows
        self._of_other = of_other
        self._number = -1
        self._jumps = 0
        self._seeks_picked = False
        self._marked: frozenset[int] = frozenset()
        self._search: LogFilter | None = None
        self._hit: tuple[int, int] | None = None

    def show(self, cursor: Cursor) -> None:
        cluster = cursor.cluster
        if cursor.jumps != self._jumps:  # the user moved in time, and wants to see what was there
            self._jumps, self._follow, self.cursor = cursor.jumps, True, None
        behind = self._follow and self.scroll_offset.y != self._last_top  # scrolling takes effect a frame later
        count = self.rows.count(cluster)
        contents = cluster.record, self.rows.heartbeats, id(self.rows.filter), count, self._picked
        if not self._is_new(*contents) and not behind:
            return
        self._follow |= self.scroll_offset.y >= self._last_top
        self._number = cluster.record
        self._put(count)
        if self.cursor is not None and self.cursor >= count:
            self.cursor = None
        if self._seeks_picked:
            self._go_to_picked()
        self._follow_end()
        self._redraw()

    def line(self, place: int) -> Line:
        found = self._row_at(place)
        if found is None:
            return []
        pieces = self._pieces(*found)
        if place == self.cursor and self.has_focus:
            return self._in_style(pieces, Style(reverse=True))
        is_picked = self._picked is not None and self._picked.is_in(found[0])
        return self._marked_as_picked(pieces) if is_picked else pieces

    def select(self, picked: Picked | None) -> None:
        """Mark what was selected in another view, and move the cursor there if there is a row for it."""
        super().select(picked)
        self._seeks_picked = picked is not None

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

    def copied(self) -> Copied | None:
        found = self.under_cursor
        return None if found is None else ("the line", self._format.text(*found))

    def activate(self) -> None:
        """Move the cursor in time to the record under the cursor; if it is there, open the record."""
        if (found := self.under_cursor) is None:
            return
        is_at_cursor = self._of_other or found[0].record == self._number
        self.post_message(self.Opened(found[0]) if is_at_cursor else self.Sought(found[0].record))

    def action_cursor(self, by: int) -> None:
        """Move the cursor. At the last row, follow the end."""
        place = self._here + by
        self.cursor = None if place >= self._count - 1 else max(0, place)
        self._follow = self.cursor is None
        self._reveal_cursor()
        self._pick_cursor()

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to a row; a double click goes there."""
        row = self._place_at(event)
        if row is not None:
            self.cursor = row
            self._pick_cursor()
            if event.chain > 1:
                self.activate()

    def _go_to_picked(self) -> None:
        """Move the cursor to what was selected in another view, if there is a row about it."""
        self._seeks_picked = False
        row = None if self._picked is None else self.rows.row_with(self._picked, self._number)
        if row is not None:
            self.cursor, self._follow = row, False
            self._reveal_cursor()

    def _reveal_cursor(self) -> None:
        lowest = self._here - self._height + 1
        self._scroll(min(self._here, max(lowest, self.scroll_offset.y)))

    def _pick_cursor(self) -> None:
        """Select what the row under the cursor is about; nothing while the end is followed."""
        found = None if self.cursor is None else self._row_at(self.cursor)
        self._pick(None if found is None else Picked.of_line(found[0]))
        self.refresh()

    @property
    def _format(self) -> RowFormat:
        return RowFormat(self._styles, self.rows.names)

    @property
    def _here(self) -> int:
        """The row under the cursor."""
        return self._count - 1 if self.cursor is None else self.cursor

    def _row_at(self, row: int) -> tuple[LogLine, DeliveryOutcome | None] | None:
        return self.rows.row(row, self._number) if 0 <= row < self._count else None

    def _pieces(self, line: LogLine, ending: DeliveryOutcome | None) -> Line:
        styles = self._styles
        clock = clock_piece(line, line.record in self._marked, styles)
        pieces = self._format.pieces(line, ending)
        place = -1 if self._search is None else self.rows.place_of(line)
        if self._search is None or not self._search.has(line.record, place):
            return [clock, *pieces]
        is_here = (line.record, place) == self._hit
        clock = clock[0], styles.accent + Style(reverse=is_here, underline=not is_here)
        return [clock, *highlight(pieces, self._search.query.texts, styles.highlight)]


# a record in full, and copies, which reach the user's clipboard by OSC 52, over SSH too


def record_as_json(store: RecordStore, number: int) -> Copied:
    """Return a record as written in the recording."""
    return f"record {number}", store.raw(number).decode("utf-8", "replace")


def describe_copy(what: str, text: str) -> str:
    """Return the message after copying."""
    # the terminal does not confirm that it accepted the text
    begin = sanitize(text, 60)
    return f"copied {what} ({format_count(len(text), 'character')}), if your terminal supports OSC 52: {begin}"


class RecordDialog(TextBox):
    """A record in full, as JSON, under a heading; y copies it."""

    BINDINGS: ClassVar[list[BindingType]] = [("y", "copy", "copy")]

    def __init__(self, store: RecordStore, number: int, heading: str) -> None:
        super().__init__(f"record {number}", "y copies it · Enter or Esc closes")
        self._record = record_as_json(store, number)
        self._raw = store.raw(number)
        self._heading = heading

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(self._record[1])
        self.frame(title=describe_copy(*self._record))

    def content(self) -> Text:
        text = Text()
        if self._heading:
            text.append(f"{self._heading}\n\n", "bold")
        try:
            pretty = msgspec.json.format(self._raw, indent=2).decode("utf-8", "replace")
        except msgspec.DecodeError:
            pretty = self._raw.decode("utf-8", "replace")
        for line in pretty.split("\n"):
            text.append(sanitize(line) + "\n")
        return text
