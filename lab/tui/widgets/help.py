"""Dialogs of the run screen: the help, a record in full, and the sides of a partition."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

import msgspec
from rich.console import Group
from rich.padding import Padding
from rich.style import Style
from rich.table import Table
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from lab.recording.reader import RecordStore
from lab.script.verbs import VERBS, bare_commands
from lab.text import sanitize
from lab.tui.actions import ACTIONS
from lab.tui.terminal.clipboard import describe_copy, record_as_json
from lab.tui.terminal.styles import DIM, ThemeStyles
from lab.tui.widgets.dialogs import Dialog, contains_words, frame


class _Dialog(Dialog[str]):
    BINDINGS: ClassVar[list[BindingType]] = [("q,enter,question_mark", "leave", "close")]
    title_text = ""

    def compose(self) -> ComposeResult:
        with VerticalScroll() as box:
            frame(box, title=self.title_text)
            box.border_subtitle = "Esc closes"
            yield Static(self.content(), markup=False)

    def content(self) -> Text | Group:
        """Return the content of the dialog."""
        raise NotImplementedError

    def action_leave(self) -> None:
        self.dismiss("")


_SIGNS = {
    "Normal": "works on its task under its coordinator",
    "Election": "has stopped its task; an election is in progress",
    "Reorganization": "has a coordinator and waits for the new definition of its task",
    "Down": "has crashed, or has just started and knows nothing yet",
    "paused": "its process is stopped; the node does not notice",
    "failed": "the protocol raised an error, which is in the log",
    "Inside": "token: the node is in its critical section",
    "Holding": "token: the node has it but does not need it",
    "Waiting": "token: the node has requested it",
}

_SCRIPT_SIGNS = {
    "caption": "a text of a script or of the command say; the latest is shown above the nodes",
    "mark": "a mark set by a script; n and N go to the next and the previous one",
    "bookmark": "your note on a record (M adds one); n and N go there too",
    "violation": "on the scrub bar: an assertion is violated; v goes there",
    "met": "script: an expectation that was met, or a line that was executed",
    "unmet": "script: an expectation that was not met, or a line that was never executed",
}


_TITLE = Style(bold=True, underline=True)
_GROUPS = {
    "cluster": "change the cluster",
    "time": "move in time",
    "exercise": "work on an exercise",
    "views": "show a view",
    "view": "display, search and save",
}
_COLUMNS = ("cluster", "time", "views"), ("view", "exercise")
"""The groups in two columns of about equal length."""
_KEY = len("Shift+Right")
_ROOM_FOR_TWO = 150


class HelpDialog(_Dialog):
    """A list of all keys and commands; typing filters it."""

    DEFAULT_CSS = """
    HelpDialog.wide > VerticalScroll { width: 168; }
    """
    title_text = "keys and commands: type to filter"

    def __init__(self, driver: bool, theme_styles: ThemeStyles) -> None:
        super().__init__()
        self._driver = driver
        self._theme_styles = theme_styles
        self._typed = ""

    def compose(self) -> ComposeResult:
        self.set_class(self.app.size.width >= _ROOM_FOR_TWO, "wide")
        return super().compose()

    def on_key(self, event: events.Key) -> None:
        """Edit the filter. While it is empty, q and ? close the dialog."""
        letter = event.character if event.is_printable else None
        if self._typed and event.key in ("escape", "backspace"):
            self._typed = self._typed[:-1] if event.key == "backspace" else ""
        elif letter is not None and (self._typed or letter not in "q? "):
            self._typed += letter
        else:
            return
        event.stop()
        self.query_one(Static).update(self.content())
        box = self.query_one(VerticalScroll)
        frame(box, title=f"keys and commands with: {self._typed}" if self._typed else self.title_text)
        box.border_subtitle = "Esc clears the filter" if self._typed else "Esc closes"
        box.scroll_home(animate=False)

    def content(self) -> Group:
        general = _table("bold", "")
        self._add(general, f"{'1 2 3 …':{_KEY}}", "select a node; arrows or a click do the same")
        self._add(general, "Tab", "go to nodes, log or scrub bar; there, 0-9 jump to tenths")
        parts: list[Table | Text] = [general, self._columns(*([self._keys(*groups)] for groups in _COLUMNS))]
        if commands := list(self._commands()) if self._driver else []:
            half = (len(commands) + 1) // 2
            parts += [Text("commands, after :", _TITLE), self._columns(commands[:half], commands[half:])]
        if (signs := self._signs()).row_count:
            parts += [Text("signs", _TITLE), signs]
        return Group(*parts)

    def _columns(self, first: Sequence[Table | Group], second: Sequence[Table | Group]) -> Table:
        """Lay the two out side by side, or one below the other on a narrow screen."""
        table = Table.grid(padding=(0, 3, 0, 0), expand=True)
        table.add_column(ratio=1)
        if self.has_class("wide"):
            table.add_column(ratio=1)
            table.add_row(Group(*first), Group(*second))
        else:
            table.add_row(Group(*first, *second))
        return table

    def _add(self, table: Table, *cells: str | Text) -> None:
        """Add a row if it matches the filter."""
        if contains_words(" ".join(map(str, cells)), self._typed):
            table.add_row(*cells)

    def _keys(self, *groups: str) -> Table:
        """Build the table of the keys of these groups, with the ``:`` word of each."""
        table = _table("bold", "")
        for group in groups:
            if group == "cluster" and not self._driver:
                continue
            if not self._typed:
                table.add_row("", Text(_GROUPS[group], _TITLE))
            for action in ACTIONS:
                if action.group == group and (self._driver or action.where == "all"):
                    word = f":{action.word} {action.takes}".rstrip()
                    self._add(table, f"{action.shown:{_KEY}}", Text.assemble(action.help, (f"  {word}", DIM)))
        return table

    def _commands(self) -> Iterator[Group]:
        """Yield each command with its help on the lines below it, as some usages are long."""
        commands = [
            (verb.usage, f"{verb.help}  ({verb.example})") for verb in (*VERBS.values(), *bare_commands().values())
        ]
        for usage, text in (
            *commands,
            ("at 2s …", "before a command: when to execute it. Also: when all normal …, on send KIND 4->1 …"),
        ):
            if contains_words(f"{usage} {text}", self._typed):
                yield Group(Text(usage, "bold"), Padding(Text(text), (0, 0, 0, 4)))

    def _signs(self) -> Table:
        theme_styles, table = self._theme_styles, _table("", "")
        for status, text in _SIGNS.items():
            self._add(table, Text(f"{theme_styles.glyph(status)} {status}", theme_styles.status(status)), text)
        leads = Text(f"{theme_styles.glyphs.leads} leads", theme_styles.leader)
        self._add(table, leads, "is Normal and its own coordinator; in Reorganization: will lead")
        self._add(table, Text(" 5.3 ", theme_styles.badge(0)), "its group: the node that formed it, and a counter")
        for kind, text in _SCRIPT_SIGNS.items():
            sign = Text(
                f"{theme_styles.glyphs.marks[kind]} {kind.replace('unmet', 'not met')}", theme_styles.mark(kind)
            )
            self._add(table, sign, text)
        return table


def _table(*styles: str) -> Table:
    """Build a table with columns of these styles; the last column takes the remaining width."""
    table = Table.grid(padding=(0, 1))
    for style in styles[:-1]:
        table.add_column(style=style, no_wrap=True)
    table.add_column(style=styles[-1])
    return table


class RecordDialog(_Dialog):
    """A record in full, as JSON, under a heading; y copies it."""

    BINDINGS: ClassVar[list[BindingType]] = [("y", "copy", "copy")]

    def __init__(self, lines: RecordStore, number: int, heading: str) -> None:
        super().__init__()
        self.title_text = f"record {number}; y copies it"
        self._record = record_as_json(lines, number)
        self._raw = lines.raw(number)
        self._heading = heading

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(self._record[1])
        frame(self.query_one(VerticalScroll), subtitle=describe_copy(*self._record))

    def content(self) -> Text:
        text = Text()
        if self._heading:
            text.append(f"{self._heading}\n\n", "bold")
        try:
            pretty = msgspec.json.format(self._raw, indent=2).decode("utf-8", "replace")
        except msgspec.DecodeError:
            pretty = self._raw.decode("utf-8", "replace")
        for line in pretty.split("\n"):
            text.append(sanitize(line) + "\n")
        return text


class PartitionDialog(_Dialog):
    """A dialog that assigns each node to a side; its result is the partition command, or an empty text."""

    DEFAULT_CSS = "PartitionDialog > VerticalScroll { width: 66; }"
    title_text = "partition: press a node's number to move it"
    BINDINGS: ClassVar[list[BindingType]] = [
        ("q", "leave", "close"),
        ("enter", "apply", "apply"),
        ("left", "go(-1)", ""),
        ("right", "go(1)", ""),
        ("space", "move", ""),
    ]

    def __init__(self, nodes: tuple[int, ...], apart: int | None, theme_styles: ThemeStyles) -> None:
        super().__init__()
        self._ids = nodes
        self._theme_styles = theme_styles
        half = nodes[len(nodes) // 2 - 1]
        self._side = {node: int(node > half if apart is None else node == apart) for node in nodes}
        self._cursor = 0
        self._refused = False

    def content(self) -> Text:
        theme_styles = self._theme_styles
        text = Text()
        for side, name in enumerate("ABC"):
            members = [node for node in self._ids if self._side[node] == side]
            text.append(f"\n side {name}   ", "bold")
            for node in members:
                style = theme_styles.leader if node == self._ids[self._cursor] else Style()
                text.append(f" {node} ", style + Style(meta={"@click": f"screen.move_node({node})"}))
            if not members:
                text.append(" empty", DIM)
        command = self.command()
        style = theme_styles.warning if self._refused else theme_styles.accent
        text.append(f"\n\n {command or 'all nodes are on one side: nothing to partition'}\n", style)
        text.append("\n a digit or click moves a node; arrows select, space moves\n ", DIM)
        text.append(" Enter applies it ", Style(reverse=True, meta={"@click": "screen.apply"}))
        return text

    def command(self) -> str:
        """Return the partition command; empty if there is only one side."""
        sides = [[str(node) for node in self._ids if self._side[node] == side] for side in range(3)]
        filled = [" ".join(side) for side in sides if side]
        return f"partition {' | '.join(filled)}" if len(filled) > 1 else ""

    def on_key(self, event: events.Key) -> None:
        if event.key.isdigit() and int(event.key) in self._side:
            event.stop()
            self.action_move_node(int(event.key))

    def action_go(self, by: int) -> None:
        self._cursor = (self._cursor + by) % len(self._ids)
        self._redraw()

    def action_move(self) -> None:
        node = self._ids[self._cursor]
        self._side[node] = (self._side[node] + 1) % 3
        self._refused = False
        self._redraw()

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
        self._redraw()

    def _redraw(self) -> None:
        self.query_one(Static).update(self.content())
