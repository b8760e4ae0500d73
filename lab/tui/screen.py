"""The screen of a run: everything at one cursor in time, drawn at a frame tick from a frozen snapshot."""

import time
from collections.abc import Callable
from typing import ClassVar

from rich.text import Text
from textual import events, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Static

from lab.properties import Violation
from lab.text import sanitize
from lab.tui.actions import ACTIONS, Action, action_named
from lab.tui.answers import answer_to, first_hint
from lab.tui.commandline import CommandLine
from lab.tui.deeds import deeds_of, see_witness
from lab.tui.dialogs import RecordDialog
from lab.tui.frame.arranging import Arrangement
from lab.tui.frame.captions import CaptionLine
from lab.tui.frame.heading import draw_lines, draw_title
from lab.tui.frame.keyline import KeyLine
from lab.tui.frame.layout import Layout
from lab.tui.frame.lines import FaultLines, LeaderLine, TitleLine, VerdictLine
from lab.tui.frame.pace import Frames
from lab.tui.frame.scrubbar import ScrubBar
from lab.tui.frame.tabs import TabLine
from lab.tui.keys import action_bound, bindings
from lab.tui.moving.predicting import Predicting
from lab.tui.moving.seeking import Seeker
from lab.tui.nodes.digits import Digits
from lab.tui.nodes.pane import Pane, panes_of
from lab.tui.nodes.panes import NodePanes
from lab.tui.offers import is_offered, steers, takes_commands, why_no_commands, why_not
from lab.tui.run.cursor import Cursor
from lab.tui.run.ending import Ending
from lab.tui.run.outcome import shown_by
from lab.tui.run.player import FOLLOWING, Player
from lab.tui.run.source import Source
from lab.tui.search.finding import Finding
from lab.tui.search.searchline import SearchLine
from lab.tui.terminal.theme_styles import ThemeStyles
from lab.tui.tour import Tour, TourLine
from lab.tui.typedline import TypedLine
from lab.tui.views.assertions.view import AssertionsView
from lab.tui.views.following import FollowingView
from lab.tui.views.log.view import MessageLog
from lab.tui.views.network import NetworkView, edit_link
from lab.tui.views.views import LOG, Views
from lab.worlds.orders import Clock

__all__ = ["RunScreen"]

_SLOW_FRAMES = 3


