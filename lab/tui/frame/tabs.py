"""The views that there are, in a line: which are seen, and the key of each."""

from msgspec import Struct
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from lab.tui.terminal.fitting import Piece, fit
from lab.tui.terminal.theme_styles import DIM, ThemeStyles

__all__ = ["Tab", "TabLine"]


class Tab(Struct, frozen=True):
    """``key`` is what turns to the view, as people write it; nothing for the log."""

    word: str
    key: str

    @property
    def label(self) -> str:
        """As it stands in the line."""
        return f" {self.key} {self.word} " if self.key else f" {self.word} "


class TabLine(Widget):
    """A click on a tab turns to its view; the whole line can be dragged up and down."""

    DEFAULT_CSS = "TabLine { height: 1; background: $panel; }"

    class Chosen(Message):
        """The view with this word is to be seen."""

        def __init__(self, word: str) -> None:
            super().__init__()
            self.word = word

    class Dragged(Message):
        """The line is to be in this row of the screen."""

        def __init__(self, row: int) -> None:
            super().__init__()
            self.row = row

    def __init__(self, theme_styles: ThemeStyles) -> None:
        super().__init__()
        self._look = theme_styles
        self._tabs: tuple[Tab, ...] = ()
        self._seen: tuple[str, ...] = ()
        self._note = ""
        self._was_dragged = False

    def show(self, tabs: tuple[Tab, ...], seen: tuple[str, ...], note: str = "") -> None:
        """Draw these tabs; those of ``seen`` stand out. The ``note`` is at the right end."""
        if (tabs, seen, note) != (self._tabs, self._seen, self._note):
            self._tabs, self._seen, self._note = tabs, seen, note
            self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Turn to what is under the mouse, unless the line was dragged there."""
        if self._was_dragged:
            return
        right = 0
        for tab in self._tabs:
            right += len(tab.label)
            if event.x < right:
                self.post_message(self.Chosen(tab.word))
                return

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """It may be dragged from here."""
        self._was_dragged = False
        self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Drag it."""
        if self.app.mouse_captured is self and event.screen_y != self.region.y:
            self._was_dragged = True
            self.post_message(self.Dragged(event.screen_y))

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Leave it there."""
        self.release_mouse()

    def render_line(self, y: int) -> Strip:
        """The one line."""
        pieces: list[Piece] = []
        for tab in self._tabs:
            if tab.word in self._seen:
                pieces.append((tab.label, self._look.accent + Style(reverse=True)))
            else:
                key = f" {tab.key} " if tab.key else ""
                pieces += [(key, self._look.accent), (tab.label[len(key) :], DIM)]
        width, base = self.size.width, self.rich_style
        if self._note:
            note = fit([(f" {self._note} ", self._look.leader)], min(cell_len(self._note) + 2, width * 3 // 4))
            pieces = [*fit(pieces, width - sum(cell_len(text) for text, _ in note)), *note]
        return Strip([Segment(text, base + style) for text, style in fit(pieces, width)], width)
