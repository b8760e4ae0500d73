"""A dialog to choose the next event of a simulated run, one event at a time.

The dialog is at the bottom of the screen, so that the nodes above it show the effect of each event.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from lab.recording.snapshot import NodeState
from lab.text import sanitize
from lab.tui.dialog import Dialog, frame
from lab.tui.run.source import Source
from lab.tui.terminal.theme_styles import ThemeStyles
from lab.worlds.simulated.enabled_events import Delivery, EnabledEvent

__all__ = ["NextEventDialog", "describe_event"]

_NOTHING = "nothing is in flight and no timer is set: restart a node, or resume one"


def describe_event(event: EnabledEvent, nodes: Mapping[int, NodeState], theme_styles: ThemeStyles) -> str:
    """Return a line for an event: the message and its link, or the timer and what its procedure waits for."""
    state = nodes.get(event.node)
    if isinstance(event, Delivery):
        text = f"{event.kind} {event.source} {theme_styles.glyphs.arrow} {event.node}"
        process = "running" if state is None else state.process
        if process == "paused":
            return f"{text}  ({event.node} is paused: the message waits there)"
        return text if process == "running" else f"{text}  ({event.node} is down: the message is lost)"
    waits = () if state is None else state.waits
    wait = next((wait for wait in waits if wait.procedure == event.procedure), None)
    if wait is None:
        return f"timer of {event.node}: {event.procedure} begins"
    peers = f" from {' '.join(map(str, wait.peers))}" if wait.peers else ""
    return f"timer of {event.node}: {event.procedure}, line {wait.line}, waits for {wait.what}{peers}"


class NextEventDialog(Dialog[None]):
    """A list of the enabled events. ``nodes`` returns the node states, ``redraw`` redraws the screen below."""

    DEFAULT_CSS = """
    NextEventDialog { align: center bottom; background: transparent; }
    NextEventDialog > Vertical { max-height: 60%; margin-bottom: 1; }
    NextEventDialog Static { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("q,c", "leave", "close"),
        ("j", "move(1)", ""),
        ("k", "move(-1)", ""),
    ]

    def __init__(
        self,
        source: Source,
        nodes: Callable[[], Mapping[int, NodeState]],
        redraw: Callable[[], object],
        theme_styles: ThemeStyles,
    ) -> None:
        super().__init__()
        self._source = source
        self._node_states = nodes
        self._redraw = redraw
        self._theme_styles = theme_styles
        self._enabled_events: Sequence[EnabledEvent] = ()

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "choose the next event"
            box.border_subtitle = "Enter executes it, Esc closes"
            yield Static("earliest first; time is frozen while this is open", id="done", markup=False)
            yield OptionList()

    def on_mount(self) -> None:
        self.query_one(OptionList).focus()
        self._begin()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        if event.option_id is not None:
            self._execute(self._enabled_events[int(event.option_id)])

    def action_move(self, by: int) -> None:
        listed = self.query_one(OptionList)
        (listed.action_cursor_down if by > 0 else listed.action_cursor_up)()

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
        self._redraw()  # with the records of the reply: a row shows where a node waits now
        self._enabled_events = reply.enabled_events
        nodes, now_us = self._node_states(), self._source.now_us() or 0
        listed = self.query_one(OptionList)
        listed.clear_options()
        for place, event in enumerate(reply.enabled_events):
            row = Text()
            row.append(f"{event.due_us / 1e6:9.4f} s  ", "dim")
            style = self._theme_styles.kind(event.kind) if isinstance(event, Delivery) else ""
            row.append(sanitize(describe_event(event, nodes, self._theme_styles), 200), style)
            if event.due_us < now_us:
                row.append("  overdue", self._theme_styles.warning)
            listed.add_option(Option(row, id=str(place)))
        listed.action_first()
        if not reply.ok:
            self._show_text(reply.text, warn=True)
        elif not reply.enabled_events:
            self._show_text(_NOTHING, warn=True)
        frame(self.query_one(Vertical), title=f"choose the next event, at {now_us / 1e6:.4f} s")

    def _show_text(self, text: str, warn: bool) -> None:
        style = self._theme_styles.warning if warn else self._theme_styles.accent
        for line in self.query("#done").results(Static):  # none if the dialog was closed meanwhile
            line.update(Text(sanitize(text, 200), style))
