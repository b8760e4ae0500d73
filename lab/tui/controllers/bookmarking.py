"""Bookmarks: notes on records, and the dialog that writes, lists and removes them."""

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from lab.analysis.bookmarks import Bookmark, Bookmarks
from lab.styles import DIM, ThemeStyles
from lab.text import sanitize
from lab.tui.context import ActionHandler, RunContext
from lab.tui.widgets.dialogs import Dialog, RowList

_LONGEST = 200
_SAVE = "Enter saves · Down to the list · Esc closes"
_GO = "Enter goes there · d, twice, removes it · Tab to the note · Esc closes"
_REMOVE = "d again removes this bookmark · Esc closes"


class BookmarkController:
    """Puts a bookmark on the record at the cursor, or shows the dialog."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._bookmarks = context.source.bookmarks
        self.actions: dict[str, ActionHandler] = {"bookmark": self._bookmark, "bookmarks": self._list}

    def _bookmark(self, text: str) -> None:
        if text:
            player = self._context.player
            self._put(player.number, player.cluster().at_us, text)
            return
        self._show_dialog(lists=False)

    def _list(self) -> None:
        """Show the list, if there is any bookmark."""
        self._bookmarks.read()
        if self._bookmarks.all:
            self._show_dialog(lists=True)
        else:
            self._context.notify("there is no bookmark yet; {bookmark} adds one", warn=True)

    def _show_dialog(self, lists: bool) -> None:
        player = self._context.player
        record, at_us = player.number, player.cluster().at_us

        def use(result: str | int) -> None:
            if isinstance(result, int):
                self._go_to(result)
            else:
                self._put(record, at_us, result)

        self._bookmarks.read()
        dialog = BookmarkDialog(self._bookmarks, record, at_us, self._context.styles, lists)
        self._context.show_dialog(dialog, use)

    def _go_to(self, record: int) -> None:
        self._context.player.go(record)
        bookmark = self._bookmarks.at(record)
        note = "" if bookmark is None else sanitize(bookmark.note, _LONGEST)
        self._context.notify(note or f"record {record}")
        self._context.redraw()

    def _put(self, record: int, at_us: int, text: str) -> None:
        had = self._bookmarks.at(record)
        self._bookmarks.put(record, at_us, text[:_LONGEST])
        message = f"bookmark at record {record}{' changed' if had else ''}"
        if trouble := self._bookmarks.trouble:
            self._context.notify(f"{message}, kept only while this is open: {trouble}", warn=True)
        else:
            keys = "{next-mark} and {previous-mark} go to the next and previous one, {bookmarks} lists them"
            self._context.notify(f"{message}; {keys}")
        self._context.redraw()


class BookmarkDialog(Dialog[str | int]):
    """A note on the record at the cursor, and the list of all notes, which has the focus if it ``lists``.

    The result is the text of the note, the record to go to, or None.
    """

    DEFAULT_CSS = """
    BookmarkDialog Input { margin-bottom: 1; }
    BookmarkDialog OptionList { max-height: 20; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [("down", "to_list", ""), ("delete,d", "remove", "")]

    def __init__(self, bookmarks: Bookmarks, record: int, at_us: int, styles: ThemeStyles, lists: bool) -> None:
        super().__init__(f"note on record {record}, at {at_us / 1e6:.3f} s", _SAVE)
        self._bookmarks = bookmarks
        self._record = record
        self._styles = styles
        self._lists = lists
        self._doomed: int | None = None
        """The record whose bookmark another d removes."""

    def compose_box(self) -> ComposeResult:
        here = self._bookmarks.at(self._record)
        yield Input("" if here is None else here.note, "what happens here", select_on_focus=False)
        yield RowList()

    def on_mount(self) -> None:
        self._fill()
        if self._bookmarks.trouble:
            self.frame(title=self._bookmarks.trouble)
        self.query_one(OptionList if self._lists else Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip())

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(int(event.option_id or 0))

    def on_descendant_focus(self) -> None:
        self._show_keys()

    def on_option_list_option_highlighted(self) -> None:
        self._doomed = None
        self._show_keys()

    def action_to_list(self) -> None:
        self.query_one(OptionList).focus()

    def action_remove(self) -> None:
        notes = self.query_one(OptionList)
        place = notes.highlighted
        if place is None:
            return
        record = int(notes.get_option_at_index(place).id or 0)
        if record != self._doomed:
            self._doomed = record
            self.frame(keys=_REMOVE)
            return
        self._bookmarks.remove(record)
        kept = self._bookmarks.at(record)
        self._fill(place)
        if kept is not None:
            self.frame(title="this bookmark belongs to the parent recording")
        elif self._bookmarks.trouble:
            self.frame(title=self._bookmarks.trouble)

    def _show_keys(self) -> None:
        self.frame(keys=_GO if self.query_one(OptionList).has_focus else _SAVE)

    def _fill(self, place: int | None = None) -> None:
        notes = self.query_one(OptionList)
        every = self._bookmarks.all
        notes.clear_options()
        notes.add_options([Option(self._option_text(each), str(each.record)) for each in every])
        notes.display = bool(every)
        if place is None:
            place = next((n for n, each in enumerate(every) if each.record >= self._record), len(every) - 1)
        if every:
            notes.highlighted = min(place, len(every) - 1)
        else:
            self.query_one(Input).focus()

    def _option_text(self, bookmark: Bookmark) -> Text:
        style = "bold" if bookmark.record == self._record else ""
        text = Text(f"{self._styles.glyphs.marks['bookmark']} ", self._styles.mark("bookmark"))
        text.append(f"{bookmark.at_us / 1e6:9.3f} s  record {bookmark.record:<7} ", DIM)
        text.append(sanitize(bookmark.note, _LONGEST) or "(no note)", style)
        if bookmark.inherited:
            text.append("  from the parent recording", DIM)
        return text
