"""A lecture: a run of the teacher's that the class watches, and votes of the class in it."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import ClassVar, Protocol

from rich.style import Style
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Static

from lab.exercises.teacher import ServerAdminError, ServerGoneError, VoteTally
from lab.places import keys_file, settings_file
from lab.styles import DIM, ThemeStyles, plain_console
from lab.text import sanitize
from lab.tui.apps.runs_app import LabApp
from lab.tui.context import show_dialog
from lab.tui.screen import RunScreen
from lab.tui.source import FeedSource
from lab.tui.user_keys import read_user_keys
from lab.tui.widgets.dialogs import Dialog, LineDialog
from lab.tui.widgets.hall import largest
from lab.units import format_count
from lab.worlds.feed_protocol import Reply

_POLL_S = 0.5
_WIDEST_BAR = 40
_LOST = "The vote was lost: the server was stopped. Ask again with Ctrl+G."
_FORMAT = "type the question and its options: who leads next? | 4 | 5"


class LectureControl(Protocol):
    """A connection to the class. Every call may block briefly, and may raise ServerAdminError."""

    def ask(
        self, text: str, options: tuple[str, ...], step: int = 0, answer: str = "", explanation: str = ""
    ) -> None:
        """Ask the class a question, or that of a step, whose answer is shown when the vote is closed."""

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

    A vote that the server has lost is shown as lost until the dialog is left.

    Enter has to be pressed twice: once may be too many from the dialog before. F11 shows large bars on the whole
    screen, for a hall; ``in_hall``: from the start.
    """

    DEFAULT_CSS = """
    TallyDialog > Vertical { width: 84; }
    TallyDialog.hall > Vertical { width: 100%; height: 100%; max-height: 100%; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("enter", "close_vote", "close"),
        ("q", "leave", "leave"),
        ("f11", "toggle_hall", "hall"),
    ]

    def __init__(self, control: LectureControl, styles: ThemeStyles, in_hall: bool = False) -> None:
        keys = "Enter, twice, closes the vote · Esc hides it, Ctrl+G shows it · F11 for a hall"
        super().__init__("vote of the class", keys)
        self.set_class(in_hall, "hall")
        self._control = control
        self._styles = styles
        self._tally: VoteTally | None = None
        self._is_closing = False
        self._is_lost = False

    def compose_box(self) -> ComposeResult:
        yield Static(id="tally", markup=False)

    def on_mount(self) -> None:
        self.run_worker(self._poll())

    def action_close_vote(self) -> None:
        """Close the vote, if Enter is pressed again."""
        if self._is_lost:
            self.action_leave()
        elif self._is_closing:
            self.run_worker(self._close_vote())
        else:
            self._is_closing = True
            self.frame(keys="Enter again closes the vote, and shows the tally to all · Esc hides it")

    def action_toggle_hall(self) -> None:
        """Show the votes in large bars, or in a box again."""
        self.toggle_class("hall")
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        if self._tally is None or self._is_lost:
            return
        width, height = self.size
        is_in_hall = self.has_class("hall")
        text = (
            format_large_tally(self._tally, width - 4, height - 2, self._styles)
            if is_in_hall
            else _format_tally(self._tally, self._styles)
        )
        self.query_one("#tally", Static).update(text)

    async def _poll(self) -> None:
        while self.is_attached:
            try:
                self._tally = await asyncio.to_thread(self._control.tally)
            except ServerGoneError:
                pass  # it may come back, without the vote
            except ServerAdminError:
                self._show_loss()
                return
            self._draw()
            await asyncio.sleep(_POLL_S)

    async def _close_vote(self) -> None:
        try:
            self.dismiss(await asyncio.to_thread(self._control.close_vote))
        except ServerAdminError:
            self._show_loss()

    def _show_loss(self) -> None:
        """Show that the vote was lost; do nothing if the dialog has closed it."""
        if not self.is_attached or not self.is_active:
            return
        self._is_lost = True
        self.frame(keys="Enter or Esc closes")
        self.query_one("#tally", Static).update(Text(_LOST, self._styles.warning))


def _format_tally(tally: VoteTally, styles: ThemeStyles) -> Text:
    most, width = max(1, *tally.votes), max(len(choice) for choice in tally.options)
    text = Text(sanitize(tally.text) + "\n\n", styles.accent)
    for choice, votes in zip(tally.options, tally.votes, strict=True):
        bar = styles.glyphs.full * (_WIDEST_BAR * votes // most)
        text.append(f"{sanitize(choice):{min(width, 30)}}  ").append(bar, styles.leader).append(f" {votes}\n")
    return text.append(format_count(sum(tally.votes), "answer"), DIM)


def format_large_tally(tally: VoteTally, width: int, height: int, styles: ThemeStyles) -> Text:
    """Return the votes as bars over this width, for a hall: as high as the rows allow, with large numbers."""
    most = max(1, *tally.votes)
    question = Text(sanitize(tally.text), styles.accent + Style(bold=True)).wrap(plain_console(), width)
    rows_of_each = max(1, (height - len(question) - 3) // len(tally.options) - 2)
    is_ascii = styles.glyphs.box.isascii()
    numbers = [largest(str(votes), width // 4, is_ascii) for votes in tally.votes]
    are_large = max(map(len, numbers)) <= rows_of_each
    lines = [*question, Text()]
    for choice, votes, number in zip(tally.options, tally.votes, numbers, strict=True):
        bar = styles.glyphs.levels[-1] * ((width - width // 4 - 2) * votes // most)
        lines.append(Text(sanitize(choice, width), Style(bold=True)))
        shown = number if are_large else (str(votes),)
        for row in range(min(rows_of_each, max(1, len(shown)))):
            lines.append(Text.assemble((bar, styles.leader), "  " if bar else "", shown[row]))
        lines.append(Text())
    return Text("\n").join([*lines, Text(format_count(sum(tally.votes), "answer"), DIM)])


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
            return Reply.refused(str(error))
        self._show_votes()
        return Reply(0, True, True, "the vote is open")

    def _show_votes(self) -> None:
        def show_result(tally: VoteTally) -> None:
            parts = (f"{choice}: {votes}" for choice, votes in zip(tally.options, tally.votes, strict=True))
            self._show_message(f"{tally.text}  {', '.join(parts)}")

        in_hall = self.screen.has_class("hall")
        show_dialog(self, TallyDialog(self._control, self.theme_styles, in_hall), show_result)


def show_lecture(socket: str, title: str, control: LectureControl) -> int:
    """Show the lecture whose feed is on this socket, and return the exit status."""
    return LectureApp(socket, title, control, settings_file()).show(read_user_keys(keys_file()))
