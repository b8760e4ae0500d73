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
from lab.tui.apps.home_items import SECTIONS, HomeItem, RecordingFile, rows_of
from lab.tui.apps.home_preview import (
    RecordingDigest,
    UnreadableError,
    command_lines,
    describe_item,
    describe_recording,
    digest_recording,
)
from lab.tui.terminal.terminal_app import TerminalApp
from lab.tui.views.exercise_view import wrap
from lab.tui.widgets.dialogs import FilterableList

_KEYS = "Enter runs · ← → options · type to filter · PgDn more text · q quits"
_ROOM_FOR_COLUMNS = 76
_SETTLED_S = 0.15
"""A recording is read once the cursor has been on it for this long."""


class _StoppedError(Exception):
    """The preview is not wanted any more."""


class HomeApp(TerminalApp[tuple[str, ...]]):
    """The home screen; its result is the arguments of ``lab`` for what the user chose, or None.

    ``read_more`` returns further items; it is called in a thread. ``last`` are the arguments chosen last time.
    """

    CSS = """
    * { scrollbar-size-vertical: 1; }
    #title { width: 100%; height: 1; padding: 0 2; margin-bottom: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    #box { layout: vertical; height: 1fr; }
    #box.columns { layout: horizontal; }
    #keys {
        width: 100%; height: 1; padding: 0 2; background: $panel; color: $text-muted;
        text-wrap: nowrap; text-overflow: ellipsis;
    }
    FilterableList {
        width: 1fr; height: 1fr; border: none; padding: 0 1; background: $background;
        text-wrap: nowrap; text-overflow: ellipsis;
        &:focus { border: none; background-tint: $foreground 0%; }
    }
    #preview { width: 1fr; height: 1fr; padding: 0 2; background: $surface; }
    #box.columns FilterableList { width: 3fr; }
    #box.columns #preview { width: 4fr; }
    #preview Static { height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,escape", "leave", "quit"),
        Binding("left", "change_variant(-1)", show=False),
        Binding("right", "change_variant(1)", show=False),
        Binding("pagedown", "scroll_preview(1)", show=False, priority=True),
        Binding("pageup", "scroll_preview(-1)", show=False, priority=True),
    ]

    def __init__(
        self,
        items: Sequence[HomeItem],
        read_more: Callable[[], Sequence[HomeItem]] = tuple,
        last: tuple[str, ...] = (),
    ) -> None:
        super().__init__()
        self._styles = ThemeStyles(glyphs_for())
        self._items: dict[str, HomeItem] = {}
        self._add(items)
        self._read_more = read_more
        self._last = last
        self._chosen: dict[str, int] = {}
        self._unfolded: frozenset[str] = frozenset()
        self._digests: dict[Path, RecordingDigest | str] = {}
        self._reading: Path | None = None

    def compose(self) -> ComposeResult:
        title = Text.assemble(("lab", "bold"), "  a laboratory for coordinator election and atomic commit")
        yield Static(title, id="title")
        with Container(id="box"):
            yield FilterableList([], "q")
            with VerticalScroll(id="preview", can_focus=False):
                yield Static(markup=False)
        yield Static(_KEYS, id="keys", markup=False)

    def on_mount(self) -> None:
        self.theme_changed_signal.subscribe(self, lambda _: self._show_rows())
        self._show_rows()
        listed = self.query_one(FilterableList)
        listed.focus()
        listed.action_first()
        for item in self._items.values():
            arguments = [variant.arguments for variant in item.variants]
            if self._last in arguments and item.section != SECTIONS[-1]:
                self._chosen[item.key] = arguments.index(self._last)
                listed.highlighted = listed.get_option_index(item.key)
                break
        self._read_items()

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
        self.call_after_refresh(self._show_preview)

    def on_filterable_list_filter_changed(self, event: FilterableList.FilterChanged) -> None:
        left = self.query_one(FilterableList).option_count
        prompt = f"filter: {event.typed}▏{'' if left else '  no match'}   Enter runs · Esc clears"
        self.query_one("#keys", Static).update(_KEYS if event.typed is None else prompt)
        self._show_preview()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        if event.option_index <= 1:
            self.query_one(FilterableList).scroll_home(animate=False)  # the title of the section, too
        self._show_preview()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Run the item, or unfold the section."""
        item = self._selected
        if item is not None:
            self.exit(item.variants[self._chosen.get(item.key, 0)].arguments)
        else:
            self._unfolded |= {event.option_id or ""}
            place = event.option_index
            self._show_rows()
            self.query_one(FilterableList).highlighted = place

    def action_leave(self) -> None:
        self.exit(None)

    def action_change_variant(self, by: int) -> None:
        """Choose the next or previous option of the selected item."""
        item = self._selected
        if item is not None and len(item.variants) > 1:
            self._chosen[item.key] = (self._chosen.get(item.key, 0) + by) % len(item.variants)
            self._show_rows()

    def action_scroll_preview(self, pages: int) -> None:
        pane = self.query_one("#preview", VerticalScroll)
        pane.scroll_relative(y=pages * max(1, pane.size.height - 1), animate=False)

    # drawing

    @property
    def _selected(self) -> HomeItem | None:
        option = self.query_one(FilterableList).highlighted_option
        return None if option is None else self._items.get(option.id or "")

    def _show_rows(self) -> None:
        self._styles.dark = self.current_theme.dark
        rows = rows_of(list(self._items.values()), self._chosen, self._unfolded, self._styles)
        self.query_one(FilterableList).put(rows)
        self._show_preview()

    def _show_preview(self) -> None:
        pane = self.query_one("#preview", VerticalScroll)
        width = max(20, pane.scrollable_content_region.width - 1)
        item = self._selected
        self._read_recording_of(item)
        lines = [] if item is None else list(self._preview(item, width))
        pane.query_one(Static).update(Text("\n").join(lines))
        pane.scroll_home(animate=False)

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
    items: Sequence[HomeItem], read_more: Callable[[], Sequence[HomeItem]], last: tuple[str, ...]
) -> tuple[tuple[str, ...] | None, int]:
    """Show the home screen; return (the arguments of ``lab`` that were chosen or None, exit status)."""
    app = HomeApp(items, read_more, last)
    return app.run(), app.return_code or 0
