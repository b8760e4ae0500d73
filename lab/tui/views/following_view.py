"""A scrolling view that follows its growing end, and has a cursor."""

from typing import ClassVar

from textual.binding import BindingType
from textual.message import Message
from textual.scroll_view import ScrollView


class FollowingView(ScrollView, can_focus=True, inherit_bindings=False):
    """Follows the end until it is scrolled or its cursor is moved away from there.

    ``cursor`` is the line that ``Enter`` opens; None stands for the last one. Subclasses move it in
    ``action_cursor`` and ``action_cursor_page``. Home and End are not bound here: they move the cursor in time.
    """

    class Sought(Message):
        """Request to move the cursor in time to this record."""

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
        """Stop following until the end is reached again."""
        self._follow = False

    def on_scroll_to(self) -> None:
        """Stop following when the scroll bar is dragged."""
        self._follow = False
