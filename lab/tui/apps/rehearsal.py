"""The rehearsal of a lecture: its steps one after the other, each with its text beside its run.

*Next* takes the teacher through what the class will see: the run plays to where the step stops; then the question
of the step is asked; then comes the next step. A step without a run shows its text on the whole screen.
"""

import asyncio
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from lab.exercises.teacher import VoteTally
from lab.lectures.lecture import LectureStep, Question
from lab.lectures.presentation import Presentation
from lab.places import keys_file, settings_file
from lab.styles import DIM
from lab.text import sanitize
from lab.tui.apps.runs_app import RunsApp
from lab.tui.apps.steps import StepScreen, format_steps
from lab.tui.context import show_dialog
from lab.tui.source import FileSource
from lab.tui.user_keys import read_user_keys
from lab.tui.views.exercise_view import markdown_lines
from lab.tui.widgets.dialogs import AnswerDialog, ChoiceDialog, TextDialog

NO_QUESTION = "this step has no question"
_DIALOG_WIDTH = 76
_KEYS = "PgDn next · PgUp back · Ctrl+G ask · F2 notes · F3 steps"


class RehearsalApp(RunsApp):
    """The application of a rehearsal. ``place`` is that of the present step, from 0."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pagedown", "next_step", "next", key_display="PgDn", show=False, priority=True),
        Binding("pageup", "previous_step", "back", key_display="PgUp", show=False, priority=True),
        Binding("ctrl+g", "ask", "ask", key_display="Ctrl+G", show=False, priority=True),
        Binding("f2", "notes", "notes", key_display="F2", show=False, priority=True),
        Binding("f3", "choose_step", "steps", key_display="F3", show=False, priority=True),
    ]

    def __init__(self, presentation: Presentation, place: int = 0, kept: Path | None = None) -> None:
        super().__init__(kept)
        self._kept = None  # the views that a lecture opens are not the user's choice
        self.presentation = presentation
        self.place = place
        self.given: dict[int, str] = {}
        """The teacher's answers, by the number of the step; empty if only the answer was shown."""
        self.tallies: dict[int, VoteTally] = {}
        """The votes of a class, by the number of the step; a rehearsal has none."""
        self._asking: ModalScreen[str] | ModalScreen[None] | ModalScreen[VoteTally] | None = None
        self._shows_notes = False
        self._source: FileSource | None = None
        self._run = -1
        self._opening = asyncio.Lock()
        """A screen is opened to its end, or the next step would not know which is shown."""

    @property
    def keys(self) -> str:
        """The keys in the frame of the text."""
        return _KEYS

    @property
    def step(self) -> LectureStep:
        """The present step."""
        return self.presentation.steps[self.place]

    def on_mount(self) -> None:
        self._begin(self.place, plays=True)

    def on_unmount(self) -> None:
        if self._source is not None:
            self._source.close()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave the keys of this class to whatever is above the step: a dialog, or a branch."""
        own = action in ("next_step", "previous_step", "ask", "notes", "choose_step")
        if own and not isinstance(self.screen, StepScreen):
            return action == "next_step" and self.screen is self._asking
        return super().check_action(action, parameters)

    # actions

    def action_next_step(self) -> None:
        """Scroll its text, go to where the step stops, then to its question and answer, then to the next step."""
        if self._asking is not None and self.screen is self._asking:
            self._leave_question()
            return
        screen, stop = self.screen, self.presentation.stop_of(self.step)
        assert isinstance(screen, StepScreen)
        if screen.panel.turn_page(1):
            return
        if stop is not None and screen.context.player.number < stop.record:
            screen.context.player.go(stop.record)
            screen.draw()
        elif self.step.question is not None and self.step.number not in self.given:
            self.action_ask()
        elif self.place + 1 < len(self.presentation.steps):
            self._begin(self.place + 1, plays=True)
        else:
            screen.context.notify("that was the last step; {quit} leaves")

    def action_previous_step(self) -> None:
        """Scroll its text back, then go back to where the step before stops."""
        if self.place and not (isinstance(self.screen, StepScreen) and self.screen.panel.turn_page(-1)):
            self._begin(self.place - 1, plays=False)

    def action_choose_step(self) -> None:
        """Choose a step from the list of all."""
        options = format_steps(self.presentation, len(self.presentation.steps))
        dialog = ChoiceDialog(self.presentation.title, [Text("go to a step", DIM)], list(options))
        show_dialog(self, dialog, lambda chosen: self._begin(options[chosen], plays=False))

    def action_notes(self) -> None:
        """Show or hide the notes of each step."""
        self._shows_notes = not self._shows_notes
        self._show_text()

    def action_ask(self) -> None:
        """Ask the question of the step, as the class will be asked."""
        step, question = self.step, self.step.question
        if question is None:
            self._show_message(NO_QUESTION)
            return
        body = markdown_lines(question.text, _DIALOG_WIDTH, self.theme_styles)
        self._asking = dialog = AnswerDialog(f"step {step.number}: a question", body, question.options)
        show_dialog(self, dialog, lambda answer: self._show_answer(step.number, question, answer))

    def _show_answer(self, number: int, question: Question, answer: str) -> None:
        """Show whether this is the answer; if it is empty, what the answer is."""
        self.given[number] = answer
        is_wrong = answer != "" and not question.accepts(answer)
        body = markdown_lines(question.explanation, _DIALOG_WIDTH, self.theme_styles)
        if is_wrong:
            given = f"wrong: {answer}; correct is {question.answer}"
        else:
            given = f"{'right' if answer else 'the answer'}: {question.answer}"
        style = self.theme_styles.warning if is_wrong else self.theme_styles.accent
        self._asking = TextDialog(question.text, [Text(sanitize(given, 200), style), Text(), *body])
        show_dialog(self, self._asking, None)

    def _leave_question(self) -> None:
        """Leave the question for its answer, or the answer for the next step: a remote control has one key."""
        dialog, step = self._asking, self.step
        assert dialog is not None
        dialog.dismiss(None)
        if isinstance(dialog, AnswerDialog) and step.question is not None:
            self._show_answer(step.number, step.question, "")
        elif self.place + 1 < len(self.presentation.steps):
            self._begin(self.place + 1, plays=True)

    # steps

    def _begin(self, place: int, plays: bool) -> None:
        self.run_worker(self._go(place, plays))

    async def _go(self, place: int, plays: bool) -> None:
        async with self._opening:
            self.place = place
            await self._open_run()
            self._show_text()
            screen, step = self.screen, self.step
            if isinstance(screen, StepScreen):
                screen.show_step(step, self.presentation.begin_of(step), self.presentation.stop_of(step), plays)
            self.refresh_bindings()

    async def _open_run(self) -> None:
        """Show the run of the step, if another one is shown."""
        recorded, run = self.presentation.run_of(self.step), self.step.run or 0
        if run == self._run:
            return
        before, self._run = self._source, run
        source = self._source = FileSource(Path(recorded.file))
        await self.replace_run(self.new_screen(StepScreen, source, self.presentation.title), before)

    def _show_text(self) -> None:
        screen, step = self.screen, self.step
        if not isinstance(screen, StepScreen):
            return
        asks = f"\n\n*A question: {step.question.text.strip()}*" if step.question is not None else ""
        notes = (step.notes or "*This step has none.*") if self._shows_notes else ""
        screen.panel.show_keys(self.keys)
        screen.show_text(self.presentation, step, f"{step.text}{asks}", notes, self.tallies.get(step.number))


def rehearse(presentation: Presentation, place: int) -> int:
    """Rehearse the lecture from the step at this place on, and return the exit status."""
    return RehearsalApp(presentation, place, settings_file()).show(read_user_keys(keys_file()))
