"""The exercises for a student on a server, with messages, votes and lectures of the teacher."""

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from rich.text import Text
from textual import events, on
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input, TextArea

from lab.exercises.attempts import Clusters, StudentFolder
from lab.exercises.course import CourseSchedule
from lab.exercises.exercise import Exercise
from lab.exercises.teacher import (
    Announcement,
    Comment,
    Comments,
    LecturePosition,
    Notice,
    PastLectures,
    ShownLecture,
    Teacher,
    TeacherControl,
    VoteQuestion,
    VoteTally,
    Welcome,
)
from lab.text import sanitize
from lab.tui.apps.attendance import AttendingApp
from lab.tui.apps.exercise_list import ListScreen
from lab.tui.apps.steps import StepScreen
from lab.tui.controllers.branching import BranchRequested
from lab.tui.screen import RunScreen
from lab.tui.source import FeedSource
from lab.tui.widgets.dialogs import AnswerDialog
from lab.tui.widgets.status_lines import Line, MessageLine
from lab.units import format_count
from lab.worlds.launch import HostFailedError


class TeacherLine(Line):
    """Lines of text; a click on them acts like their key."""

    DEFAULT_CSS = """
    TeacherLine { height: auto; max-height: 8; padding: 0 1; text-wrap: wrap; text-overflow: fold;
        background: $panel; }
    """

    class Clicked(Message):
        """The user clicked the lines."""

    def put_lines(self, lines: list[Text]) -> None:
        """Show these lines; without any, hide the widget."""
        self.display = bool(lines)
        self.put(Text("\n").join(lines), wraps=True)

    def on_click(self, event: events.Click) -> None:
        self.post_message(self.Clicked())


_POLL_S = 0.5
_CLOCK_S = 30.0
"""How often the list is drawn again, as the time to a deadline passes."""
_MOST_KEPT = 5
_MOST_COMMENTS = 2
_WHY_VIEWER = "it is your teacher's cluster; you can move in time, but send no commands"
_CONTROL = "your teacher also controls this cluster; your keys still work"


