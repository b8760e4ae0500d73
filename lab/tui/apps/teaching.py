"""A lecture from a file, given to a class: the rehearsal's screen, with the class looking on, and votes.

The class is shown where the teacher is by what stands on the teacher's screen, several times a second, so whatever
key moves it moves the class. A branch that the teacher tries stays on this screen alone.
"""

import asyncio
import time
from pathlib import Path
from typing import Protocol

from rich.text import Text

from lab.exercises.teacher import Audience, LecturePosition, ServerAdminError, ServerGoneError, VoteTally
from lab.lectures.lecture import Question
from lab.lectures.presentation import LectureProgress, Presentation
from lab.places import keys_file, settings_file
from lab.tui.apps.lecture import LectureControl, TallyDialog
from lab.tui.apps.rehearsal import NO_QUESTION, RehearsalApp
from lab.tui.apps.steps import StepScreen, format_result
from lab.tui.context import show_dialog
from lab.tui.controllers.branching import LeaveRequested
from lab.tui.user_keys import read_user_keys
from lab.tui.widgets.dialogs import ROOM, ChoiceDialog, TextDialog
from lab.units import format_count

_SAMPLE_S = 0.2
_REPEAT_S = 2.0
"""The period at which the class is counted, and a server that has gone is sought."""
_OVER = "it is over; students find what was shown in their list"
_GOES_ON = "go on later: the same command begins at this step"
_GONE = "the server has gone: the class sees nothing, and an open vote is lost; start it again, and this goes on"
_BACK = "the server is back; students who log in again see this step"


class TeachingControl(LectureControl, Protocol):
    """A connection to the class of a lecture from a file."""

    def show_position(self, position: LecturePosition) -> Audience:
        """Show the class where the teacher is; return who is there."""

    def end_lecture(self) -> None:
        """Note that the lecture is over, and will not go on."""

    def connect_again(self) -> None:
        """Connect again after the server has gone, and show the lecture to the class."""


