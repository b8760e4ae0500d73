"""Bookmarks in the interface: the dialog that makes, shows and removes them, and the words for it."""

from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from lab.analysis.bookmarks import Bookmark, Bookmarks
from lab.text import sanitize
from lab.tui.dialog import Dialog, frame
from lab.tui.terminal.theme_styles import DIM, ThemeStyles

if TYPE_CHECKING:
    from lab.tui.deeds import Deed
    from lab.tui.screen import RunScreen

__all__ = ["BookmarkDialog", "bookmarking_deeds"]

_LONGEST = 200


class BookmarkDialog(Dialog[str | int | None]):
    """A note for the record at the cursor, and a list of all notes.

    The result is what is to be noted, or the record to go to, or nothing.
    """

    DEFAULT_CSS = """
    BookmarkDialog Input { margin-bottom: 1; }
    BookmarkDialog OptionList { max-height: 20; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("down", "to_list", ""),
        ("delete,d", "remove", ""),
    ]

    def __init__(self, bookmarks: Bookmarks, record: int, at_us: int, theme_styles: ThemeStyles) -> None:
        super().__init__()
        self._bookmarks = bookmarks
        self._record = record
        self._at_us = at_us
        self._look = theme_styles

    def compose(self) -> ComposeResult:
        """The note, and those that there are."""
        here = self._bookmarks.at(self._record)
        with Vertical() as box:
            frame(box, title=f"note on record {self._record}, at {self._at_us / 1e6:.3f} s")
            box.border_subtitle = "Enter keeps it, Esc closes"
            yield Input("" if here is None else here.note, "what is to be seen here", select_on_focus=False)
            yield OptionList()

    def on_mount(self) -> None:
        """Begin at the note of this record, if there is one."""
        self._fill()
        if self._bookmarks.trouble:
            frame(self.query_one(Vertical), subtitle=self._bookmarks.trouble)
        self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Noted."""
        self.dismiss(event.value.strip())

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Go there."""
        self.dismiss(int(event.option_id or 0))

    def on_descendant_focus(self) -> None:
        """Say what the keys do there."""
        is_list = self.query_one(OptionList).has_focus
        said = "Enter goes there, d removes it, Tab writes a note" if is_list else "Enter keeps it, Esc closes"
        frame(self.query_one(Vertical), subtitle=said)

    def action_to_list(self) -> None:
        """From the note to those that there are."""
        self.query_one(OptionList).focus()

    def action_remove(self) -> None:
        """What is noted where the list's cursor is."""
        found = self.query_one(OptionList)
        place = found.highlighted
        if place is None:
            return
        record = int(found.get_option_at_index(place).id or 0)
        self._bookmarks.remove(record)
        kept = self._bookmarks.at(record)
        self._fill(place)
        if kept is not None:
            self.query_one(Vertical).border_subtitle = "it is of the recording that this one branched from"
        elif self._bookmarks.trouble:
            frame(self.query_one(Vertical), subtitle=self._bookmarks.trouble)

    def _fill(self, place: int | None = None) -> None:
        found = self.query_one(OptionList)
        every = self._bookmarks.all
        found.clear_options()
        found.add_options([Option(self._said(each), str(each.record)) for each in every])
        found.display = bool(every)
        if place is None:
            place = next((n for n, each in enumerate(every) if each.record >= self._record), len(every) - 1)
        if every:
            found.highlighted = min(place, len(every) - 1)
        else:
            self.query_one(Input).focus()

    def _said(self, bookmark: Bookmark) -> Text:
        style = "bold" if bookmark.record == self._record else ""
        text = Text(f"{self._look.glyphs.marks['bookmark']} ", self._look.mark("bookmark"))
        text.append(f"{bookmark.at_us / 1e6:9.3f} s  record {bookmark.record:<7} ", DIM)
        text.append(sanitize(bookmark.note, _LONGEST) or "(no note)", style)
        if bookmark.inherited:
            text.append("  of the recording that this one branched from", DIM)
        return text


def bookmarking_deeds(screen: "RunScreen") -> "dict[str, Deed]":
    """Noting something on the record at the cursor."""
    player, bookmarks = screen.player, screen.source.bookmarks

    def note(record: int, at_us: int, text: str) -> None:
        had = bookmarks.at(record)
        bookmarks.put(record, at_us, text[:_LONGEST])
        said = f"bookmark at record {record}{' changed' if had else ''}"
        if bookmarks.trouble:
            screen.say(f"{said}, as long as this is open: {bookmarks.trouble}", warn=True)
        else:
            screen.say(f"{said}; n and N go from one to the next, M lists them")

    def bookmark(text: str) -> None:
        record, at_us = player.number, player.cluster().at_us

        def noted(result: str | int | None) -> None:
            if isinstance(result, int):
                player.go(result)
                found = bookmarks.at(result)
                screen.say((found and sanitize(found.note, _LONGEST)) or f"record {result}")
            elif result is not None:
                note(record, at_us, result)
            screen.draw()

        if text:
            note(record, at_us, text)
        else:
            bookmarks.read()
            screen.app.push_screen(BookmarkDialog(bookmarks, record, at_us, screen.theme_styles), noted)

    return {"bookmark": bookmark}
