"""The home screen: a list of what can be run, attached to and replayed."""

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import OptionList, Static

from lab.glyphs import glyphs_for
from lab.styles import ThemeStyles
from lab.text import sanitize
from lab.tui.terminal.terminal_app import TerminalApp
from lab.tui.widgets.dialogs import Entry, FilterableList

_KEYS = "arrows select · Enter opens · letters filter (/ first for j, k, q) · q quits"


class HomeApp(TerminalApp[int]):
    """The home screen over ``entries`` of (group, text); its result is the index of the chosen one, or None."""

    CSS = """
    * { scrollbar-size-vertical: 1; }
    Screen { align: center middle; }
    #title { width: 100%; height: auto; padding: 1 2; }
    #keys { width: 100%; height: 1; padding: 0 2; background: $panel; color: $text-muted; }
    OptionList { width: 100%; height: 1fr; border: none; padding: 0 2; background: $background; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [("q,escape", "leave", "quit")]

    def __init__(self, entries: list[tuple[str, str]]) -> None:
        super().__init__()
        self._entries = entries
        self._styles = ThemeStyles(glyphs_for())

    def compose(self) -> ComposeResult:
        title = Text()
        title.append("lab", "bold")
        title.append("  a laboratory for coordinator election and atomic commit\n")
        title.append(
            "Real processes elect a coordinator, or commit the transactions of a bank. You watch, and kill, "
            "pause, delay or partition them. A scenario is a scripted run that checks its outcome.",
            "dim",
        )
        yield Static(title, id="title")
        rows, group = [], ""
        for place, (of, text) in enumerate(self._entries):
            if of != group:
                rows.append(Entry(Text(of.upper(), self._styles.accent), head=True))
                group = of
            rows.append(Entry(Text(f"  {sanitize(text, 120)}"), str(place)))
        yield FilterableList(rows, "qjk")
        yield Static(_KEYS, id="keys", markup=False)

    def on_mount(self) -> None:
        listed = self.query_one(OptionList)
        listed.focus()
        listed.action_first()

    def on_filterable_list_filter_changed(self, event: FilterableList.FilterChanged) -> None:
        left = self.query_one(FilterableList).option_count
        prompt = f"filter: {event.typed}▏{'' if left else '  no match'}   Esc clears"
        self.query_one("#keys", Static).update(_KEYS if event.typed is None else prompt)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.exit(int(event.option_id or 0))

    def action_leave(self) -> None:
        self.exit(None)


def show_home(entries: list[tuple[str, str]]) -> tuple[int | None, int]:
    """Show the home screen with (group, text) entries; return (index of the chosen one or None, exit status)."""
    app = HomeApp(entries)
    chosen = app.run()
    return chosen, app.return_code or 0
