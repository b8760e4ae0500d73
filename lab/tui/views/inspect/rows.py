"""What the inspector says of a node, row by row: pure."""

import textwrap
from collections.abc import Iterator
from typing import Any

from rich.cells import cell_len
from rich.style import Style

from lab.analysis.inspection import Change, Inspection, Pending
from lab.kernel import CommandInput, Fired, Message, Received, Started, Step
from lab.recording.payload_text import body_said, entries_said, in_short
from lab.recording.snapshot import NodeState
from lab.replay.source_listing import Listing
from lab.text import sanitize
from lab.tui.nodes.pane import short_body
from lab.tui.terminal.fitting import Piece
from lab.tui.terminal.theme_styles import DIM, ThemeStyles
from lab.units import count_of, listed

__all__ = ["Row", "inspected", "times_left", "value_rows"]

Row = list[Piece]
_NAME = 14
_LONGEST = 4_000
_DEEPEST = 4
_MOST_ROWS = 400
"""So many rows of one value."""
_NEWEST = 20
"""So many entries of a log, the newest ones."""
_BOLD = Style(bold=True)


def inspected(
    found: Inspection, view: NodeState, now_us: int, listing: Listing, theme_styles: ThemeStyles, width: int
) -> list[Row]:
    """All rows, under the head."""
    inside = max(20, width - _NAME - 3)
    rows = [*_step_rows(found, theme_styles, inside), []]
    if view.process in ("running", "paused"):
        rows += [*_heading("waits", theme_styles), *_wait_rows(found, now_us, listing, theme_styles, inside), []]
        rows += [*_heading("state", theme_styles), *_state_rows(found, theme_styles, inside), []]
    rows += [
        *_heading("safe storage, which outlives a crash", theme_styles),
        *_stored_rows(found, theme_styles, inside),
    ]
    return rows


def times_left(found: Inspection, now_us: int) -> tuple[str, ...]:
    """How long each of its waits still lasts."""
    return tuple(
        ""
        if wait.until_us is None
        else f"{max(0, wait.until_us - now_us) / 1e6:.1f} of {(wait.until_us - wait.since_us) / 1e6:.1f} s left"
        for wait in (pending.wait for pending in found.waits)
    )


def value_rows(value: Any, width: int, depth: int = 0) -> Iterator[str]:
    """A value in as many rows as it takes: what is nested is set in, where it is too long for one row."""
    try:
        said = sanitize(in_short(value), _LONGEST)
    except RecursionError:
        yield "nested too deeply to be shown"
        return
    if cell_len(said) <= width or depth >= _DEEPEST or not isinstance(value, dict | list) or not value:
        yield from textwrap.wrap(said, max(8, width), break_on_hyphens=False) or ["-"]
        return
    if isinstance(value, list) and not any(isinstance(each, dict | list) for each in value):
        yield from textwrap.wrap(said, max(8, width))
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


def _heading(text: str, theme_styles: ThemeStyles) -> Iterator[Row]:
    yield [(f" {text}", theme_styles.accent)]


def _named(name: str, rows: Iterator[str] | list[str], style: Style, name_style: Style = DIM) -> Iterator[Row]:
    title = sanitize(name, 40)
    for place, row in enumerate(rows):
        if place >= _MOST_ROWS:
            yield [(" " * (_NAME + 3), Style()), ("…", DIM)]
            return
        if place == 0 and cell_len(title) > _NAME:
            yield [(f"  {title}", name_style)]
            title = ""
        yield [(f"  {title if not place else '':{_NAME}} ", name_style), (row, style)]


# what the step did


def _step_rows(found: Inspection, theme_styles: ThemeStyles, width: int) -> Iterator[Row]:
    step = found.last.step
    yield from _heading(f"its last step: record {found.last.number} at {step.at_us / 1e6:.3f} s", theme_styles)
    yield from _named("got", _wrapped(_input_said(step, found.received), width), _BOLD)
    if not isinstance(step.input, Started):
        for change in found.changes:
            yield from _change_rows(change, theme_styles, width)
    for log, entries in step.logged.items():
        said = [sanitize(entries_said(log, [entry]), _LONGEST) for entry in entries]
        rows = [row for each in said for row in _wrapped(each, width)]
        yield from _named("logged", rows, theme_styles.leader)
    for kind, body, targets in _sent(step):
        yield from _named("sent", _wrapped(f"{kind} to {listed(targets)}  {body}", width), theme_styles.kind(kind))
    for note in step.notes:
        yield from _named("remark", _wrapped(note, width), DIM)
    if step.late:
        yield from _named("late", ["an answer that nobody waits for any longer"], theme_styles.warning)
    if step.failed:
        yield from _named(
            "failed", [sanitize(line, 200) for line in step.failed.split("\n")], theme_styles.warning
        )
    if not (found.changes or step.logged or step.sent or step.notes or step.late or step.failed):
        yield from _named("changed", ["nothing"], DIM)


