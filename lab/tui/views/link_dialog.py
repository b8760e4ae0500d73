"""The dialog that changes a link: the commands available for it, one key each.

A command that needs a number is put on the command line for editing; any other is run at once.
"""

from typing import ClassVar

from msgspec import Struct
from rich.text import Text
from textual import events
from textual.binding import BindingType

from lab.analysis.connectivity import Pair
from lab.script.verbs import VERBS
from lab.tui.views.network_state import NetworkNow
from lab.tui.widgets.dialogs import ListDialog


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