class TeachingApp(RehearsalApp):
    """The application of a teacher who gives a lecture; ``progress`` is how far it was given before.

    ``notice`` is shown on its first step.
    """

    def __init__(
        self,
        presentation: Presentation,
        progress: LectureProgress,
        place: int,
        control: TeachingControl,
        kept: Path | None = None,
        notice: str = "",
    ) -> None:
        super().__init__(presentation, place, kept)
        self._notice = notice
        self._control = control
        self.tallies = dict(progress.tallies)
        self.given = dict.fromkeys(self.tallies, "")
        shown = progress.position.shown or (0,) * len(presentation.runs)
        self._sent = LecturePosition(reached=progress.position.reached, shown=shown)
        self._jumps = -1  # nothing is shown yet
        self._audience = Audience(0, 0)
        self._is_in_hall = False
        self._failure = ""
        self._is_server_gone = False
        self._leaving: ChoiceDialog | None = None

    @property
    def keys(self) -> str:
        """The number of students who follow, and the keys; or why the class sees nothing."""
        if self._failure:
            return self._failure
        students = format_count(self._audience.students, "student")
        return f"{self._audience.following} of {students} follow · {super().keys}"

    def on_mount(self) -> None:
        super().on_mount()
        self.run_worker(self._show_class())
        self.run_worker(self._resume_vote())
        if self._notice:
            self.run_worker(self._show_notice())

    async def _show_notice(self) -> None:
        async with self._opening:  # until the screen of the step is open
            self._show_message(self._notice)

    async def leave_lowest(self, message: LeaveRequested) -> None:
        """Leave the lecture; ask first whether it is over."""
        self._ask_to_leave()

    def action_help_quit(self) -> None:
        """Ask on Ctrl-C, too; pressed again, it leaves the lecture for later."""
        if self.screen is self._leaving:
            super().action_help_quit()
        else:
            self._ask_to_leave()

    def _ask_to_leave(self) -> None:
        body = [Text("The class sees nothing more for now.")]
        self._leaving = dialog = ChoiceDialog("leave the lecture?", body, [_GOES_ON, _OVER], "Esc cancels")
        show_dialog(self, dialog, lambda choice: self.run_worker(self._leave(choice == _OVER)))

    async def _leave(self, is_over: bool) -> None:
        if is_over:
            try:
                await asyncio.to_thread(self._control.end_lecture)
            except ServerAdminError as error:
                self.failure = f"the lecture is not marked as over: {error}"
        self.exit(return_code=0)

    # what the class sees

    async def _show_class(self) -> None:
        """Show the class what is on the screen, for as long as this application runs."""
        shown_s = 0.0
        while True:
            position = self._position()
            is_due = position != self._sent or time.monotonic() >= shown_s + _REPEAT_S
            if is_due and self._jumps >= 0:
                shown_s = time.monotonic()
                await self._send(position)
            await asyncio.sleep(_SAMPLE_S)

    async def _send(self, position: LecturePosition) -> None:
        had_failed, before = bool(self._failure), self._audience
        try:
            if self._is_server_gone:
                await asyncio.to_thread(self._control.connect_again)
            self._audience = await asyncio.to_thread(self._control.show_position, position)
        except ServerAdminError as error:
            self._is_server_gone = self._is_server_gone or isinstance(error, ServerGoneError)
            failure = _GONE if isinstance(error, ServerGoneError) else f"the class does not see this: {error}"
            if failure != self._failure:
                self._show_message(failure, warn=True)
            self._failure = failure
            self._show_keys()
            return
        self._sent, self._failure = position, ""
        if self._is_server_gone:
            self._is_server_gone = False
            self._show_message(_BACK)
            await self._resume_vote()
        if self._audience != before or had_failed:
            self._show_keys()

    def _show_keys(self) -> None:
        if (screen := self._step_screen) is not None:
            screen.panel.show_keys(self.keys)

    @property
    def _step_screen(self) -> StepScreen | None:
        """The screen of the step, unless a branch is above it or another run is being opened."""
        top = self.top_run
        return top if isinstance(top, StepScreen) and top.is_ready and not self._opening.locked() else None

    def _position(self) -> LecturePosition:
        """Return where the screen is; where it was, if it does not show a step now."""
        screen, sent = self._step_screen, self._sent
        if screen is None:
            return sent
        context, player = screen.context, screen.context.player
        stops_at = player.stops_at
        plays = player.playing and stops_at is not None and player.number < stops_at
        is_same_play = plays and sent.plays and (sent.place, self._jumps) == (self.place, player.jumps)
        self._jumps = player.jumps
        shown = self._shown_before_step()
        run, last = self.step.run or 0, stops_at if plays and stops_at is not None else player.number
        shown[run] = max(shown[run], last)
        return LecturePosition(
            self.place,
            sent.record if is_same_play else player.number,
            plays,
            player.speed,
            screen.views.chosen,
            context.selected,
            max(sent.reached, self.place),
            tuple(shown),
        )

    def _shown_before_step(self) -> list[int]:
        """Return the last record that the class may see of each run, those of a step that was skipped included."""
        shown = list(self._sent.shown)
        for step in self.presentation.steps[: self.place]:
            if (stop := self.presentation.stop_of(step)) is not None:
                shown[step.run or 0] = max(shown[step.run or 0], stop.record)
        return shown

    # votes

    def action_ask(self) -> None:
        """Ask the class the question of the step, or show the votes on the present one."""
        self.run_worker(self._ask_or_show(self.step.number, self.step.question))

    async def _ask_or_show(self, number: int, question: Question | None) -> None:
        try:
            await asyncio.to_thread(self._control.tally)
        except ServerAdminError:  # no vote is open
            if question is None:
                self._show_message(NO_QUESTION)
                return
            try:
                asked = question.text, question.options, number, question.answer, question.explanation
                await asyncio.to_thread(self._control.ask, *asked)
            except ServerAdminError as error:
                self._show_message(f"the class was not asked: {error}", warn=True)
                return
            self._hide_result(number)
        dialog = self._asking = TallyDialog(self._control, self.theme_styles, self._is_in_hall)
        show_dialog(self, dialog, lambda tally: self._show_result(tally, dialog.has_class("hall")))

    async def _resume_vote(self) -> None:
        """Report a vote that was open when the lecture was interrupted: it goes on."""
        try:
            tally = await asyncio.to_thread(self._control.tally)
        except ServerAdminError:  # no vote is open
            return
        async with self._opening:  # until the screen of the step is open
            self._hide_result(tally.step)
            votes = format_count(sum(tally.votes), "answer")
            self._show_message(f"the vote of step {tally.step} is still open, with {votes}: Ctrl+G shows it")

    def _hide_result(self, number: int) -> None:
        """Hide the result of an earlier vote on this step: the class votes again."""
        self.given.pop(number, None)
        self.tallies.pop(number, None)
        self._show_text()

    def _show_result(self, tally: VoteTally, is_in_hall: bool) -> None:
        """Show the closed vote with the answer, as the class sees it."""
        self._is_in_hall = is_in_hall
        self.given[tally.step] = ""
        self.tallies[tally.step] = tally
        self._show_text()
        result = format_result(tally, ROOM, self.theme_styles)
        self._asking = dialog = TextDialog(tally.text, list(result))
        show_dialog(self, dialog, None)

    def _leave_question(self) -> None:
        """Close the vote, in two presses, or leave its result for the next step."""
        if isinstance(self._asking, TallyDialog):
            self._asking.action_close_vote()
        else:
            super()._leave_question()


def give_lecture(
    presentation: Presentation, progress: LectureProgress, place: int, control: TeachingControl, notice: str = ""
) -> int:
    """Give the lecture to the class from the step at this place on, and return the exit status."""
    app = TeachingApp(presentation, progress, place, control, settings_file(), notice)
    return app.show(read_user_keys(keys_file()))
