"""What comes up over the screen: help, a record in full, and the choice of sides for a partition."""

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
from lab.script import VERBS, own_commands
from lab.text import sanitize
from lab.tui.actions import ACTIONS
from lab.tui.dialog import Dialog, frame
from lab.tui.siftedlist import has_words
from lab.tui.terminal.copying import record_as_json, said_of_copy
from lab.tui.terminal.theme_styles import DIM, ThemeStyles

__all__ = ["HelpDialog", "PartitionDialog", "RecordDialog"]


class _Dialog(Dialog[str]):
    BINDINGS: ClassVar[list[BindingType]] = [("q,enter,question_mark", "leave", "close")]
    title_text = ""

    def compose(self) -> ComposeResult:
        with VerticalScroll() as box:
            frame(box, title=self.title_text)
            box.border_subtitle = "Esc closes"
            yield Static(self.content(), markup=False)

    def content(self) -> Text | Group:
        """What the dialog says."""
        raise NotImplementedError

    def action_leave(self) -> None:
        """Close, with nothing chosen."""
        self.dismiss("")


_SIGNS = {
    "Normal": "performs its task under its coordinator",
    "Election": "has stopped its task: an election is held",
    "Reorganization": "has a coordinator, and waits for the new state of the task",
    "Down": "has crashed, or has come up and knows nothing yet",
    "paused": "its process stands still; it does not know",
    "failed": "the protocol raised an error; the log has it",
    "Inside": "of the token: is in its critical section",
    "Holding": "of the token: has it, and does not need it",
    "Waiting": "of the token: has asked for it",
}

_SCRIPT_SIGNS = {
    "caption": "what a script says, or who gave the command say; the last one is over the nodes",
    "mark": "a mark that a script has set: n and N go from one to the next",
    "bookmark": "a note of yours on a record, made with M: n and N go to it too",
    "violation": "on the scrub bar: an assertion is violated; v goes there",
    "met": "of a script: an expectation that was met, or a line that was done",
    "unmet": "one that was not, or never came",
}


_TITLE = Style(bold=True, underline=True)
_GROUPS = {
    "cluster": "do to the cluster",
    "time": "move in time",
    "exercise": "in an exercise",
    "views": "turn to a view",
    "view": "look, find and keep",
}
_COLUMNS = ("cluster", "time", "views"), ("view", "exercise")
"""The groups, in columns of about the same length."""
_KEY = len("Shift+Right")
_ROOM_FOR_TWO = 150


class HelpDialog(_Dialog):
    """Every key, and every command; what is typed leaves those that have these words in them."""

    DEFAULT_CSS = """
    HelpDialog.wide > VerticalScroll { width: 168; }
    """
    title_text = "keys and commands: type a word to find some"

    def __init__(self, driver: bool, theme_styles: ThemeStyles) -> None:
        super().__init__()
        self._driver = driver
        self._look = theme_styles
        self._typed = ""

    def compose(self) -> ComposeResult:
        """In two columns where there is room for them."""
        self.set_class(self.app.size.width >= _ROOM_FOR_TWO, "wide")
        return super().compose()

    def on_key(self, event: events.Key) -> None:
        """A letter of what is sought; q and ? are such only behind another."""
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
        box.border_subtitle = "Esc shows all of them" if self._typed else "Esc closes"
        box.scroll_home(animate=False)

    def content(self) -> Group:
        general = _table("bold", "")
        self._add(general, f"{'1 2 3 …':{_KEY}}", "select a node; arrows and a click do too")
        self._add(general, "Tab", "between nodes, log and scrub bar; there 0-9 go to tenths")
        parts: list[Table | Text] = [general, self._beside(*([self._keys(*groups)] for groups in _COLUMNS))]
        if commands := list(self._commands()) if self._driver else []:
            half = (len(commands) + 1) // 2
            parts += [Text("commands, after :", _TITLE), self._beside(commands[:half], commands[half:])]
        if (signs := self._signs()).row_count:
            parts += [Text("signs", _TITLE), signs]
        return Group(*parts)

    def _beside(self, first: Sequence[Table | Group], second: Sequence[Table | Group]) -> Table:
        """The one beside the other, or below it where that is too narrow."""
        table = Table.grid(padding=(0, 3, 0, 0), expand=True)
        table.add_column(ratio=1)
        if self.has_class("wide"):
            table.add_column(ratio=1)
            table.add_row(Group(*first), Group(*second))
        else:
            table.add_row(Group(*first, *second))
        return table

    def _add(self, table: Table, *cells: str | Text) -> None:
        """A row, if it has what is sought."""
        if has_words(" ".join(map(str, cells)), self._typed):
            table.add_row(*cells)

    def _keys(self, *groups: str) -> Table:
        """Of these groups, with the word of each behind what it does."""
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
        """What a command does is below it: some are long."""
        told = [
            (verb.usage, f"{verb.help}  ({verb.example})") for verb in (*VERBS.values(), *own_commands().values())
        ]
        for usage, said in (
            *told,
            ("at 2s …", "before a command: when. Also: when all normal …, on send KIND 4->1 …"),
        ):
            if has_words(f"{usage} {said}", self._typed):
                yield Group(Text(usage, "bold"), Padding(Text(said), (0, 0, 0, 4)))

    def _signs(self) -> Table:
        theme_styles, table = self._look, _table("", "")
        for status, said in _SIGNS.items():
            self._add(table, Text(f"{theme_styles.glyph(status)} {status}", theme_styles.status(status)), said)
        leads = Text(f"{theme_styles.glyphs.leads} leads", theme_styles.leader)
        self._add(table, leads, "is its own coordinator, and Normal; is to lead: in Reorganization")
        self._add(table, Text(" 5.3 ", theme_styles.plate(0)), "its group: the node that formed it, and a counter")
        for kind, said in _SCRIPT_SIGNS.items():
            sign = Text(
                f"{theme_styles.glyphs.marks[kind]} {kind.replace('unmet', 'not met')}", theme_styles.mark(kind)
            )
            self._add(table, sign, said)
        return table


