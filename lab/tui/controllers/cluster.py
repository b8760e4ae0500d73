"""Select a node, and change the cluster where that takes more than a command of the table of actions."""

from typing import ClassVar

from msgspec import Struct
from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import BindingType

from lab.script.verbs import VERBS
from lab.styles import DIM, ThemeStyles
from lab.tui.context import ActionHandler, RunContext
from lab.tui.views.network_state import NetworkNow, Pair
from lab.tui.widgets.dialogs import ListDialog, TextBox, TypedNumber
from lab.tui.widgets.prompts import CommandLine


class ClusterController:
    """Selects nodes, pauses and resumes them, and asks for the sides of a partition and the fault of a link."""

    def __init__(self, context: RunContext, command_line: CommandLine) -> None:
        self._context = context
        self._command_line = command_line
        self._typed = TypedNumber()
        self.actions: dict[str, ActionHandler] = {"pause": self._pause_or_resume, "partition": self._partition}

    def enter_digit(self, digit: str) -> None:
        """Select a node by a digit of its number; two digits typed quickly select a two-digit node."""
        nodes = self._context.nodes
        node = self._typed.enter(digit, nodes)
        if node is not None:
            self._context.selected = node
            self._context.notify(f"node {node} selected")
        elif not any(str(node).startswith(digit) for node in nodes):
            self._context.notify(f"no node {digit}", warn=True)

    def change_link(self, link: Pair, now: NetworkNow) -> None:
        """Ask for a command for a link; if commands are impossible, say why."""
        context, (source, target) = self._context, link

        def give(chosen: LinkCommand) -> None:
            (context.execute if chosen.complete else self._command_line.open)(chosen.command)

        if not context.source.takes_commands:
            reason = context.source.reason_no_commands
            context.notify(f"the link {source}->{target} cannot be changed: {reason}", warn=True)
        elif source == target:
            context.notify(f"{source} has no link to itself; the arrows move to another", warn=True)
        else:
            context.show_dialog(LinkDialog(link, now), give)

    def _pause_or_resume(self) -> None:
        word = "resume" if self._context.selected_process == "paused" else "pause"
        self._context.execute(f"{word} {self._context.selected}")

    def _partition(self) -> None:
        context = self._context
        dialog = PartitionDialog(context.nodes, context.selected, context.styles)
        context.show_dialog(dialog, context.execute)


