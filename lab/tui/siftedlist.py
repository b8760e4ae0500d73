"""A list that grows shorter while one types: only what has all the words in it is left."""

from collections.abc import Iterable, Sequence

from msgspec import Struct
from rich.text import Text
from textual import events
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

__all__ = ["Entry", "SiftedList", "has_words"]


class Entry(Struct, frozen=True):
    """What a row says; without an ``id`` it cannot be chosen. ``head``: of the rows up to the next head."""

    said: Text
    id: str | None = None
    head: bool = False


def has_words(text: str, words: str) -> bool:
    """Whether all these words are in the text, in small letters or large ones."""
    return all(word in text.lower() for word in words.lower().split())


class SiftedList(OptionList):
    """What is typed sifts it, Backspace takes a letter back, Escape all of them.

    ``keys`` are letters that are for somebody else as long as nothing was typed; a slash is typed first to have
    them too.
    """

    class Sifted(Message):
        """What was typed is another text now; None: nothing is typed."""

        def __init__(self, typed: str | None) -> None:
            super().__init__()
            self.typed = typed

    def __init__(self, entries: Iterable[Entry], keys: str = "") -> None:
        self._entries = list(entries)
        self._keys = keys
        self.typed: str | None = None
        super().__init__(*self._as_options(self._entries))

    def put(self, entries: Iterable[Entry]) -> None:
        """Show these from now on; the cursor stays where it is."""
        before = self.highlighted_option
        self._entries = list(entries)
        self._show()
        if before is not None and any(option.id == before.id for option in self.options):
            self.highlighted = self.get_option_index(before.id or "")

    def on_key(self, event: events.Key) -> None:
        """A letter of what is sought."""
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
        self._sift(typed)

    def _sift(self, typed: str | None) -> None:
        self.typed = typed
        self._show()
        self.post_message(self.Sifted(typed))

    def _show(self) -> None:
        self.clear_options()
        self.add_options(self._as_options(self._those_with(self.typed or "")))
        self.action_first()

    def _those_with(self, typed: str) -> list[Entry]:
        """The rows with these words in them, or under a head with them, and the heads of what is left."""
        left: list[Entry] = []
        head: Entry | None = None
        for entry in self._entries:
            if entry.head:
                head = entry
            elif has_words(f"{head.said.plain if head else ''} {entry.said.plain}", typed):
                left += [head, entry] if head is not None and head not in left else [entry]
        return left

    @staticmethod
    def _as_options(entries: Sequence[Entry]) -> list[Option | None]:
        options: list[Option | None] = []
        for entry in entries:
            options += [None] if entry.head and options else []
            options.append(Option(entry.said, entry.id, disabled=entry.id is None))
        return options
