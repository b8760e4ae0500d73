"""A list that is filtered by typing: only rows that contain all typed words remain."""

from collections.abc import Iterable, Sequence

from msgspec import Struct
from rich.text import Text
from textual import events
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

__all__ = ["Entry", "FilterableList", "contains_words"]


class Entry(Struct, frozen=True):
    """A row. Without an ``id`` it cannot be chosen; a ``head`` is the title of the rows up to the next head."""

    text: Text
    id: str | None = None
    head: bool = False


def contains_words(text: str, words: str) -> bool:
    """Return whether the text contains all these words, ignoring case."""
    return all(word in text.lower() for word in words.lower().split())


class FilterableList(OptionList):
    """A list filtered by typed words. Backspace deletes a letter, Escape clears the filter.

    ``keys`` are letters bound by the screen: they do not begin a filter, except after a slash.
    """

    class FilterChanged(Message):
        """The filter text changed; None means that there is no filter."""

        def __init__(self, typed: str | None) -> None:
            super().__init__()
            self.typed = typed

    def __init__(self, entries: Iterable[Entry], keys: str = "") -> None:
        self._entries = list(entries)
        self._keys = keys
        self.typed: str | None = None
        super().__init__(*self._as_options(self._entries))

    def put(self, entries: Iterable[Entry]) -> None:
        """Replace the rows; the cursor stays on its row, if that is still there."""
        before = self.highlighted_option
        self._entries = list(entries)
        self._show()
        if before is not None and any(option.id == before.id for option in self.options):
            self.highlighted = self.get_option_index(before.id or "")

    def on_key(self, event: events.Key) -> None:
        letter = event.character if event.is_printable else None
        if event.key == "escape" and self.typed is not None:
            typed = None
        elif event.key == "backspace" and self.typed is not None:
            typed = self.typed[:-1] if self.typed else None
        elif letter is None or (self.typed is None and (letter in self._keys or letter == " ")):
            return
        else:
            typed = (self.typed or "") + (letter if self.typed is not None or letter != "/" else "")
        event.stop()
        event.prevent_default()
        self._set_filter(typed)

    def _set_filter(self, typed: str | None) -> None:
        self.typed = typed
        self._show()
        self.post_message(self.FilterChanged(typed))

    def _show(self) -> None:
        self.clear_options()
        self.add_options(self._as_options(self._matching(self.typed or "")))
        self.action_first()

    def _matching(self, typed: str) -> list[Entry]:
        """Return the rows that contain these words, counting those of their head; each group with its head."""
        left: list[Entry] = []
        head: Entry | None = None
        for entry in self._entries:
            if entry.head:
                head = entry
            elif contains_words(f"{head.text.plain if head else ''} {entry.text.plain}", typed):
                left += [head, entry] if head is not None and head not in left else [entry]
        return left

    @staticmethod
    def _as_options(entries: Sequence[Entry]) -> list[Option | None]:
        options: list[Option | None] = []
        for entry in entries:
            options += [None] if entry.head and options else []
            options.append(Option(entry.text, entry.id, disabled=entry.id is None))
        return options
