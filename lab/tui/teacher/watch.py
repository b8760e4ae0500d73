"""The teacher's live screen: how the class stands, and the way to any student's cluster."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from lab.exercises.exercise import Exercise
from lab.exercises.teacher import ClassReport, OfficeError, Pupil, stuck_first
from lab.recording.records import Header
from lab.text import sanitize
from lab.tui.classroom.dialogs import LineDialog
from lab.tui.frame.keyline import KeyLine
from lab.tui.frame.lines import TitleLine
from lab.tui.moving.branching import Left
from lab.tui.run.source import FeedSource, Source
from lab.tui.runs import RunsApp
from lab.tui.siftedlist import has_words
from lab.tui.teacher.rows import PupilRows
from lab.tui.terminal.theme_styles import ThemeStyles
from lab.units import count_of

__all__ = ["Held", "Office", "WatchApp"]

_LOOK_S = 0.5
_HINT = "Enter looks over a shoulder, t takes the keys too, m tells one, M tells all, / sifts, L lectures"
_WHY_VIEWER = "you look over a shoulder; q goes back, and t there takes the keys"
_KEYS_NOTE = 'say "your teacher took the keys of this cluster, too"'


class Held(Protocol):
    """What holds until it is closed."""

    def close(self) -> None:
        """Let it go."""


class Office(Protocol):
    """The way to the server. All calls block for a moment. OfficeError."""

    def report(self) -> ClassReport:
        """How the class stands."""

    def tell(self, students: tuple[str, ...], text: str) -> list[str]:
        """Tell these, or all who are on; who was told."""

    def take_keys(self, student: str) -> Held:
        """Let the student know that the teacher gives commands, too, as long as it is held."""


class ClassScreen(Screen[None]):
    """Below the students' clusters."""

    DEFAULT_CSS = """
    ClassScreen { layout: vertical; }
    ClassScreen #head { height: 1; }
    ClassScreen #said { height: auto; max-height: 3; padding: 0 1; text-wrap: wrap; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "app.look_over", "look", key_display="Enter"),
        Binding("t", "app.take_keys", "take the keys"),
        Binding("m", "app.tell_one", "message"),
        Binding("M", "app.tell_all", "message to all", key_display="M"),
        Binding("L", "app.lecture", "lecture", key_display="L"),
        Binding("slash", "app.sift", "sift", key_display="/"),
        Binding("q", "app.leave_class", "quit"),
    ]

    def __init__(self, theme_styles: ThemeStyles) -> None:
        super().__init__()
        self._look = theme_styles

    def compose(self) -> ComposeResult:
        """How many, who, what was said."""
        yield TitleLine("head")
        yield PupilRows(self._look)
        yield TitleLine("said")
        yield KeyLine()

    def on_mount(self) -> None:
        """What can be done."""
        self.query_one(PupilRows).focus()
        self.say(_HINT)

    def show(self, report: ClassReport, sifted: str) -> None:
        """Draw what is another now."""
        pupils = [each for each in stuck_first(report.pupils) if has_words(f"{each.name} {each.exercise}", sifted)]
        self.query_one(PupilRows).put(pupils)
        on = sum(bool(each.since) for each in report.pupils)
        clusters = sum(bool(each.cluster) for each in report.pupils)
        dot = f" {self._look.glyphs.dot} "
        parts = [
            f"{on} of {count_of(len(report.pupils), 'student')} on",
            count_of(clusters, "cluster"),
            f"{count_of(report.exercises, 'exercise')}, {count_of(report.points, 'point')}",
            *([f"lecture: {sanitize(report.lecture, 40)}"] if report.lecture else []),
            *([f"sifted: {sanitize(sifted, 40)}"] if sifted else []),
        ]
        self.query_one("#head", TitleLine).put(Text.assemble(("lab class", "bold"), dot, dot.join(parts)))

    def say(self, text: str, warn: bool = False) -> None:
        """Answer, in the line for that."""
        style = self._look.warning if warn else self._look.accent
        self.query_one("#said", TitleLine).put(Text(sanitize(text, 300), style), wraps=True)

    @property
    def pupil(self) -> Pupil | None:
        """The student at the cursor."""
        return self.query_one(PupilRows).pupil


class WatchApp(RunsApp):
    """``office`` is the way to the server; ``exercises`` are its exercises, by name; ``lecture`` gives one."""

    def __init__(
        self,
        office: Office,
        exercises: Callable[[str], Exercise | None],
        lecture: Callable[[str], str],
        kept: Path | None = None,
    ) -> None:
        super().__init__(kept)
        self._office = office
        self._exercise_called = exercises
        self._give_lecture = lecture
        self._class = ClassScreen(self.theme_styles)
        self._sifted = ""
        self._driven: tuple[Source, Held] | None = None
        self.failure = ""

    def on_mount(self) -> None:
        """The class, and looking at it."""
        self.run_worker(self._watch())

    def exercise_of(self, header: Header) -> Exercise | None:
        """One of the server's."""
        return None if header.exercise is None else self._exercise_called(header.exercise.name)

    async def leave_lowest(self, message: Left) -> None:
        """Out."""
        self.exit(return_code=0)

    # what the teacher does

    def action_leave_class(self) -> None:
        """Out; the server goes on."""
        self.exit(return_code=0)

    @on(PupilRows.Opened)
    def action_look_over(self) -> None:
        """See the cluster of the student at the cursor, as a viewer."""
        self._do(self._see("viewer"))

    def action_take_keys(self) -> None:
        """The same, and give commands."""
        self._do(self._see("driver"))

    def action_tell_one(self) -> None:
        """A message to the student at the cursor."""
        pupil = self._class.pupil
        if pupil is None or not pupil.since:
            self._class.say("nobody is on in this line; a message is for who is on", warn=True)
        else:
            self._ask_text(f"a message to {pupil.name}", (pupil.name,))

    def action_tell_all(self) -> None:
        """A message to all who are on."""
        self._ask_text("a message to all who are on", ())

    def action_sift(self) -> None:
        """Only those with these words in their name or exercise."""

        def sifted(words: str | None) -> None:
            self._sifted = (words or "").strip()
            self._class.say(f"sifted: {self._sifted}; / and Esc shows all" if self._sifted else _HINT)

        said = [Text("Words of a name, or of an exercise; Esc shows all.")]
        self.push_screen(LineDialog("sift the class", said, self._sifted, self.theme_styles), sifted)

    def action_lecture(self) -> None:
        """Show the class a cluster of your own."""

        def named(what: str | None) -> None:
            if what and what.strip():
                with self.suspend():
                    said = self._give_lecture(what.strip())
                self._class.say(said or "the lecture is over", warn=bool(said))

        said = [Text("A scenario, a protocol or an exercise: bully, two-coordinators. q in it comes back here.")]
        self.push_screen(LineDialog("a lecture on what?", said, "", self.theme_styles), named)

    def _ask_text(self, title: str, students: tuple[str, ...]) -> None:
        def written(text: str | None) -> None:
            if text and text.strip():
                self._do(self._tell(students, text))

        said = [Text("It stays on the screen until it is put away.")]
        self.push_screen(LineDialog(title, said, "", self.theme_styles), written)

    # what is done then

    async def _watch(self) -> None:
        await self.push_screen(self._class)
        while True:
            try:
                report = await asyncio.to_thread(self._office.report)
            except OfficeError as error:
                self.failure = str(error)
                self.exit(return_code=1)
                return
            self._class.show(report, self._sifted)
            await asyncio.sleep(_LOOK_S)

    async def _tell(self, students: tuple[str, ...], text: str) -> None:
        told = await asyncio.to_thread(self._office.tell, students, text)
        self._class.say(f"told {', '.join(told)}" if told else "nobody is on, so nobody was told")

    async def _see(self, role: Literal["driver", "viewer"]) -> None:
        pupil = self._class.pupil
        if pupil is None or not pupil.socket:
            self._class.say("there is no cluster in this line to look at", warn=True)
            return
        with ExitStack() as until_shown:
            if role == "driver":
                held = until_shown.enter_context(
                    closing(await asyncio.to_thread(self._office.take_keys, pupil.name))
                )
            source = until_shown.enter_context(closing(await FeedSource.open(pupil.socket, role)))
            source.why_viewer = _WHY_VIEWER
            await self._put(source, None, f"{pupil.name}, {pupil.exercise} {pupil.attempt}", None)
            until_shown.pop_all()
        if role == "driver":
            self._driven = source, held
            await source.command(_KEYS_NOTE)  # it is in the recording then, for whoever grades it

    def _close(self) -> None:
        source, _ = self._opened[-1]
        super()._close()
        if self._driven is not None and self._driven[0] is source:
            self._driven[1].close()
            self._driven = None

    def _do(self, deed: Coroutine[Any, Any, None]) -> None:
        async def done() -> None:
            try:
                await deed
            except (OfficeError, OSError) as error:
                self._class.say(f"that did not work: {error}", warn=True)

        self.run_worker(done())
