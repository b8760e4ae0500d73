"""The screen of a run: every widget shows the run at the same cursor in time."""

import time
from collections.abc import Callable
from typing import ClassVar

from rich.text import Text
from textual import events, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Static

from lab.properties.verdicts import Violation
from lab.text import sanitize
from lab.tui.action_handlers import action_handlers, show_witness
from lab.tui.actions import ACTIONS, Action, find_action
from lab.tui.availability import (
    controls_time,
    is_available,
    reason_no_commands,
    reason_unavailable,
    takes_commands,
)
from lab.tui.controllers.layout import LayoutController, LayoutSettings
from lab.tui.controllers.predicting import Predicting
from lab.tui.controllers.search import SearchController
from lab.tui.controllers.seeking import Seeker
from lab.tui.controllers.tour import Tour, TourLine
from lab.tui.keys import action_of, bindings
from lab.tui.player import FOLLOWING, Cursor, Player
from lab.tui.replies import execute_command, opening_hint
from lab.tui.source import Source, scenario_purpose
from lab.tui.terminal.styles import ThemeStyles
from lab.tui.verdicts import EndNotice
from lab.tui.views.assertions_view import AssertionsView
from lab.tui.views.lines_view import LinesView
from lab.tui.views.link_dialog import edit_link
from lab.tui.views.log_view import MessageLog
from lab.tui.views.network_view import NetworkView
from lab.tui.views.views import LOG, Views
from lab.tui.widgets.digits import NodeNumberInput
from lab.tui.widgets.frame_rate import FrameTimer
from lab.tui.widgets.heading import draw_lines, draw_title
from lab.tui.widgets.help import RecordDialog
from lab.tui.widgets.key_lines import KeyLine, TabLine
from lab.tui.widgets.node_panes import NodePanes
from lab.tui.widgets.pane import Pane, panes_of
from lab.tui.widgets.prompts import CommandLine, Prompt, SearchLine
from lab.tui.widgets.scrub_bar import ScrubBar
from lab.tui.widgets.status_lines import CaptionLine, FaultLines, LeaderLine, TitleLine, VerdictLine
from lab.worlds.feed_protocol import Clock

_SLOW_FRAMES = 3


