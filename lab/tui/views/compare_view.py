"""Another recording at the same point of the run: its nodes, its log, and where the two diverge.

Up to the divergence, both are shown at the same record; after it, at the same time.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import msgspec
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.worker import Worker

from lab.recording.reader import FileRecords, open_recording
from lab.recording.records import decode_fields, differing_fields
from lab.recording.timeline import Timeline
from lab.replay.divergence import RecordingComparison, header_differences, lines_that_differ
from lab.styles import DIM, Piece, ThemeStyles, fit
from lab.text import sanitize
from lab.tui.player import Cursor
from lab.tui.source import Source
from lab.tui.views.lines_view import LinesView
from lab.tui.views.log_view import LogRows, MessageLog, RecordDialog
from lab.tui.widgets.pane import Pane, panes_of, process_text
from lab.tui.widgets.status_lines import Line
from lab.units import format_count

# where the two diverge, as text

_MOST_FIELDS = 3
_LONGEST = 40


def describe_divergence(comparison: RecordingComparison, here: Cursor, is_done: bool) -> tuple[str, bool]:
    """Return (relation of the two recordings at the cursor, whether they have diverged by then)."""
    if here.hides_future and comparison.counterpart(here.record) is not None:
        return "identical up to here", False
    divergence = comparison.so_far()
    if not is_done and comparison.divergence is None:
        return f"identical so far, to record {comparison.same}", False
    if not divergence.diverges:
        return "identical to the end", False
    if divergence.one is None:
        return "identical as far as this one goes; the other one continues", False
    at_us = getattr(comparison.one.record(divergence.one), "at_us", 0)
    if here.record < divergence.one:
        ahead = f"in {(at_us - here.now_us) / 1e6:.3f} s, at record {divergence.one}"
        return f"identical up to here; they diverge {ahead}: Enter goes there", False
    return f"diverged {(here.now_us - at_us) / 1e6:.3f} s ago, at record {divergence.one}: Enter goes there", True


def describe_differences(comparison: RecordingComparison) -> list[str]:
    """Return the first difference of records, and the differences of headers, one line each."""
    one, other = comparison.one, comparison.other
    divergence, lines = comparison.so_far(), []
    if divergence.one is not None and divergence.other is not None:
        fields = _fields(*lines_that_differ(one, divergence.one, other, divergence.other))
        lines.append(f"first difference: {fields}")
    elif divergence.one is not None:
        lines.append("the other one ends there")
    heads = [_format_difference(*each) for each in header_differences(one.header, other.header)]
    return [*lines, f"the runs differ in {_join(heads)}"] if heads else lines


def _fields(here: bytes, there: bytes) -> str:
    try:
        ours, theirs = decode_fields(here), decode_fields(there)
    except (msgspec.DecodeError, RecursionError):
        return "one cannot be read"
    if ours.get("record") != theirs.get("record"):
        return _format_difference("record", str(ours.get("record")), str(theirs.get("record")))
    return _join([_format_difference(*each) for each in differing_fields(ours, theirs)])


def _format_difference(name: str, here: str, there: str) -> str:
    return f"{name} (here {sanitize(here, _LONGEST)}, there {sanitize(there, _LONGEST)})"


def _join(lines: list[str]) -> str:
    more = f" and {len(lines) - _MOST_FIELDS} more" if len(lines) > _MOST_FIELDS else ""
    return ", ".join(lines[:_MOST_FIELDS]) + more


# the widget

_CHUNK = 1000
_AGAIN_S = 0.2
_CELL = 38
"""The least width of a node; each row has as many nodes as fit."""
_ROOM_FOR_RUNS = 16
"""From this height on, two lines about the differences are shown, else one."""
_NOTHING = "no other recording is open: :compare chooses one, :compare FILE opens one"


class _OtherRecording:
    """The other recording. Raises NotARecordingError."""

    def __init__(self, source: Source, path: Path) -> None:
        self.path = path
        self.store: FileRecords = open_recording(path)
        self.timeline = Timeline(self.store)
        self.comparison = RecordingComparison(source.store, self.store)
        self.differs: list[str] = []
        self._sought = (-1, 0)

    def cursor_at(self, cursor: Cursor) -> Cursor:
        """Return the corresponding cursor in the other recording."""
        number = self.comparison.counterpart(cursor.record)
        if number is None:
            if self._sought[0] != cursor.now_us:
                self._sought = cursor.now_us, self.timeline.record_at(cursor.now_us)
            number = self._sought[1]
        return Cursor(self.timeline.at(number), cursor.now_us, cursor.selected, hides_future=cursor.hides_future)


class CompareView(Vertical):
    """The other recording, if one is open. ``Enter`` goes to the divergence."""

    DEFAULT_CSS = """
    CompareView #compare-head { height: auto; max-height: 60%; padding: 0 1; }
    CompareView MessageLog { height: 1fr; border-top: solid $panel; }
    """

    def __init__(self, styles: ThemeStyles, source: Source) -> None:
        super().__init__(id="compare")
        self._styles = styles
        self._source = source
        self._other: _OtherRecording | None = None
        self._worker: Worker[None] | None = None
        self._log: MessageLog | None = None

    def compose(self) -> ComposeResult:
        yield Line("compare-head")

    @property
    def is_empty(self) -> bool:
        return self._other is None

    def open(self, path: Path) -> None:
        """Open another recording in place of the present one. Raises NotARecordingError."""
        other = _OtherRecording(self._source, path)
        self.close()
        self._other = other
        self._log = MessageLog(self._styles, LogRows(other.store, growing=False), "compare-log", of_other=True)
        self.mount(self._log)
        self._worker = self.run_worker(self._compare(other))

    def close(self) -> None:
        if self._worker is not None:
            self._worker.cancel()
        if self._log is not None:
            self._log.remove()
        if self._other is not None:
            self._other.store.close()
        self._other = self._log = self._worker = None

    def on_unmount(self) -> None:
        if self._other is not None:
            self._other.store.close()

    def show(self, cursor: Cursor) -> None:
        head = self.query_one("#compare-head", Line)
        if self._other is None or self._log is None:
            head.put(Text(_NOTHING, DIM), wraps=True)
            return
        other_cursor = self._other.cursor_at(cursor)
        if self._log.is_attached:
            self._log.show(other_cursor)
        width = max(1, head.content_region.width)
        rows = self._rows(self._other, cursor, other_cursor, width)
        head.put(Text("\n").join(Text.assemble(*fit(row, width)) for row in rows), wraps=True)

    def activate(self) -> None:
        number = None if self._other is None else self._other.comparison.so_far().one
        if number is not None:
            self.post_message(LinesView.Sought(number))

    def focus(self, scroll_visible: bool = True) -> "CompareView":
        """Focus the log of the other recording."""
        if self._log is not None:
            self._log.focus(scroll_visible)
        return self

    def on_lines_view_selected(self, message: LinesView.Selected) -> None:
        """Keep a selection in the other recording from the views of this one."""
        message.stop()

    def on_message_log_opened(self, message: MessageLog.Opened) -> None:
        message.stop()
        if self._other is not None:
            line = message.line
            self.app.push_screen(RecordDialog(self._other.store, line.record, sanitize(line.text, 300)))

    async def _compare(self, other: _OtherRecording) -> None:
        """Compare in chunks; while a live run goes on, compare its new records too."""
        source, comparison = self._source, other.comparison
        while True:
            is_over = not source.is_live or bool(source.ended)
            while not comparison.advance(_CHUNK):  # noqa: ASYNC110 - each pass does part of the work
                await asyncio.sleep(0)
            if is_over or comparison.divergence is not None:
                break
            await asyncio.sleep(_AGAIN_S)
        other.differs = describe_differences(comparison)

    def _rows(self, other: _OtherRecording, here: Cursor, there: Cursor, width: int) -> Iterator[list[Piece]]:
        styles = self._styles
        place = f"  record {there.record} of {len(other.store) - 1}, {there.cluster.at_us / 1e6:.3f} s"
        yield [(sanitize(other.path.name, 60), styles.accent), (place, DIM)]
        text, is_parted = describe_divergence(
            other.comparison, here, bool(self._worker and self._worker.is_finished)
        )
        yield [(text, styles.warning if is_parted else styles.status("Normal"))]
        differs = [] if here.hides_future and not is_parted else other.differs
        for line in differs[: 2 if self.size.height >= _ROOM_FOR_RUNS else 1]:
            yield [(line, DIM)]
        yield from self._node_rows(here, there, width)

    def _node_rows(self, here: Cursor, there: Cursor, width: int) -> Iterator[list[Piece]]:
        """Yield rows of the nodes of the other recording; if not all fit, only of those that differ."""
        counterparts = {pane.id: pane for pane in panes_of(here.cluster.snapshot(), here.now_us)}
        nodes = [(pane, counterparts.get(pane.id)) for pane in panes_of(there.cluster.snapshot(), there.now_us)]
        across = max(1, width // _CELL)
        most = max(3, self.size.height // 2 - 3) * across
        shown = nodes if len(nodes) <= most else [node for node in nodes if _differs(*node)][:most]
        cell = width // across
        for start in range(0, len(shown), across):
            row: list[Piece] = []
            for pane, counterpart in shown[start : start + across]:
                row += fit(self._node(pane, counterpart), cell)
            yield row
        if len(shown) < len(nodes):
            yield [(f"{format_count(len(nodes) - len(shown), 'node')} more", DIM)]

    def _node(self, pane: Pane, counterpart: Pane | None) -> list[Piece]:
        styles, differs = self._styles, _differs(pane, counterpart)
        pieces: list[Piece] = [
            (f"{styles.glyphs.differs if differs else ' '} ", styles.warning),
            (f"{pane.id:>2} ", styles.accent if differs else DIM),
            (f"{styles.glyph(pane.shown)} {_node_summary(pane)}", styles.status(pane.shown)),
        ]
        if counterpart is None:
            pieces.append((" not here", DIM))
        elif differs:
            here = f" here {styles.glyph(counterpart.shown)} {_node_summary(counterpart)}"
            pieces.append((here, styles.status(counterpart.shown)))
        return pieces


def _node_summary(pane: Pane) -> str:
    """Return a node's status, its coordinator and its group."""
    if pane.leads:
        led = f" {pane.leads}"
    elif pane.coordinator is None or pane.process in ("killed", "absent"):
        led = ""
    else:
        led = f" under {pane.coordinator}"
    return f"{process_text(pane.shown)}{led}{f' {pane.group}' if pane.group else ''}"


def _differs(pane: Pane, counterpart: Pane | None) -> bool:
    return counterpart is None or _node_summary(pane) != _node_summary(counterpart)
