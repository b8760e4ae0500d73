"""Copying to the clipboard of the terminal, by OSC 52, which goes over SSH too."""

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from lab.recording.reader import RecordStore
from lab.text import sanitize
from lab.units import count_of

if TYPE_CHECKING:
    from lab.tui.screen import RunScreen

__all__ = ["Copied", "CopiesFrom", "copy", "record_as_json", "said_of_copy"]

Copied = tuple[str, str]
"""What it is, as the user is told, and the text."""


@runtime_checkable
class CopiesFrom(Protocol):
    """A view with something under its cursor that can be copied."""

    def copied(self) -> Copied | None:
        """What is to be copied; None: nothing is under the cursor."""


def copy(screen: "RunScreen") -> None:
    """What is under the cursor of the view that has the keys, or the record where the cursor in time is."""
    view = screen.views.in_hand
    found = view.copied() if isinstance(view, CopiesFrom) else None
    what, text = found or record_as_json(screen.source.lines, screen.player.number)
    screen.app.copy_to_clipboard(text)
    screen.say(said_of_copy(what, text))


def record_as_json(lines: RecordStore, number: int) -> Copied:
    """A record as it stands in the recording."""
    return f"record {number}", lines.raw(number).decode("utf-8", "replace")


def said_of_copy(what: str, text: str) -> str:
    """That it was copied; whether the terminal took it nobody is told."""
    begin = sanitize(text, 60)
    return f"copied {what} ({count_of(len(text), 'character')}), if your terminal takes OSC 52: {begin}"
