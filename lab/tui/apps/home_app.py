"""The home screen: what to continue, start, learn and look at, with a preview of what is selected."""

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual import events, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.widgets import OptionList, Static

from lab.glyphs import glyphs_for
from lab.styles import DIM, ThemeStyles
from lab.text import sanitize
from lab.tui.actions import FooterKey
from lab.tui.apps.home_items import SECTIONS, HomeChoice, HomeItem, RecordingFile, rows_of
from lab.tui.apps.home_preview import (
    RecordingDigest,
    UnreadableError,
    command_lines,
    describe_folded,
    describe_item,
    describe_recording,
    digest_recording,
)
from lab.tui.terminal.terminal_app import TerminalApp
from lab.tui.views.exercise_view import wrap
from lab.tui.widgets.dialogs import FilterableList
from lab.tui.widgets.key_lines import KeyLine

_ROOM_FOR_COLUMNS = 76
_AROUND_ROW = 3
"""The columns of the list that are no part of a row: its margins, and a scroll bar."""
_WIDEST = 120
_LONGEST_FILTER = 30
_SETTLED_S = 0.15
"""A recording is read once the cursor has been on it for this long."""


class _StoppedError(Exception):
    """The preview is not wanted any more."""


class HomeApp(TerminalApp[HomeChoice]):
    """The home screen; its result is what the user chose, or None.

    ``read_more`` returns further items, or some of these in full; it is called in a thread. ``last`` is the choice
    to come back from, ``message`` what became of it.
    """

    CSS = """
    * { scrollbar-size-vertical: 1; }
    #title, #message { width: 100%; height: 1; padding: 0 2; text-wrap: nowrap; text-overflow: ellipsis; }
    #box { layout: vertical; height: 1fr; }
    #box.columns { layout: horizontal; }
    FilterableList {
        width: 1fr; height: 1fr; border: none; padding: 0 1; background: $background;
        text-wrap: nowrap; text-overflow: ellipsis;
        &:focus { border: none; background-tint: $foreground 0%; }
    }
    #preview { width: 1fr; height: 1fr; padding: 0 2; background: $surface; }
    #preview Static { height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "leave", "quit"),
        Binding("escape", "fold", show=False),
        Binding("left", "change_variant(-1)", show=False),
        Binding("right", "change_variant(1)", show=False),
        Binding("pagedown", "scroll_preview(1)", show=False, priority=True),
        Binding("pageup", "scroll_preview(-1)", show=False, priority=True),
    ]

    def __init__(
        self,
        items: Sequence[HomeItem],
        read_more: Callable[[], Sequence[HomeItem]] = tuple,
        last: HomeChoice = HomeChoice(),  # noqa: B008 - it is immutable
        message: str = "",
    ) -> None:
        super().__init__()
        self._styles = ThemeStyles(glyphs_for())
        self._items: dict[str, HomeItem] = {}
        self._add(items)
        self._read_more = read_more
        self._last = last
        self._message = message
        self._chosen: dict[str, int] = {}
        self._unfolded = frozenset(last.unfolded)
        self._digests: dict[Path, RecordingDigest | str] = {}
        self._reading: Path | None = None

    def compose(self) -> ComposeResult:
        title = Text.assemble(("lab", "bold"), "  a laboratory for coordinator election and atomic commit")
        yield Static(title, id="title")
        with Container(id="box"):
            yield FilterableList([], "q")
            with VerticalScroll(id="preview", can_focus=False):
                yield Static(markup=False)
        yield Static(id="message", markup=False)
        yield KeyLine(lambda _: self._keys())

    def on_mount(self) -> None:
        self.theme_changed_signal.subscribe(self, lambda _: self._show_rows())
        self.query_one(FilterableList).focus()
        self._return_to(self._last)
        self._show_message(self._message)
        self._read_items()

    def _return_to(self, last: HomeChoice) -> None:
        """Select what was chosen last, with the filter it was found by, else the first row."""
        item = self._item_of(last)
        if item is None:
            self._show_rows()
            return
        arguments = [variant.arguments for variant in item.variants]
        if last.arguments in arguments:
            self._chosen[item.key] = arguments.index(last.arguments)
        listed = self.query_one(FilterableList)
        listed.typed = last.typed
        self._show_rows(item.key)
        if self._selected != item:
            listed.typed = None
            self._unfolded |= {item.section}
            self._show_rows(item.key)

    def _item_of(self, choice: HomeChoice) -> HomeItem | None:
        """Return the item that was chosen, or another one for the same, but no run that is going on."""
        items = [item for item in self._items.values() if not item.is_running]
        same = [item for item in items if choice.arguments in [each.arguments for each in item.variants]]
        return next((item for item in items if item.key == choice.key), same[0] if same else None)

    @work
    async def _read_items(self) -> None:
        self._add(await asyncio.to_thread(self._read_more))
        self._show_rows()

    def _add(self, items: Sequence[HomeItem]) -> None:
        known = [*self._items.values(), *items]
        known.sort(key=lambda item: SECTIONS.index(item.section))
        self._items = {item.key: item for item in known}

    # the user

    def on_resize(self, event: events.Resize) -> None:
        self.query_one("#box").set_class(event.size.width >= _ROOM_FOR_COLUMNS, "columns")

    def on_row_list_resized(self) -> None:
        self._show_rows()

    def on_filterable_list_filter_changed(self, event: FilterableList.FilterChanged) -> None:
        self._show_message("")
        self._show_preview()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        listed = self.query_one(FilterableList)
        if listed.highlighted is not None and listed.highlighted <= 1:  # the event may be older
            listed.scroll_home(animate=False)  # the title of the section, too
        self._show_preview()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Run the item, or unfold the section."""
        if self._selected is not None:
            self.action_choose()
            return
        section = event.option_id or ""
        first = next(
            (item.key for item in self._items.values() if item.section == section and item.is_folded), None
        )
        self._unfolded |= {section}
        self._show_rows(first)

    def action_choose(self) -> None:
        """Run the selected item."""
        item, typed = self._selected, self.query_one(FilterableList).typed
        if item is not None:
            arguments = item.variants[self._chosen.get(item.key, 0)].arguments
            self.exit(HomeChoice(arguments, item.key, typed, tuple(sorted(self._unfolded))))

    def action_leave(self) -> None:
        self.exit(None)

    def action_fold(self) -> None:
        """Fold what was unfolded; without that, say how to leave."""
        if not self._unfolded:
            self._show_message("q quits")
            return
        item = self._selected
        self._unfolded = frozenset()
        self._show_rows(item.section if item is not None and item.is_folded else None)
        self._show_message("")

    def action_begin_filter(self) -> None:
        """Begin a filter, as a slash does."""
        if self.query_one(FilterableList).typed is None:
            self.query_one(FilterableList).set_filter("")

    def action_change_variant(self, by: int) -> None:
        """Choose the next or previous option of the selected item."""
        item = self._selected
        if item is not None and len(item.variants) > 1:
            self.action_choose_variant((self._chosen.get(item.key, 0) + by) % len(item.variants))

    def action_choose_variant(self, place: int) -> None:
        """Choose the option at this place of the selected item."""
        item = self._selected
        if item is not None:
            self._chosen[item.key] = place
            self._show_rows()

    def action_scroll_preview(self, pages: int) -> None:
        pane = self.query_one("#preview", VerticalScroll)
        pane.scroll_relative(y=pages * max(1, pane.size.height - 1), animate=False)

    # drawing

    @property
    def _selected(self) -> HomeItem | None:
        option = self.query_one(FilterableList).highlighted_option
        return None if option is None else self._items.get(option.id or "")

    def _show_rows(self, at: str | None = None) -> None:
        """Show the rows, and move the cursor to the one with the key ``at``, if it is given."""
        self._styles.dark = self.current_theme.dark
        listed = self.query_one(FilterableList)
        room = listed.container_size.width - _AROUND_ROW if listed.size else _WIDEST
        listed.put(rows_of(list(self._items.values()), self._chosen, self._unfolded, self._styles, room), at)
        self._show_preview()

    def _show_message(self, text: str) -> None:
        self.query_one("#message", Static).update(Text(sanitize(text), self._styles.accent))

    def _keys(self) -> Iterator[FooterKey]:
        """Yield the keys of the last line, those that do something now, after the filter."""
        item, listed = self._selected, self.query_one(FilterableList)
        is_filtered = listed.typed is not None
        if listed.typed is not None:
            note = "" if listed.option_count else "  no match"
            yield FooterKey(
                "filter:", f"{sanitize(listed.typed, _LONGEST_FILTER)}▏{note}", action="app.begin_filter"
            )
        if listed.highlighted is not None:
            yield FooterKey("Enter", "unfolds" if item is None else "runs", key="enter")
        if item is not None and len(item.variants) > 1:
            yield FooterKey("← →", "options", key="right")
        if not is_filtered:
            yield FooterKey("type", "to filter", action="app.begin_filter")
        if is_filtered:
            yield FooterKey("Esc", "clears it, then q quits", key="escape")
        yield FooterKey("PgDn", "more text", key="pagedown")
        if not is_filtered:
            yield FooterKey("q", "quits", key="q")

    def _show_preview(self) -> None:
        pane = self.query_one("#preview", VerticalScroll)
        width = max(20, pane.scrollable_content_region.width - 1)
        item = self._selected
        self._read_recording_of(item)
        lines = self._describe_row(width) if item is None else self._preview(item, width)
        pane.query_one(Static).update(Text("\n").join(lines))
        pane.scroll_home(animate=False)
        self.screen.refresh_bindings()

    def _describe_row(self, width: int) -> Iterator[Text]:
        """Yield the preview of a row that is no item."""
        option = self.query_one(FilterableList).highlighted_option
        folded = [item for item in self._items.values() if option and item.section == option.id and item.is_folded]
        if folded:
            yield from describe_folded(folded, width, self._styles)
        else:
            yield from wrap(Text("Nothing is selected: Up, Down or a click select a row.", DIM), width)

    def _preview(self, item: HomeItem, width: int) -> Iterator[Text]:
        if not isinstance(item.subject, RecordingFile):
            yield from describe_item(item, self._chosen.get(item.key, 0), width, self._styles)
            return
        digest = self._digests.get(item.subject.path, "reading the recording …")
        if isinstance(digest, str):
            yield Text(sanitize(item.title), self._styles.accent)
            yield from (Text(), *wrap(Text(digest, DIM), width))
        else:
            yield from describe_recording(digest, item.title, width, self._styles)
        yield from (Text(), *command_lines(item, 0, width))

    def _read_recording_of(self, item: HomeItem | None) -> None:
        """Read the recording that the item is, unless it is known; read no other any more."""
        subject = None if item is None else item.subject
        path = subject.path if isinstance(subject, RecordingFile) else None
        if path != self._reading:
            self.workers.cancel_group(self, "preview")
            self._reading = path
            if path is not None and path not in self._digests:
                self._read_recording(path)

    @work(group="preview")
    async def _read_recording(self, path: Path) -> None:
        """Read a recording in a thread, and show its preview."""
        await asyncio.sleep(_SETTLED_S)
        stopped = threading.Event()

        def progress(_: object) -> None:
            if stopped.is_set():
                raise _StoppedError

        try:
            self._digests[path] = await asyncio.to_thread(digest_recording, path, progress)
        except UnreadableError as error:
            self._digests[path] = str(error)
        finally:
            stopped.set()
        self._show_preview()


def show_home(
    items: Sequence[HomeItem], read_more: Callable[[], Sequence[HomeItem]], last: HomeChoice, message: str
) -> tuple[HomeChoice | None, int]:
    """Show the home screen; return (what was chosen or None, exit status)."""
    app = HomeApp(items, read_more, last, message)
    return app.run(), app.return_code or 0
