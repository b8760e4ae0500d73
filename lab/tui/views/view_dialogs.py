"""The dialogs that views open: the commands for a link, and the trace of a message."""

from collections.abc import Sequence
from typing import ClassVar

from msgspec import Struct
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from lab.analysis.connectivity import Pair
from lab.analysis.delivery import TraceEntry
from lab.script.verbs import VERBS
from lab.text import sanitize
from lab.tui.terminal.styles import DIM, ThemeStyles
from lab.tui.views.network_state import NetworkNow
from lab.tui.widgets.dialogs import Dialog


class LinkCommand(Struct, frozen=True):
    """A command for a link, and its key. One that is not ``complete`` is edited on the command line first."""

    key: str
    command: str
    complete: bool = True


def commands_for(link: Pair, both_ways: bool, now: NetworkNow) -> tuple[LinkCommand, ...]:
    """Return the commands for a link, or for both directions. A fault can be ended only if there is one."""
    source, target = link
    links = f"{source}{'<->' if both_ways else '->'}{target}"
    ways = (link, (target, source)) if both_ways else (link,)
    names = {effect.name for way in ways for effect in now.effects.get(way, ())}
    held = any(flight.held for way in ways for flight in now.in_flight.get(way, ()))
    commands = [
        LinkCommand("d", f"delay {links} 400ms", complete=False),
        LinkCommand("l", f"lose {links} 30%", complete=False),
        LinkCommand("u", f"duplicate {links} 20%", complete=False),
        LinkCommand("r", f"reorder {links} 50% 100ms", complete=False),
        LinkCommand("o", f"hold {links}"),
        LinkCommand("x", f"cut {links}"),
    ]
    if "hold" in names or held:
        commands.append(LinkCommand("e", f"release {links}"))
    if "cut" in names:
        commands.append(LinkCommand("j", f"join {links}"))
    if names:
        commands.append(LinkCommand("h", f"heal {links}"))
    return tuple(commands)


class LinkDialog(Dialog[LinkCommand | None]):
    """The dialog. Its result is the chosen command, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [("q", "leave", "close"), ("b", "turn", "")]

    def __init__(self, link: Pair, now: NetworkNow) -> None:
        super().__init__(subtitle="b: both ways or one   Esc closes")
        self._link = link
        self._network = now
        self._both_ways = False
        self._commands = commands_for(link, both_ways=False, now=now)

    def compose_box(self) -> ComposeResult:
        yield OptionList()

    def on_mount(self) -> None:
        self.query_one(OptionList).focus()
        self._fill()

    def on_key(self, event: events.Key) -> None:
        command = next((command for command in self._commands if command.key == event.key), None)
        if command is not None:
            event.stop()
            self.dismiss(command)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._commands[event.option_index])

    def action_turn(self) -> None:
        self._both_ways = not self._both_ways
        self._commands = commands_for(self._link, self._both_ways, self._network)
        self._fill()

    def _fill(self) -> None:
        source, target = self._link
        way = "between {} and {}, both ways" if self._both_ways else "from {} to {}"
        self.frame(title=f"the link {way.format(source, target)}")
        listed = self.query_one(OptionList)
        listed.clear_options()
        for command in self._commands:
            row = Text()
            row.append(f" {command.key} ", "bold")
            row.append(f" {command.command + ('' if command.complete else ' …'):28}")
            row.append(VERBS[command.command.partition(" ")[0]].help, "dim")
            listed.add_option(Option(row))
        listed.action_first()


_STYLES = {"lost": "lost", "taken": "delivered", "routed": "held", "meanwhile": "held", "open": "in flight"}
"""The delivery outcome that gives a line its colour."""


class TraceDialog(Dialog[int | None]):
    """The trace of a message. The result is the record of the chosen line; ``here`` is the cursor in time."""

    DEFAULT_CSS = """
    TraceDialog > Vertical { width: 100; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [("q,F", "leave", "close")]

    def __init__(self, entries: Sequence[TraceEntry], here: int, styles: ThemeStyles) -> None:
        super().__init__("the trace of a message", "Enter goes to a line's record, Esc closes")
        self._trace = entries
        self._here = here
        self._styles = styles

    def compose_box(self) -> ComposeResult:
        yield OptionList(*(Option(self._entry_text(line), str(place)) for place, line in enumerate(self._trace)))

    def on_mount(self) -> None:
        """Highlight the last line that is not after the cursor in time."""
        reached = [place for place, line in enumerate(self._trace) if line.record <= self._here]
        self.query_one(OptionList).highlighted = reached[-1] if reached else 0

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._trace[int(event.option_id or 0)].record)

    def _entry_text(self, line: TraceEntry) -> Text:
        styles = self._styles
        text = Text(f"{line.at_us / 1e6:9.3f} ", DIM)
        text.append("    " * line.depth)
        sign = {"sent": styles.glyphs.arrow, "did": " ", "lost": styles.glyph("killed")}.get(
            line.what, styles.glyphs.dot
        )
        style = "bold" if line.what == "sent" else styles.fate(_STYLES[line.what]) if line.what in _STYLES else ""
        text.append(f"{sign} {sanitize(line.text, 200)}", style)
        return text
