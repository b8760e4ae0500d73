"""The trace of one message, from why it was sent to the effect of its answer. Each line leads to its record."""

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.binding import BindingType

from lab.analysis.delivery import TraceEntry
from lab.text import sanitize
from lab.tui.terminal.styles import DIM, ThemeStyles
from lab.tui.widgets.dialogs import ListDialog

_STYLES = {"lost": "lost", "taken": "delivered", "routed": "held", "meanwhile": "held", "open": "in flight"}
"""The delivery outcome that gives a line its colour."""


class TraceDialog(ListDialog[int]):
    """The trace of a message. The result is the record of the chosen line; ``here`` is the cursor in time."""

    DEFAULT_CSS = "TraceDialog > Vertical { width: 100; }"
    BINDINGS: ClassVar[list[BindingType]] = [("q,F", "leave", "close")]

    def __init__(self, entries: Sequence[TraceEntry], here: int, styles: ThemeStyles) -> None:
        super().__init__("the trace of a message", "Enter goes to a line's record, Esc closes")
        self._trace = entries
        self._here = here
        self._styles = styles

    def on_mount(self) -> None:
        # the cursor is on the last line that is not after the cursor in time
        reached = [place for place, line in enumerate(self._trace) if line.record <= self._here]
        self.put(((self._entry_text(line), line.record) for line in self._trace), reached[-1] if reached else 0)

    def _entry_text(self, line: TraceEntry) -> Text:
        styles = self._styles
        text = Text(f"{line.at_us / 1e6:9.3f} ", DIM)
        text.append("    " * line.depth)
        sign = {"sent": styles.glyphs.arrow, "did": " ", "lost": styles.glyph("killed")}.get(
            line.what, styles.glyphs.dot
        )
        style = "bold" if line.what == "sent" else styles.fate(_STYLES[line.what]) if line.what in _STYLES else ""
        text.append(f"{sign} {sanitize(line.text, 200)}", style)
        return text
