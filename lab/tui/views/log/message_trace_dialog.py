"""The life of one message, from why it was sent to what its answer came to; each line leads to its record."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from lab.analysis.message_trace import LifeLine, life_of, message_at
from lab.text import sanitize
from lab.tui.dialog import Dialog
from lab.tui.terminal.theme_styles import DIM, ThemeStyles
from lab.tui.views.log.view import MessageLog

if TYPE_CHECKING:
    from lab.tui.screen import RunScreen

__all__ = ["LifeDialog", "follow"]

_SIGNS = {"lost": "lost", "taken": "delivered", "routed": "held", "meanwhile": "held", "open": "in flight"}
"""The fate in whose colour a line is."""


class LifeDialog(Dialog[int | None]):
    """The result is the record of the line that was chosen; ``here`` is where the cursor in time is."""

    DEFAULT_CSS = """
    LifeDialog > Vertical { width: 100; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("q,F", "leave", "close"),
    ]

    def __init__(self, incarnation: Sequence[LifeLine], here: int, theme_styles: ThemeStyles) -> None:
        super().__init__()
        self._life = incarnation
        self._here = here
        self._look = theme_styles

    def compose(self) -> ComposeResult:
        """A line of its life a row."""
        with Vertical() as box:
            box.border_title = "the life of a message"
            box.border_subtitle = "Enter goes to the record of a line, Esc closes"
            yield OptionList(*(Option(self._said(line), str(place)) for place, line in enumerate(self._life)))

    def on_mount(self) -> None:
        """Begin at the last line that is not after the cursor in time."""
        reached = [place for place, line in enumerate(self._life) if line.record <= self._here]
        self.query_one(OptionList).highlighted = reached[-1] if reached else 0

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Chosen."""
        self.dismiss(self._life[int(event.option_id or 0)].record)

    def _said(self, line: LifeLine) -> Text:
        theme_styles = self._look
        text = Text(f"{line.at_us / 1e6:9.3f} ", DIM)
        text.append("    " * line.depth)
        sign = {"sent": theme_styles.glyphs.arrow, "did": " ", "lost": theme_styles.glyph("killed")}.get(
            line.what, theme_styles.glyphs.dot
        )
        style = (
            "bold" if line.what == "sent" else theme_styles.fate(_SIGNS[line.what]) if line.what in _SIGNS else ""
        )
        text.append(f"{sign} {sanitize(line.text, 200)}", style)
        return text


def follow(screen: "RunScreen") -> None:
    """The life of the message under the cursor of the log, or of the record where the cursor in time is."""
    lines, view = screen.source.lines, screen.views.in_hand
    row = view.under_cursor if isinstance(view, MessageLog) else None
    if row is not None and row[0].what == "message":
        sent, key = row[0].record, row[0].message
    elif (found := message_at(lines, screen.player.number)) is not None:
        sent, key = found
    else:
        screen.say(
            "which message? put the log's cursor on one (Tab, arrow keys), or step to one with e", warn=True
        )
        return

    def chosen(record: int | None) -> None:
        if record is not None:
            screen.player.go(record)
            screen.draw()

    incarnation = list(life_of(lines, key, sent))
    screen.app.push_screen(LifeDialog(incarnation, screen.player.number, screen.theme_styles), chosen)
