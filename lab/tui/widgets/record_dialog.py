"""A record in full; and copies of it, or of what else is shown, by OSC 52, which works over SSH too."""

from typing import ClassVar, Protocol, runtime_checkable

import msgspec
from rich.text import Text
from textual.binding import BindingType

from lab.recording.reader import RecordStore
from lab.text import sanitize
from lab.tui.widgets.dialogs import TextBox
from lab.units import format_count

Copied = tuple[str, str]
"""(a description for the user, the text)."""


@runtime_checkable
class CopiesFrom(Protocol):
    """A view with something under its cursor that can be copied."""

    def copied(self) -> Copied | None:
        """Return what is under the cursor, or None."""


def record_as_json(lines: RecordStore, number: int) -> Copied:
    """Return a record as written in the recording."""
    return f"record {number}", lines.raw(number).decode("utf-8", "replace")


def describe_copy(what: str, text: str) -> str:
    """Return the message after copying."""
    # the terminal does not confirm that it accepted the text
    begin = sanitize(text, 60)
    return f"copied {what} ({format_count(len(text), 'character')}), if your terminal supports OSC 52: {begin}"


class RecordDialog(TextBox):
    """A record in full, as JSON, under a heading; y copies it."""

    BINDINGS: ClassVar[list[BindingType]] = [("y", "copy", "copy")]

    def __init__(self, lines: RecordStore, number: int, heading: str) -> None:
        super().__init__(f"record {number}; y copies it")
        self._record = record_as_json(lines, number)
        self._raw = lines.raw(number)
        self._heading = heading

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(self._record[1])
        self.frame(subtitle=describe_copy(*self._record))

    def content(self) -> Text:
        text = Text()
        if self._heading:
            text.append(f"{self._heading}\n\n", "bold")
        try:
            pretty = msgspec.json.format(self._raw, indent=2).decode("utf-8", "replace")
        except msgspec.DecodeError:
            pretty = self._raw.decode("utf-8", "replace")
        for line in pretty.split("\n"):
            text.append(sanitize(line) + "\n")
        return text
