"""The footer: the available keys in the last line of a screen; a click on one presses it.

Textual's footer has a widget for each key and recreates all of them whenever one appears or disappears, which took
three quarters of the time to show another view.
"""

from collections.abc import Callable, Iterator
from typing import ClassVar

from msgspec import Struct
from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.binding import Binding
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from lab.tui.terminal.fitting import Piece, fit

__all__ = ["KeyLine"]


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
    """A line of keys, cut off at the right end. ``is_shown`` selects among the bound keys."""

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
        for each in self._keys:
            pieces += (each.shown, key_style), (f" {each.label} ", base)
        width = self.size.width
        return Strip([Segment(text, base + style) for text, style in fit(pieces, width)], width)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if (key := self._at(event.x)) is not None:
            self.app.simulate_key(key.key)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        key = self._at(event.x)
        self.tooltip = None if key is None else key.tooltip

    def _at(self, x: int) -> _Key | None:
        left = 0
        for key in self._keys:
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
