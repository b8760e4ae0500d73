"""The screen of a run: everything at one cursor in time, drawn at a frame tick from a frozen snapshot."""

import time
from collections.abc import Callable
from typing import ClassVar

from rich.text import Text
from textual import events, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Footer

from lab.properties import Violation
from lab.text import sanitize
from lab.tui.actions import ACTIONS, Action, action_named, in_footer_order
from lab.tui.answers import answer_to, first_hint
from lab.tui.branching import Branched, Left, TreeWanted
from lab.tui.captions import MOST_CAPTIONS, CaptionLine
from lab.tui.choosing import ChooseDialog
from lab.tui.clusterkeys import cluster_command
from lab.tui.commandline import CommandLine
from lab.tui.dialogs import HelpDialog, PartitionDialog
from lab.tui.digits import Digits
from lab.tui.ending import Ending
from lab.tui.following import FollowingView
from lab.tui.lines import FaultLines, LeaderLine, ScrubBar, TitleLine, VerdictLine, title_text
from lab.tui.look import Look
from lab.tui.middle import Middle
from lab.tui.offers import is_offered, steers, takes_commands, why_no_commands, why_not
from lab.tui.outcome import shown_by
from lab.tui.panes import NodePanes
from lab.tui.player import FOLLOWING, Player
from lab.tui.source import Source
from lab.tui.verdicts import next_violation, verdicts_said, witness_said
from lab.tui.view import Pane, faults_said, groups_led, leaders_said, panes_of
from lab.tui.worldtime import time_command
from lab.tui.writing import ScenarioWanted
from lab.worlds.orders import Clock

__all__ = ["FRAMES_PER_SECOND", "RunScreen"]

FRAMES_PER_SECOND = 10
_SLOW_FRAMES = 3
_ROOM_FOR_VERDICTS = 16


