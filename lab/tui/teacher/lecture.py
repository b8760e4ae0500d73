"""A lecture: the teacher's own run, which the class sees, and questions to the class in it."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import ClassVar, Literal, Protocol

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Static

from lab.exercises.teacher import OfficeError, Tally
from lab.text import sanitize
from lab.tui.app import LabApp
from lab.tui.classroom.dialogs import LineDialog
from lab.tui.dialog import Dialog, frame
from lab.tui.run.source import FeedSource
from lab.tui.screen import RunScreen
from lab.tui.terminal.theme_styles import DIM, ThemeStyles
from lab.units import count_of
from lab.worlds.orders import Reply

__all__ = ["LectureApp", "LectureSource", "Podium", "question_in"]

_LOOK_S = 0.5
_WIDEST_BAR = 40
_HOW = "what the class is asked, then its choices: who leads next? | 4 | 5"


class Podium(Protocol):
    """The way to the class. All calls block for a moment. OfficeError."""

    def ask(self, text: str, choices: tuple[str, ...]) -> None:
        """Ask the class."""

    def tally(self) -> Tally:
        """What it has said so far."""

    def close_vote(self) -> Tally:
        """No more votes; all see the tally."""


def question_in(typed: str) -> tuple[str, tuple[str, ...]]:
    """(the question, its choices) of ``"TEXT" | CHOICE | CHOICE``; the quotes may be left out."""
    text, *choices = (part.strip().strip("\"'").strip() for part in typed.split("|"))
    return text, tuple(choices)


class LectureSource(FeedSource):
    """The teacher's own run, in whose command line there is the word ``ask``."""

    ask: Callable[[str], Awaitable[Reply]]

    async def command(self, text: str) -> Reply:
        """Give a command to the nodes, or ask the class."""
        word, _, rest = text.strip().partition(" ")
        return await (self.ask(rest) if word == "ask" else super().command(text))


class TallyDialog(Dialog[Tally]):
    """The votes as they come; its result is the tally, once the teacher has closed it."""

    DEFAULT_CSS = """
    TallyDialog { align: center middle; }
    TallyDialog > Vertical {
        width: 84; max-width: 100%; height: auto; border: round $accent; background: $surface; padding: 0 1;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [("enter", "close_vote", "close"), ("escape,q", "leave", "leave")]

    def __init__(self, podium: Podium, theme_styles: ThemeStyles) -> None:
        super().__init__()
        self._podium = podium
        self._look = theme_styles

    def compose(self) -> ComposeResult:
        """The question, and a bar for each choice."""
        with Vertical() as box:
            frame(
                box, "the class is asked", "Enter shows all the tally; Esc lets the vote go on, Ctrl+L comes back"
            )
            yield Static(id="tally", markup=False)

    def on_mount(self) -> None:
        """Look, and look again."""
        self.run_worker(self._look_on())

    def action_leave(self) -> None:
        """The vote goes on."""
        self.dismiss(None)

    def action_close_vote(self) -> None:
        """No more votes; all see what came of it."""
        self.run_worker(self._close_vote())

    async def _look_on(self) -> None:
        while self.is_attached:
            try:
                tally = await asyncio.to_thread(self._podium.tally)
            except OfficeError:
                return  # it is closed
            self.query_one("#tally", Static).update(_drawn(tally, self._look))
            await asyncio.sleep(_LOOK_S)

    async def _close_vote(self) -> None:
        try:
            self.dismiss(await asyncio.to_thread(self._podium.close_vote))
        except OfficeError:
            self.dismiss(None)


def _drawn(tally: Tally, theme_styles: ThemeStyles) -> Text:
    most, width = max(1, *tally.votes), max(len(choice) for choice in tally.choices)
    text = Text(sanitize(tally.text) + "\n\n", theme_styles.accent)
    for choice, votes in zip(tally.choices, tally.votes, strict=True):
        bar = theme_styles.glyphs.full * (_WIDEST_BAR * votes // most)
        text.append(f"{sanitize(choice):{min(width, 30)}}  ").append(bar, theme_styles.leader).append(
            f" {votes}\n"
        )
    return text.append(count_of(sum(tally.votes), "answer"), DIM)


class LectureApp(LabApp):
    """Over the run whose feed is on this socket; the class sees it, and the cursor of each is their own."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+l", "ask_class", "ask the class", key_display="Ctrl+L", priority=True)
    ]

    def __init__(self, socket: str, title: str, podium: Podium, kept: Path | None) -> None:
        super().__init__(lambda: self._opened_source(socket, "driver"), f"lecture: {title}", None, kept)
        self._podium = podium

    async def _opened_source(self, socket: str, role: Literal["driver", "viewer"]) -> LectureSource:
        source = await LectureSource.open(socket, role)
        assert isinstance(source, LectureSource)
        source.ask = self._ask
        return source

    def action_ask_class(self) -> None:
        """Ask, or look at the votes of what is asked."""
        if isinstance(self.screen, RunScreen):
            self.run_worker(self._ask_or_show())

    async def _ask_or_show(self) -> None:
        try:
            await asyncio.to_thread(self._podium.tally)
        except OfficeError:  # nothing is asked
            self.push_screen(LineDialog("ask the class", [Text(_HOW)], "", self.theme_styles), self._written)
        else:
            self._show_votes()

    def _written(self, typed: str | None) -> None:
        if typed:
            self.run_worker(self._ask_and_say(typed))

    async def _ask_and_say(self, typed: str) -> None:
        reply = await self._ask(typed)
        self._say(reply.text, warn=not reply.ok)

    async def _ask(self, typed: str) -> Reply:
        text, choices = question_in(typed)
        try:
            await asyncio.to_thread(self._podium.ask, text, choices)
        except OfficeError as error:
            return Reply(0, False, False, str(error))
        self._show_votes()
        return Reply(0, True, True, "the class is asked")

    def _show_votes(self) -> None:
        def closed(tally: Tally | None) -> None:
            if tally is not None:
                parts = (f"{choice}: {votes}" for choice, votes in zip(tally.choices, tally.votes, strict=True))
                self._say(f"{tally.text}  {', '.join(parts)}")

        self.push_screen(TallyDialog(self._podium, self.theme_styles), closed)

    def _say(self, text: str, warn: bool = False) -> None:
        shown = next((each for each in reversed(self.screen_stack) if isinstance(each, RunScreen)), None)
        if shown is not None:
            shown.say(text, warn)
