"""The base class of all dialogs."""

from typing import ClassVar, TypeVar

from textual.await_complete import AwaitComplete
from textual.binding import BindingType
from textual.content import Content
from textual.screen import ModalScreen
from textual.widget import Widget

__all__ = ["Dialog", "frame"]

R = TypeVar("R")


class Dialog(ModalScreen[R]):
    """A framed box over the screen, in one style, open until it has a result.

    A subclass may bind more keys to ``leave``; the ones here stay bound.
    """

    DEFAULT_CSS = """
    Dialog { align: center middle; }
    Dialog > Vertical, Dialog > VerticalScroll {
        width: 92; max-width: 100%; height: auto; max-height: 90%;
        border: round $accent; background: $surface; padding: 0 1;
    }
    Dialog OptionList {
        height: auto; max-height: 100%; border: none; padding: 0; background: $surface;
        text-wrap: nowrap; text-overflow: ellipsis;
        &:focus { border: none; }
    }
    Dialog Input { height: 1; border: none; padding: 0; &:focus { border: none; } }
    """
    BINDINGS: ClassVar[list[BindingType]] = [("escape", "leave", "close"), ("ctrl+c", "app.help_quit", "")]

    def dismiss(self, result: R | None = None) -> AwaitComplete:
        """Close the dialog; do nothing if it is closed already."""
        # a second key that came too fast would otherwise close the screen below
        return super().dismiss(result) if self.is_active else AwaitComplete()

    def action_leave(self) -> None:
        """Close without a result."""
        self.dismiss(None)


def frame(box: Widget, title: str | None = None, subtitle: str | None = None) -> None:
    """Set the title and subtitle of a box's frame as plain text: Textual would parse brackets as markup."""
    if title is not None:
        box.border_title = Content(title)
    if subtitle is not None:
        box.border_subtitle = Content(subtitle)