class StudentApp(AttendingApp):
    """The application of a student in a class; ``teacher`` is the connection to the teacher."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+g", "attend", "answer or join", key_display="Ctrl+G", priority=True),
        Binding("escape", "dismiss_messages", "dismiss", key_display="Esc", priority=True),
    ]

    @dataclass
    class NoticeReceived(Message):
        """A notice from the teacher arrived."""

        notice: Notice

    def __init__(
        self, home: StudentFolder, clusters: Clusters, exercises: Sequence[Exercise], teacher: Teacher, first: str
    ) -> None:
        super().__init__(home, clusters, exercises, is_served=True, first=first)
        self._teacher = teacher
        self._messages: list[str] = []
        self._comments: tuple[Comment, ...] = ()
        self._is_controlled = False
        self._watched: FeedSource | None = None
        self._branched: FeedSource | None = None
        self._is_question_due = False
        self._reported_following = False
        self._vote_dialog: AnswerDialog | None = None
        self._drawn: tuple[RunScreen | ListScreen | None, list[Text]] = None, []

    async def _start(self) -> None:
        await super()._start()
        self.set_interval(_POLL_S, self._show)
        self.set_interval(_CLOCK_S, self._list.redraw)
        self._teacher.listen(lambda notice: self.post_message(self.NoticeReceived(notice)))

    @on(NoticeReceived)
    def show_notice(self, message: NoticeReceived) -> None:
        """Show a notice for as long as it applies."""
        notice = message.notice
        match notice:
            case CourseSchedule():
                self._list.show_schedule(notice)
            case Comments():
                self._comments = notice.comments
                self._list.show_comments(notice.comments)
            case Welcome():
                self._messages = [*self._messages, notice.text][-_MOST_KEPT:]
            case Announcement():
                self._messages = [*self._messages, f"your teacher: {notice.text}"][-_MOST_KEPT:]
                self.bell()
            case TeacherControl():
                self._is_controlled = notice.held
            case ShownLecture():
                if not notice.is_on:
                    self._close_question()
                self.begin_lecture(notice)
                if notice.at_once:
                    self._attend_when_idle(notice)
            case LecturePosition():
                self.move_lecture(notice)
            case PastLectures():
                self._past = notice.lectures
                self.refresh_bindings()
            case VoteQuestion():
                self._open_question(notice)
            case VoteTally():
                self._show_tally(notice)
        self._show()

    # actions of the student

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return False for the keys of this class while the teacher has sent nothing they apply to."""
        if action == "attend":
            return self._question is not None or self._may_join
        if action == "dismiss_messages":
            return bool(self._messages or self._unread)
        return super().check_action(action, parameters)

    def action_dismiss_messages(self) -> None:
        """Hide the messages; the comments that are shown have been read."""
        if unread := self._unread:
            self.run_worker(self._mark_read(tuple(comment.serial for comment in unread)))
        self._messages = []
        self._show()

    async def _mark_read(self, serials: tuple[int, ...]) -> None:
        with contextlib.suppress(HostFailedError):  # a lost server is reported elsewhere
            await asyncio.to_thread(self._teacher.mark_read, serials)

    @property
    def _unread(self) -> list[Comment]:
        """The unread comments that are shown now: in an exercise those on it, at most a few at once."""
        shown = self._shown
        unread = [comment for comment in self._comments if not comment.read]
        if isinstance(shown, RunScreen):
            source = self._source if shown.context.source is self._source else None
            name = "" if source is None or source.attempt is None else source.attempt.exercise.name
            unread = [comment for comment in unread if comment.exercise == name]
        return unread[:_MOST_COMMENTS]

    def action_attend(self) -> None:
        """Answer the question of the teacher, or join the lecture."""
        if self._question is not None:
            self._show_question()
        elif self._lecture is not None:
            self._do(self._join(self._lecture))

    @on(TeacherLine.Clicked)
    def click_line(self) -> None:
        """Answer, join or dismiss by a click on the line."""
        if self.check_action("attend", ()):
            self.action_attend()
        else:
            self.action_dismiss_messages()

    # the lecture, and votes in it

    @property
    def _may_join(self) -> bool:
        return self._lecture is not None and not self._is_watching

    @property
    def _is_watching(self) -> bool:
        return self.is_following or any(source is self._watched for source, _ in self._opened)

    def _attend_when_idle(self, lecture: ShownLecture) -> None:
        if self._lecture is not lecture or self._is_watching:
            return
        if self._is_busy or self._vote_dialog is not None:  # wait for the screen of a cluster, or for the vote
            self.set_timer(_POLL_S, lambda: self._attend_when_idle(lecture))
        else:
            self._do(self._join(lecture))

    async def _join(self, lecture: ShownLecture) -> None:
        if lecture.folder:
            await self.attend(lecture.folder, follows=True)
            self._show()
            return
        source = await FeedSource.open(lecture.socket, "viewer")
        source.is_served, source.why_viewer = True, _WHY_VIEWER
        self._watched = source
        await self._push_run(source, None, f"lecture: {lecture.title}", None)
        self._show_message("your teacher's cluster; you can move in time on your own, q returns")
        self._show()

    def _show_tally(self, tally: VoteTally) -> None:
        """Show a closed vote: with its step if the student attends a lecture from a file, else as a message."""
        is_old = tally.step and (self._open_vote is None or tally.serial != self._open_vote.serial)
        self._close_question()
        if tally.step:
            self.close_lecture_vote(tally)
        if not is_old and not (tally.step and self._attendance is not None):
            self._messages = [*self._messages, _format_tally(tally)][-_MOST_KEPT:]
        if not is_old:
            self._show_message("the vote is closed")

    def _open_question(self, question: VoteQuestion) -> None:
        """Ask the student; a vote that goes on after an interruption is not asked about again."""
        self._open_vote = question
        if question.serial != self._answered[0]:
            self._question = question
            if self._attendance is not None:
                self._attendance.own_votes.pop(question.step, None)
            self._show_question()
        self._show_step_text()

    def _show_question(self) -> None:
        question = self._question
        is_opening = self._is_busy or self._turning.locked()  # a screen that would hide the dialog
        self._is_question_due = question is not None and is_opening
        if question is None or is_opening or self._vote_dialog is not None:
            return
        if isinstance(self.focused, Input | TextArea):
            return  # while the student types, a line announces the question

        def answered(choice: str | None) -> None:
            self._vote_dialog = None
            if choice is not None:
                self._question, self._answered = None, (question.serial, "")
                if self._attendance is not None:
                    self._attendance.own_votes[question.step] = choice
                self.run_worker(self._vote(question, question.options.index(choice)))
            self._show_step_text()
            self._show()

        body = [Text(sanitize(question.text))]
        self._vote_dialog = AnswerDialog("your teacher asks the class", body, question.options)
        self.push_screen(self._vote_dialog, answered)

    async def _vote(self, question: VoteQuestion, choice: int) -> None:
        with contextlib.suppress(HostFailedError):  # a lost server is reported elsewhere
            await asyncio.to_thread(self._teacher.vote, question.serial, choice)
            if self._answered[0] == question.serial:
                self._answered = question.serial, question.options[choice]
            self._show_step_text()
            self._show()

    @property
    def _is_asked_in_step(self) -> bool:
        """True if the text of the step on the screen has the question."""
        attendance, question = self._attendance, self._question
        return (
            attendance is not None
            and question is not None
            and isinstance(self._shown, StepScreen)
            and attendance.step.number == question.step
        )

    def _close_question(self) -> None:
        self._question = self._open_vote = None
        if self._vote_dialog is not None:
            self._vote_dialog.dismiss(None)

    # a branch of the lecture, on the server

    async def _branch(self, message: BranchRequested) -> None:
        """Start a branch of the lecture on the server, and show it."""
        attendance = self._attendance
        if attendance is None or message.context.source is not attendance.source:
            await super()._branch(message)
            return
        asked = attendance.folder, attendance.run, message.record
        source = await self.open_branch(message, partial(self._teacher.start_branch, *asked))
        if source is None:
            return
        source.is_served = True
        self._branched = source
        await self.show_branch(message, source, None)

    def _close(self) -> None:
        source, _ = self._opened[-1]
        super()._close()
        if source is self._branched:
            self._branched = None
            self.run_worker(self._end_branch())

    async def _end_branch(self) -> None:
        with contextlib.suppress(HostFailedError):  # a lost server is reported elsewhere
            await asyncio.to_thread(self._teacher.end_branch)

    # drawing

    def _show(self) -> None:
        if not self.screen_stack:  # the application is ending, and this timer is the last to fire
            return
        self.keep_up()
        shown = self._shown
        follows = self.is_following and isinstance(shown, StepScreen)  # not from a branch above it
        if follows != self._reported_following:
            self._reported_following = follows
            self.run_worker(self._report_following(follows))
        if self._is_question_due:
            self._show_question()
        if shown is None or not shown.is_attached:
            return
        lines = self._lines(shown)
        if (shown, lines) == self._drawn or not shown.query(MessageLine):
            return  # a screen that is not composed yet gets its lines at the next poll
        self._drawn = shown, lines
        found = shown.query(TeacherLine)
        if found:
            found.first().put_lines(lines)
        elif lines:
            line = TeacherLine("teacher")
            shown.mount(line, before="#message")
            line.put_lines(lines)
        self.screen.refresh_bindings()

    async def _report_following(self, follows: bool) -> None:
        with contextlib.suppress(HostFailedError):  # a lost server is reported elsewhere
            await asyncio.to_thread(self._teacher.report_following, follows)

    def _lines(self, shown: RunScreen | ListScreen) -> list[Text]:
        styles = self.theme_styles
        lines = []
        if self._is_controlled and isinstance(shown, RunScreen) and shown.context.source is self._source:
            lines.append(Text(_CONTROL, styles.warning))
        if self._question is not None and not self._is_asked_in_step:
            lines.append(
                Text(sanitize(f"your teacher asks: {self._question.text}  (Ctrl+G answers)"), styles.warning)
            )
        if self._open_answer and not isinstance(shown, StepScreen):
            lines.append(Text(sanitize(self._open_answer), styles.accent))
        is_in_it = isinstance(shown, StepScreen) and self._is_attending_now
        if self._lecture is not None and self._may_join and not is_in_it:
            title = sanitize(self._lecture.title)
            lines.append(Text(f"your teacher shows {title}  (Ctrl+G or a click here joins)", styles.accent))
        lines += [Text(sanitize(text), styles.warning) for text in self._messages]
        for comment in self._unread:
            exercise = self._exercises.get(comment.exercise)
            title = sanitize(comment.exercise if exercise is None else exercise.title, 40)
            where = f"your teacher on {title}, attempt {comment.attempt}: "
            lines.append(Text.assemble((where, styles.accent), (sanitize(comment.text), styles.warning)))
        if self._messages or self._unread:
            lines[-1].append("  (Esc dismisses)", styles.accent)
        return lines


def _format_tally(tally: VoteTally) -> str:
    parts = (f"{choice}: {count}" for choice, count in zip(tally.options, tally.votes, strict=True))
    answer = f"; the answer is {tally.answer}" if tally.answer else ""
    return f"{tally.text}  {format_count(sum(tally.votes), 'answer')}: {', '.join(parts)}{answer}"


def show_student(
    home: StudentFolder, clusters: Clusters, exercises: Sequence[Exercise], teacher: Teacher, first: str
) -> int:
    """Show the exercises to a student on a server, and return the exit status.

    The cluster belongs to the server, and continues after the interface has ended.
    """
    return StudentApp(home, clusters, exercises, teacher, first).show()
