"""What a row of the log says: its time, and behind that what happened, in pieces of one style each."""

from rich.style import Style

from lab.analysis.delivery import Ending
from lab.recording.log_lines import LogLine
from lab.text import sanitize
from lab.tui.nodes.pane import short_body
from lab.tui.terminal.fitting import Piece
from lab.tui.terminal.theme_styles import DIM, ThemeStyles

__all__ = ["clock_piece", "pieces_of", "row_text", "sought_text"]


def clock_piece(line: LogLine, marked: bool, theme_styles: ThemeStyles) -> Piece:
    """When it was; loud, where it is of a violation that is being looked at."""
    return f"{line.at_us / 1e6:9.3f} ", theme_styles.warning + Style(reverse=True) if marked else DIM


def pieces_of(line: LogLine, ending: Ending | None, theme_styles: ThemeStyles) -> list[Piece]:
    """What happened; of a message also what became of it, as far as that is known."""
    if line.what != "message":
        return _event(line, theme_styles)
    fate = "in flight" if ending is None else ending.fate
    told = f"+{(ending.at_us - line.at_us) / 1000:.1f} ms" if ending and fate == "delivered" else fate
    answers = line.kind.endswith("Answer")
    kind = f"{theme_styles.glyphs.answer if answers else ' '} {sanitize(line.kind, 22)}"
    return [
        (f"{line.source:>2} {theme_styles.glyphs.arrow} {line.target:<2} ", Style(bold=not answers)),
        (f"{kind:24} ", theme_styles.kind(line.kind)),
        (f"{told:>13} ", theme_styles.fate(fate)),
        (sanitize(short_body(line.text), 400), DIM),
    ]


def row_text(line: LogLine, ending: Ending | None, theme_styles: ThemeStyles) -> str:
    """The whole row as plain text."""
    pieces = [clock_piece(line, False, theme_styles), *pieces_of(line, ending, theme_styles)]
    return " ".join("".join(text for text, _ in pieces).split())


def sought_text(line: LogLine, theme_styles: ThemeStyles) -> str:
    """What free text is sought in, in small letters: the row without its time, a fate, and an answer's sign."""
    if line.what == "message":
        said = f"{line.source} {theme_styles.glyphs.arrow} {line.target} {sanitize(line.kind)} {short_body(line.text)}"
    else:
        said = "".join(text for text, _ in _event(line, theme_styles))
    return " ".join(said.lower().split())


def _event(line: LogLine, theme_styles: ThemeStyles) -> list[Piece]:
    if line.what == "status":
        style = theme_styles.status(line.kind) + Style(bold=True)
        return [
            (f"{line.source:>2}      {theme_styles.glyph(line.kind)} ", style),
            (sanitize(line.text, 80), style),
        ]
    if line.what in ("caption", "mark", "expectation"):
        kind = line.kind or line.what
        said = f"{'' if line.kind else f'{line.what}: '}{line.text}"
        return [
            (f"        {theme_styles.glyphs.marks[kind]} ", theme_styles.mark(kind)),
            (sanitize(said, 300), theme_styles.mark(kind)),
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
    told = f"{line.what}: {line.text}" if line.what in ("told", "log") else line.text
    return [(f"{who}      {theme_styles.glyphs.dot} ", style), (sanitize(told, 300), style)]
