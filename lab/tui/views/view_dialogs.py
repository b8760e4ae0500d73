"""The dialogs that views open: the commands for a link, and the trace of a message."""

from collections.abc import Sequence
from typing import ClassVar

from msgspec import Struct
from rich.text import Text
from textual import events
from textual.binding import BindingType

from lab.analysis.connectivity import Pair
from lab.analysis.delivery import TraceEntry
from lab.script.verbs import VERBS
from lab.styles import DIM, ThemeStyles
from lab.text import sanitize
from lab.tui.views.network_state import NetworkNow
from lab.tui.widgets.dialogs import ListDialog

# a link: a command that needs a number is put on the command line for editing; any other is run at once


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


class LinkDialog(ListDialog[LinkCommand]):
    """The dialog. Its result is the chosen command, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [("q", "leave", "close"), ("b", "turn", "")]

    def __init__(self, link: Pair, now: NetworkNow) -> None:
        super().__init__(subtitle="b: both ways or one   Esc closes")
        self._link = link
        self._network = now
        self._both_ways = False
        self._commands = commands_for(link, both_ways=False, now=now)

    def on_mount(self) -> None:
        self._fill()

    def on_key(self, event: events.Key) -> None:
        command = next((command for command in self._commands if command.key == event.key), None)
        if command is not None:
            event.stop()
            self.dismiss(command)

    def action_turn(self) -> None:
        self._both_ways = not self._both_ways
        self._commands = commands_for(self._link, self._both_ways, self._network)
        self._fill()

    def _fill(self) -> None:
        source, target = self._link
        way = "between {} and {}, both ways" if self._both_ways else "from {} to {}"
        self.frame(f"the link {way.format(source, target)}")
        self.put((_row(command), command) for command in self._commands)


def _row(command: LinkCommand) -> Text:
    shown = command.command + ("" if command.complete else " …")
    help_text = VERBS[command.command.partition(" ")[0]].help
    return Text.assemble((f" {command.key} ", "bold"), f" {shown:28}", (help_text, "dim"))


# a message, from why it was sent to the effect of its answer; each line leads to its record

_STYLES = {"lost": "lost", "taken": "delivered", "routed": "held", "meanwhile": "held", "open": "in flight"}
"""The delivery outcome that gives a line its colour."""


class TraceDialog(ListDialog[int]):
    """The trace of a message. The result is the record of the chosen line; ``here`` is the cursor in time."""

    DEFAULT_CSS = "TraceDialog > Vertical { width: 100; }"
    BINDINGS: ClassVar[list[BindingType]] = [("q,F", "leave", "close")]

    def __init__(self, entries: Sequence[TraceEntry], here: int, styles: ThemeStyles) -> None:
        super().__init__("the trace of a message", "Enter goes to a line's record, Esc closes")
        self._trace = entries
        self._here = here
        self._styles = styles

    def on_mount(self) -> None:
        # the cursor is on the last line that is not after the cursor in time
        reached = [place for place, line in enumerate(self._trace) if line.record <= self._here]
        self.put(((self._entry_text(line), line.record) for line in self._trace), reached[-1] if reached else 0)

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
