"""The text of a row of the message log."""

from collections.abc import Mapping

from rich.style import Style

from lab.analysis.delivery import DeliveryOutcome
from lab.recording.log_lines import LogLine
from lab.styles import DIM, Line, Piece, ThemeStyles
from lab.text import sanitize
from lab.tui.widgets.pane import short_body


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
