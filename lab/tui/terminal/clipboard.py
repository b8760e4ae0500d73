"""Copy to the clipboard of the terminal by OSC 52, which works over SSH too."""

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from lab.recording.reader import RecordStore
from lab.text import sanitize
from lab.units import format_count

if TYPE_CHECKING:
    from lab.tui.screen import RunScreen

Copied = tuple[str, str]
"""(a description for the user, the text)."""


@runtime_checkable
class CopiesFrom(Protocol):
    """A view with something under its cursor that can be copied."""

    def copied(self) -> Copied | None:
        """Return what is under the cursor, or None."""


def copy(screen: "RunScreen") -> None:
    """Copy what is under the cursor of the focused view, or else the record at the time cursor."""
    view = screen.views.focused_view
    found = view.copied() if isinstance(view, CopiesFrom) else None
    what, text = found or record_as_json(screen.source.store, screen.player.number)
    screen.app.copy_to_clipboard(text)
    screen.show_message(describe_copy(what, text))


def record_as_json(lines: RecordStore, number: int) -> Copied:
    """Return a record as written in the recording."""
    return f"record {number}", lines.raw(number).decode("utf-8", "replace")


def describe_copy(what: str, text: str) -> str:
    """Return the message after copying."""
    # the terminal does not confirm that it accepted the text
    begin = sanitize(text, 60)
    return f"copied {what} ({format_count(len(text), 'character')}), if your terminal supports OSC 52: {begin}"
