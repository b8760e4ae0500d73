"""A student in a lecture from a file: following the teacher, looking around alone, and reading it afterwards.

A student sees the recordings themselves, up to the last record that the teacher has shown. So whoever comes late
has all that was shown, and moves in it without disturbing anybody.
"""

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType

from lab.exercises.attempts import Clusters, StudentFolder
from lab.exercises.exercise import Exercise
from lab.exercises.teacher import LecturePosition, PastLecture, ShownLecture, VoteQuestion, VoteTally
from lab.lectures.lecture import LectureStep
from lab.lectures.presentation import (
    LectureProgress,
    Presentation,
    PresentationError,
    Stop,
    read_presentation,
    read_progress,
)
from lab.recording.reader import NotARecordingError
from lab.styles import DIM
from lab.text import sanitize
from lab.tui.apps.classroom_app import ClassroomApp
from lab.tui.apps.exercise_list import ListScreen
from lab.tui.apps.steps import StepScreen, format_steps
from lab.tui.context import show_dialog
from lab.tui.player import Player
from lab.tui.source import PrefixSource
from lab.tui.widgets.dialogs import ChoiceDialog

_KEYS_FOLLOWING = "following · PgUp PgDn F3 look around · q leaves"
_KEYS_ALONE = "Ctrl+G follows again · PgDn next · PgUp back · F3 steps"
_KEYS_AFTERWARDS = "PgDn next · PgUp back · F3 steps · q leaves"


class Attendance:
    """A lecture on the student's screen: the step at this ``place``, of those up to the place ``reached``.

    ``shown`` is the last record of each run that may be seen. ``follows``: the screen goes where the teacher goes.
    """

    def __init__(self, folder: str, presentation: Presentation, progress: LectureProgress, follows: bool) -> None:
        self.folder = folder
        self.presentation = presentation
        self.tallies = dict(progress.tallies)
        self.own_votes: dict[int, str] = {}
        self.follows = follows
        self.place = 0
        self.reached = 0
        self.shown: tuple[int, ...] = ()
        self.followed: LecturePosition | None = None
        self.expected = 0, 0
        """The moves of the cursor, and its record, if the student has not moved it."""
        self.source: PrefixSource | None = None
        self.run = -1
        self.allow(progress.position)

    @property
    def step(self) -> LectureStep:
        """The step that is shown."""
        return self.presentation.steps[self.place]

    def allow(self, position: LecturePosition) -> None:
        """Note what the teacher has shown so far."""
        self.reached = max(self.reached, position.reached)
        self.shown = position.shown or self.shown

    def was_left(self, player: Player) -> bool:
        """Return whether the student has moved the cursor in time since it last followed."""
        jumps, record = self.expected
        return player.jumps != jumps and player.number != record

    def stop_of(self, step: LectureStep) -> Stop | None:
        """Return where a step stops, or the last record that may be seen before that; None if it shows no run."""
        stop = self.presentation.stop_of(step)
        shown = self.shown[step.run or 0] if self.shown else 0
        return stop if stop is None or stop.record <= shown else Stop(shown, stop.at_us)


