"""The home screen: what can be run, attached to and replayed."""

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import OptionList, Static

from lab.glyphs import glyphs_for
from lab.text import sanitize
from lab.tui.siftedlist import Entry, SiftedList
from lab.tui.terminal.app import TerminalApp
from lab.tui.terminal.theme_styles import ThemeStyles

__all__ = ["HomeApp"]

_KEYS = "arrows choose · Enter does it · letters seek (/ first for j, k, q) · q quits"


class HomeApp(TerminalApp[int]):
    """``entries`` are (group, what it says); the result is the place of the chosen one, or None."""

    CSS = """
    * { scrollbar-size-vertical: 1; }
    Screen { align: center middle; }
    #title { width: 100%; height: auto; padding: 1 2; }
    #keys { width: 100%; height: 1; padding: 0 2; background: $panel; color: $text-muted; }
    OptionList { width: 100%; height: 1fr; border: none; padding: 0 2; background: $background; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("q,escape", "leave", "quit"),
        ("enter", "choose", "choose"),
        ("j,down", "down", "down"),
        ("k,up", "up", "up"),
    ]

    def __init__(self, entries: list[tuple[str, str]]) -> None:
        super().__init__()
        self._entries = entries
        self._look = ThemeStyles(glyphs_for())

    def compose(self) -> ComposeResult:
        """A title, the list, the keys."""
        title = Text()
        title.append("lab", "bold")
        title.append("  a laboratory for coordinator election and atomic commit, in the terminal\n")
        title.append(
            "real processes elect a coordinator, or commit the transactions of a bank; you kill, pause, delay "
            "and partition them, and watch; a scenario does that by itself, tells what there is to see, and says "
            "what was to come of it",
            "dim",
        )
        yield Static(title, id="title")
        rows, group = [], ""
        for place, (of, said) in enumerate(self._entries):
            if of != group:
                rows.append(Entry(Text(of.upper(), self._look.accent), head=True))
                group = of
            rows.append(Entry(Text(f"  {sanitize(said, 120)}"), str(place)))
        yield SiftedList(rows, "qjk")
        yield Static(_KEYS, id="keys", markup=False)

    def on_mount(self) -> None:
        """Begin at the first entry."""
        listed = self.query_one(OptionList)
        listed.focus()
        listed.action_first()

    def on_sifted_list_sifted(self, event: SiftedList.Sifted) -> None:
        """Say what is sought."""
        left = self.query_one(SiftedList).option_count
        sought = f"seek: {event.typed}▏{'' if left else '  nothing has that in it'}   Esc ends that"
        self.query_one("#keys", Static).update(_KEYS if event.typed is None else sought)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Chosen."""
        self.exit(int(event.option_id or 0))

    def action_choose(self) -> None:
        """Enter."""
        self.query_one(OptionList).action_select()

    def action_down(self) -> None:
        """To the next."""
        self.query_one(OptionList).action_cursor_down()

    def action_up(self) -> None:
        """To the one before."""
        self.query_one(OptionList).action_cursor_up()

    def action_leave(self) -> None:
        """Nothing chosen."""
        self.exit(None)