class PartitionDialog(TextBox):
    """A dialog that assigns each node to a side; its result is the partition command.

    A digit, a click or space moves a node to the next side, the mouse drags it to any. Where numbers have two
    digits, these select a node, and space moves it.
    """

    DEFAULT_CSS = "PartitionDialog > VerticalScroll { width: 66; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        ("q", "leave", "close"),
        ("enter", "apply", "apply"),
        ("left", "go(-1)", ""),
        ("right", "go(1)", ""),
        ("space", "move", ""),
    ]

    def __init__(self, nodes: tuple[int, ...], apart: int | None, styles: ThemeStyles) -> None:
        self._are_typed = max(nodes) > 9
        moves = "digits select, space moves" if self._are_typed else "a digit or space moves a node"
        super().__init__("partition: the sides", f"{moves} · Enter applies · Esc closes")
        self._typed = TypedNumber()
        self._ids = nodes
        self._styles = styles
        half = nodes[len(nodes) // 2 - 1]
        self._side = {node: int(node > half if apart is None else node == apart) for node in nodes}
        self._cursor = 0
        self._dragged: int | None = None
        self._refused = False

    def content(self) -> Text:
        styles = self._styles
        text = Text()
        for side, name in enumerate("ABC"):
            members = [node for node in self._ids if self._side[node] == side]
            text.append(f"\n side {name}   ", Style(bold=True, meta={"side": side}))
            for node in members:
                style = styles.leader if node == self._ids[self._cursor] else Style()
                text.append(f" {node} ", style + Style(meta={"node": node, "side": side}))
            if not members:
                text.append(" empty", DIM + Style(meta={"side": side}))
        command = self.command()
        style = styles.warning if self._refused else styles.accent
        text.append(f"\n\n {command or 'all nodes are on one side: nothing to partition'}\n", style)
        text.append("\n ")
        text.append(" Enter applies it ", Style(reverse=True, meta={"@click": "screen.apply"}))
        return text

    def command(self) -> str:
        """Return the partition command; empty if there is only one side."""
        sides = [[str(node) for node in self._ids if self._side[node] == side] for side in range(3)]
        filled = [" ".join(side) for side in sides if side]
        return f"partition {' | '.join(filled)}" if len(filled) > 1 else ""

    def on_key(self, event: events.Key) -> None:
        if not event.key.isdigit():
            return
        event.stop()
        node = self._typed.enter(event.key, self._ids)
        if node is not None and self._are_typed:
            self._cursor = self._ids.index(node)
            self.redraw()
        elif node is not None:
            self.action_move_node(node)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._dragged = event.style.meta.get("node")

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Move a node: one that was clicked to the next side, one that was dragged to that below the mouse."""
        node, self._dragged = self._dragged, None
        if node is None:
            return
        if event.style.meta.get("node") == node:
            self.action_move_node(node)
        elif (side := self._side_at(event.screen_y)) is not None:
            self._cursor = self._ids.index(node)
            self._put(side)

    def _side_at(self, y: int) -> int | None:
        """Return the side in this row of the screen."""
        styles = (self.get_style_at(x, y) for x in range(self.box.region.x, self.box.region.right))
        return next((style.meta["side"] for style in styles if "side" in style.meta), None)

    def action_go(self, by: int) -> None:
        self._cursor = (self._cursor + by) % len(self._ids)
        self.redraw()

    def action_move(self) -> None:
        self._put((self._side[self._ids[self._cursor]] + 1) % 3)

    def _put(self, side: int) -> None:
        self._side[self._ids[self._cursor]] = side
        self._refused = False
        self.redraw()

    def action_move_node(self, node: int) -> None:
        self._cursor = self._ids.index(node)
        self.action_move()

    def action_apply(self) -> None:
        """Close with the command; with only one side, show a warning instead."""
        command = self.command()
        if command:
            self.dismiss(command)
            return
        self._refused = True
        self.redraw()


# a link


class LinkCommand(Struct, frozen=True):
    """A command for a link. One that is not ``complete`` is edited on the command line first."""

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
        LinkCommand(f"delay {links} 400ms", complete=False),
        LinkCommand(f"lose {links} 30%", complete=False),
        LinkCommand(f"duplicate {links} 20%", complete=False),
        LinkCommand(f"reorder {links} 50% 100ms", complete=False),
        LinkCommand(f"hold {links}"),
        LinkCommand(f"cut {links}"),
    ]
    if "hold" in names or held:
        commands.append(LinkCommand(f"release {links}"))
    if "cut" in names:
        commands.append(LinkCommand(f"join {links}"))
    if names:
        commands.append(LinkCommand(f"heal {links}"))
    return tuple(commands)


class LinkDialog(ListDialog[LinkCommand]):
    """The commands for a link; the result is the chosen one, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [("b", "turn", "")]
    letters = "qjkb"

    def __init__(self, link: Pair, now: NetworkNow) -> None:
        super().__init__("", "Enter runs it · b both ways or one · type to filter · Esc closes")
        self._link = link
        self._network = now
        self._both_ways = False

    def on_mount(self) -> None:
        self._fill()

    def action_turn(self) -> None:
        self._both_ways = not self._both_ways
        self._fill()

    def _fill(self) -> None:
        source, target = self._link
        way = "between {} and {}, both ways" if self._both_ways else "from {} to {}"
        self.frame(f"the link {way.format(source, target)}")
        commands = commands_for(self._link, self._both_ways, self._network)
        self.put((_row(command), command) for command in commands)


def _row(command: LinkCommand) -> Text:
    shown = command.command + ("" if command.complete else " …")
    help_text = VERBS[command.command.partition(" ")[0]].help
    return Text.assemble(f" {shown:28}", (help_text, "dim"))