class AttendingApp(ClassroomApp):
    """The exercises, and above them a lecture of the teacher's: the one in progress, or one from the past."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pagedown", "next_step", "next", key_display="PgDn", show=False, priority=True),
        Binding("pageup", "previous_step", "back", key_display="PgUp", show=False, priority=True),
        Binding("f3", "choose_step", "steps", key_display="F3", show=False, priority=True),
        Binding("f3", "choose_lecture", "lectures", key_display="F3"),
    ]

    def __init__(
        self, home: StudentFolder, clusters: Clusters, exercises: Sequence[Exercise], is_served: bool, first: str
    ) -> None:
        super().__init__(home, clusters, exercises, is_served, first)
        self._lecture: ShownLecture | None = None
        self._position: LecturePosition | None = None
        self._tallies: dict[int, VoteTally] = {}
        self._question: VoteQuestion | None = None
        """The question that the student has not answered."""
        self._open_vote: VoteQuestion | None = None
        """The question of the vote that is open, answered or not."""
        self._answered = 0, ""
        """The serial of the last question that was answered, and the answer once the server has it."""
        self._attendance: Attendance | None = None
        self._past: tuple[PastLecture, ...] = ()
        self._turning = asyncio.Lock()
        """One move after the other: a screen is opened to its end."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave the keys of a lecture to whatever is above its step."""
        if action in ("next_step", "previous_step", "choose_step"):
            return self._attendance is not None and isinstance(self.screen, StepScreen)
        if action == "choose_lecture":
            return bool(self._past) and isinstance(self.screen, ListScreen)
        return super().check_action(action, parameters)

    # the lecture in progress

    def begin_lecture(self, lecture: ShownLecture) -> None:
        """Note that a lecture has begun, has gone on, or is over, without a socket and a folder."""
        self._lecture = lecture if lecture.is_on else None
        self._position, self._tallies = None, {}
        if self._attendance is not None:
            self._show_step_text()
            if not lecture.is_on:
                ending = "interrupted: wait for your teacher" if lecture.interrupted else "over: q leaves it"
                self._show_message(f"the lecture is {ending}, or turn its steps with PgUp and PgDn")

    def move_lecture(self, position: LecturePosition) -> None:
        """Go where the teacher is, if the student follows."""
        self._position = position
        self.keep_up()
        if self._attendance is not None and self._is_attending_now:
            self._attendance.allow(position)
            self.run_worker(self._follow())

    def close_lecture_vote(self, tally: VoteTally) -> None:
        """Show the result of a vote with its step."""
        self._tallies[tally.step] = tally
        if self._attendance is not None and self._is_attending_now:
            self._attendance.tallies[tally.step] = tally
            self._show_step_text()

    @property
    def _open_answer(self) -> str:
        """The student's answer to the vote that is open, as a line; empty without one."""
        serial, choice = self._answered
        if self._open_vote is None or self._open_vote.serial != serial or not choice:
            return ""
        return f"your answer: {choice}; the result appears when the vote closes"

    @property
    def is_following(self) -> bool:
        """True while the screen goes where the teacher goes."""
        attendance = self._attendance
        return attendance is not None and attendance.follows and self._is_attending_now

    @property
    def _is_attending_now(self) -> bool:
        """True if the lecture on the screen is the one in progress."""
        lecture, attendance = self._lecture, self._attendance
        return attendance is not None and lecture is not None and attendance.folder == lecture.folder

    def keep_up(self) -> None:
        """Stop following once the student has moved the cursor in time; catch up after a branch."""
        attendance, screen = self._attendance, self.screen
        if attendance is None or not self.is_following or not isinstance(screen, StepScreen):
            return
        if self._turning.locked():
            return
        if attendance.was_left(screen.context.player):
            attendance.follows = False
            self._show_step_text()
        elif attendance.followed != self._position:
            self.run_worker(self._follow())

    async def attend(self, folder: str, follows: bool) -> None:
        """Show the lecture in this folder: where the teacher is, or from its first step."""
        try:
            await self._attend(folder, follows)
        except (PresentationError, NotARecordingError) as error:
            self._show_message(f"the lecture cannot be shown: {error}; tell your teacher", warn=True)

    async def _attend(self, folder: str, follows: bool) -> None:
        if self._attendance is not None and not isinstance(self.screen, StepScreen):
            self._show_message("the lecture is below this run: q goes back to it", warn=True)
            return
        if self._attendance is None or self._attendance.folder != folder:
            path = Path(folder)
            source = None if self._attendance is None else self._attendance.source
            progress = read_progress(path)
            self._attendance = Attendance(folder, read_presentation(path), progress, follows)
            self._attendance.source = source
        attendance = self._attendance
        attendance.follows = follows
        attendance.followed = None
        if self._is_attending_now:
            attendance.tallies |= self._tallies
        if follows and self._position is not None:
            attendance.allow(self._position)
            await self._follow()
        else:
            await self._show_step(0, plays=False, follows=follows)  # the teacher's first position is still to come

    async def _follow(self) -> None:
        """Bring the screen to where the teacher is."""
        async with self._turning:
            attendance, position = self._attendance, self._position
            if attendance is None or position is None or not self.is_following:
                return
            if attendance.source is not None and not isinstance(self._shown, StepScreen):
                return  # a branch is above it
            before, attendance.followed = attendance.followed, position
            on_screen, place = self._shown, attendance.place
            attendance.place = position.place
            screen = await self._open_run(attendance)
            if screen is None:
                return
            if before is not None and screen is on_screen and attendance.was_left(screen.context.player):
                attendance.follows, attendance.place = False, place  # meanwhile
                self._show_step_text()
                return
            stop = attendance.presentation.stop_of(attendance.step)
            is_new = before is None or before.place != position.place
            if stop is not None and (is_new or _time_of(before) != _time_of(position)):
                ends = stop.record if position.plays else position.record
                screen.play(position.record, ends, position.speed, position.plays)
                attendance.expected = screen.context.player.jumps, ends
            if stop is not None and (is_new or before is None or before.view != position.view):
                screen.point_at(position.view, None)
            if before is None or before.node != position.node:
                screen.point_at("", position.node)
            self._show_step_text()

    # on one's own

    def action_next_step(self) -> None:
        """Scroll its text, then go to where the step stops, then to the next step that was shown."""
        attendance, screen = self._attendance, self.screen
        assert attendance is not None
        assert isinstance(screen, StepScreen)
        stop = attendance.stop_of(attendance.step)
        if screen.panel.turn_page(1):
            return
        if not attendance.follows and stop is not None and screen.context.player.number < stop.record:
            screen.play(stop.record, None, 1.0, plays=False)
        elif attendance.place < min(attendance.reached, len(attendance.presentation.steps) - 1):
            self.run_worker(self._show_step(attendance.place + 1, plays=True))
        else:
            self._show_message("this is the last step that was shown")

    def action_previous_step(self) -> None:
        """Scroll its text back, then go back to where the step before stops."""
        attendance, screen = self._attendance, self.screen
        assert attendance is not None
        assert isinstance(screen, StepScreen)
        if attendance.place and not screen.panel.turn_page(-1):
            self.run_worker(self._show_step(attendance.place - 1, plays=False))

    def action_choose_step(self) -> None:
        """Choose one of the steps that were shown."""
        assert self._attendance is not None
        presentation = self._attendance.presentation
        options = format_steps(presentation, self._attendance.reached + 1)
        dialog = ChoiceDialog(presentation.title, [Text("go to a step", DIM)], list(options))
        show_dialog(self, dialog, lambda chosen: self.run_worker(self._show_step(options[chosen], plays=False)))

    def action_choose_lecture(self) -> None:
        """Choose a lecture that was given."""
        options = {
            f"{each.date}  {each.title}{'' if place else ' (the latest)'}": each
            for place, each in enumerate(reversed(self._past))
        }
        dialog = ChoiceDialog("lectures", [Text("what was shown of a lecture", DIM)], list(options))
        show_dialog(self, dialog, lambda chosen: self._do(self.attend(options[chosen].folder, follows=False)))

    async def _show_step(self, place: int, plays: bool, follows: bool = False) -> None:
        """Show a step, whatever the teacher shows now."""
        async with self._turning:
            attendance = self._attendance
            if attendance is None:
                return
            attendance.follows, attendance.place = follows, place
            screen = await self._open_run(attendance)
            if screen is not None:
                step = attendance.step
                screen.show_step(step, attendance.presentation.begin_of(step), attendance.stop_of(step), plays)
                attendance.expected = screen.context.player.jumps, screen.context.player.number
                self._show_step_text()

    # the screen

    async def _open_run(self, attendance: Attendance) -> StepScreen | None:
        """Return the screen with the run of the step, as far as it may be seen; None if there is none any more."""
        step, before = attendance.step, attendance.source
        run = step.run or 0
        shown = attendance.shown[run] if attendance.shown else 0
        if run == attendance.run and before is not None:
            await before.extend(shown)
            return self._shown if isinstance(self._shown, StepScreen) else None
        with ExitStack() as until_open:
            source = until_open.enter_context(closing(PrefixSource(Path(attendance.presentation.runs[run].file))))
            source.is_served, source.may_branch = self._is_served, True
            await source.extend(shown)
            until_open.pop_all()
        attendance.run, attendance.source = run, source
        screen = self.new_screen(StepScreen, source, attendance.presentation.title)
        if before is not None:
            self._opened.pop()
        self._opened.append((source, None))
        await self.replace_run(screen, before)
        return screen

    def _close(self) -> None:
        source, _ = self._opened[-1]
        super()._close()
        if self._attendance is not None and self._attendance.source is source:
            self._attendance = None

    def _show_step_text(self) -> None:
        """Show the text of the step; with its question once that was asked, and the answer after the vote."""
        attendance, screen = self._attendance, self._shown
        if attendance is None or not isinstance(screen, StepScreen):
            return
        step, parts = attendance.step, [attendance.step.text]
        question, is_now = step.question, self._is_attending_now
        is_open = is_now and self._open_vote is not None and self._open_vote.step == step.number
        is_asked = is_open and self._question is not None
        tally = None if is_open else attendance.tallies.get(step.number)  # nothing of an earlier vote
        own = attendance.own_votes.get(step.number, "")
        if question is not None and (tally is not None or is_open or own or not is_now):
            parts.append(f"*{question.text.strip()}*{'  (Ctrl+G answers)' if is_asked else ''}")
        if question is not None and tally is None and not is_now:
            options = "\n".join(f"- {option}" for option in question.options)
            parts += [options, f"The answer: **{question.answer}**. {question.explanation}"]
        keys = _KEYS_FOLLOWING if self.is_following else _KEYS_ALONE if is_now else _KEYS_AFTERWARDS
        screen.panel.show_keys(" · ".join(filter(None, (sanitize(self._open_answer), keys))))
        screen.show_text(attendance.presentation, step, "\n\n".join(parts), tally=tally, own_vote=own)


def _time_of(position: LecturePosition | None) -> tuple[int, bool, float] | None:
    return None if position is None else (position.record, position.plays, position.speed)
