"""The area below the nodes: the message log, and the views that take its place or stand beside it.

The list of views and their names is kept here; tabs, keys and messages are derived from it.
"""

from dataclasses import dataclass

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message

from lab.styles import ThemeStyles
from lab.tasks.extension import built_in_extensions
from lab.tui.player import Cursor, Picked
from lab.tui.source import Source
from lab.tui.terminal.terminal_app import Draggable
from lab.tui.views.assertions_view import AssertionsView
from lab.tui.views.code_view import CodeView
from lab.tui.views.compare_view import CompareView
from lab.tui.views.diagram_view import DiagramView
from lab.tui.views.exercise_view import ExerciseView
from lab.tui.views.group_view import GroupView
from lab.tui.views.inspect_view import InspectView
from lab.tui.views.lines_view import LinesView, RenderedView
from lab.tui.views.log_view import LogRows, MessageLog
from lab.tui.views.network_view import NetworkView
from lab.tui.views.script_view import ScriptView

EXERCISE = "exercise"
LOG = "log"
DIAGRAM = "diagram"
"""The view beside the log while no other is chosen."""
_SIDE_BY_SIDE_WIDTH = 150
"""The least columns for a view beside the log."""
_LEAST_PERCENT = 5

View = LinesView | CompareView
"""A view of the run; its id is its name."""

VIEWS = {
    EXERCISE: "the exercise: Up and Down select a task, Enter answers, :hint gives a hint",
    LOG: "the message log",
    DIAGRAM: "space-time diagram: arrow keys or a click select, Enter goes there",
    "groups": "the history of groups; Enter goes to the record of a line",
    **{view.word: view.hint for brought in built_in_extensions() for view in brought.views},
    "network": "the network: connectivity and every link; arrows move, Enter changes a link",
    "script": "the script; Enter goes to the record of a line",
    "code": "the protocol's source, and where each node waits; Enter switches to the executed lines, and back",
    "inspect": "one node: its last step, its waits, its state, its stable storage; a digit selects another",
    "assertions": "the assertions and their verdicts; Enter goes to the next violation of one",
    "compare": "another recording at the same point of the run; Enter goes to where the two diverge",
}
"""What each view shows and how to use it, by the word of its action.

In the order of their tabs; those that a user's own protocol brings follow.
"""


class Views(Draggable, Horizontal):
    """All views. ``chosen`` is the one chosen last. If there is room, the log stays visible on the left.

    If there is room and no other view is chosen, the diagram stands beside the log. ``hints`` is the table of the
    views of this run.
    """

    DEFAULT_CSS = """
    Views { height: 1fr; }
    Views > * { width: 1fr; height: 1fr; display: none; }
    Views > .seen { display: block; }
    Views > .right { border-left: tall $panel; }
    """

    def __init__(self, styles: ThemeStyles, source: Source) -> None:
        super().__init__()
        self.message_log = MessageLog(styles, LogRows(source.store, source.grows))
        self.diagram = DiagramView(styles, source, self.rows)
        self.compare = CompareView(styles, source)
        self.exercise = ExerciseView(styles, source)
        brought = source.extension.views
        self._views: dict[str, View] = {
            **{each.word: RenderedView(each.word, styles, source, each.draw) for each in brought},
            LOG: self.message_log,
            EXERCISE: self.exercise,
            DIAGRAM: self.diagram,
            "groups": GroupView(styles, source),
            "network": NetworkView(styles, source),
            "script": ScriptView(styles, source),
            "compare": self.compare,
            "code": CodeView(styles, source),
            "inspect": InspectView(styles, source),
            "assertions": AssertionsView(styles, source),
        }
        self.hints = VIEWS | {each.word: each.hint for each in brought if each.word not in VIEWS}
        self.chosen = LOG
        self._is_alone = self._is_dragged = False

    @dataclass
    class Dragged(Message):
        """The border was dragged: give the log this percentage of the width."""

        log: int

    def compose(self) -> ComposeResult:
        yield from self._views.values()

    def on_mount(self) -> None:
        self._arrange()

    def on_resize(self, event: events.Resize) -> None:
        self._arrange()

    def show(self, cursor: Cursor) -> None:
        for word in self.shown_views:
            self._views[word].show(cursor)

    def show_view(self, word: str) -> str:
        """Choose a view, or the log if it is chosen already. Return a message for the user."""
        back = word in (self.chosen, LOG)
        self.chosen = LOG if back else word
        self._arrange()
        return "back to the log" if back else self.hints[word]

    @property
    def shown_views(self) -> tuple[str, ...]:
        """The visible views, from left to right."""
        if self.size.width < _SIDE_BY_SIDE_WIDTH or self._is_alone:
            return (self.chosen,)
        return LOG, DIAGRAM if self.chosen == LOG else self.chosen

    @property
    def widget(self) -> View:
        """The chosen view."""
        return self._views[self.chosen]

    @property
    def focused_view(self) -> View:
        """The view that has the focus, or the chosen one."""
        focused = (word for word in self.shown_views if self.query_one(f"#{word}").has_focus)
        return self._views[next(focused, self.chosen)]

    @property
    def rows(self) -> LogRows:
        return self.message_log.rows

    def select(self, picked: Picked | None, by: LinesView | None = None) -> None:
        """Mark what is selected in all views but the one that it was selected ``by``."""
        for view in self._views.values():
            if view is not by and isinstance(view, LinesView):
                view.select(picked)

    def mark(self, records: frozenset[int]) -> None:
        """Mark these records, and no others, in the log and the diagram."""
        self.message_log.mark(records)
        self.diagram.mark(records)

    def activate(self) -> None:
        self.focused_view.activate()

    def share(self, alone: bool, log: int) -> None:
        """Divide the width: ``alone`` shows only the chosen view, else the log has ``log`` per cent."""
        self._is_alone = alone
        for widget in self.children:
            widget.styles.width = f"{log if widget.id == LOG else 100 - log}fr"
        self._arrange()

    def is_grabbed_at(self, x: int, y: int) -> bool:
        """Return whether the border between the log and the view is there."""
        shown = self.shown_views
        return len(shown) > 1 and x == self.query_one(f"#{shown[-1]}").region.x

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._is_dragged = self.is_grabbed_at(int(event.screen_x), int(event.screen_y))

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._is_dragged:
            percent = round((event.screen_x - self.region.x) * 100 / self.size.width)
            self.post_message(self.Dragged(max(_LEAST_PERCENT, min(percent, 100 - _LEAST_PERCENT))))

    def on_mouse_up(self, event: events.MouseUp) -> None:
        self._is_dragged = False

    def _arrange(self) -> None:
        shown = self.shown_views
        for widget in self.children:
            widget.set_class(widget.id in shown, "seen")
            widget.set_class(len(shown) > 1 and widget.id == shown[-1], "right")
