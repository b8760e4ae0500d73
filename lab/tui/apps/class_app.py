"""The teacher's screen: the progress of the class, and access to every student's cluster."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, get_args

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.screen import Screen

from lab.exercises.exercise import Exercise
from lab.exercises.exercise_reader import drawn_as
from lab.exercises.teacher import (
    ClassReport,
    ServerAdminError,
    Situation,
    Student,
    format_minutes,
    situation_of,
    sort_by_need,
)
from lab.places import keys_file, settings_file
from lab.recording.records import Header
from lab.styles import DIM, Line, ThemeStyles
from lab.text import UserError, sanitize
from lab.tui.apps.runs_app import RunsApp
from lab.tui.context import show_dialog
from lab.tui.source import FeedSource, Source
from lab.tui.user_keys import read_user_keys
from lab.tui.views.exercise_view import wrap
from lab.tui.views.lines_view import LinesView
from lab.tui.widgets.dialogs import ROOM, ChoiceDialog, LineDialog, contains_words
from lab.tui.widgets.key_lines import KeyLine
from lab.tui.widgets.status_lines import MessageLine, TitleLine
from lab.units import format_count

_NAME, _SITUATION, _STUCK, _TASKS, _AT, _POINTS, _ON, _NOTE = 19, 8, 7, 11, 31, 7, 10, 28
_LONGEST_TICKS = 10
_BOLD = Style(bold=True)


class ClassRows(LinesView):
    """The column titles and a line for each student; ``chosen`` is the name of the selected one."""

    DEFAULT_CSS = "ClassRows { background: $background; }"
    BINDINGS: ClassVar[list[BindingType]] = [("k", "cursor(-1)", ""), ("j", "cursor(1)", "")]

    class Opened(Message):
        """The user clicked the selected line."""

    def __init__(self, styles: ThemeStyles) -> None:
        super().__init__("students", styles)
        self._students: tuple[Student, ...] = ()
        self.chosen = ""

    @property
    def student(self) -> Student | None:
        return next((each for each in self._students if each.name == self.chosen), None)

    def put(self, students: Sequence[Student]) -> None:
        """Show these students; the selection stays with its student."""
        self._students = tuple(students)
        if self.student is None:
            self.chosen = self._students[0].name if self._students else ""
        self._put(len(students) + 1)
        self._redraw()

    def line(self, place: int) -> Line:
        if place == 0:
            return _columns("student", "is", "for", [("tasks", DIM)], "exercise", "points", "on for", "", DIM, DIM)
        student = self._students[place - 1]
        pieces = self._pieces(student)
        return self._in_style(pieces, self._styles.picked) if student.name == self.chosen else pieces

    def action_cursor(self, by: int) -> None:
        if self._students:
            here = next((place for place, each in enumerate(self._students) if each.name == self.chosen), 0)
            self._select(min(max(here + by, 0), len(self._students) - 1))

    def action_cursor_page(self, pages: int) -> None:
        self.action_cursor(10 * pages)

    def on_click(self, event: events.Click) -> None:
        """Select a line, or open it if it is selected already."""
        if place := self._place_at(event):
            again = self._students[place - 1].name == self.chosen
            self._select(place - 1)
            if again:
                self.post_message(self.Opened())

    def _select(self, place: int) -> None:
        self.chosen = self._students[place].name
        top, height = self.scroll_offset.y, self.size.height
        if place + 1 < top + (place > 0) or place + 1 >= top + height:
            self._scroll(place + 2 - height)
        self._redraw()

    def _pieces(self, student: Student) -> Line:
        situation = situation_of(student)
        status = self._styles.glyphs.status
        sign = status["absent" if situation in ("away", "removed") else "Normal"]
        style = DIM if situation in ("away", "removed") else _BOLD if situation == "stuck" else Style()
        at = f"{sanitize(student.exercise, _AT - 5)} {student.attempt}" if student.exercise else ""
        return _columns(
            f"{sign} {sanitize(student.name, _NAME - 3)}",
            situation,
            "" if student.stuck_s is None else format_minutes(student.stuck_s),
            self._ticks(student),
            at,
            str(student.points),
            "" if student.on_s is None else format_minutes(student.on_s),
            _note(student),
            style,
            self._situation_style(situation),
        )

    def _ticks(self, student: Student) -> Line:
        """Return a tick for each task of the attempt, or how many are done if there are too many."""
        styles, states = self._styles, student.states
        if not 0 < len(states) <= _LONGEST_TICKS:
            return [(f"{student.done} of {student.tasks}" if student.tasks else "", Style())]
        signs = {
            "done": (styles.glyphs.marks["met"], styles.mark("met") + _BOLD),
            "missed": (styles.glyphs.marks["unmet"], styles.mark("unmet") + _BOLD),
            "answered": (styles.glyph("Waiting"), styles.status("Waiting")),
            "open": (styles.glyph("Working"), DIM),
        }
        return [signs[state] for state in states]

    def _situation_style(self, situation: Situation) -> Style:
        if situation in ("stuck", "idle"):
            return self._styles.warning + (_BOLD if situation == "stuck" else Style())
        return self._styles.mark("met") if situation == "done" else DIM


def _note(student: Student) -> str:
    notes = [
        *(["you have control"] if student.keys else []),
        *(["cluster still running"] if student.cluster and not student.since else []),
        *([f"{format_count(student.unread, 'comment')} unread"] if student.unread else []),
    ]
    return ", ".join(notes)


def _columns(
    name: str,
    situation: str,
    stuck: str,
    ticks: Line,
    at: str,
    points: str,
    on: str,
    note: str,
    style: Style,
    situation_style: Style,
) -> Line:
    """Return a row; the least important columns are at the right, where a narrow screen cuts them off."""
    gap = " " * max(1, _TASKS - sum(cell_len(text) for text, _ in ticks))
    return [
        (f" {name:{_NAME}}", style),
        (f"{situation:{_SITUATION}}", situation_style),
        (f"{stuck:>{_STUCK}}  ", situation_style),
        *ticks,
        (gap, style),
        (f"{at:{_AT}}", style),
        (f"{points:>{_POINTS}}", style),
        (f"{on:>{_ON}}   ", style),
        (f"{note:{_NOTE}}", style),
    ]


_POLL_S = 0.5
_HINT = "Enter watches a cluster, t also takes control; the longest stuck come first"
_WHY_VIEWER = "you are only watching; q returns to the class, where t takes control"
_CONTROL_NOTE = 'say "your teacher took control of this cluster, too"'


class ControlGrant(Protocol):
    """Shared control of a student's cluster, until it is closed."""

    def close(self) -> None:
        """Give up control."""


