"""A view that grows at its end: it follows that, and has a cursor."""

from typing import ClassVar

from textual.binding import BindingType
from textual.message import Message
from textual.scroll_view import ScrollView

__all__ = ["FollowingView"]


class FollowingView(ScrollView, can_focus=True, inherit_bindings=False):
    """Follows the end, unless it was scrolled away from there, or its cursor was moved away.

    ``cursor`` is the line that ``Enter`` is for; None while that is the last one. Who derives from it moves it, by
    ``action_cursor`` and ``action_cursor_page``. Home and End are not its own: they move in time here too.
    """

    class Sought(Message):
        """The run is to be seen as of this record."""

        def __init__(self, record: int) -> None:
            super().__init__()
            self.record = record

    DEFAULT_CSS = "FollowingView { height: 1fr; scrollbar-size-vertical: 1; overflow-x: hidden; }"

    BINDINGS: ClassVar[list[BindingType]] = [
        ("up", "cursor(-1)"),
        ("down", "cursor(1)"),
        ("pageup", "cursor_page(-1)"),
        ("pagedown", "cursor_page(1)"),
    ]

    def __init__(self, name: str) -> None:
        super().__init__(id=name)
        self.cursor: int | None = None
        self._follow = True

    def on_mouse_scroll_up(self) -> None:
        """Scrolled away from the end: do not follow it until it is reached again."""
        self._follow = False

    def on_scroll_to(self) -> None:
        """The scroll bar was dragged."""
        self._follow = False
