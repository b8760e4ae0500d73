"""Steer the views: a witness, the trace of a message, the scale of the diagram; show the theme and the help."""

from collections.abc import Sequence
from functools import partial

from rich.text import Text

from lab.analysis.delivery import TraceEntry, message_trace
from lab.properties.verdicts import Violation
from lab.styles import DIM, ThemeStyles
from lab.text import sanitize
from lab.tui.context import ActionHandler, RunContext
from lab.tui.controllers.search import SearchController
from lab.tui.controllers.seeking import SeekController
from lab.tui.player import Picked
from lab.tui.terminal.terminal_app import DARK, LIGHT
from lab.tui.verdict_text import format_witness, next_violation
from lab.tui.views.lines_view import LinesView
from lab.tui.views.log_view import describe_copy, record_as_json
from lab.tui.views.views import Views
from lab.tui.widgets.dialogs import ListDialog
from lab.tui.widgets.help import HelpDialog

_MOST_NOW = 12
"""The most actions at the head of the help."""


class DisplayController:
    """Steers the views and what is marked in them."""

    def __init__(
        self, context: RunContext, views: Views, search: SearchController, seeker: SeekController
    ) -> None:
        self._context = context
        self._views = views
        self._search = search
        self._seeker = seeker
        diagram = views.diagram
        self.actions: dict[str, ActionHandler] = {
            "open": views.activate,
            "next-violation": partial(self._go_to_violation, True),
            "previous-violation": partial(self._go_to_violation, False),
            "deselect": self._deselect,
            "follow": self._follow_message,
            "copy": self._copy,
            "zoom-in": lambda: context.notify(diagram.zoom(-1)),
            "zoom-out": lambda: context.notify(diagram.zoom(1)),
            "turn": lambda: context.notify(diagram.turn()),
            "theme": self._set_theme,
            "themes": self._choose_theme,
            "help": self._show_help,
        }

    # violations and their witnesses

    def show_witness(self, found: Violation | None, of: str = "") -> None:
        """Go to a violation and mark its witness, or report that there is none (``of`` an assertion, if given)."""
        if found is None:
            self._context.notify(f"no violation{of and f' of {of}'} so far")
            return
        self._context.player.go(found.record)
        self._mark(found)
        self._context.notify(format_witness(found), warn=True)

    def _go_to_violation(self, forward: bool) -> None:
        context = self._context
        violations = context.source.judge.violations
        self.show_witness(next_violation(violations, context.player.number, context.witness, forward))

    def _mark(self, violation: Violation | None) -> None:
        """Mark the nodes of a violation and the records where their offending states began; None clears all."""
        self._context.witness = violation
        states = () if violation is None else violation.states
        self._views.mark(frozenset(state.record for state in states))

    def _deselect(self) -> None:
        """End the search that is going on, or else deselect everything."""
        if self._search.end():
            self._context.notify("the search is over")
        elif self._seeker.stop():
            self._context.notify("stopped")
        else:
            self._context.selected = self._context.picked = None
            self._mark(None)
            self._views.select(None)

    # messages and records

    def _follow_message(self) -> None:
        """Show the trace of the message that is selected, under the cursor of the log, or just reached."""
        context, log = self._context, self._views.message_log
        row = log.under_cursor
        if row is not None and self._views.focused_view is not log and row[0].record != context.player.number:
            row = None  # the last line of the log, which nothing marks
        picked = context.picked or (None if row is None else Picked.of_line(row[0]))
        if picked is None or picked.message is None:
            context.notify("follow: select a message in the log or the diagram first (Tab, arrow keys)", warn=True)
            return
        trace = list(message_trace(context.source.store, picked.message, picked.record))
        context.show_dialog(TraceDialog(trace, context.player.number, context.styles), self._go_to)

    def _go_to(self, record: int) -> None:
        self._context.player.go(record)
        self._context.redraw()

    def _copy(self) -> None:
        """Copy what is under the cursor of the focused view, or else the record at the cursor in time."""
        context, view = self._context, self._views.focused_view
        found = view.copied() if isinstance(view, LinesView) else None
        what, text = found or record_as_json(context.source.store, context.player.number)
        context.app.copy_to_clipboard(text)
        context.notify(describe_copy(what, text))

    # the theme and the help

    def _set_theme(self, name: str) -> None:
        app = self._context.app
        if name and name not in app.available_themes:
            themes = ", ".join(sorted(app.available_themes))
            self._context.notify(f"unknown theme {name!r}; the themes are {themes}", warn=True)
        else:
            app.theme = name or (LIGHT if app.current_theme.dark else DARK)

    def _choose_theme(self) -> None:
        self._context.app.search_themes()

    def _show_help(self) -> None:
        """Show the help, which begins with what the footer begins with."""
        context, actions = self._context, self._context.actions
        first = actions.in_order(context.focus, context.selected)
        now = [
            action for action in first if action in context.offered and (action.footer or action.word == "open")
        ]
        dialog = HelpDialog(actions, context.source.takes_commands, context.styles, now[:_MOST_NOW])
        context.show_dialog(dialog)


# the trace of a message, from why it was sent to the effect of its answer; each line leads to its record

_STYLES = {"lost": "lost", "taken": "delivered", "routed": "held", "meanwhile": "held", "open": "in flight"}
"""The delivery outcome that gives a line its colour."""


class TraceDialog(ListDialog[int]):
    """The trace of a message. The result is the record of the chosen line; ``here`` is the cursor in time."""

    DEFAULT_CSS = "TraceDialog > Vertical { width: 100; }"

    def __init__(self, entries: Sequence[TraceEntry], here: int, styles: ThemeStyles) -> None:
        super().__init__("the trace of a message", "Enter goes to a line's record · type to filter · Esc closes")
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
