"""The screen of a run: it composes the widgets and controllers, routes messages and keys, and draws frames."""

import string
import time
from collections.abc import Callable, Iterator, Sequence

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingsMap
from textual.command import CommandPalette
from textual.containers import Vertical
from textual.screen import Screen
from textual.widgets import Input

from lab.recording.snapshot import NodeState, Snapshot
from lab.styles import ThemeStyles
from lab.tasks.extension import NodeText, describe_safely
from lab.text import sanitize
from lab.tui.actions import Action, ActionTable, FooterKey
from lab.tui.context import ActionHandler, RunContext
from lab.tui.controllers.answering import TaskController
from lab.tui.controllers.bookmarking import BookmarkController
from lab.tui.controllers.branching import RunController
from lab.tui.controllers.cluster import ClusterController
from lab.tui.controllers.display import DisplayController
from lab.tui.controllers.layout import LayoutController, LayoutSettings
from lab.tui.controllers.playback import PlaybackController
from lab.tui.controllers.predicting import PredictController
from lab.tui.controllers.search import SearchController
from lab.tui.controllers.seeking import SeekController
from lab.tui.controllers.tour import TourController, TourLine
from lab.tui.controllers.watching import WatchController
from lab.tui.player import FOLLOWING
from lab.tui.source import Source
from lab.tui.user_keys import UserKeys
from lab.tui.verdict_text import EndNotice, format_gravest, format_verdicts, verdicts_at
from lab.tui.views.assertions_view import AssertionsView
from lab.tui.views.lines_view import LinesView
from lab.tui.views.log_view import MessageLog, RecordDialog
from lab.tui.views.network_view import NetworkView
from lab.tui.views.views import LOG, Views
from lab.tui.widgets.hall import Hall
from lab.tui.widgets.help import ActionProvider
from lab.tui.widgets.key_lines import KeyLine, Tab, TabLine
from lab.tui.widgets.node_panes import NodePanes
from lab.tui.widgets.pane import Pane, format_faults, leaders_of, panes_of
from lab.tui.widgets.prompts import SYNONYMS, CommandLine, Prompt, SearchLine
from lab.tui.widgets.scrub_bar import ScrubBar
from lab.tui.widgets.status_lines import (
    MOST_CAPTIONS,
    CaptionLine,
    FaultLines,
    Headline,
    MessageLine,
    OutsideLine,
    TitleLine,
    VerdictLine,
    WatchLines,
    title_text,
)
from lab.worlds.feed_protocol import Clock

_SLOW_FRAMES = 3
_WAITING_S = 1.0
_GAP_SHOWN_US = 10_000_000
"""For how long the headline shows the time without a leader, once there is one again."""


def _bindings(actions: ActionTable) -> BindingsMap:
    """Return the bindings of all keys: the digits, and the actions."""
    # digits are bindings like the rest, so that keys typed ahead (``p5``) act in their order
    digits = [Binding(digit, f"digit('{digit}')", show=False) for digit in string.digits]
    bound = [
        Binding(
            action.keys,
            f"do('{action.word}')",
            action.help,
            show=False,  # the footer takes them from the table
            priority=action.word == "command",  # the text typed after the colon may have arrived already
        )
        for action in actions.values()
        if action.keys
    ]
    return BindingsMap([*digits, *bound])


