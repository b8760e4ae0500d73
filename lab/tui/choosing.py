"""Choosing what happens next in a simulated run, as a person does in a proof: one thing, then look, then the next.

The dialog stands low, so that the nodes above it show what came of the choice.
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
from lab.worlds.simulated.choices import Choice, Deliver

__all__ = ["ChooseDialog", "said_of"]

_NOTHING = "nothing is in flight and no timer is set: restart a node, or resume one"


def said_of(choice: Choice, nodes: Mapping[int, NodeState], theme_styles: ThemeStyles) -> str:
    """What a choice is, in words: the message and its way, or the timer and what its procedure waits for."""
    view = nodes.get(choice.node)
    if isinstance(choice, Deliver):
        said = f"{choice.kind} {choice.source} {theme_styles.glyphs.arrow} {choice.node}"
        process = "running" if view is None else view.process
        if process == "paused":
            return f"{said}  ({choice.node} is paused: it waits there)"
        return said if process == "running" else f"{said}  ({choice.node} is down: it is lost)"
    waits = () if view is None else view.waits
    wait = next((wait for wait in waits if wait.procedure == choice.procedure), None)
    if wait is None:
        return f"timer of {choice.node}: {choice.procedure} begins"
    peers = f" of {' '.join(map(str, wait.peers))}" if wait.peers else ""
    return f"timer of {choice.node}: {choice.procedure}, line {wait.line}, waits for {wait.what}{peers}"


class ChooseDialog(Dialog[None]):
    """``nodes`` gives the nodes as they are now, ``show`` draws the screen below anew."""

    DEFAULT_CSS = """
    ChooseDialog { align: center bottom; background: transparent; }
    ChooseDialog > Vertical { max-height: 60%; margin-bottom: 1; }
    ChooseDialog Static { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
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
        show: Callable[[], object],
        theme_styles: ThemeStyles,
    ) -> None:
        super().__init__()
        self._source = source
        self._now_nodes = nodes
        self._show = show
        self._look = theme_styles
        self._choices: Sequence[Choice] = ()

    def compose(self) -> ComposeResult:
        """What was done, and the list."""
        with Vertical() as box:
            box.border_title = "choose what happens next"
            box.border_subtitle = "Enter lets it happen, Esc leaves"
            yield Static("soonest first; time stands still until you choose", id="done", markup=False)
            yield OptionList()

    def on_mount(self) -> None:
        """Freeze, and show what there is."""
        self.query_one(OptionList).focus()
        self._begin()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Enter, or a click."""
        if event.option_id is not None:
            self._pick(self._choices[int(event.option_id)])

    def action_move(self, by: int) -> None:
        """To the next row, or the one before."""
        listed = self.query_one(OptionList)
        (listed.action_cursor_down if by > 0 else listed.action_cursor_up)()

    @work(exclusive=True)
    async def _begin(self) -> None:
        await self._source.command("freeze")
        await self._list()

    @work(exclusive=True)
    async def _pick(self, choice: Choice) -> None:
        reply = await self._source.command(choice.command)
        self._say(reply.text, warn=not (reply.ok and reply.changed))
        await self._list()

    async def _list(self) -> None:
        reply = await self._source.choices()
        if not self.query(OptionList):
            return  # it was closed meanwhile
        self._show()  # what has come with the reply: a row tells where a node waits now
        self._choices = reply.choices
        nodes, now_us = self._now_nodes(), self._source.now_us() or 0
        listed = self.query_one(OptionList)
        listed.clear_options()
        for place, choice in enumerate(reply.choices):
            row = Text()
            row.append(f"{choice.due_us / 1e6:9.4f} s  ", "dim")
            style = self._look.kind(choice.kind) if isinstance(choice, Deliver) else ""
            row.append(sanitize(said_of(choice, nodes, self._look), 200), style)
            if choice.due_us < now_us:
                row.append("  overdue", self._look.warning)
            listed.add_option(Option(row, id=str(place)))
        listed.action_first()
        if not reply.ok:
            self._say(reply.text, warn=True)
        elif not reply.choices:
            self._say(_NOTHING, warn=True)
        frame(self.query_one(Vertical), title=f"choose what happens next, at {now_us / 1e6:.4f} s")

    def _say(self, text: str, warn: bool) -> None:
        style = self._look.warning if warn else self._look.accent
        for line in self.query("#done").results(Static):  # none, where it was closed meanwhile
            line.update(Text(sanitize(text, 200), style))
