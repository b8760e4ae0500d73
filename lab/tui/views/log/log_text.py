"""The text of a log row: its time and what happened, in styled pieces."""

from rich.style import Style

from lab.analysis.delivery import DeliveryOutcome
from lab.recording.log_lines import LogLine
from lab.text import sanitize
from lab.tui.nodes.pane import short_body
from lab.tui.terminal.fitting import Piece
from lab.tui.terminal.theme_styles import DIM, ThemeStyles

__all__ = ["clock_piece", "row_pieces", "row_text", "searchable_text"]


def clock_piece(line: LogLine, marked: bool, theme_styles: ThemeStyles) -> Piece:
    """Return the time of a line, highlighted if it belongs to the marked violation."""
    return f"{line.at_us / 1e6:9.3f} ", theme_styles.warning + Style(reverse=True) if marked else DIM


def row_pieces(line: LogLine, ending: DeliveryOutcome | None, theme_styles: ThemeStyles) -> list[Piece]:
    """Return what happened; of a message, also its delivery outcome if known."""
    if line.what != "message":
        return _event_pieces(line, theme_styles)
    fate = "in flight" if ending is None else ending.fate
    outcome_text = f"+{(ending.at_us - line.at_us) / 1000:.1f} ms" if ending and fate == "delivered" else fate
    is_answer = line.kind.endswith("Answer")
    kind = f"{theme_styles.glyphs.answer if is_answer else ' '} {sanitize(line.kind, 22)}"
    return [
        (f"{line.source:>2} {theme_styles.glyphs.arrow} {line.target:<2} ", Style(bold=not is_answer)),
        (f"{kind:24} ", theme_styles.kind(line.kind)),
        (f"{outcome_text:>13} ", theme_styles.fate(fate)),
        (sanitize(short_body(line.text), 400), DIM),
    ]


def row_text(line: LogLine, ending: DeliveryOutcome | None, theme_styles: ThemeStyles) -> str:
    """Return the whole row as plain text."""
    pieces = [clock_piece(line, False, theme_styles), *row_pieces(line, ending, theme_styles)]
    return " ".join("".join(text for text, _ in pieces).split())


def searchable_text(line: LogLine, theme_styles: ThemeStyles) -> str:
    """Return the text that a search looks in, in lower case: without time, outcome and answer sign."""
    if line.what == "message":
        link = f"{line.source} {theme_styles.glyphs.arrow} {line.target}"
        text = f"{link} {sanitize(line.kind)} {short_body(line.text)}"
    else:
        text = "".join(text for text, _ in _event_pieces(line, theme_styles))
    return " ".join(text.lower().split())


def _event_pieces(line: LogLine, theme_styles: ThemeStyles) -> list[Piece]:
    if line.what == "status":
        style = theme_styles.status(line.kind) + Style(bold=True)
        return [
            (f"{line.source:>2}      {theme_styles.glyph(line.kind)} ", style),
            (sanitize(line.text, 80), style),
        ]
    if line.what in ("caption", "mark", "expectation"):
        kind = line.kind or line.what
        text = f"{'' if line.kind else f'{line.what}: '}{line.text}"
        return [
            (f"        {theme_styles.glyphs.marks[kind]} ", theme_styles.mark(kind)),
            (sanitize(text, 300), theme_styles.mark(kind)),
        ]
    if line.what == "command":
        return [
            (f"        {theme_styles.glyphs.play} ", theme_styles.accent),
            (sanitize(line.text, 200), theme_styles.accent),
        ]
    if line.what == "process":
        style = theme_styles.status({"resumed": "Normal", "started": "Normal"}.get(line.kind, line.kind))
        return [
            (f"{line.source:>2}      {theme_styles.glyph(line.kind)} ", style + Style(bold=True)),
            (sanitize(line.text, 80), style + Style(bold=True)),
        ]
    style = {"failure": theme_styles.warning, "log": DIM}.get(line.what, Style(italic=True))
    who = "  " if line.source is None else f"{line.source:>2}"
    label = {"protocol-command": "command: ", "log": "log: "}.get(line.what, "")
    return [(f"{who}      {theme_styles.glyphs.dot} ", style), (sanitize(f"{label}{line.text}", 300), style)]
