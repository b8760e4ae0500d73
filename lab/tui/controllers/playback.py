"""Move in time: the cursor, or at the end of a simulated run its world, also by choosing the next event."""

from collections.abc import Callable, Mapping
from functools import partial

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.widgets import OptionList, Static

from lab.recording.snapshot import NodeState
from lab.styles import ThemeStyles
from lab.text import sanitize
from lab.tui.context import ActionHandler, RunContext
from lab.tui.controllers.search import SearchController
from lab.tui.player import time_command
from lab.tui.views.log_view import LogRows
from lab.tui.widgets.dialogs import ListDialog
from lab.tui.widgets.pane import wait_text
from lab.worlds.feed_protocol import Delivery, EnabledEvent, Reply, WriteEnd


class PlaybackController:
    """Plays, steps and jumps. While a search is active, its hits take the place of the marks."""

    def __init__(self, context: RunContext, rows: LogRows, search: SearchController) -> None:
        self._context = context
        self._rows = rows
        self._search = search
        moves = ("play", "back", "step", "slower", "faster", "rewind", "forward", "start", "end")
        jumps = (f"{way}-{kind}" for way in ("previous", "next") for kind in ("fault", "election", "status"))
        self.actions: dict[str, ActionHandler] = {
            **{word: partial(self._move, word) for word in (*moves, *jumps)},
            **{word: partial(self._go_to_mark, word) for word in ("next-mark", "previous-mark")},
            "choose": self._choose_event,
        }

    def _move(self, word: str) -> None:
        context, player = self._context, self._context.player
        clock = context.source.clock if context.source.controls_time else None
        if word in ("slower", "faster") and player.following and clock is None:
            text = "a live run follows the real clock; only playback of the past can be slower or faster"
            context.notify(text, warn=True)
        elif command := time_command(word, clock, player):
            context.execute(command, self._step_note() if command == "step" else None)
        else:
            text = player.move(word, self._rows.is_hidden)
            bookmark = context.source.bookmarks.at(player.number) if word.endswith("-mark") else None
            if bookmark is not None and not text.startswith("no "):
                text = f"record {bookmark.record}: {bookmark.note}"
            if text:
                context.notify(text, warn=text.startswith("no "))

    def _go_to_mark(self, word: str) -> None:
        if not self._search.step(forward=word == "next-mark"):
            self._move(word)

    def _step_note(self) -> Callable[[Reply], str]:
        """Return what notes, once the next event has happened, that the log does not show it."""
        rows, player = self._rows, self._context.player
        before = rows.counts(player.cluster())

        def note(reply: Reply) -> str:
            self._context.catch_up()
            is_hidden = rows.is_hidden_step(before, player.cluster(), reply.text)
            return "; a heartbeat, hidden ({heartbeats} shows them)" if is_hidden else ""

        return note

    def _choose_event(self) -> None:
        context = self._context
        context.player.to_end()
        context.show_dialog(NextEventDialog(context))


_NOTHING = "nothing is in flight and no timer is set: give a command, or restart or resume a node"


def describe_event(event: EnabledEvent, nodes: Mapping[int, NodeState], styles: ThemeStyles) -> str:
    """Return a line for an event: the message and its link, or what ends at the node."""
    state = nodes.get(event.node)
    if isinstance(event, Delivery):
        text = f"{event.kind} {event.source} {styles.glyphs.arrow} {event.node}"
        process = "running" if state is None else state.process
        if process == "paused":
            return f"{text}  ({event.node} is paused: the message waits there)"
        return text if process == "running" else f"{text}  ({event.node} is down: the message is lost)"
    if isinstance(event, WriteEnd):
        return f"slow disk of {event.node}: its write ends"
    waits = () if state is None else state.waits
    wait = next((wait for wait in waits if wait.procedure == event.procedure), None)
    if wait is None:
        return f"timer of {event.node}: {event.procedure} begins"
    return f"timer of {event.node}: {event.procedure}, line {wait.line}, {wait_text(wait)}"


class NextEventDialog(ListDialog[EnabledEvent]):
    """The enabled events, at the bottom of the screen, so that the nodes above show the effect of each."""

    DEFAULT_CSS = """
    NextEventDialog { align: center bottom; background: transparent; }
    NextEventDialog > Vertical { max-height: 60%; margin-bottom: 1; }
    NextEventDialog Static { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def __init__(self, context: RunContext) -> None:
        super().__init__("choose the next event", "Enter executes it · type to filter · Esc closes")
        self._run = context
        self._source = context.source
        self._styles = context.styles

    def compose_box(self) -> ComposeResult:
        yield Static("earliest first; time is frozen while this is open", id="done", markup=False)
        yield from super().compose_box()

    def on_mount(self) -> None:
        self._begin()

    def action_leave(self) -> None:
        super().action_leave()
        self._run.notify("time is frozen; {play} resumes it")

    def submit(self, result: EnabledEvent) -> None:
        self._execute(result)

    @work(exclusive=True)
    async def _begin(self) -> None:
        await self._source.command("freeze")
        await self._list()

    @work(exclusive=True)
    async def _execute(self, event: EnabledEvent) -> None:
        reply = await self._source.command(event.command)
        self._show_text(reply.text, warn=not (reply.ok and reply.changed))
        await self._list()

    async def _list(self) -> None:
        reply = await self._source.enabled_events()
        if not self.query(OptionList):
            return  # the dialog was closed meanwhile
        self._run.catch_up()  # with the records of the reply: a row shows where a node waits now
        self._run.redraw()
        now_us = self._source.now_us() or 0
        self.put((self._row(event, now_us), event) for event in reply.enabled_events)
        if not reply.ok:
            self._show_text(reply.text, warn=True)
        elif not reply.enabled_events:
            self._show_text(_NOTHING, warn=True)
        self.frame(title=f"choose the next event, at {now_us / 1e6:.4f} s")

    def _row(self, event: EnabledEvent, now_us: int) -> Text:
        style = self._styles.kind(event.kind) if isinstance(event, Delivery) else ""
        text = describe_event(event, self._run.player.cluster().nodes, self._styles)
        row = Text.assemble((f"{event.due_us / 1e6:9.4f} s  ", "dim"), (sanitize(text, 200), style))
        if event.due_us < now_us:
            row.append("  overdue", self._styles.warning)
        return row

    def _show_text(self, text: str, warn: bool) -> None:
        style = self._styles.warning if warn else self._styles.accent
        for line in self.query("#done").results(Static):  # none if the dialog was closed meanwhile
            line.update(Text(sanitize(text, 200), style))