class ServerAdmin(Protocol):
    """A connection to the server. Every call may block briefly, and may raise ServerAdminError."""

    def report(self) -> ClassReport:
        """Return the progress of the class."""

    def notify(self, students: tuple[str, ...], text: str) -> list[str]:
        """Send a message to these students, or to all who are logged in; return who received it."""

    def take_control(self, student: str) -> ControlGrant:
        """Take control of a student's cluster, which the student is shown."""

    def comment(self, student: str, exercise: str, attempt: int, text: str) -> str:
        """Comment on an attempt; return the result, as do the following."""

    def remove(self, student: str) -> str:
        """End the student's sessions, and admit the student no more."""

    def readmit(self, student: str) -> str:
        """Admit a removed student again."""

    def archive(self, student: str, to: Path) -> str:
        """Write all that is stored about the student to a zip file."""

    def erase(self, student: str) -> str:
        """Delete all that is stored about the student."""


class ClassScreen(Screen[None]):
    """The list of students, below the screens of their clusters."""

    DEFAULT_CSS = """
    ClassScreen { layout: vertical; }
    ClassScreen #head { height: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "app.watch_student", "watch", key_display="Enter"),
        Binding("t", "app.take_control", "control"),
        Binding("m", "app.message_one", "message"),
        Binding("c", "app.comment", "comment"),
        Binding("slash", "app.filter", "filter", key_display="/"),
        Binding("q", "app.leave_class", "quit"),
        Binding("M", "app.message_all", "to all", key_display="M"),
        Binding("l", "app.lecture", "lecture"),
        Binding("x", "app.remove_or_readmit", "remove"),
        Binding("a", "app.archive", "archive"),
        Binding("D", "app.erase", "erase", key_display="D"),
    ]

    def __init__(self, styles: ThemeStyles) -> None:
        super().__init__()
        self._styles = styles
        self.message = MessageLine(styles)
        self._removal = ""
        """The message about the student removed last."""
        self._removed: set[str] = set()

    def compose(self) -> ComposeResult:
        yield TitleLine("head")
        yield ClassRows(self._styles)
        yield self.message
        yield KeyLine()

    def on_mount(self) -> None:
        self.query_one(ClassRows).focus()
        self.message.show(_HINT)

    def show_removal(self, text: str) -> None:
        """Show that a student was removed, until a student is readmitted, by whatever command."""
        self._removal = text
        self.message.show(text)

    def show(self, report: ClassReport, words: str) -> None:
        """Draw the students that match the filter words."""
        if not self.query(ClassRows):
            return  # the screen is closing
        before, self._removed = self._removed, {each.name for each in report.students if each.removed}
        if before - self._removed and self.message.text == self._removal:
            self.message.show(_HINT)
        students = [
            each
            for each in sort_by_need(report.students)
            if contains_words(f"{each.name} {each.exercise} {situation_of(each)}", words)
        ]
        self.query_one(ClassRows).put(students)
        on = sum(bool(each.since) for each in report.students)
        counts = Counter(map(situation_of, report.students))
        dot = f" {self._styles.glyphs.dot} "
        parts = [
            f"{on} of {format_count(len(report.students), 'student')} logged in",
            *(f"{counts[word]} {word}" for word in get_args(Situation) if counts[word] and word != "away"),
            f"{format_count(report.exercises, 'exercise')}, {format_count(report.points, 'point')}",
            *([f"lecture: {sanitize(report.lecture, 40)}"] if report.lecture else []),
            *([f"filter: {sanitize(words, 40)}"] if words else []),
        ]
        self.query_one("#head", TitleLine).put(Text.assemble(("lab class", "bold"), dot, dot.join(parts)))

    @property
    def student(self) -> Student | None:
        return self.query_one(ClassRows).student


class WatchApp(RunsApp):
    """The application of the teacher.

    ``exercises`` finds an exercise of the server by name. ``lecture`` runs a lecture and returns an error, if any.
    """

    def __init__(
        self,
        admin: ServerAdmin,
        exercises: Callable[[str], Exercise | None],
        lecture: Callable[[str], str],
        kept: Path | None = None,
    ) -> None:
        super().__init__(kept)
        self._admin = admin
        self._find_exercise = exercises
        self._give_lecture = lecture
        self._class = ClassScreen(self.theme_styles)
        self._filter = ""
        self._driven: tuple[Source, ControlGrant] | None = None

    def on_mount(self) -> None:
        self.run_worker(self._watch())

    def exercise_of(self, header: Header) -> Exercise | None:
        """Return the exercise of a run, if the server has it."""
        exercise = None if header.exercise is None else self._find_exercise(header.exercise.name)
        return None if exercise is None or header.exercise is None else drawn_as(exercise, header.exercise)

    # actions of the teacher

    def action_leave_class(self) -> None:
        """Leave; the server keeps running."""
        self.exit(return_code=0)

    @on(ClassRows.Opened)
    def action_watch_student(self) -> None:
        self._do(self._open_cluster("viewer"))

    def action_take_control(self) -> None:
        """Watch the cluster of the selected student, and send commands to it."""
        self._do(self._open_cluster("driver"))

    def action_message_one(self) -> None:
        student = self._class.student
        if student is None or not student.since:
            self._class.message.show("this student is not logged in, so cannot receive a message", warn=True)
        else:
            self._ask_text(f"a message to {student.name}", (student.name,))

    def action_message_all(self) -> None:
        self._ask_text("a message to all who are logged in", ())

    def action_filter(self) -> None:
        """Show only students with these words in their name or exercise."""

        def on_words(words: str | None) -> None:
            self._filter = (words or "").strip()
            self._class.message.show(f"filter: {self._filter}; / and Esc clears" if self._filter else _HINT)

        body = [Text("Words of a name, an exercise, or what they are doing: stuck; Esc shows all students.")]
        self.push_screen(LineDialog("filter the class", body, self._filter), on_words)

    def action_comment(self) -> None:
        """Comment on the latest attempt of the selected student."""
        student = self._class.student
        if student is None or not student.latest:
            self._class.message.show("this student has no attempt yet to comment on", warn=True)
            return
        comment = partial(self._admin.comment, student.name, student.latest, student.latest_attempt)
        body = [Text("The student sees it in the exercise and in the list, until it is read there.")]
        title = f"comment on {student.name}, {student.latest} {student.latest_attempt}"
        show_dialog(self, LineDialog(title, body), lambda text: self._change(partial(comment, text)))

    def action_remove_or_readmit(self) -> None:
        """Remove the selected student from the class, or readmit one who is removed."""
        student = self._class.student
        if student is None:
            return
        name = sanitize(student.name, 40)
        if student.removed:
            self._confirm(
                f"readmit {name}?", f"{name} can log in again.", partial(self._admin.readmit, student.name)
            )
        else:
            text = f"Sessions and cluster of {name} end now. The work is kept; x readmits."
            self._confirm(
                f"remove {name}?", text, partial(self._admin.remove, student.name), self._class.show_removal
            )

    def action_archive(self) -> None:
        """Write all that is stored about the selected student to a zip file."""
        student = self._class.student
        if student is not None:
            to = Path(f"{student.name}.zip").absolute()
            text = f"All that is stored about {sanitize(student.name, 40)} is written to {sanitize(str(to))}."
            self._confirm("archive the data?", text, partial(self._archive, student.name, to))

    def action_erase(self) -> None:
        """Delete all that is stored about the selected student, if the name is typed."""
        student = self._class.student
        if student is None:
            return

        def on_name(typed: str) -> None:
            if typed == student.name:
                self._change(partial(self._admin.erase, student.name))
            else:
                self._class.message.show("nothing was erased: that is not the name", warn=True)

        name = sanitize(student.name, 40)
        body = [
            Text(f"All recordings, points and log lines of {name} are deleted, and cannot be restored."),
            Text(f"Type the name to confirm: {name}"),
        ]
        show_dialog(self, LineDialog(f"erase {name}?", body), on_name)

    def action_lecture(self) -> None:
        """Give a lecture from a file, or show the class a cluster of the teacher's."""

        def lecture(name: str) -> None:
            with self.suspend():
                error = self._give_lecture(name)
            self._class.message.show(error or "you are back from the lecture", warn=bool(error))

        body = [
            Text(
                "A lecture, such as bully-and-its-price, or a file: FILE.md. Or a scenario, protocol or exercise,"
            ),
            Text("such as bully, for a cluster of yours. q in it returns here."),
        ]
        show_dialog(self, LineDialog("lecture: what to run?", body), lecture)

    def _ask_text(self, title: str, students: tuple[str, ...]) -> None:
        body = [Text("It stays on the student's screen until dismissed.")]
        show_dialog(self, LineDialog(title, body), lambda text: self._do(self._send_message(students, text)))

    def _confirm(
        self, title: str, text: str, change: Callable[[], str], show: Callable[[str], None] | None = None
    ) -> None:
        option = title.rstrip("?")
        dialog = ChoiceDialog(title, wrap(Text(text), ROOM), [option], "Esc cancels")
        show_dialog(self, dialog, lambda _: self._change(change, show))

    def _change(self, change: Callable[[], str], show: Callable[[str], None] | None = None) -> None:
        """Make a change in a thread, and show the result."""

        async def run() -> None:
            (show or self._class.message.show)(await asyncio.to_thread(change))

        self._do(run())

    # the work of these actions

    def _archive(self, student: str, to: Path) -> str:
        if to.exists():
            raise ServerAdminError(f"{to} exists; move it away first")
        return self._admin.archive(student, to)

    async def _watch(self) -> None:
        await self.push_screen(self._class)
        while True:
            try:
                report = await asyncio.to_thread(self._admin.report)
            except ServerAdminError as error:
                self.failure = str(error)
                self.exit(return_code=1)
                return
            self._class.show(report, self._filter)
            await asyncio.sleep(_POLL_S)

    async def _send_message(self, students: tuple[str, ...], text: str) -> None:
        recipients = await asyncio.to_thread(self._admin.notify, students, text)
        self._class.message.show(
            f"sent to {', '.join(recipients)}" if recipients else "nobody is logged in, so nobody received it"
        )

    async def _open_cluster(self, role: Literal["driver", "viewer"]) -> None:
        student = self._class.student
        if student is None or not student.socket:
            self._class.message.show("this student has no running cluster", warn=True)
            return
        with ExitStack() as until_shown:
            if role == "driver":
                held = until_shown.enter_context(
                    closing(await asyncio.to_thread(self._admin.take_control, student.name))
                )
            source = until_shown.enter_context(closing(await FeedSource.open(student.socket, role)))
            source.why_viewer = _WHY_VIEWER
            await self._push_run(source, None, f"{student.name}, {student.exercise} {student.attempt}", None)
            until_shown.pop_all()
        if role == "driver":
            self._driven = source, held
            await source.command(_CONTROL_NOTE)  # so that the recording shows it to the grader

    def _close(self) -> None:
        source, _ = self._opened[-1]
        super()._close()
        if self._driven is not None and self._driven[0] is source:
            self._driven[1].close()
            self._driven = None

    def _do(self, task: Coroutine[Any, Any, None]) -> None:
        async def run() -> None:
            try:
                await task
            except (UserError, OSError) as error:
                self._class.message.show(f"this failed: {error}", warn=True)

        self.run_worker(run())


def show_class(
    admin: ServerAdmin, exercises: Callable[[str], Exercise | None], lecture: Callable[[str], str]
) -> int:
    """Show the class, and return the exit status."""
    return WatchApp(admin, exercises, lecture, settings_file()).show(read_user_keys(keys_file()))
