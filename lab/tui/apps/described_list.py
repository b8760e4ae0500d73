"""A screen with a list that can be filtered, and beside or below it a description of the row at the cursor."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.screen import Screen
from textual.widgets import OptionList, Static

from lab.styles import ThemeStyles
from lab.tui.actions import FooterKey
from lab.tui.terminal.terminal_app import DARK, LIGHT
from lab.tui.widgets.dialogs import DialogEntry, FilterableList
from lab.tui.widgets.key_lines import KeyLine
from lab.tui.widgets.status_lines import MessageLine, TitleLine


def list_bindings(enter: str) -> list[BindingType]:
    """Return the keys of such a screen; ``enter`` is what Enter does."""
    return [
        Binding("enter", "choose", enter, key_display="Enter", priority=True),
        Binding("q", "leave", "quit"),
        Binding("ctrl+t", "theme", "light or dark", key_display="Ctrl+T"),
        Binding("pagedown", "more(1)", show=False, priority=True),
        Binding("pageup", "more(-1)", show=False, priority=True),
    ]


class DescribedListScreen(Screen[None]):
    """The bottom screen of an application. A subclass has the head, the entries and their descriptions."""

    DEFAULT_CSS = """
    DescribedListScreen #head { height: 1; }
    DescribedListScreen #box { layout: vertical; height: 1fr; }
    DescribedListScreen #box.columns { layout: horizontal; }
    DescribedListScreen FilterableList {
        width: 1fr; border: none; padding: 0 1; background: $background; text-wrap: nowrap;
        &:focus { border: none; }
    }
    DescribedListScreen #about { width: 1fr; padding: 0 2; background: $surface; }
    DescribedListScreen #about Static { height: auto; }
    """
    HINT: ClassVar[str]
    """The keys and their effects, for the message line."""
    ROOM_FOR_COLUMNS: ClassVar[int]
    """The width from which on the description is beside the list."""

    def __init__(self, styles: ThemeStyles) -> None:
        super().__init__()
        self._styles = styles
        self.message = MessageLine(styles)

    def compose(self) -> ComposeResult:
        yield TitleLine("head")
        with Container(id="box"):
            yield FilterableList([], "q")
            with VerticalScroll(id="about", can_focus=False):
                yield Static(markup=False)
        yield self.message
        yield KeyLine(self._keys)

    def on_mount(self) -> None:
        self.app.theme_changed_signal.subscribe(self, lambda theme: self.redraw())

    def on_screen_resume(self) -> None:
        listed = self.query_one(FilterableList)
        listed.focus()
        if listed.typed is None:
            self.message.show(self.HINT)
        self.redraw()

    def on_resize(self, event: events.Resize) -> None:
        self.query_one("#box").set_class(event.size.width >= self.ROOM_FOR_COLUMNS, "columns")
        self.call_after_refresh(self.redraw)

    # the user

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        self._describe_selected()

    def on_filterable_list_filter_changed(self, event: FilterableList.FilterChanged) -> None:
        note = "" if self.query_one(FilterableList).option_count else "; no match"
        self.message.show(self.HINT if event.typed is None else f"filter: {event.typed}{note}; Esc clears")
        self._describe_selected()
        self.refresh_bindings()

    def action_choose(self) -> None:
        self.query_one(FilterableList).action_select()

    def action_more(self, pages: int) -> None:
        pane = self.query_one("#about", VerticalScroll)
        pane.scroll_relative(y=pages * max(1, pane.size.height - 1), animate=False)

    def action_theme(self) -> None:
        self.app.theme = LIGHT if self.app.current_theme.dark else DARK

    def action_leave(self) -> None:
        self.app.exit(return_code=0)

    # drawing

    def _keys(self, bound: Sequence[FooterKey]) -> Iterator[FooterKey]:
        """Yield the keys of the last line: while there is a filter, letters are typed into it."""
        is_filtered = any(listed.typed is not None for listed in self.query(FilterableList))
        for each in bound:
            is_letter = is_filtered and each.key == "q"
            yield FooterKey("Esc", "clears the filter, then q quits", key="escape") if is_letter else each

    def redraw(self) -> None:
        """Draw the list and the description as they are now."""
        if not self.query(FilterableList):
            return  # the screen is closing
        self._styles.dark = self.app.current_theme.dark
        self.query_one("#head", TitleLine).put(self._head())
        self.query_one(FilterableList).put(self._entries())
        self._describe_selected()
        if not self.message.plain:
            self.message.show(self.HINT)

    def _describe_selected(self) -> None:
        pane = self.query_one("#about", VerticalScroll)
        option = self.query_one(FilterableList).highlighted_option
        row = "" if option is None else option.id or ""
        width = max(20, pane.scrollable_content_region.width - 1)
        pane.query_one(Static).update(Text("\n").join(self._describe(row, width)))
        pane.scroll_home(animate=False)

    def _head(self) -> Text:
        """Return the first line."""
        raise NotImplementedError

    def _entries(self) -> Iterator[DialogEntry]:
        """Yield the rows of the list."""
        raise NotImplementedError

    def _describe(self, row: str, width: int) -> Iterator[Text]:
        """Yield the lines that describe the row with this id; it is empty if none is selected."""
        raise NotImplementedError
