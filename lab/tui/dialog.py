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
    """Over the screen of a run, until it has a result."""

    BINDINGS: ClassVar[list[BindingType]] = [("ctrl+c", "app.help_quit", "")]

    def dismiss(self, result: R | None = None) -> AwaitComplete:
        """Close it. Whoever asks again, by a key that came too fast, would close what is below it."""
        return super().dismiss(result) if self.is_active else AwaitComplete()


def frame(box: Widget, title: str | None = None, subtitle: str | None = None) -> None:
    """Put these into the frame of a box, letter by letter: Textual would take a bracket for markup."""
    if title is not None:
        box.border_title = Content(title)
    if subtitle is not None:
        box.border_subtitle = Content(subtitle)