class RunScreen(Screen[None]):
    """Shows a source of records, and gives it commands."""

    DEFAULT_CSS = """
    RunScreen { layout: vertical; }
    #said { height: auto; max-height: 3; padding: 0 1; text-wrap: wrap; text-overflow: fold; }
    Footer { height: 1; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            action.keys,
            f"do('{action.word}')",
            action.footer or action.help,
            show=bool(action.footer),
            key_display=action.shown,
            tooltip=action.help,
            priority=action.word == "command",  # what is typed after the colon may be here already
        )
        for action in in_footer_order()
    ]

    def __init__(self, source: Source, look: Look, title: str, at: int | None = None) -> None:
        super().__init__()
        self._source = source
        self._look = look
        self.run_name = title
        self._player = Player(source.lines, source.marks, source.is_live)
        if at is not None:
            self._player.go(at)
        self._selected: int | None = None
        self._digits = Digits()
        self._witness: Violation | None = None
        self._panes: tuple[Pane, ...] = ()
        self._offered: list[Action] = []
        self._last_s = time.monotonic()
        self._shows = shown_by(source.lines.header)
        self._ending = Ending(source, self._player, look.glyphs)
        self._drawn_frames = -1
        self._clock: Clock | None = None

    def compose(self) -> ComposeResult:
        """The widgets, from top to bottom."""
        yield TitleLine("title")
        yield CaptionLine("caption")
        yield LeaderLine("leaders")
        yield NodePanes(self._look)
        yield FaultLines("faults")
        yield VerdictLine("verdicts")
        yield Middle(self._look, self._source)
        yield ScrubBar(self._look)
        yield TitleLine("said")
        yield CommandLine()
        yield Footer(show_command_palette=False, compact=True)

    def on_screen_resume(self) -> None:
        """Begin, or go on after a dialog."""
        if not hasattr(self, "_frames"):
            self._frames = self.set_interval(1 / FRAMES_PER_SECOND, self._frame)
            self.app.theme_changed_signal.subscribe(self, lambda theme: self._redraw())
            self.run_worker(self._source.work(), exclusive=False, exit_on_error=True)
            self.query_one(NodePanes).focus()
            self.say(first_hint(self._source))
        self._frame()

    def on_resize(self, event: events.Resize) -> None:
        """Give the nodes about the upper half; where there is little room, leave out the verdicts."""
        self.query_one(VerdictLine).display = event.size.height >= _ROOM_FOR_VERDICTS
        self.query_one(NodePanes).most_height = max(3, event.size.height * 45 // 100)
        self.query_one(NodePanes).refresh(layout=True)

    # drawing

    def _frame(self) -> None:
        now_s, player = time.monotonic(), self._player
        elapsed_us, self._last_s = round((now_s - self._last_s) * 1e6), now_s
        followed = player.following
        player.tick(elapsed_us, self._source.now_us())
        if player.following and not followed:
            self.say(FOLLOWING)  # played up to there
        if self._source.clock != self._clock:
            self._take_clock(self._source.clock)
        cluster = player.cluster()
        snapshot = cluster.snapshot()
        panes = panes_of(snapshot, player.now_us, self._source.groups)
        self._panes = panes
        offered = self.actions()
        if offered != self._offered:
            self._offered = offered
            self.refresh_bindings()
        offend = frozenset(self._witness.nodes) if self._witness is not None else frozenset()
        self.query_one(NodePanes).show(panes, self._selected, offend)
        captions = self._source.script_log.captions(player.number, MOST_CAPTIONS)
        middle = self.query_one(Middle)
        about = "" if middle.current == "script" else self._shows  # there it is, too
        self.query_one(CaptionLine).show(captions, about, self._look)
        self.query_one(LeaderLine).show(leaders_said(panes), self._look, groups_led(panes))
        self.query_one(FaultLines).show(faults_said(snapshot.faults), self._look)
        self.query_one(VerdictLine).show(verdicts_said(self._source, player.number), self._look)
        middle.show(cluster, player.now_us)
        self._drawn_frames += 1
        if not player.following or self._drawn_frames % _SLOW_FRAMES == 0:
            # what changes at every record need not be drawn at every frame
            self.query_one(ScrubBar).show(player, self._source.clock)
            hidden = 0 if middle.rows.heartbeats else middle.rows.hidden_count(cluster)
            self.query_one("#title", TitleLine).put(
                title_text(self._source, player.number, hidden, self.run_name, self._look)
            )
        if news := self._ending.news():
            self.say(*news)

    def _take_clock(self, clock: Clock | None) -> None:
        before, self._clock = self._clock, clock
        self._drawn_frames = -1  # draw all of this frame
        if clock is not None and clock.note and (before is None or before.note != clock.note):
            self.say(clock.note, warn=True)

    def say(self, text: str, warn: bool = False) -> None:
        """Answer, in the line for that."""
        style = self._look.warning if warn else self._look.accent
        self.query_one("#said", TitleLine).put(Text(sanitize(text, 300), style), wraps=True)

    # what the user does

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether an action applies now."""
        wanted = action_named(str(parameters[0])) if action == "do" else None
        if wanted is not None and wanted.word == "command" and isinstance(self.focused, CommandLine):
            return False  # a colon there is a colon
        return wanted is None or is_offered(wanted, self._source, self._pane)

    @property
    def _pane(self) -> Pane | None:
        return next((pane for pane in self._panes if pane.id == self._selected), None)

    def actions(self) -> list[Action]:
        """The actions that apply now."""
        pane = self._pane
        return [action for action in ACTIONS if is_offered(action, self._source, pane)]

    def action_do(self, word: str) -> None:
        """Do what the table of actions calls so."""
        action = action_named(word)
        if action is None:
            return
        if missing := why_not(action, self._source):
            self.say(missing, warn=True)
        elif action.needs_node and self._selected is None:
            self.say(f"{word} which node? press its number first", warn=True)
        elif action.group == "cluster":
            self._do_to_cluster(word)
        elif action.group == "time":
            self._move_in_time(word)
        else:
            self._look_at(word)
        self._frame()

    def _move_in_time(self, word: str) -> None:
        player = self._player
        clock = self._source.clock if steers(self._source) else None
        if word == "choose":
            player.to_end()
            self.app.push_screen(
                ChooseDialog(self._source, lambda: player.cluster().nodes, self._frame, self._look),
                lambda _: self.say("time stands still; space lets it go on"),
            )
        elif command := time_command(word, clock, player):
            self._give(command)
        elif said := player.move(word):
            self.say(said, warn=said.startswith("no "))

    def _do_to_cluster(self, word: str) -> None:
        if word == "partition":
            dialog = PartitionDialog(self._source.lines.header.nodes, self._selected, self._look)
            self.app.push_screen(dialog, self._give_chosen)
            return
        command, complete = cluster_command(word, self._pane)
        if complete:
            self._give(command)
        else:
            self._open_line(command)

    def _give_chosen(self, command: str | None) -> None:
        if command:
            self._give(command)

    @work
    async def _give(self, command: str) -> None:
        rows = self.query_one(Middle).rows
        said, done = await answer_to(command, self._source, self._player, rows, self._frame)
        self.say(said, warn=not done)

    def _look_at(self, word: str) -> None:
        """The actions that only change what is seen."""
        deeds: dict[str, Callable[[], object]] = {
            "command": lambda: self._open_line(""),
            "open": self.query_one(Middle).open_cursor,
            **dict.fromkeys(
                ("groups", "map", "bank", "script"), lambda: self.say(self.query_one(Middle).turn_to(word))
            ),
            "write": lambda: self.post_message(ScenarioWanted(self._source, self.say)),
            "heartbeats": self._toggle_heartbeats,
            "witness": self._to_witness,
            "deselect": self._deselect,
            "theme": self._toggle_theme,
            "help": lambda: self.app.push_screen(HelpDialog(takes_commands(self._source), self._look)),
            "branch": lambda: self.post_message(Branched(self._source, self._player.number, self.say)),
            "branches": lambda: self.post_message(TreeWanted(self._source, self.say)),
            "quit": lambda: self.post_message(Left()),
        }
        deeds[word]()

    def _to_witness(self) -> None:
        """To the next violation: mark its nodes, and the records with which their offending states began."""
        found = next_violation(self._source.judge.violations, self._player.number, self._witness)
        if found is not None:
            self._player.go(found.record)
            self._mark(found)
        self.say("no violation so far" if found is None else witness_said(found), warn=found is not None)

    def _mark(self, violation: Violation | None) -> None:
        self._witness = violation
        states = () if violation is None else violation.states
        self.query_one(Middle).message_log.mark(frozenset(state.record for state in states))

    def _deselect(self) -> None:
        self._select(None)
        self._mark(None)

    def _toggle_heartbeats(self) -> None:
        rows = self.query_one(Middle).rows
        rows.heartbeats = not rows.heartbeats
        self.say(f"heartbeats {'shown' if rows.heartbeats else 'hidden'}")

    def _toggle_theme(self) -> None:
        self.app.theme = "textual-light" if self.app.current_theme.dark else "textual-dark"

    def _redraw(self) -> None:
        """Everything, in the colours of the theme there is now."""
        self._look.dark = self.app.current_theme.dark
        self._panes = ()
        self.refresh(recompose=False)
        for widget in (self.query_one(NodePanes), self.query_one(Middle), self.query_one(ScrubBar)):
            widget.refresh()

    def _open_line(self, text: str) -> None:
        self.query_one("#said").display = False
        self.query_one(CommandLine).open(text)

    def _select(self, node: int | None) -> None:
        self._selected = node

    # messages of the widgets

    def on_key(self, event: events.Key) -> None:
        """Digits select a node, two in quick succession a node of two; a key that does not apply says why."""
        for action in ACTIONS:
            if event.key in action.keys.split(",") and not self.check_action("do", (action.word,)):
                event.stop()
                self.action_do(action.word)
        if not event.key.isdigit():
            return
        node, said = self._digits.take(event.key, self._source.lines.header.nodes)
        if node is not None:
            self._select(node)
            self.say(f"node {node} selected")
        elif said:
            self.say(said, warn=True)
        self._frame()

    def on_node_panes_selected(self, message: NodePanes.Selected) -> None:
        """A click or an arrow."""
        self._select(message.node)
        self._frame()

    def on_scrub_bar_sought(self, message: ScrubBar.Sought) -> None:
        """A click on the bar."""
        self._player.seek(round(message.share * max(self._player.end_us, self._player.now_us)))
        self._frame()

    def on_following_view_sought(self, message: FollowingView.Sought) -> None:
        """A line of the history of groups was opened, or one of the script."""
        self._player.go(message.record)
        self._frame()

    def on_command_line_left(self) -> None:
        """Back, unless it has been opened again."""
        self.query_one("#said").display = not self.query_one(CommandLine).is_open

    def on_command_line_given(self, message: CommandLine.Given) -> None:
        """A line was entered: an action of the table, or a command for the run."""
        self.on_command_line_left()
        action = action_named(message.text)
        if action is not None and action.word != "command":
            self.action_do(action.word)
        elif takes_commands(self._source):
            self._give(message.text)
        else:
            self.say(f"{message.text!r}: {why_no_commands(self._source)}; words of the help (?) work", warn=True)
