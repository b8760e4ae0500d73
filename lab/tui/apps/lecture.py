"""A lecture: a run of the teacher's that the class watches, and votes of the class in it."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import ClassVar, Protocol

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Static

from lab.exercises.teacher import ServerAdminError, VoteTally
from lab.places import keys_file, settings_file
from lab.styles import DIM, ThemeStyles
from lab.text import sanitize
from lab.tui.apps.runs_app import LabApp
from lab.tui.context import show_dialog
from lab.tui.screen import RunScreen
from lab.tui.source import FeedSource
from lab.tui.user_keys import read_user_keys
from lab.tui.widgets.dialogs import Dialog, LineDialog
from lab.units import format_count
from lab.worlds.feed_protocol import Reply

_POLL_S = 0.5
_WIDEST_BAR = 40
_FORMAT = "type the question and its options: who leads next? | 4 | 5"


class LectureControl(Protocol):
    """A connection to the class. Every call may block briefly, and may raise ServerAdminError."""

    def ask(self, text: str, options: tuple[str, ...]) -> None:
        """Ask the class a question with these options."""

    def tally(self) -> VoteTally:
        """Return the votes so far."""

    def close_vote(self) -> VoteTally:
        """Close the vote, show the tally to all, and return it."""


def parse_question(typed: str) -> tuple[str, tuple[str, ...]]:
    """Parse ``"TEXT" | OPTION | OPTION`` to (question, options); the quotes are optional."""
    text, *options = (part.strip().strip("\"'").strip() for part in typed.split("|"))
    return text, tuple(options)


class LectureSource(FeedSource):
    """The source of a lecture, which adds the command ``ask``."""

    own_commands = ("ask",)
    ask: Callable[[str], Awaitable[Reply]]

    async def command(self, text: str) -> Reply:
        """Execute a command, or ask the class."""
        word, _, rest = text.strip().partition(" ")
        return await (self.ask(rest) if word == "ask" else super().command(text))


class TallyDialog(Dialog[VoteTally]):
    """The votes so far, updated live. Closing the vote gives the tally; leaving keeps the vote open.

    Enter has to be pressed twice: once may be too many from the dialog before.
    """

    DEFAULT_CSS = "TallyDialog > Vertical { width: 84; }"
    BINDINGS: ClassVar[list[BindingType]] = [("enter", "close_vote", "close"), ("q", "leave", "leave")]

    def __init__(self, control: LectureControl, styles: ThemeStyles) -> None:
        keys = "Enter, twice, closes the vote for all · Esc hides it, Ctrl+G shows it"
        super().__init__("vote of the class", keys)
        self._control = control
        self._styles = styles
        self._is_closing = False

    def compose_box(self) -> ComposeResult:
        yield Static(id="tally", markup=False)

    def on_mount(self) -> None:
        self.run_worker(self._poll())

    def action_close_vote(self) -> None:
        """Close the vote, if Enter is pressed again."""
        if self._is_closing:
            self.run_worker(self._close_vote())
        else:
            self._is_closing = True
            self.frame(keys="Enter again closes the vote, and shows the tally to all · Esc hides it")

    async def _poll(self) -> None:
        while self.is_attached:
            try:
                tally = await asyncio.to_thread(self._control.tally)
            except ServerAdminError:
                return  # the vote is closed
            self.query_one("#tally", Static).update(_format_tally(tally, self._styles))
            await asyncio.sleep(_POLL_S)

    async def _close_vote(self) -> None:
        try:
            self.dismiss(await asyncio.to_thread(self._control.close_vote))
        except ServerAdminError:
            self.dismiss(None)


def _format_tally(tally: VoteTally, styles: ThemeStyles) -> Text:
    most, width = max(1, *tally.votes), max(len(choice) for choice in tally.options)
    text = Text(sanitize(tally.text) + "\n\n", styles.accent)
    for choice, votes in zip(tally.options, tally.votes, strict=True):
        bar = styles.glyphs.full * (_WIDEST_BAR * votes // most)
        text.append(f"{sanitize(choice):{min(width, 30)}}  ").append(bar, styles.leader).append(f" {votes}\n")
    return text.append(format_count(sum(tally.votes), "answer"), DIM)


class LectureApp(LabApp):
    """The application of a lecture. The class watches the run, each student with their own time cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+g", "ask_class", "ask the class", key_display="Ctrl+G", priority=True)
    ]

    def __init__(self, socket: str, title: str, control: LectureControl, kept: Path | None) -> None:
        super().__init__(lambda: self._opened_source(socket), f"lecture: {title}", None, kept)
        self._control = control

    async def _opened_source(self, socket: str) -> LectureSource:
        source = await LectureSource.open(socket, "driver")
        source.ask = self._ask
        return source

    def action_ask_class(self) -> None:
        """Ask a question, or show the votes on the present one."""
        if isinstance(self.screen, RunScreen):
            self.run_worker(self._ask_or_show())

    async def _ask_or_show(self) -> None:
        try:
            await asyncio.to_thread(self._control.tally)
        except ServerAdminError:  # no vote is open
            dialog = LineDialog("ask the class", [Text(_FORMAT)])
            show_dialog(self, dialog, lambda typed: self.run_worker(self._ask_and_report(typed)))
        else:
            self._show_votes()

    async def _ask_and_report(self, typed: str) -> None:
        reply = await self._ask(typed)
        self._show_message(reply.text, warn=not reply.ok)

    async def _ask(self, typed: str) -> Reply:
        text, options = parse_question(typed)
        try:
            await asyncio.to_thread(self._control.ask, text, options)
        except ServerAdminError as error:
            return Reply(0, False, False, str(error))
        self._show_votes()
        return Reply(0, True, True, "the vote is open")

    def _show_votes(self) -> None:
        def show_result(tally: VoteTally) -> None:
            parts = (f"{choice}: {votes}" for choice, votes in zip(tally.options, tally.votes, strict=True))
            self._show_message(f"{tally.text}  {', '.join(parts)}")

        show_dialog(self, TallyDialog(self._control, self.theme_styles), show_result)

    def _show_message(self, text: str, warn: bool = False) -> None:
        shown = next((each for each in reversed(self.screen_stack) if isinstance(each, RunScreen)), None)
        if shown is not None:
            shown.context.notify(text, warn)


def show_lecture(socket: str, title: str, control: LectureControl) -> int:
    """Show the lecture whose feed is on this socket, and return the exit status."""
    return LectureApp(socket, title, control, settings_file()).show(read_user_keys(keys_file()))