class RunScreen(Screen[None]):
    """The screen over a source of records: it shows them and sends commands. ``clock_s`` drives the playback."""

    DEFAULT_CSS = f"""
    RunScreen {{ layout: vertical; }}
    #message {{ height: auto; max-height: 3; padding: 0 1; text-wrap: wrap; text-overflow: fold; }}
    {LayoutController.CSS}
    """

    BINDINGS: ClassVar[list[BindingType]] = [*bindings()]

    def __init__(
        self,
        source: Source,
        theme_styles: ThemeStyles,
        title: str,
        at: int | None = None,
        clock_s: Callable[[], float] = time.monotonic,
        layout: LayoutSettings | None = None,
    ) -> None:
        super().__init__()
        self._clock_s = clock_s
        self.source = source
        self.theme_styles = theme_styles
        self.run_name = title
        self.player = Player(source.store, source.marks, source.is_live, source.bookmarks)
        if at is not None:
            self.player.go(at)
        self.selected: int | None = None
        self._digits = NodeNumberInput()
        self.witness: Violation | None = None
        self.views = Views(theme_styles, source)
        self.layout_controller = LayoutController(self, layout or LayoutSettings())
        self.views.rows.heartbeats = self.layout_controller.layout.heartbeats
        self.seeker = Seeker(self)
        self.search = SearchController(self)
        self.predicting = Predicting(self)
        self.tour = Tour(self)
        self._handlers = action_handlers(self)
        self._panes: tuple[Pane, ...] = ()
        self.offered: list[Action] = []
        self._last_s = clock_s()
        self._summary = scenario_purpose(source.store.header)
        self._ending = EndNotice(source, self.player, theme_styles.glyphs)
        self._drawn_frames = -1
        self._clock: Clock | None = None
        self.is_ready = False  # keys may arrive before the widgets are mounted, and after the screen is left

    def compose(self) -> ComposeResult:
        yield Static(id="tiny")
        yield TitleLine("title")
        yield TitleLine("room")
        yield TourLine("tour")
        yield CaptionLine("caption")
        yield LeaderLine("leaders")
        yield NodePanes(self.theme_styles)
        yield FaultLines("faults")
        yield VerdictLine("verdicts")
        yield TabLine(self.theme_styles)
        yield self.views
        yield ScrubBar(self.theme_styles, self.source)
        yield TitleLine("message")
        yield CommandLine()
        yield SearchLine(self.search, self.source.store.header)
        yield KeyLine(self._is_shown)

    def on_screen_resume(self) -> None:
        if not self.is_ready:
            self.is_ready = True
            FrameTimer(self.draw, self.set_timer, self.source.is_served).schedule_next()
            self.app.theme_changed_signal.subscribe(self, lambda theme: self._redraw())
            self.run_worker(self.source.work(), exclusive=False, exit_on_error=True)
            self.query_one(NodePanes).focus()
            trouble = self.source.bookmarks.trouble
            self.show_message(trouble or opening_hint(self.source), warn=bool(trouble))
        self.draw()

    def on_resize(self, event: events.Resize) -> None:
        self.layout_controller.fit()

    # drawing

    def draw(self) -> None:
        """Draw a frame: advance playback, and show the run at the cursor."""
        if not self.is_ready or self.layout_controller.is_tiny:
            return
        self.search.draw()
        now_s, player = self._clock_s(), self.player
        elapsed_us, self._last_s = round((now_s - self._last_s) * 1e6), now_s
        followed = player.following
        player.tick(elapsed_us, self.source.now_us())
        if player.following and not followed:
            self.show_message(FOLLOWING)  # playback has reached the end
        self.predicting.check()
        self.tour.update()
        if self.source.clock != self._clock:
            self._take_clock(self.source.clock)
        cluster = player.cluster()
        snapshot = cluster.snapshot()
        panes = panes_of(snapshot, player.now_us, self.source.groups)
        self._panes = panes
        offered = self.actions()
        if offered != self.offered:
            self.offered = offered
            self.refresh_bindings()
            self.layout_controller.restore_view({action.word for action in offered})
        disagree = frozenset(self.witness.nodes) if self.witness is not None else frozenset()
        self.query_one(NodePanes).show(panes, self.selected, disagree)
        draw_lines(self, snapshot, panes, self._summary)
        self.views.show(Cursor(cluster, player.now_us, self.selected, player.following, self.predicting.is_asking))
        self._drawn_frames += 1
        if not player.following or self._drawn_frames % _SLOW_FRAMES == 0:
            # while the end is followed, these change with every record; every third frame is enough
            self.query_one(ScrubBar).show(player, self.source.clock, self.predicting.is_asking)
            hidden = 0 if self.views.rows.heartbeats else self.views.rows.hidden_count(cluster)
            draw_title(self, hidden)
        if news := self._ending.next_notice():
            self.show_message(*news)

    def _take_clock(self, clock: Clock | None) -> None:
        before, self._clock = self._clock, clock
        self._drawn_frames = -1  # draw these widgets too in this frame
        if clock is not None and clock.note and (before is None or before.note != clock.note):
            self.show_message(clock.note, warn=True)

    def show_message(self, text: str, warn: bool = False) -> None:
        """Show a text in the message line."""
        style = self.theme_styles.warning if warn else self.theme_styles.accent
        if self.is_ready:
            self.query_one("#message", TitleLine).put(Text(sanitize(text, 300), style), wraps=True)

    # actions of the user

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return True unless the key is a colon typed into a prompt. Unavailable actions say why when called."""
        is_colon = action == "do" and parameters[0] == "command"
        return not (is_colon and isinstance(self.focused, Prompt))

    @property
    def _seen(self) -> tuple[str, ...]:
        """The visible views, and ``search`` and ``tour`` while each is active."""
        also = {"search": self.search.active is not None, "tour": self.tour.is_on}
        return (*self.views.shown_views, *(word for word, is_on in also.items() if is_on))

    @property
    def pane(self) -> Pane | None:
        """The pane of the selected node."""
        return next((pane for pane in self._panes if pane.id == self.selected), None)

    def _is_shown(self, binding: Binding) -> bool:
        action = action_of(binding)
        return action is None or action in self.offered

    def actions(self) -> list[Action]:
        """Return the actions that are available now."""
        pane = self.pane
        seen = self._seen
        return [action for action in ACTIONS if is_available(action, self.source, pane, seen)]

    def action_do(self, word: str, rest: str = "") -> None:
        """Perform the action with this word; ``rest`` is the text typed after the word."""
        action = find_action(word)
        if action is None or not self.is_ready or (self.layout_controller.is_tiny and word != "quit"):
            return
        self.layout_controller.is_touched = True
        if missing := reason_unavailable(action, self.source, self._seen):
            self.show_message(missing, warn=True)
        elif action.needs_node and self.selected is None:
            self.show_message(f"{word}: select a node first, by its number", warn=True)
        else:
            self._handlers[word](rest)
        self.draw()

    def action_digit(self, digit: str) -> None:
        """Select a node by its number; two digits typed quickly select a two-digit node."""
        if not self.is_ready:
            return
        node, error = self._digits.enter(digit, self.source.store.header.nodes)
        if node is not None:
            self.selected = node
            self.show_message(f"node {node} selected")
        elif error:
            self.show_message(error, warn=True)
        self.draw()

    @work
    async def execute(self, command: str) -> None:
        """Send a command to the run and show the reply."""
        is_past = self.source.is_live and not self.player.following and not controls_time(self.source)
        text, is_done = await execute_command(command, self.source, self.player, self.views.rows, self.draw)
        self.show_message(
            f"{text} (at the present, not at the cursor's time)" if is_done and is_past else text, warn=not is_done
        )

    def show_view(self, view: str) -> None:
        """Show a view, or the log if that view is shown already."""
        self.show_message(self.views.show_view(view))
        self.layout_controller.on_view_changed()
        (self.query_one(NodePanes) if self.views.chosen == LOG else self.views.widget).focus()

    def mark(self, violation: Violation | None) -> None:
        """Mark the nodes of a violation and the records where their offending states began; None clears all."""
        self.witness = violation
        states = () if violation is None else violation.states
        self.views.mark(frozenset(state.record for state in states))

    def open_line(self, text: str) -> None:
        """Open the command line with this text in it."""
        self.query_one("#message").display = False
        self.query_one(CommandLine).open(text)

    def _redraw(self) -> None:
        """Redraw all widgets in the colours of the present theme."""
        self.theme_styles.dark = self.app.current_theme.dark
        self._panes = ()
        self.refresh(recompose=False)
        for widget in (self.query_one(NodePanes), *self.views.children, self.query_one(ScrubBar)):
            widget.refresh()

    # messages from widgets

    def on_node_panes_selected(self, message: NodePanes.Selected) -> None:
        self.selected = message.node
        self.draw()

    def on_scrub_bar_sought(self, message: ScrubBar.Sought) -> None:
        self.player.seek(round(message.share * max(self.player.end_us, self.player.now_us)))
        self.draw()

    def on_assertions_view_witnessed(self, message: AssertionsView.Witnessed) -> None:
        show_witness(self, message.violation, message.assertion)
        self.draw()

    def on_lines_view_sought(self, message: LinesView.Sought) -> None:
        """Go to the record that a view asks for."""
        self.player.go(message.record)
        self.draw()

    def on_command_line_left(self) -> None:
        """Show the message line again, unless the command line was reopened."""
        self.query_one("#message").display = not self.query_one(CommandLine).is_open

    def on_command_line_given(self, message: CommandLine.Given) -> None:
        """Perform an entered line: an action, or a command for the run."""
        self.on_command_line_left()
        word, _, rest = message.text.partition(" ")
        action = find_action(word)
        if action is not None and word != "command" and (action.takes or not rest):
            self.action_do(word, rest.strip())
        elif takes_commands(self.source):
            self.execute(message.text)
        else:
            self.show_message(
                f"{message.text!r}: {reason_no_commands(self.source)}; only the words of the help (?) work",
                warn=True,
            )

    def on_network_view_opened(self, message: NetworkView.Opened) -> None:
        edit_link(self, message.link, message.now)

    def on_tab_line_chosen(self, message: TabLine.Chosen) -> None:
        self.show_view(message.word)
        self.draw()

    def on_tab_line_dragged(self, message: TabLine.Dragged) -> None:
        self.layout_controller.place_tabs(message.row)

    def on_views_dragged(self, message: Views.Dragged) -> None:
        self.layout_controller.set_log_width(message.log)

    def on_message_log_opened(self, message: MessageLog.Opened) -> None:
        line = message.line
        self.app.push_screen(RecordDialog(self.source.store, line.record, sanitize(line.text, 300)))