class RunScreen(Screen[None]):
    """Shows a source of records, and gives it commands; what is played goes by the clock."""

    DEFAULT_CSS = f"""
    RunScreen {{ layout: vertical; }}
    #said {{ height: auto; max-height: 3; padding: 0 1; text-wrap: wrap; text-overflow: fold; }}
    {Arrangement.CSS}
    """

    BINDINGS: ClassVar[list[BindingType]] = [*bindings()]

    def __init__(
        self,
        source: Source,
        theme_styles: ThemeStyles,
        title: str,
        at: int | None = None,
        clock_s: Callable[[], float] = time.monotonic,
        layout: Layout | None = None,
    ) -> None:
        super().__init__()
        self._clock_s = clock_s
        self.source = source
        self.theme_styles = theme_styles
        self.run_name = title
        self.player = Player(source.lines, source.marks, source.is_live, source.bookmarks)
        if at is not None:
            self.player.go(at)
        self.selected: int | None = None
        self._digits = Digits()
        self.witness: Violation | None = None
        self.views = Views(theme_styles, source)
        self.arrangement = Arrangement(self, layout or Layout())
        self.views.rows.heartbeats = self.arrangement.layout.heartbeats
        self.seeker = Seeker(self)
        self.finding = Finding(self)
        self.predicting = Predicting(self)
        self.tour = Tour(self)
        self._deeds = deeds_of(self)
        self._panes: tuple[Pane, ...] = ()
        self.offered: list[Action] = []
        self._last_s = clock_s()
        self._shows = shown_by(source.lines.header)
        self._ending = Ending(source, self.player, theme_styles.glyphs)
        self._drawn_frames = -1
        self._clock: Clock | None = None
        self.is_up = False  # keys may come before all of it is there, and after it was left

    def compose(self) -> ComposeResult:
        """The widgets, from top to bottom."""
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
        yield TitleLine("said")
        yield CommandLine()
        yield SearchLine(self.finding, self.source.lines.header)
        yield KeyLine(self._is_shown)

    def on_screen_resume(self) -> None:
        """Begin, or go on after a dialog."""
        if not self.is_up:
            self.is_up = True
            Frames(self.draw, self.set_timer, self.source.is_served).go_on()
            self.app.theme_changed_signal.subscribe(self, lambda theme: self._redraw())
            self.run_worker(self.source.work(), exclusive=False, exit_on_error=True)
            self.query_one(NodePanes).focus()
            trouble = self.source.bookmarks.trouble
            self.say(trouble or first_hint(self.source), warn=bool(trouble))
        self.draw()

    def on_resize(self, event: events.Resize) -> None:
        """Share out the room anew."""
        self.arrangement.fit()

    # drawing

    def draw(self) -> None:
        """A frame: let time pass, and show what there is at the cursor."""
        if not self.is_up or self.arrangement.is_tiny:
            return
        self.finding.draw()
        now_s, player = self._clock_s(), self.player
        elapsed_us, self._last_s = round((now_s - self._last_s) * 1e6), now_s
        followed = player.following
        player.tick(elapsed_us, self.source.now_us())
        if player.following and not followed:
            self.say(FOLLOWING)  # played up to there
        self.predicting.theme_styles()
        self.tour.theme_styles()
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
            self.arrangement.take_up({action.word for action in offered})
        offend = frozenset(self.witness.nodes) if self.witness is not None else frozenset()
        self.query_one(NodePanes).show(panes, self.selected, offend)
        draw_lines(self, snapshot, panes, self._shows)
        self.views.show(Cursor(cluster, player.now_us, self.selected, player.following, self.predicting.is_asking))
        self._drawn_frames += 1
        if not player.following or self._drawn_frames % _SLOW_FRAMES == 0:
            # what changes at every record need not be drawn at every frame
            self.query_one(ScrubBar).show(player, self.source.clock, self.predicting.is_asking)
            hidden = 0 if self.views.rows.heartbeats else self.views.rows.hidden_count(cluster)
            draw_title(self, hidden)
        if news := self._ending.news():
            self.say(*news)

    def _take_clock(self, clock: Clock | None) -> None:
        before, self._clock = self._clock, clock
        self._drawn_frames = -1  # draw all of this frame
        if clock is not None and clock.note and (before is None or before.note != clock.note):
            self.say(clock.note, warn=True)

    def say(self, text: str, warn: bool = False) -> None:
        """Answer, in the line for that."""
        style = self.theme_styles.warning if warn else self.theme_styles.accent
        if self.is_up:
            self.query_one("#said", TitleLine).put(Text(sanitize(text, 300), style), wraps=True)

    # what the user does

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether a key does what it is bound to. One that does not apply says why, in the order of the keys."""
        is_colon = action == "do" and parameters[0] == "command"
        return not (is_colon and isinstance(self.focused, TypedLine))  # a colon there is a colon

    @property
    def _seen(self) -> tuple[str, ...]:
        """The views that are, and the search and the tour, while one is on."""
        also = {"search": self.finding.search is not None, "tour": self.tour.is_on}
        return (*self.views.seen, *(word for word, is_on in also.items() if is_on))

    @property
    def pane(self) -> Pane | None:
        """That of the selected node."""
        return next((pane for pane in self._panes if pane.id == self.selected), None)

    def _is_shown(self, binding: Binding) -> bool:
        action = action_bound(binding)
        return action is None or action in self.offered

    def actions(self) -> list[Action]:
        """The actions that apply now."""
        pane = self.pane
        seen = self._seen
        return [action for action in ACTIONS if is_offered(action, self.source, pane, seen)]

    def action_do(self, word: str, rest: str = "") -> None:
        """Do what the table of actions calls so; ``rest`` is what was typed after the word."""
        action = action_named(word)
        if action is None or not self.is_up or (self.arrangement.is_tiny and word != "quit"):
            return
        self.arrangement.is_touched = True
        if missing := why_not(action, self.source, self._seen):
            self.say(missing, warn=True)
        elif action.needs_node and self.selected is None:
            self.say(f"{word} which node? press its number first", warn=True)
        else:
            self._deeds[word](rest)
        self.draw()

    def action_digit(self, digit: str) -> None:
        """Select a node, or with two in quick succession a node of two digits."""
        if not self.is_up:
            return
        node, said = self._digits.take(digit, self.source.lines.header.nodes)
        if node is not None:
            self.selected = node
            self.say(f"node {node} selected")
        elif said:
            self.say(said, warn=True)
        self.draw()

    @work
    async def give(self, command: str) -> None:
        """Give the run a command, and say what came of it."""
        is_past = self.source.is_live and not self.player.following and not steers(self.source)
        said, done = await answer_to(command, self.source, self.player, self.views.rows, self.draw)
        self.say(f"{said} (now, not at the moment that is shown)" if done and is_past else said, warn=not done)

    def turn_to(self, view: str) -> None:
        """To that view, or from it back to the log."""
        self.say(self.views.turn_to(view))
        self.arrangement.turned()
        (self.query_one(NodePanes) if self.views.chosen == LOG else self.views.widget).focus()

    def mark(self, violation: Violation | None) -> None:
        """Mark the nodes of a violation, and the records with which their offending states began; or none."""
        self.witness = violation
        states = () if violation is None else violation.states
        self.views.mark(frozenset(state.record for state in states))

    def open_line(self, text: str) -> None:
        """The command line, with this text to begin with."""
        self.query_one("#said").display = False
        self.query_one(CommandLine).open(text)

    def _redraw(self) -> None:
        """Everything, in the colours of the theme there is now."""
        self.theme_styles.dark = self.app.current_theme.dark
        self._panes = ()
        self.refresh(recompose=False)
        for widget in (self.query_one(NodePanes), *self.views.children, self.query_one(ScrubBar)):
            widget.refresh()

    # messages of the widgets

    def on_node_panes_selected(self, message: NodePanes.Selected) -> None:
        """A click or an arrow."""
        self.selected = message.node
        self.draw()

    def on_scrub_bar_sought(self, message: ScrubBar.Sought) -> None:
        """A click on the bar."""
        self.player.seek(round(message.share * max(self.player.end_us, self.player.now_us)))
        self.draw()

    def on_assertions_view_witnessed(self, message: AssertionsView.Witnessed) -> None:
        """An assertion was opened."""
        see_witness(self, message.violation, message.assertion)
        self.draw()

    def on_following_view_sought(self, message: FollowingView.Sought) -> None:
        """A line of the history of groups was opened, or one of the script."""
        self.player.go(message.record)
        self.draw()

    def on_command_line_left(self) -> None:
        """Back, unless it has been opened again."""
        self.query_one("#said").display = not self.query_one(CommandLine).is_open

    def on_command_line_given(self, message: CommandLine.Given) -> None:
        """A line was entered: an action of the table, or a command for the run."""
        self.on_command_line_left()
        word, _, rest = message.text.partition(" ")
        action = action_named(word)
        if action is not None and word != "command" and (action.takes or not rest):
            self.action_do(word, rest.strip())
        elif takes_commands(self.source):
            self.give(message.text)
        else:
            self.say(f"{message.text!r}: {why_no_commands(self.source)}; words of the help (?) work", warn=True)

    def on_network_view_opened(self, message: NetworkView.Opened) -> None:
        """Something is to be done to a link."""
        edit_link(self, message.link, message.now)

    def on_tab_line_chosen(self, message: TabLine.Chosen) -> None:
        """A click on a tab."""
        self.turn_to(message.word)
        self.draw()

    def on_tab_line_dragged(self, message: TabLine.Dragged) -> None:
        """The nodes get more of the height, or less."""
        self.arrangement.put_tabs(message.row)

    def on_views_dragged(self, message: Views.Dragged) -> None:
        """The log gets more of the width, or less."""
        self.arrangement.give_log(message.log)

    def on_message_log_opened(self, message: MessageLog.Opened) -> None:
        """A line of the log was opened."""
        line = message.line
        self.app.push_screen(RecordDialog(self.source.lines, line.record, sanitize(line.text, 300)))