def _input_said(step: Step, received: Message | None) -> str:
    match step.input:
        case Started(incarnation=incarnation):
            return f"the start of its life {incarnation}"
        case Fired(procedure=procedure):
            return f"the timer of {procedure}"
        case CommandInput(command=command, words=words):
            return f"the command {' '.join((command, *words))}"
        case Received(source=source, serial=serial):
            if received is None:
                return f"message {serial} of {source}"
            return f"{received.kind} of {source}  {_body(received)}"


def _body(message: Message) -> str:
    return short_body(body_said(message)) if bytes(message.body) not in (b"{}", b"") else ""


def _sent(step: Step) -> list[tuple[str, str, list[int]]]:
    """Of each kind with each content, to whom."""
    found: dict[tuple[str, str], list[int]] = {}
    for message in step.sent:
        found.setdefault((message.kind, _body(message)), []).append(message.target)
    return [(kind, body, sorted(targets)) for (kind, body), targets in found.items()]


def _change_rows(change: Change, theme_styles: ThemeStyles, width: int) -> Iterator[Row]:
    word = "stored" if change.is_safe else "changed"
    arrow = f" {theme_styles.glyphs.arrow} "
    before, after = _in_a_row(change.before), _in_a_row(change.after)
    name = sanitize(change.name, 40)
    style = theme_styles.leader if change.is_safe else Style()
    if cell_len(name + before + arrow + after) + 2 <= width:
        pieces: Row = [(f"{name}  ", _BOLD), (before, DIM), (arrow, theme_styles.accent), (after, style + _BOLD)]
        yield [(f"  {word:{_NAME}} ", DIM), *pieces]
        return
    yield [(f"  {word:{_NAME}} ", DIM), (name, _BOLD)]
    for sign, value, shown in (("was", change.before, DIM), ("is", change.after, style)):
        yield from _named(f"  {sign}", value_rows(value, width), shown)


def _in_a_row(value: Any) -> str:
    if value is None:
        return "-"
    try:
        return sanitize(in_short(value), _LONGEST) or "-"
    except RecursionError:
        return "…"


# what there is


def _wait_rows(
    found: Inspection, now_us: int, listing: Listing, theme_styles: ThemeStyles, width: int
) -> Iterator[Row]:
    if not found.waits:
        yield [("  in no procedure: only a message or a timer moves it", DIM)]
    for pending, left in zip(found.waits, times_left(found, now_us), strict=True):
        wait = pending.wait
        line = listing.line_of(wait)
        file, number = ("", wait.line) if line is None else listing.place_of(line)
        where = f"line {number}" + (f" of {sanitize(file, 40)}" if file else "")
        yield from (
            [*row, ("  ", Style()), (left, theme_styles.leader)] if not place else row
            for place, row in enumerate(_named(wait.procedure, [where], Style(), _BOLD))
        )
        yield from _named("", _wrapped(f"for {wait.what}", width), Style())
        yield from _asked_rows(pending, theme_styles)


def _asked_rows(pending: Pending, theme_styles: ThemeStyles) -> Iterator[Row]:
    """Who has answered, who has not."""
    blank = " " * (_NAME + 3)
    if pending.answered:
        yield [(f"{blank}{listed(sorted(pending.answered))} answered", theme_styles.status("Normal"))]
    if pending.wait.peers:
        unknown = "" if pending.is_known else "; who else was asked is too far back"
        silent = listed(sorted(pending.wait.peers))
        yield [(f"{blank}{silent} not yet", theme_styles.status("Waiting")), (unknown, DIM)]


def _state_rows(found: Inspection, theme_styles: ThemeStyles, width: int) -> Iterator[Row]:
    changed = {change.name for change in found.changes} if len(found.changes) < len(found.state) else set()
    for name, value in found.state.items():
        if name not in found.logs:
            style = theme_styles.accent if name in changed else Style()
            yield from _named(name, ["-"] if value is None else value_rows(value, width), style)


def _stored_rows(found: Inspection, theme_styles: ThemeStyles, width: int) -> Iterator[Row]:
    if found.last.wiped:
        yield [("  it was emptied", theme_styles.warning)]
    elif not found.stored:
        yield [("  nothing was stored so far", DIM)]
    for name, value in found.stored.items():
        if name not in found.logs or not isinstance(value, list):
            yield from _named(name, value_rows(value, width), theme_styles.leader)
            continue
        newest = value[-_NEWEST:]
        more = f", the newest {len(newest)} are" if len(newest) < len(value) else ""
        yield from _named(
            name, [count_of(len(value), "entrie" if len(value) != 1 else "entry") + more], theme_styles.leader
        )
        for entry in newest:
            yield from _named("", _wrapped(entries_said("log", [entry]), width), Style())


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(sanitize(text, _LONGEST), width, subsequent_indent="  ", break_on_hyphens=False) or [""]
