"""One node in full: its last step, its waits, its state and its stable storage."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.cells import cell_len
from rich.style import Style

from lab.analysis.inspection import FieldChange, Inspection, Inspector, PendingWait
from lab.kernel import CommandInput, Fired, Message, Received, Started, Step, Wrote
from lab.recording.log_lines import format_body, format_entries, format_value
from lab.recording.snapshot import NodeState
from lab.replay.source_listing import Listing
from lab.styles import DIM, Line, ThemeStyles, highlight, width_of
from lab.text import sanitize
from lab.tui.player import Cursor, Picked
from lab.tui.source import Source
from lab.tui.views.lines_view import Copied, Row, RowsView
from lab.tui.widgets.pane import idle_text, process_text, short_body
from lab.units import format_count, format_ranges

_NAME = 14
_LONGEST = 4_000
_DEEPEST = 4
_MOST_ROWS = 400
"""The most rows of one value."""
_NEWEST = 20
"""The number of log entries shown, the newest ones."""
_BOLD = Style(bold=True)
_REASONS = ("it made the last step; a digit selects another", "it made the last step", "last step")
"""The reason why a node is shown that is not selected: the first that fits."""
_PICKED_REASONS = ("of the selection; a digit selects another", "of the selection", "selection")


_PICKED = 0
"""The item of the rows about what is selected in the views."""


def inspection_rows(
    found: Inspection,
    view: NodeState,
    now_us: int,
    listing: Listing,
    styles: ThemeStyles,
    width: int,
    picked: Picked | None = None,
) -> list[Row]:
    """Return all rows below the head; those about what is ``picked`` are of the item ``_PICKED``."""
    inside = max(20, width - _NAME - 3)
    rows: list[Line] = [[]]
    if view.process in ("running", "paused"):
        rows += [
            *_heading("waits", styles),
            *_wait_rows(found, now_us, listing, styles, inside, idle_text(view)),
            [],
        ]
        rows += [*_heading("state", styles), *_state_rows(found, styles, inside), []]
    rows += [*_heading("stable storage, which outlives a crash", styles), *_stored_rows(found, styles, inside)]
    return [*_step_rows(found, styles, inside, picked), *map(Row, rows)]


def remaining_times(found: Inspection, now_us: int) -> tuple[str, ...]:
    """Return the remaining time of each wait."""
    return tuple(
        ""
        if wait.until_us is None
        else f"{max(0, wait.until_us - now_us) / 1e6:.1f} of {(wait.until_us - wait.since_us) / 1e6:.1f} s left"
        for wait in (pending.wait for pending in found.waits)
    )


def value_rows(value: Any, width: int, depth: int = 0) -> Iterator[str]:
    """Yield a value in as many rows as it takes. Nested values are indented if they do not fit in one row."""
    try:
        text = sanitize(format_value(value), _LONGEST)
    except RecursionError:
        yield "nested too deeply to be shown"
        return
    if cell_len(text) <= width or depth >= _DEEPEST or not isinstance(value, dict | list) or not value:
        yield from textwrap.wrap(text, max(8, width), break_on_hyphens=False) or ["-"]
        return
    if isinstance(value, list) and not any(isinstance(each, dict | list) for each in value):
        yield from textwrap.wrap(text, max(8, width))
        return
    parts = value.items() if isinstance(value, dict) else ((None, each) for each in value)
    for name, each in parts:
        rows = [*value_rows(each, width - 2, depth + 1)]
        if name is None:
            yield from (("· " if not place else "  ") + row for place, row in enumerate(rows))
            continue
        title = sanitize(str(name), 40)
        if len(rows) == 1 and cell_len(title) + 1 + cell_len(rows[0]) <= width:
            yield f"{title} {rows[0]}"
        else:
            yield title
            yield from (f"  {row}" for row in rows)


def _heading(text: str, styles: ThemeStyles) -> Iterator[Line]:
    yield [(f" {text}", styles.accent)]


def _named(name: str, rows: Iterator[str] | list[str], style: Style, name_style: Style = DIM) -> Iterator[Line]:
    title: str = sanitize(name, 40)
    for place, row in enumerate(rows):
        if place >= _MOST_ROWS:
            yield [(" " * (_NAME + 3), Style()), ("…", DIM)]
            return
        if place == 0 and cell_len(title) > _NAME:
            yield [(f"  {title}", name_style)]
            title = ""
        yield [(f"  {title if not place else '':{_NAME}} ", name_style), (row, style)]


# the last step


def _step_rows(found: Inspection, styles: ThemeStyles, width: int, picked: Picked | None) -> Iterator[Row]:
    step, number = found.last.step, found.last.number
    message = None if picked is None else picked.message
    is_picked = picked is not None and message is None and picked.record == number
    heading = _heading(f"its last step: record {number} at {step.at_us / 1e6:.3f} s", styles)
    yield from _rows_about(heading, is_picked)
    is_picked = isinstance(step.input, Received) and (step.input.source, step.input.serial) == message
    given = _named("input", _wrapped(_describe_input(step, found.received), width), _BOLD)
    yield from _rows_about(given, is_picked)
    yield from map(Row, _change_and_log_rows(found, styles, width))
    is_sender = message is not None and message[0] == step.node
    for kind, body, sent in _sent(step):
        targets = format_ranges(sorted(each.target for each in sent))
        rows = _named("sent", _wrapped(f"{kind} to {targets}  {body}", width), styles.kind(kind))
        is_picked = is_sender and message is not None and message[1] in [each.serial for each in sent]
        yield from _rows_about(rows, is_picked)
    yield from map(Row, _remark_rows(found, styles, width))


def _rows_about(lines: Iterable[Line], is_picked: bool) -> Iterator[Row]:
    return (Row(line, _PICKED if is_picked else None) for line in lines)


def _change_and_log_rows(found: Inspection, styles: ThemeStyles, width: int) -> Iterator[Line]:
    step = found.last.step
    if not isinstance(step.input, Started):
        for change in found.changes:
            yield from _change_rows(change, styles, width)
    for log, entries in step.logged.items():
        text = [sanitize(format_entries(log, [entry]), _LONGEST) for entry in entries]
        rows = [row for each in text for row in _wrapped(each, width)]
        yield from _named("logged", rows, styles.leader)


def _remark_rows(found: Inspection, styles: ThemeStyles, width: int) -> Iterator[Line]:
    step = found.last.step
    for note in step.notes:
        yield from _named("note", _wrapped(note, width), DIM)
    if step.late:
        yield from _named("late", ["an answer that no procedure waits for any longer"], styles.warning)
    if step.failed:
        yield from _named("failed", [sanitize(line, 200) for line in step.failed.split("\n")], styles.warning)
    if not (found.changes or step.logged or step.sent or step.notes or step.late or step.failed):
        yield from _named("changed", ["nothing"], DIM)


def _describe_input(step: Step, received: Message | None) -> str:
    match step.input:
        case Started(incarnation=incarnation):
            return f"start of incarnation {incarnation}"
        case Fired(procedure=procedure):
            return f"timer of {procedure}"
        case Wrote(line=line, log=log):
            return f"the program wrote{' to its log' if log else ''}: {sanitize(line, 200)}"
        case CommandInput(command=command, words=words):
            return f"command {' '.join((command, *words))}"
        case Received(source=source, serial=serial):
            if received is None:
                return f"message {serial} from {source}"
            return f"{received.kind} from {source}  {_body(received)}"


def _body(message: Message) -> str:
    return short_body(format_body(message)) if bytes(message.body) not in (b"{}", b"") else ""


def _sent(step: Step) -> list[tuple[str, str, list[Message]]]:
    """Return (kind, body, messages) of the sent messages, those that are equal but for the receiver together."""
    found: dict[tuple[str, str], list[Message]] = {}
    for message in step.sent:
        found.setdefault((message.kind, _body(message)), []).append(message)
    return [(kind, body, messages) for (kind, body), messages in found.items()]


def _change_rows(change: FieldChange, styles: ThemeStyles, width: int) -> Iterator[Line]:
    word = "stored" if change.is_safe else "changed"
    arrow = f" {styles.glyphs.arrow} "
    before, after = _in_a_row(change.before), _in_a_row(change.after)
    name = sanitize(change.name, 40)
    style = styles.leader if change.is_safe else Style()
    if cell_len(name + before + arrow + after) + 2 <= width:
        pieces: Line = [(f"{name}  ", _BOLD), (before, DIM), (arrow, styles.accent), (after, style + _BOLD)]
        yield [(f"  {word:{_NAME}} ", DIM), *pieces]
        return
    yield [(f"  {word:{_NAME}} ", DIM), (name, _BOLD)]
    for sign, value, shown in (("was", change.before, DIM), ("is", change.after, style)):
        yield from _named(f"  {sign}", value_rows(value, width), shown)


def _in_a_row(value: Any) -> str:
    if value is None:
        return "-"
    try:
        return sanitize(format_value(value), _LONGEST) or "-"
    except RecursionError:
        return "…"


# the present state


def _wait_rows(
    found: Inspection, now_us: int, listing: Listing, styles: ThemeStyles, width: int, idle: str
) -> Iterator[Line]:
    if not found.waits:
        yield [(f"  no procedure runs; {idle}", DIM)]
    for pending, left in zip(found.waits, remaining_times(found, now_us), strict=True):
        wait = pending.wait
        line = listing.line_of(wait)
        file, number = ("", wait.line) if line is None else listing.place_of(line)
        where = f"line {number}" + (f" of {sanitize(file, 40)}" if file else "")
        yield from (
            [*row, ("  ", Style()), (left, styles.leader)] if not place else row
            for place, row in enumerate(_named(wait.procedure, [where], Style(), _BOLD))
        )
        yield from _named("", _wrapped(f"for {wait.what}", width), Style())
        yield from _asked_rows(pending, styles)


def _asked_rows(pending: PendingWait, styles: ThemeStyles) -> Iterator[Line]:
    """Yield the nodes that have answered and those that have not."""
    blank = " " * (_NAME + 3)
    if pending.answered:
        yield [(f"{blank}{format_ranges(sorted(pending.answered))} answered", styles.status("Normal"))]
    if pending.wait.peers:
        unknown = "" if pending.is_known else "; other recipients are unknown: the request is too far back"
        silent = format_ranges(sorted(pending.wait.peers))
        yield [(f"{blank}{silent} not yet", styles.status("Waiting")), (unknown, DIM)]


def _state_rows(found: Inspection, styles: ThemeStyles, width: int) -> Iterator[Line]:
    changed = {change.name for change in found.changes} if len(found.changes) < len(found.state) else set()
    for name, value in found.state.items():
        if name not in found.logs:
            style = styles.accent if name in changed else Style()
            yield from _named(name, ["-"] if value is None else value_rows(value, width), style)


def _stored_rows(found: Inspection, styles: ThemeStyles, width: int) -> Iterator[Line]:
    if found.last.wiped:
        yield [("  it was reset", styles.warning)]
    elif not found.stored:
        yield [("  nothing stored so far", DIM)]
    for text in found.last.altered:
        yield [(f"  since then: {text}", styles.warning)]
    for name, value in found.stored.items():
        if name not in found.logs or not isinstance(value, list):
            yield from _named(name, value_rows(value, width), styles.leader)
            continue
        newest = value[-_NEWEST:]
        more = f", the newest {len(newest)} are" if len(newest) < len(value) else ""
        yield from _named(
            name, [format_count(len(value), "entrie" if len(value) != 1 else "entry") + more], styles.leader
        )
        for entry in newest:
            yield from _named("", _wrapped(format_entries("log", [entry]), width), Style())


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(sanitize(text, _LONGEST), width, subsequent_indent="  ", break_on_hyphens=False) or [""]


# the widget


class InspectView(RowsView):
    """Shows the selected node, or else that of what is selected in the views, or else that of the last step.

    Its head does not scroll.
    """

    def __init__(self, styles: ThemeStyles, source: Source) -> None:
        super().__init__("inspect", styles)
        self._source = source
        self._inspector = Inspector(source.store, source.safe_fields)
        self._node: int | None = None

    def show(self, cursor: Cursor) -> None:
        node = cursor.selected
        if node is None and self._picked is not None:
            node = self._picked.node
        last = self._source.last_steps.at(cursor.record, node)
        if node is None and last is not None:
            node = last.step.node
        view = None if node is None else cursor.cluster.nodes.get(node)
        if node != self._node:
            self._node = node
            self._scroll(0)
        is_picked = cursor.selected is None and self._picked is not None and self._picked.node == node
        reasons = ("selected",) if cursor.selected is not None else _PICKED_REASONS if is_picked else _REASONS
        head = self._head_of(view, reasons, self._width)
        if view is None or last is None:
            self._put_rows([Row([(" no step so far", DIM)])], [head])
            return
        found = self._inspector.of(last)
        if self._is_new(found, head, view.process, remaining_times(found, cursor.now_us), self._picked):
            width, listing = self.scrollable_content_region.width, self._source.listing_of(node)
            rows = inspection_rows(found, view, cursor.now_us, listing, self._styles, width, self._picked)
            self._put_rows(rows, [head])

    def line(self, place: int) -> Line:
        line = super().line(place)
        return self._marked_as_picked(line) if self._rows[place].item == _PICKED else line

    def copied(self) -> Copied:
        head = "".join(text for line in self._head for text, _ in line)
        return f"node {self._node}", "\n".join(text.rstrip() for text in (head, *self.texts()))

    def _line_at(self, y: int) -> Line:
        line = super()._line_at(y)
        return line if y else highlight(line, [self._highlighted], self._styles.highlight)  # the head too

    def _head_of(self, view: NodeState | None, reasons: Sequence[str], width: int) -> Line:
        styles = self._styles
        if view is None:
            return [(" no node has made a step so far; a digit selects one", DIM)]
        shown = view.status if view.process == "running" else view.process
        pieces: Line = [
            (f" node {view.id} ", Style(bold=True)),
            (
                f" {styles.glyph(shown)} {sanitize(process_text(shown), 20)}",
                styles.status(shown) + Style(bold=True),
            ),
        ]
        if view.leads:
            pieces.append((f" {styles.glyphs.leads} leads", styles.leader))
        process = f"  incarnation {view.incarnation}" + (f", process {view.pid}" if view.pid else "")
        pieces.append((process, Style()))
        left = width - width_of(pieces) - 2
        return [*pieces, (f"  {next((each for each in reasons if cell_len(each) <= left), reasons[-1])}", DIM)]
