"""What is below the nodes: the log of messages, and the views that take its place, or stand beside it.

Which views there are, and what each is called, is said here once: tabs, keys and answers follow from it.
"""

from typing import Protocol

from msgspec import Struct
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message
from textual.widget import Widget

from lab.tui.classroom.view import ExerciseView
from lab.tui.run.cursor import Cursor
from lab.tui.run.source import Source
from lab.tui.terminal.theme_styles import ThemeStyles
from lab.tui.views.assertions.view import AssertionsView
from lab.tui.views.bank import BankView
from lab.tui.views.beside.view import BesideView
from lab.tui.views.code.view import CodeView
from lab.tui.views.diagram import DiagramView
from lab.tui.views.groups.view import GroupView
from lab.tui.views.inspect.view import InspectView
from lab.tui.views.log.rows import LogRows
from lab.tui.views.log.view import MessageLog
from lab.tui.views.map import FieldView
from lab.tui.views.network import NetworkView
from lab.tui.views.script.view import ScriptView

__all__ = ["EXERCISE", "LOG", "VIEWS", "Kind", "View", "Views"]

EXERCISE = "exercise"
LOG = "log"
DIAGRAM = "diagram"
"""What stands beside the log where nothing else was turned to."""
_BESIDE = 150
"""From so many columns on a view stands beside the log."""
_LEAST_PERCENT = 5


class View(Protocol):
    """What a view can do; it is a widget too, whose id is the word of the view."""

    def show(self, moment: Cursor) -> None:
        """Draw what is seen as of that moment."""

    def open_cursor(self) -> None:
        """Open what is under its cursor, if it has one."""


class Kind(Struct, frozen=True):
    """A kind of view. ``word`` is that of its action, ``said`` tells what there is to see, and how to use it."""

    word: str
    said: str


VIEWS: tuple[Kind, ...] = (
    Kind(EXERCISE, "what is to be done: Up and Down select a task, Enter answers, H gives a hint"),
    Kind(LOG, "the log of messages"),
    Kind("diagram", "space and time: arrow keys or a click select, Enter opens, j goes there"),
    Kind("groups", "the history of groups; Enter goes to the record of a line"),
    Kind("bank", "the bank: accounts, locks, what is open and why"),
    Kind("map", "the map of the field: filled is surveyed, ▶ is being surveyed, pale is not yet"),
    Kind("network", "the network: who hears whom, and every link; arrows move, Enter changes a link"),
    Kind("script", "the script; Enter goes to the record of a line"),
    Kind(
        "code",
        "the protocol's source, and where each node waits in it; Enter goes to the lines that ran, and back",
    ),
    Kind("inspect", "one node: its last step, its waits, its state, its safe storage; a digit selects another"),
    Kind(
        "assertions", "what the protocol promises, and whether it holds; Enter goes to the next violation of one"
    ),
    Kind("beside", "another recording as of the same moment; Enter goes to where the two part"),
)
"""In the order of their tabs."""


class Views(Horizontal):
    """``chosen`` is the view that was turned to last. Where there is room the log stays, to the left of it.

    Where there is room and nothing else was turned to, the diagram stands beside the log.
    """

    DEFAULT_CSS = """
    Views { height: 1fr; }
    Views > * { width: 1fr; height: 1fr; display: none; }
    Views > .seen { display: block; }
    Views > .right { border-left: tall $panel; }
    """

    def __init__(self, theme_styles: ThemeStyles, source: Source) -> None:
        super().__init__()
        header, groups = source.lines.header, source.groups
        self.message_log = MessageLog(theme_styles, LogRows(source.lines, source.is_live))
        self.diagram = DiagramView(theme_styles, source, self.rows)
        self.beside = BesideView(theme_styles, source)
        self.exercise = ExerciseView(theme_styles, source)
        self._views: dict[str, View] = {
            LOG: self.message_log,
            EXERCISE: self.exercise,
            DIAGRAM: self.diagram,
            "groups": GroupView(theme_styles, header, groups),
            "bank": BankView(theme_styles, header),
            "map": FieldView(theme_styles, header, groups),
            "network": NetworkView(theme_styles, header, groups),
            "script": ScriptView(theme_styles, source),
            "beside": self.beside,
            "code": CodeView(theme_styles, source),
            "inspect": InspectView(theme_styles, source),
            "assertions": AssertionsView(theme_styles, source),
        }
        self.chosen = LOG
        self._is_alone = False

    class Dragged(Message):
        """The log is to have so many percent of the width."""

        def __init__(self, log: int) -> None:
            super().__init__()
            self.log = log

    def compose(self) -> ComposeResult:
        """All of them; those that are not seen are not drawn."""
        for view in self._views.values():
            assert isinstance(view, Widget)
            yield view

    def on_mount(self) -> None:
        """Begin with the log."""
        self._arrange()

    def on_resize(self, event: events.Resize) -> None:
        """As many as there is room for."""
        self._arrange()

    def show(self, moment: Cursor) -> None:
        """Draw what is seen as of that moment."""
        for word in self.seen:
            self._views[word].show(moment)

    def turn_to(self, word: str) -> str:
        """To that view, or from it back to the log; what there is to say of it."""
        back = word in (self.chosen, LOG)
        self.chosen = LOG if back else word
        self._arrange()
        return "the log again" if back else next(kind.said for kind in VIEWS if kind.word == word)

    @property
    def seen(self) -> tuple[str, ...]:
        """The views that are seen, from left to right."""
        if self.size.width < _BESIDE or self._is_alone:
            return (self.chosen,)
        return LOG, DIAGRAM if self.chosen == LOG else self.chosen

    @property
    def widget(self) -> Widget:
        """The chosen view."""
        view = self._views[self.chosen]
        assert isinstance(view, Widget)
        return view

    @property
    def in_hand(self) -> View:
        """The view that has the keys, or the chosen one."""
        focused = (word for word in self.seen if self.query_one(f"#{word}").has_focus)
        return self._views[next(focused, self.chosen)]

    @property
    def rows(self) -> LogRows:
        """The rows of the log."""
        return self.message_log.rows

    def mark(self, records: frozenset[int]) -> None:
        """Mark these records, and no others, wherever records are seen."""
        self.message_log.mark(records)
        self.diagram.mark(records)

    def open_cursor(self) -> None:
        """Open what is under the cursor of the view that has the keys, or of the chosen one."""
        self.in_hand.open_cursor()

    def share(self, alone: bool, log: int) -> None:
        """``alone``: the chosen view has all of it; else the log beside it has so many percent of the width."""
        self._is_alone = alone
        for widget in self.children:
            widget.styles.width = f"{log if widget.id == LOG else 100 - log}fr"
        self._arrange()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """The border between the log and the view can be dragged."""
        if len(self.seen) > 1 and event.screen_x == self.query_one(f"#{self.seen[-1]}").region.x:
            self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Drag it."""
        if self.app.mouse_captured is self:
            percent = round((event.screen_x - self.region.x) * 100 / self.size.width)
            self.post_message(self.Dragged(max(_LEAST_PERCENT, min(percent, 100 - _LEAST_PERCENT))))

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Leave it there."""
        self.release_mouse()

    def _arrange(self) -> None:
        seen = self.seen
        for widget in self.children:
            widget.set_class(widget.id in seen, "seen")
            widget.set_class(len(seen) > 1 and widget.id == seen[-1], "right")