def _table(*styles: str) -> Table:
    """Columns in these styles, of which the last has the room that is left."""
    table = Table.grid(padding=(0, 1))
    for style in styles[:-1]:
        table.add_column(style=style, no_wrap=True)
    table.add_column(style=styles[-1])
    return table


class RecordDialog(_Dialog):
    """One record of the recording, in full; y copies it."""

    BINDINGS: ClassVar[list[BindingType]] = [("y", "copy", "copy")]

    def __init__(self, lines: RecordStore, number: int, fate: str) -> None:
        super().__init__()
        self.title_text = f"record {number}; y copies it"
        self._record = record_as_json(lines, number)
        self._raw = lines.raw(number)
        self._fate = fate

    def action_copy(self) -> None:
        """The record as JSON, to the clipboard."""
        self.app.copy_to_clipboard(self._record[1])
        frame(self.query_one(VerticalScroll), subtitle=said_of_copy(*self._record))

    def content(self) -> Text:
        text = Text()
        if self._fate:
            text.append(f"{self._fate}\n\n", "bold")
        try:
            pretty = msgspec.json.format(self._raw, indent=2).decode("utf-8", "replace")
        except msgspec.DecodeError:
            pretty = self._raw.decode("utf-8", "replace")
        for line in pretty.split("\n"):
            text.append(sanitize(line) + "\n")
        return text


class PartitionDialog(_Dialog):
    """Choose the side of each node; the result is a command, or nothing."""

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
        self._look = theme_styles
        half = nodes[len(nodes) // 2 - 1]
        self._side = {node: int(node > half if apart is None else node == apart) for node in nodes}
        self._here = 0
        self._refused = False

    def content(self) -> Text:
        theme_styles = self._look
        text = Text()
        for side, name in enumerate("ABC"):
            members = [node for node in self._ids if self._side[node] == side]
            text.append(f"\n side {name}   ", "bold")
            for node in members:
                style = theme_styles.leader if node == self._ids[self._here] else Style()
                text.append(f" {node} ", style + Style(meta={"@click": f"screen.move_node({node})"}))
            if not members:
                text.append(" nobody", DIM)
        parted = self.command()
        style = theme_styles.warning if self._refused else theme_styles.accent
        text.append(f"\n\n {parted or 'all are on one side, so nothing would be parted'}\n", style)
        text.append("\n a digit or a click moves a node; arrows choose, space moves\n ", DIM)
        text.append(" Enter does it ", Style(reverse=True, meta={"@click": "screen.apply"}))
        return text

    def command(self) -> str:
        """The command that parts these sides; empty where there is only one."""
        sides = [[str(node) for node in self._ids if self._side[node] == side] for side in range(3)]
        filled = [" ".join(side) for side in sides if side]
        return f"partition {' | '.join(filled)}" if len(filled) > 1 else ""

    def on_key(self, event: events.Key) -> None:
        """A digit moves the node of that number to the next side."""
        if event.key.isdigit() and int(event.key) in self._side:
            event.stop()
            self.action_move_node(int(event.key))

    def action_go(self, by: int) -> None:
        """To the next node."""
        self._here = (self._here + by) % len(self._ids)
        self._redraw()

    def action_move(self) -> None:
        """The node to the next side."""
        node = self._ids[self._here]
        self._side[node] = (self._side[node] + 1) % 3
        self._refused = False
        self._redraw()

    def action_move_node(self, node: int) -> None:
        """That node to the next side."""
        self._here = self._ids.index(node)
        self.action_move()

    def action_apply(self) -> None:
        """Enter; where all are on one side there is nothing to do, and that is said."""
        command = self.command()
        if command:
            self.dismiss(command)
            return
        self._refused = True
        self._redraw()

    def _redraw(self) -> None:
        self.query_one(Static).update(self.content())