class RunScreen(Screen[None]):
    """The screen over a source of records: it shows them and sends commands.

    ``clock_s`` drives the playback; by another clock than the machine's, as in a film, no message fades.
    """

    DEFAULT_CSS = """
    RunScreen { layout: vertical; layers: default above; }
    #room { height: 1; padding: 0 1; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }
    #tiny { layer: above; dock: top; width: 100%; height: 100%; display: none; background: $background; }
    RunScreen.tiny #tiny { display: block; }
    #foot { height: auto; min-height: 1; }
    RunScreen.no-message #foot { min-height: 0; }
    RunScreen.hall Hall { display: block; }
    RunScreen.hall #headline, RunScreen.hall NodePanes, RunScreen.hall #title, RunScreen.hall TabLine,
    RunScreen.hall #watches { display: none; }
    RunScreen.full #headline, RunScreen.full NodePanes, RunScreen.no-tabs TabLine, RunScreen.no-title #title,
    RunScreen.no-faults #faults, RunScreen.no-outside #outside, RunScreen.no-verdicts #verdicts { display: none; }
    RunScreen.full #caption, RunScreen.lower #caption, RunScreen.no-watches #watches { max-height: 0; }
    RunScreen.lower #foot { layer: above; dock: bottom; margin-bottom: 1; }
    RunScreen.lower #message { max-height: 1; }
    """

    def __init__(
        self,
        source: Source,
        styles: ThemeStyles,
        title: str,
        at: int | None = None,
        clock_s: Callable[[], float] = time.monotonic,
        layout: LayoutSettings | None = None,
        keys: UserKeys | None = None,
    ) -> None:
        super().__init__()
        self.run_name = title
        self._keys = keys or UserKeys()
        self.context = context = RunContext(self, source, styles, self._keys.keys)
        self._bindings = BindingsMap.merge([_bindings(context.actions), self._bindings])
        if at is not None:
            context.player.go(at)
        self._title = TitleLine("title")
        self._captions = CaptionLine("caption")
        self._headline = Headline("headline")
        self._hall = Hall()
        self._panes = NodePanes(styles)
        self._watch_lines = WatchLines()
        self._outside = OutsideLine("outside")
        self._faults = FaultLines("faults")
        self._verdicts = VerdictLine("verdicts")
        self._tabs = TabLine(styles)
        self.views = views = Views(styles, source)
        self._scrub_bar = ScrubBar(styles, source)
        self._message = MessageLine(styles, fades=clock_s is time.monotonic)
        self._command_line = CommandLine(source.store.header, context.actions, self._panes)
        self._search_line = SearchLine(source.store.header, self._panes)
        self._tour_line = TourLine("tour")

        self.layout_controller = LayoutController(
            context, layout or LayoutSettings(), views, self._panes, self._watch_lines, self._tabs, self._headline
        )
        self._cluster = ClusterController(context, self._command_line)
        self.search = SearchController(context, views, self._search_line, self.layout_controller)
        self.seeker = SeekController(context, views.rows, self._command_line)
        self._display = DisplayController(context, views, self.search, self.seeker)
        self._watching = WatchController(
            context, self.layout_controller, self._watch_lines, self._command_line, clock_s
        )
        self._predicting = PredictController(context)
        self._tour = TourController(context, views, self.layout_controller, self._tour_line)
        self._handlers: dict[str, ActionHandler] = {
            "command": lambda: self._command_line.open(""),
            "palette": lambda: self.app.push_screen(CommandPalette([ActionProvider], placeholder="an action")),
        }
        for controller in (
            self.layout_controller,
            self._cluster,
            self.search,
            self.seeker,
            self._display,
            self._watching,
            self._predicting,
            self._tour,
            PlaybackController(context, views.rows, self.search),
            BookmarkController(context),
            RunController(context, views, self.layout_controller),
            TaskController(context, views.exercise),
        ):
            self._handlers |= controller.actions

        self._offered_for: tuple[int | None, str | None] = None, None
        self._ending = EndNotice(source, context.player, styles.glyphs)
        self._clock_s = clock_s
        self._last_s = clock_s()
        self._clock: Clock | None = None
        self._asked = ("", -1)
        self._drawn_frames = -1
        self.is_ready = False  # keys may arrive before the widgets are mounted, and after the screen is left

    def compose(self) -> ComposeResult:
        yield self.layout_controller.too_small
        yield self._title
        yield self.layout_controller.missing
        yield self._tour_line
        yield self._captions
        yield self._hall
        yield self._headline
        yield self._panes
        yield self._watch_lines
        yield self._outside
        yield self._faults
        yield self._verdicts
        yield self._tabs
        yield self.views
        yield self._scrub_bar
        yield KeyLine(self._footer)
        yield Vertical(self._message, self._command_line, self._search_line, id="foot")

    def on_screen_resume(self) -> None:
        if not self.is_ready:
            self.is_ready = True
            source = self.context.source
            FrameTimer(self.draw, self.set_timer, source.is_served, self._is_still).schedule_next()
            self.app.theme_changed_signal.subscribe(self, lambda theme: self._on_theme_changed())
            self.run_worker(source.work())
            self._refresh_waiting()
            self.set_interval(_WAITING_S, self._refresh_waiting)
            self._panes.focus()
            self.context.notify(self.context.actions.opening_hint())
            if trouble := self._keys.trouble or source.bookmarks.trouble:
                self.call_later(self.context.notify, trouble, True)  # after what the first frame has to say
        self.draw()

    def _refresh_waiting(self) -> None:
        """Ask which commands wait: at first, and while they are shown or there are some."""
        source = self.context.source
        if self._drawn_frames < 0 or source.waiting or "script" in self.views.shown_views:
            self.context.work(source.refresh_waiting())

    def on_resize(self, event: events.Resize) -> None:
        self.layout_controller.fit()

    # actions

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return True unless the key is a colon typed into a prompt. Unavailable actions say why when called."""
        is_colon = action == "do" and parameters[0] == "command"
        return not (is_colon and isinstance(self.focused, Prompt))

    def actions(self) -> list[Action]:
        """Return the actions that are available now."""
        table, process, seen = self.context.actions, self.context.selected_process, self._seen
        return [action for action in table.values() if table.is_available(action, process, seen)]

    @property
    def _seen(self) -> tuple[str, ...]:
        """The visible views, and ``search`` and ``tour`` while each is active."""
        also = {"search": self.search.active is not None, "tour": self._tour.is_on}
        return (*self.views.shown_views, *(word for word, is_on in also.items() if is_on))

    def _footer(self, bound: Sequence[FooterKey]) -> Iterator[FooterKey]:
        """Yield the keys of what has the focus, those that the application has bound, and then all others."""
        context = self.context
        selected, process = context.selected, context.selected_process
        keys = list(context.actions.footer(context.offered, context.focus, selected, process))
        place = next((place for place, key in enumerate(keys) if key.action == "screen.do('command')"), len(keys))
        yield from (*keys[:place], *bound, *keys[place:])

    def action_do(self, word: str, rest: str = "") -> None:
        """Perform the action with this word; ``rest`` is the text typed after the word."""
        action = self.context.actions.get(word)
        if action is None or not self.is_ready or (self.layout_controller.is_tiny and word != "quit"):
            return
        self.layout_controller.is_touched = True
        self._acknowledge()
        if missing := self.context.actions.reason_unavailable(action, self._seen):
            self.context.notify(missing, warn=True)
        elif action.needs_node and self.context.selected is None:
            self.context.notify(f"{word}: select a node first: press its number or click it", warn=True)
        elif action.group == "cluster" and self._asks_about_past(word):
            ways = f"{{{word}}} again does it, {{branch}} branches from here"
            self.context.notify(f"you look at the past, and {word} acts now: {ways}", warn=True)
        elif action.command:
            self.context.execute(action.command.format(self.context.selected))
        elif action.draft:
            selected = self.context.selected
            self._command_line.open(action.draft.format("all" if selected is None else selected))
        elif action.takes:
            self._handlers[word](rest)
        else:
            self._handlers[word]()
        self.draw()

    def _asks_about_past(self, word: str) -> bool:
        """Return whether to ask before a key changes the run while its past is shown: once for each moment."""
        player = self.context.player
        asked, self._asked = self._asked, (word, player.jumps)
        return player.is_in_past and self._asked != asked

    def action_digit(self, digit: str) -> None:
        """Select a node by its number; two digits typed quickly select a two-digit node."""
        if self.is_ready:
            self._acknowledge()
            self._cluster.enter_digit(digit)
            self.draw()

    def _acknowledge(self) -> None:
        """Hide a warning: the user has read it, and goes on."""
        if self._message.is_warning:
            self._message.hide()

    # messages from controllers and widgets

    @on(RunContext.Notice)
    def show_notice(self, message: RunContext.Notice) -> None:
        if self.is_ready:
            self._message.show(message.text, message.warn)

    @on(RunContext.Changed)
    def draw_changes(self) -> None:
        self.draw()

    def on_prompt_opened(self) -> None:
        self._message.hide()

    def on_command_line_given(self, message: CommandLine.Given) -> None:
        """Perform an entered line: an action, or a command for the run."""
        self._message.hide()
        word, _, rest = message.text.partition(" ")
        word = SYNONYMS.get(word, word)
        action, source = self.context.actions.get(word), self.context.source
        if action is not None and word != "command" and (action.takes or not rest):
            self.action_do(word, rest.strip())
        elif action is not None and word != "command" and not self._command_line.is_command(word):
            missing = self.context.actions.reason_unavailable(action, self._seen)
            self.context.notify(missing or f"{word} takes no words after it; alone: {action.help}", warn=True)
        elif unknown := self._command_line.reason_unknown(word):
            self.context.notify(unknown, warn=True)
        elif source.takes_commands:
            self.context.execute(message.text)
        else:
            reason = f"{message.text!r}: {source.reason_no_commands}; only the words of the help ({{help}}) work"
            self.context.notify(reason, warn=True)

    def on_command_line_left(self) -> None:
        self._message.hide()

    @on(Input.Changed, "CommandLine")
    def show_similar_words(self) -> None:
        if self._command_line.is_open:
            self.context.notify(self._command_line.hint)

    @on(Input.Changed, "SearchLine")
    def try_query(self) -> None:
        if self._search_line.is_open:
            self.search.try_query(self._search_line.value)

    def on_search_line_given(self, message: SearchLine.Given) -> None:
        self.search.submit(message.text)

    def on_search_line_left(self) -> None:
        self.search.cancel()

    def on_node_panes_selected(self, message: NodePanes.Selected) -> None:
        self._acknowledge()
        self.context.selected = message.node
        self.draw()

    def on_node_panes_opened(self, message: NodePanes.Opened) -> None:
        """Show the full state of the node, selected by the first click."""
        if "inspect" not in self.views.shown_views:
            self.action_do("inspect")

    def on_scrub_bar_sought(self, message: ScrubBar.Sought) -> None:
        player = self.context.player
        if message.share < 1:
            player.seek(round(message.share * max(player.end_us, player.now_us)))
        else:
            player.to_end()
        self.draw()

    def on_scrub_bar_mark_chosen(self, message: ScrubBar.MarkChosen) -> None:
        self.context.player.go(message.record)
        self.draw()

    def on_assertions_view_witnessed(self, message: AssertionsView.Witnessed) -> None:
        self._display.show_witness(message.violation, message.assertion)
        self.draw()

    def on_lines_view_sought(self, message: LinesView.Sought) -> None:
        """Go to the record that a view asks for."""
        self.context.player.go(message.record)
        self.draw()

    def on_lines_view_selected(self, message: LinesView.Selected) -> None:
        """Mark in all views what was selected in one."""
        self.context.picked = message.picked
        self.views.select(message.picked, message.view)
        self.draw()

    def on_network_view_opened(self, message: NetworkView.Opened) -> None:
        self._cluster.change_link(message.link, message.now)

    def on_tab_line_chosen(self, message: TabLine.Chosen) -> None:
        self.layout_controller.show_view(message.word)
        self.draw()

    def on_tab_line_dragged(self, message: TabLine.Dragged) -> None:
        self.layout_controller.place_tabs(message.row)

    def on_views_dragged(self, message: Views.Dragged) -> None:
        self.layout_controller.set_log_width(message.log)

    def on_message_log_opened(self, message: MessageLog.Opened) -> None:
        line = message.line
        self.context.show_dialog(RecordDialog(self.context.source.store, line.record, sanitize(line.text, 300)))

    # drawing

    def draw(self) -> None:
        """Draw a frame: advance playback, and show the run at the cursor."""
        if not self.is_ready or self.layout_controller.is_tiny:
            return
        context, source, player = self.context, self.context.source, self.context.player
        self.search.draw()
        self._advance()
        self._predicting.check()
        self._tour.update()
        if source.clock != self._clock:
            self._take_clock(source.clock)
        cluster = player.cluster()
        snapshot = cluster.snapshot()
        panes = panes_of(snapshot, player.now_us, source.groups, self._describe_task, source.statuses)
        self._offer_actions()
        disagree = frozenset(context.witness.nodes) if context.witness is not None else frozenset()
        self._panes.show(panes, context.selected, disagree)
        self._watching.draw()
        self._draw_lines(snapshot, panes)
        self.views.show(context.cursor())
        self._drawn_frames += 1
        if not player.following or self._drawn_frames % _SLOW_FRAMES == 0:
            # while the end is followed, these change with every record; every third frame is enough
            self._scrub_bar.show(player, source.clock, context.hides_future)
            hidden = 0 if self.views.rows.heartbeats else self.views.rows.hidden_count(cluster)
            score, styles = self._predicting.score, context.styles
            self._title.put(title_text(source, player, hidden, self.run_name, styles, score))
        if news := self._ending.next_notice():
            context.notify(*news)
        for failure in context.pop_failures():
            context.notify(failure, warn=True)

    def _is_still(self) -> bool:
        """Return whether nothing changes but by keys and the mouse."""
        player = self.context.player
        is_moving = player.playing or player.following or not self.search.is_idle
        return self.context.source.is_complete and not is_moving

    def _describe_task(self, node: NodeState, now_us: int) -> NodeText | None:
        return describe_safely(self.context.source.extension, node, now_us, self.context.styles)

    def _advance(self) -> None:
        """Advance playback by the time since the last frame."""
        player, now_s = self.context.player, self._clock_s()
        elapsed_us, self._last_s = round((now_s - self._last_s) * 1e6), now_s
        followed = player.following
        player.tick(elapsed_us, self.context.source.now_us())
        if player.following and not followed:
            self.context.notify(FOLLOWING)  # playback has reached the end

    def _take_clock(self, clock: Clock | None) -> None:
        before, self._clock = self._clock, clock
        self._drawn_frames = -1  # draw the scrub bar and the title too in this frame
        if clock is not None and (note := clock.stopped_since(before)):
            self.context.notify(note, warn=True)

    def _offer_actions(self) -> None:
        offered = self.actions()
        is_new = offered != self.context.offered
        if is_new:
            self.context.offered = offered
            self.layout_controller.restore_view({action.word for action in offered})
        shown_for = self.context.selected, self.context.selected_process
        if is_new or shown_for != self._offered_for:
            self._offered_for = shown_for
            self.refresh_bindings()  # draws the footer again

    def _draw_lines(self, snapshot: Snapshot, panes: tuple[Pane, ...]) -> None:
        """Draw the lines above and below the nodes."""
        source, number, styles = self.context.source, self.context.player.number, self.context.styles
        captions = source.script_log.captions(number, MOST_CAPTIONS)
        is_shown_below = "script" in self.views.shown_views
        purpose = "" if is_shown_below else source.scenario.purpose
        self._captions.show(captions, purpose, styles)
        self.layout_controller.make_room_for_captions(self._captions.rows)
        verdicts, is_behind = verdicts_at(source, number), source.judge.number < number
        now_us, statuses = self.context.player.now_us, source.statuses
        leaders = leaders_of(panes, statuses.leaderless_us(now_us), statuses.last_gap_us(now_us, _GAP_SHOWN_US))
        faults = [(sanitize(fault.text, 30), not fault.touched) for fault in snapshot.faults]
        gravest = format_gravest(verdicts)
        if self.has_class("hall"):
            self._hall.show(leaders, panes, leaders.are_rivals or gravest[1] == "fails", styles)
        else:
            self._headline.show(leaders, faults, gravest, styles)
        self._outside.show(snapshot.others, source.store.header.names, styles)
        self._faults.show(format_faults(snapshot.faults), styles)
        self._verdicts.show(format_verdicts(verdicts, is_behind), self.context.key("next-violation"), styles)
        keys = {action.word: action.shown for action in self.context.offered}
        tabs = tuple(Tab(word, keys.get(word, "")) for word in self.views.hints if word in {LOG, *keys})
        self._tabs.show(tabs, self.views.shown_views, self.search.note)

    def _on_theme_changed(self) -> None:
        """Redraw all widgets in the colours of the present theme."""
        self.context.styles.dark = self.app.current_theme.dark
        self.refresh(recompose=False)
        for widget in (self._panes, *self.views.children, self._scrub_bar):
            widget.refresh()


# the rate of frames: ten a second, and fewer on a shared machine that cannot keep up

_OWN_S, _STILL_S = 0.1, 0.4
_SERVED_S = (0.25, 1.0)
"""The shortest and longest period on a server. Four frames a second still show time passing."""
_LATE_S = 0.05
_SLOWER, _FASTER = 1.5, 0.95


class FrameTimer:
    """Calls ``draw`` once per frame; ``later(delay_s, callback)`` schedules a call.

    While the screen ``is_still``, frames are rarer: keys and the mouse have theirs drawn at once.

    ``period_s`` is the time from one frame to the next. On a shared machine (``is_served``), a late frame means
    overload. Each session then slows down by itself, and together they settle at a rate at which frames are on
    time.
    """

    def __init__(
        self,
        draw: Callable[[], None],
        later: Callable[[float, Callable[[], None]], object],
        is_served: bool,
        is_still: Callable[[], bool] = lambda: False,
    ) -> None:
        self._draw = draw
        self._later = later
        self._is_still = is_still
        self._is_served = is_served
        self.period_s = _SERVED_S[0] if is_served else _OWN_S

    def schedule_next(self) -> None:
        """Schedule the next frame, and all after it."""
        period_s = max(self.period_s, _STILL_S) if self._is_still() else self.period_s
        self._due_s = time.monotonic() + period_s
        self._later(period_s, self._next)

    def adapt(self, late_s: float) -> None:
        """Adapt the period to how late the last frame was drawn."""
        if self._is_served:
            least_s, most_s = _SERVED_S
            factor = _SLOWER if late_s > _LATE_S else _FASTER
            self.period_s = min(max(self.period_s * factor, least_s), most_s)

    def _next(self) -> None:
        self.adapt(time.monotonic() - self._due_s)
        self._draw()
        self.schedule_next()
