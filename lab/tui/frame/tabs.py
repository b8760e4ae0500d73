"""The line of tabs: the available views, their keys, and which of them are shown."""

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
    """A tab. ``key`` is the key of its view as the user reads it; empty for the log."""

    word: str
    key: str

    @property
    def label(self) -> str:
        return f" {self.key} {self.word} " if self.key else f" {self.word} "


class TabLine(Widget):
    """The line of tabs. A click on a tab shows its view; the line can be dragged up and down."""

    DEFAULT_CSS = "TabLine { height: 1; background: $panel; }"

    class Chosen(Message):
        """The user clicked the tab of the view with this word."""

        def __init__(self, word: str) -> None:
            super().__init__()
            self.word = word

    class Dragged(Message):
        """The user dragged the line to this row of the screen."""

        def __init__(self, row: int) -> None:
            super().__init__()
            self.row = row

    def __init__(self, theme_styles: ThemeStyles) -> None:
        super().__init__()
        self._theme_styles = theme_styles
        self._tabs: tuple[Tab, ...] = ()
        self._seen: tuple[str, ...] = ()
        self._note = ""
        self._was_dragged = False

    def show(self, tabs: tuple[Tab, ...], seen: tuple[str, ...], note: str = "") -> None:
        """Draw these tabs, those in ``seen`` highlighted, and a note at the right end."""
        if (tabs, seen, note) != (self._tabs, self._seen, self._note):
            self._tabs, self._seen, self._note = tabs, seen, note
            self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Choose the tab under the mouse, unless the click ended a drag."""
        if self._was_dragged:
            return
        right = 0
        for tab in self._tabs:
            right += len(tab.label)
            if event.x < right:
                self.post_message(self.Chosen(tab.word))
                return

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._was_dragged = False
        self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self.app.mouse_captured is self and event.screen_y != self.region.y:
            self._was_dragged = True
            self.post_message(self.Dragged(event.screen_y))

    def on_mouse_up(self, event: events.MouseUp) -> None:
        self.release_mouse()

    def render_line(self, y: int) -> Strip:
        pieces: list[Piece] = []
        for tab in self._tabs:
            if tab.word in self._seen:
                pieces.append((tab.label, self._theme_styles.accent + Style(reverse=True)))
            else:
                key = f" {tab.key} " if tab.key else ""
                pieces += [(key, self._theme_styles.accent), (tab.label[len(key) :], DIM)]
        width, base = self.size.width, self.rich_style
        if self._note:
            note = fit(
                [(f" {self._note} ", self._theme_styles.leader)], min(cell_len(self._note) + 2, width * 3 // 4)
            )
            pieces = [*fit(pieces, width - sum(cell_len(text) for text, _ in note)), *note]
        return Strip([Segment(text, base + style) for text, style in fit(pieces, width)], width)
