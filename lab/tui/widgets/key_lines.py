"""Lines to click on: the tabs of the views, and the keys of the footer."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from msgspec import Struct
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding
from textual.message import Message
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from lab.styles import DIM, Piece, ThemeStyles, fit, width_of


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

    @dataclass
    class Chosen(Message):
        """The user clicked the tab of the view with this word."""

        word: str

    @dataclass
    class Dragged(Message):
        """The user dragged the line to this row of the screen."""

        row: int

    def __init__(self, styles: ThemeStyles) -> None:
        super().__init__()
        self._styles = styles
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
                pieces.append((tab.label, self._styles.accent + Style(reverse=True)))
            else:
                key = f" {tab.key} " if tab.key else ""
                pieces += [(key, self._styles.accent), (tab.label[len(key) :], DIM)]
        width, base = self.size.width, self.rich_style
        if self._note:
            note = fit([(f" {self._note} ", self._styles.leader)], min(cell_len(self._note) + 2, width * 3 // 4))
            pieces = [*fit(pieces, width - width_of(note)), *note]
        return Strip([Segment(text, base + style) for text, style in fit(pieces, width)], width)


class _Key(Struct, frozen=True):
    """A key of the footer. ``shown`` is the key as the user reads it, ``tooltip`` a longer text than the label."""

    key: str
    shown: str
    label: str
    tooltip: str

    @property
    def width(self) -> int:
        return cell_len(f"{self.shown} {self.label} ")


class KeyLine(Widget):
    """A line of keys, as many as fit. ``is_shown`` selects among the bound keys."""

    DEFAULT_CSS = """
    KeyLine { dock: bottom; height: 1; color: $footer-foreground; background: $footer-background; }
    KeyLine > .key-line--key { color: $footer-key-foreground; background: $footer-background; text-style: bold; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"key-line--key"}

    def __init__(self, is_shown: Callable[[Binding], bool] = lambda binding: True) -> None:
        super().__init__()
        self._is_shown = is_shown
        self._keys: tuple[_Key, ...] = ()

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._update_keys)

    def render_line(self, y: int) -> Strip:
        base, key_style = self.rich_style, self.get_component_rich_style("key-line--key")
        pieces: list[Piece] = []
        width = self.size.width
        for each in self._visible(width):
            pieces += (each.shown, key_style), (f" {each.label} ", base)
        return Strip([Segment(text, base + style) for text, style in fit(pieces, width)], width)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if (key := self._at(event.x)) is not None:
            self.app.simulate_key(key.key)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        key = self._at(event.x)
        self.tooltip = None if key is None else key.tooltip

    def _visible(self, width: int) -> Iterator[_Key]:
        """Yield the keys that fit, with whole words."""
        left = 0
        for key in self._keys:
            left += key.width
            if left > width:
                return
            yield key

    def _at(self, x: int) -> _Key | None:
        left = 0
        for key in self._visible(self.size.width):
            left += key.width
            if x < left:
                return key
        return None

    def _update_keys(self, screen: Screen[object]) -> None:
        if self.is_attached and (keys := tuple(self._available_keys())) != self._keys:
            self._keys = keys
            self.refresh()

    def _available_keys(self) -> Iterator[_Key]:
        actions = set()
        for _, binding, enabled, tooltip in self.screen.active_bindings.values():
            if binding.show and enabled and binding.action not in actions and self._is_shown(binding):
                actions.add(binding.action)
                shown = self.app.get_key_display(binding)
                yield _Key(binding.key, shown, binding.description, tooltip or binding.description)
