"""Lines to click on: the tabs of the views, and the keys of the footer."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from msgspec import Struct
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.message import Message
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from lab.styles import DIM, Piece, ThemeStyles, fit, width_of
from lab.tui.actions import FooterKey
from lab.tui.terminal.terminal_app import Draggable


class Tab(Struct, frozen=True):
    """A tab. ``key`` is the key of its view as the user reads it; empty for the log."""

    word: str
    key: str

    @property
    def label(self) -> str:
        return f" {self.key} {self.word} " if self.key else f" {self.word} "


class TabLine(Draggable, Widget):
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
        self._is_pressed = self._was_dragged = False

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
        self._is_pressed, self._was_dragged = True, False

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._is_pressed and event.screen_y != self.region.y:
            self._was_dragged = True
            self.post_message(self.Dragged(event.screen_y))

    def on_mouse_up(self, event: events.MouseUp) -> None:
        self._is_pressed = False

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


def _unchanged(keys: Sequence[FooterKey]) -> Sequence[FooterKey]:
    return keys


class KeyLine(Widget):
    """A line of keys, as many as fit, with whole words. ``arrange`` changes the keys that are bound and shown."""

    DEFAULT_CSS = """
    KeyLine { dock: bottom; height: 1; color: $footer-foreground; background: $footer-background; }
    KeyLine > .key-line--key { color: $footer-key-foreground; background: $footer-background; text-style: bold; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"key-line--key"}

    def __init__(self, arrange: Callable[[Sequence[FooterKey]], Iterable[FooterKey]] = _unchanged) -> None:
        super().__init__()
        self._arrange = arrange
        self._keys: tuple[FooterKey, ...] = ()

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._update_keys)

    def render_line(self, y: int) -> Strip:
        base, key_style = self.rich_style, self.get_component_rich_style("key-line--key")
        pieces: list[Piece] = []
        width = self.size.width
        for each, text in self._visible(width):
            pieces += (each.shown, key_style), (text[len(each.shown) :], base)
        return Strip([Segment(text, base + style) for text, style in fit(pieces, width)], width)

    async def on_mouse_down(self, event: events.MouseDown) -> None:
        key = self._at(event.x)
        if key is not None and key.action:
            await self.run_action(key.action)
        elif key is not None:
            self.app.simulate_key(key.key)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        key = self._at(event.x)
        self.tooltip = None if key is None else key.tooltip

    def _visible(self, width: int) -> Iterator[tuple[FooterKey, str]]:
        """Yield the keys that fit, each with its text."""
        left = 0
        for key in self._keys:
            text = " ".join(filter(None, (key.shown, key.label)))
            left += cell_len(text) + 1
            if left > width + 1:
                return
            yield key, f"{text} "

    def _at(self, x: int) -> FooterKey | None:
        left = 0
        for key, text in self._visible(self.size.width):
            left += cell_len(text)
            if x < left:
                return key
        return None

    def _update_keys(self, screen: Screen[object]) -> None:
        if self.is_attached and (keys := tuple(self._arrange(list(self._bound_keys())))) != self._keys:
            self._keys = keys
            self.refresh()

    def _bound_keys(self) -> Iterator[FooterKey]:
        actions = set()
        for _, binding, enabled, tooltip in self.screen.active_bindings.values():
            if binding.show and enabled and binding.action not in actions:
                actions.add(binding.action)
                shown = self.app.get_key_display(binding)
                yield FooterKey(shown, binding.description, tooltip or binding.description, binding.key)
