"""The actions to look up: the help, with all keys, commands and signs; and the command palette (Ctrl+P).

The palette has every action that is available now, found by any of its letters, with its key.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Protocol, cast

from rich.console import Group
from rich.padding import Padding
from rich.style import Style
from rich.table import Table
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from lab.script.verbs import VERBS, Verb, bare_commands
from lab.styles import DIM, ThemeStyles
from lab.tui.actions import Action, ActionTable
from lab.tui.widgets.dialogs import TextBox, contains_words

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
    "fault": "on the scrub bar: a fault began; {previous-fault} and {next-fault} go from one to the next",
    "repair": "on the scrub bar: a fault ended, or a node came back",
    "command": "on the scrub bar: a command that is no fault",
    "status": "on the scrub bar: a node changed its Status",
    "election": "on the scrub bar: an election began; {previous-election} and {next-election} go there",
    "leader": "on the scrub bar: a node took over as leader; the same keys go there",
    "caption": "a text of a script or of the command say; the latest is shown above the nodes",
    "mark": "a mark set by a script; {next-mark} and {previous-mark} go to the next and the previous one",
    "bookmark": "your note on a record ({bookmark} adds one); {next-mark} and {previous-mark} go there too",
    "violation": "on the scrub bar: an assertion is violated; {next-violation} goes there",
    "met": "script: an expectation that was met, or a line that was executed",
    "unmet": "script: an expectation that was not met, or a line that was never executed",
}


_WORDS = {
    "status": "Normal: the node works; Election, Reorganization: it elects, or prepares its task anew; Down",
    "coordinator": "the node that leads the nodes of its group; in the papers on leader election: the leader",
    "group": "the nodes that work together under one coordinator; 5.3 is one that node 5 formed, with a counter",
    "definition": "of a task: what the nodes of a group need to know to work on it; an election renews it",
    "log": "its lines are in the order in which the host received them, so times may go back by a few ms",
}
_WORDS_OF_COMMITMENT = {
    "coordinator": "the node that begins a transaction and decides it; the others take part: participants",
    "in doubt": "a participant that has voted YES and does not know the decision: it is blocked, with its locks",
    "log": _WORDS["log"],
}

_HELP_TITLE = "keys and commands"
_HELP_KEYS = "type to filter · Enter or Esc closes"
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


class HelpDialog(TextBox):
    """A list of the keys that apply ``now``, then of all keys and commands; typing filters it."""

    DEFAULT_CSS = """
    HelpDialog.wide > VerticalScroll { width: 168; }
    """

    def __init__(
        self,
        actions: ActionTable,
        driver: bool,
        styles: ThemeStyles,
        now: Sequence[Action] = (),
    ) -> None:
        super().__init__(_HELP_TITLE, _HELP_KEYS)
        self._actions = actions
        self._now = now
        self._driver = driver
        self._styles = styles
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
        self.redraw()
        title = f"{_HELP_TITLE} with: {self._typed}" if self._typed else _HELP_TITLE
        self.frame(title, "Esc clears the filter · Enter closes" if self._typed else _HELP_KEYS)
        self.box.scroll_home(animate=False)

    def content(self) -> Group:
        general = _table("bold", "")
        if self._now and not self._typed:
            general.add_row("", Text("what you can do now", _TITLE))
            for action in self._now:
                self._add_action(general, action)
            general.add_row("", Text("everything", _TITLE))
        self._add(general, f"{'1 2 3 …':{_KEY}}", "select a node; arrows or a click do the same")
        self._add(general, f"{'Tab':{_KEY}}", "go to nodes, log or scrub bar; there, 0-9 jump to tenths")
        keys = [self._keys(*groups) for groups in _COLUMNS]
        parts: list[Table | Text] = [general, self._columns(*([each] for each in keys))]
        if commands := list(self._commands()) if self._driver else []:
            half = (len(commands) + 1) // 2
            parts += [Text("commands, after :", _TITLE), self._columns(commands[:half], commands[half:])]
        if (signs := self._signs()).row_count:
            parts += [Text("signs", _TITLE), signs]
        if (words := self._words()).row_count:
            parts += [Text("words", _TITLE), words]
        if not any(each.row_count for each in (general, *keys, signs, words)) and not commands:
            return Group(Text(f"no match for {self._typed}; Esc clears the filter", self._styles.warning))
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
            for action in self._actions.values():
                if action.group == group and (self._driver or action.where == "all"):
                    self._add_action(table, action)
        return table

    def _add_action(self, table: Table, action: Action) -> None:
        word = f":{action.word} {action.takes}".rstrip()
        self._add(table, f"{action.shown:{_KEY}}", Text.assemble(action.help, (f"  {word}", DIM)))

    def _commands(self) -> Iterator[Group]:
        """Yield each command with its help on the lines below it, as some usages are long."""
        commands = [
            (verb.usage, f"{verb.help}  ({self._example(verb)})")
            for verb in (*VERBS.values(), *bare_commands().values())
        ]
        for usage, text in (
            *commands,
            ("at 2s …", "before a command: when to execute it. Also: when all normal …, on send KIND 4->1 …"),
        ):
            if contains_words(f"{usage} {text}", self._typed):
                yield Group(Text(usage, "bold"), Padding(Text(text), (0, 0, 0, 4)))

    def _example(self, verb: Verb) -> str:
        """Return the example of a command, without a coordinator where there is none."""
        return verb.example.replace("coordinator", "5") if self._actions.elects_nobody else verb.example

    def _words(self) -> Table:
        """Build the table of the words that the interface uses."""
        table = _table("bold", "")
        for word, text in (_WORDS_OF_COMMITMENT if self._actions.elects_nobody else _WORDS).items():
            self._add(table, word, text)
        return table

    def _signs(self) -> Table:
        styles, table = self._styles, _table("", "")
        for status, text in _SIGNS.items():
            self._add(table, Text(f"{styles.glyph(status)} {status}", styles.status(status)), text)
        leads = Text(f"{styles.glyphs.leads} leads", styles.leader)
        self._add(table, leads, "is Normal and its own coordinator; in Reorganization: will lead")
        self._add(table, Text(" 5.3 ", styles.badge(0)), "its group: the node that formed it, and a counter")
        for kind, text in _SCRIPT_SIGNS.items():
            sign = Text(f"{styles.glyphs.marks[kind]} {kind.replace('unmet', 'not met')}", styles.mark(kind))
            self._add(table, sign, self._actions.with_keys(text))
        return table


def _table(*styles: str) -> Table:
    """Build a table with columns of these styles; the last column takes the remaining width."""
    table = Table.grid(padding=(0, 1))
    for style in styles[:-1]:
        table.add_column(style=style, no_wrap=True)
    table.add_column(style=styles[-1])
    return table


class ActionTarget(Protocol):
    """A screen whose actions the palette offers."""

    def actions(self) -> Sequence[Action]:
        """Return the actions that are available now."""

    def action_do(self, word: str, rest: str = "") -> None:
        """Perform the action with this word."""


class ActionProvider(Provider):
    """Offers the actions of the screen on which the palette was opened."""

    @property
    def _target(self) -> ActionTarget:
        return cast(ActionTarget, self.screen)

    async def discover(self) -> Hits:
        """Yield all actions, in the order of the table."""
        for action in self._target.actions():
            yield DiscoveryHit(Content(_label(action)), self._call(action), _label(action), action.help)

    async def search(self, query: str) -> Hits:
        """Yield the actions whose word or help matches, the best first."""
        matcher = self.matcher(query)
        for action in self._target.actions():
            by_word, by_help = matcher.match(action.word), matcher.match(action.help) / 2
            if score := max(by_word, by_help):
                shown = matcher.highlight(action.word) + Content(_key(action))
                yield Hit(score, shown, self._call(action), _label(action), action.help)

    def _call(self, action: Action) -> Callable[[], None]:
        return partial(self._target.action_do, action.word)


def _key(action: Action) -> str:
    return f"   {action.shown}" if action.shown else ""


def _label(action: Action) -> str:
    return f"{action.word}{_key(action)}"
