"""What all dialogs share: each is closed once, and what stands in its frame is plain text."""

from typing import ClassVar, TypeVar

from textual.await_complete import AwaitComplete
from textual.binding import BindingType
from textual.content import Content
from textual.screen import ModalScreen
from textual.widget import Widget

__all__ = ["Dialog", "frame"]

R = TypeVar("R")


class Dialog(ModalScreen[R]):
    """Over the screen of a run, until it has a result: a box with a frame, and what is in it, all of one look.

    A subclass says only what is otherwise; its keys for ``leave`` come to those that are here.
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
        """Close it. Whoever asks again, by a key that came too fast, would close what is below it."""
        return super().dismiss(result) if self.is_active else AwaitComplete()

    def action_leave(self) -> None:
        """Close, with nothing chosen."""
        self.dismiss(None)


def frame(box: Widget, title: str | None = None, subtitle: str | None = None) -> None:
    """Put these into the frame of a box, letter by letter: Textual would take a bracket for markup."""
    if title is not None:
        box.border_title = Content(title)
    if subtitle is not None:
        box.border_subtitle = Content(subtitle)
