"""What a row of the log says: its time, and behind that what happened, in pieces of one style each."""

from rich.style import Style

from lab.analysis.delivery import Ending
from lab.recording.log_lines import LogLine
from lab.text import sanitize
from lab.tui.nodes.pane import short_body
from lab.tui.terminal.fitting import Piece
from lab.tui.terminal.look import DIM, Look

__all__ = ["clock_piece", "pieces_of", "row_text", "sought_text"]


def clock_piece(line: LogLine, marked: bool, look: Look) -> Piece:
    """When it was; loud, where it is of a violation that is being looked at."""
    return f"{line.at_us / 1e6:9.3f} ", look.warning + Style(reverse=True) if marked else DIM


def pieces_of(line: LogLine, ending: Ending | None, look: Look) -> list[Piece]:
    """What happened; of a message also what became of it, as far as that is known."""
    if line.what != "message":
        return _event(line, look)
    fate = "in flight" if ending is None else ending.fate
    told = f"+{(ending.at_us - line.at_us) / 1000:.1f} ms" if ending and fate == "delivered" else fate
    answers = line.kind.endswith("Answer")
    kind = f"{look.glyphs.answer if answers else ' '} {sanitize(line.kind, 22)}"
    return [
        (f"{line.source:>2} {look.glyphs.arrow} {line.target:<2} ", Style(bold=not answers)),
        (f"{kind:24} ", look.kind(line.kind)),
        (f"{told:>13} ", look.fate(fate)),
        (sanitize(short_body(line.text), 400), DIM),
    ]


def row_text(line: LogLine, ending: Ending | None, look: Look) -> str:
    """The whole row as plain text."""
    pieces = [clock_piece(line, False, look), *pieces_of(line, ending, look)]
    return " ".join("".join(text for text, _ in pieces).split())


def sought_text(line: LogLine, look: Look) -> str:
    """What free text is sought in, in small letters: the row without its time, a fate, and an answer's sign."""
    if line.what == "message":
        said = f"{line.source} {look.glyphs.arrow} {line.target} {sanitize(line.kind)} {short_body(line.text)}"
    else:
        said = "".join(text for text, _ in _event(line, look))
    return " ".join(said.lower().split())


def _event(line: LogLine, look: Look) -> list[Piece]:
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
