"""The rehearsal of a lecture: its steps one after the other, each with its text beside its run.

*Next* takes the teacher through what the class will see: the run plays to where the step stops; then the question
of the step is asked; then comes the next step. A step without a run shows its text on the whole screen.
"""

import asyncio
from pathlib import Path
from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from lab.lectures.lecture import Question, Step
from lab.lectures.recorded_lecture import RecordedLecture, Stop
from lab.places import keys_file, settings_file
from lab.styles import DIM, ThemeStyles
from lab.text import sanitize
from lab.tui.apps.runs_app import RunsApp
from lab.tui.context import show_dialog
from lab.tui.controllers.layout import LayoutSettings
from lab.tui.player import SPEEDS
from lab.tui.screen import RunScreen
from lab.tui.source import FileSource
from lab.tui.user_keys import UserKeys, read_user_keys
from lab.tui.views.exercise_view import markdown_lines
from lab.tui.widgets.dialogs import AnswerDialog, ChoiceDialog, TextDialog

_SIDE_BY_SIDE_WIDTH = 110
"""The least columns for the text beside the run; below that, it is above it."""
_SHARE_ABOVE, _LEAST_ABOVE = 0.4, 5
_DIALOG_WIDTH = 76
_LONGEST_PLAY_US = 6_000_000
"""The real time that a run may take to where it stops."""
_KEYS = "PgDn next · PgUp back · Ctrl+G ask · F2 notes · F3 steps"


def play_speed(span_us: int) -> float:
    """Return the least speed at which this much of a run is played soon enough."""
    return next((speed for speed in SPEEDS if span_us <= _LONGEST_PLAY_US * speed), SPEEDS[-1])


class StepPanel(VerticalScroll):
    """The text of a step, in a frame with its number and title; with its notes, if they are wanted."""

    DEFAULT_CSS = """
    StepPanel { border: round $accent; padding: 0 1; background: $background; }
    StepPanel Static { height: auto; }
    """

    def __init__(self, styles: ThemeStyles) -> None:
        super().__init__(id="step", can_focus=False)
        self._styles = styles
        self._text = self._notes = ""

    def compose(self) -> ComposeResult:
        yield Static(id="step-text", markup=False)

    def show(self, title: str, text: str, notes: str) -> None:
        """Show these texts, in Markdown; without ``notes``, none are shown."""
        self.border_title = Content(title)
        self.border_subtitle = Content(_KEYS)
        self._text, self._notes = text, notes
        self.scroll_home(animate=False)
        self._draw()

    @property
    def best_rows(self) -> int:
        """The rows that show all of it, with its frame."""
        return len(self._lines()) + 2

    def on_resize(self, event: events.Resize) -> None:
        self._draw()

    def _lines(self) -> list[Text]:
        width = max(20, self.size.width - 3)
        lines = markdown_lines(self._text, width, self._styles)
        if self._notes:
            notes = markdown_lines(self._notes, width, self._styles)
            lines += [Text(), Text("notes", self._styles.warning + Style(bold=True)), *notes]
        return lines

    def _draw(self) -> None:
        self.query_one(Static).update(Text("\n").join(self._lines()))


class StepScreen(RunScreen):
    """The screen of a run, with the text of a step of a lecture beside or above it, or in its place."""

    DEFAULT_CSS = """
    StepScreen StepPanel { dock: left; width: 40%; max-width: 66; height: 100%; }
    StepScreen.above StepPanel { dock: top; width: 100%; max-width: 100%; }
    StepScreen.text-only StepPanel { layer: above; width: 100%; max-width: 100%; height: 100%; }
    """

    def __init__(
        self, source: FileSource, styles: ThemeStyles, title: str, layout: LayoutSettings, keys: UserKeys
    ) -> None:
        super().__init__(source, styles, title, at=0, layout=layout, keys=keys)
        self.panel = StepPanel(styles)
        self.context.hides_future = True

    def compose(self) -> ComposeResult:
        yield self.panel
        yield from super().compose()

    def on_resize(self, event: events.Resize) -> None:
        self.fit_panel()

    def fit_panel(self) -> None:
        """Put the text beside the run if there is room, else above it, and give the run the rest."""
        width, height = self.size
        is_narrow = width < _SIDE_BY_SIDE_WIDTH
        self.set_class(is_narrow, "above")
        rows = min(self.panel.best_rows, max(_LEAST_ABOVE, round(height * _SHARE_ABOVE)))
        is_above = is_narrow and not self.has_class("text-only")
        self.panel.styles.height = rows if is_above else "100%"
        self.layout_controller.reserved_rows = rows if is_above else 0
        self.layout_controller.fit()

    def show_step(self, step: Step, begin: Stop, stop: Stop | None, plays: bool) -> None:
        """Show the run of a step: from where it begins if it ``plays``, else where it stops."""
        player = self.context.player
        self.set_class(stop is None, "text-only")
        self.fit_panel()
        if stop is None:
            return
        player.stops_at = stop.record
        player.go(begin.record if plays else stop.record)
        player.speed = play_speed(stop.at_us - begin.at_us)
        player.playing = plays
        if step.node is not None:
            self.context.selected = step.node
        if step.view and step.view != self.views.chosen:
            self.layout_controller.show_view(step.view)
        self.draw()


class RehearsalApp(RunsApp):
    """The application of a rehearsal. ``place`` is that of the present step, from 0."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pagedown", "next_step", "next", key_display="PgDn", show=False, priority=True),
        Binding("pageup", "previous_step", "back", key_display="PgUp", show=False, priority=True),
        Binding("ctrl+g", "ask", "ask", key_display="Ctrl+G", show=False, priority=True),
        Binding("f2", "notes", "notes", key_display="F2", show=False, priority=True),
        Binding("f3", "choose_step", "steps", key_display="F3", show=False, priority=True),
    ]

    def __init__(self, recorded: RecordedLecture, place: int = 0, kept: Path | None = None) -> None:
        super().__init__(kept)
        self._kept = None  # the views that a lecture opens are not the user's choice
        self._recorded = recorded
        self.place = place
        self.given: dict[int, str] = {}
        """What the teacher answered, by the number of the step; empty if only the answer was shown."""
        self._asking: AnswerDialog | TextDialog | None = None
        self._shows_notes = False
        self._source: FileSource | None = None
        self._run = -1
        self._opening = asyncio.Lock()
        """A screen is opened to its end, or the next step would not know which is shown."""

    @property
    def step(self) -> Step:
        """The present step."""
        return self._recorded.lecture.steps[self.place]

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
        if action == "ask":
            return self.step.question is not None
        return super().check_action(action, parameters)

    # actions

    def action_next_step(self) -> None:
        """Go to where the step stops, then to its question and its answer, then to the next step."""
        if self._asking is not None and self.screen is self._asking:
            self._leave_question(self._asking)
            return
        screen, stop = self.screen, self._recorded.stop_of(self.step)
        assert isinstance(screen, StepScreen)
        if stop is not None and screen.context.player.number < stop.record:
            screen.context.player.go(stop.record)
            screen.draw()
        elif self.step.question is not None and self.step.number not in self.given:
            self.action_ask()
        elif self.place + 1 < len(self._recorded.lecture.steps):
            self._begin(self.place + 1, plays=True)
        else:
            screen.context.notify("that was the last step; {quit} leaves")

    def action_previous_step(self) -> None:
        """Go back to where the step before stops."""
        if self.place:
            self._begin(self.place - 1, plays=False)

    def action_choose_step(self) -> None:
        """Choose a step from the list of all."""
        steps = self._recorded.lecture.steps
        titles = [f"{step.title}{' (a question)' if step.question else ''}" for step in steps]
        options = {
            title if titles.count(title) == 1 else f"{title} (step {place + 1})": place
            for place, title in enumerate(titles)
        }
        dialog = ChoiceDialog(self._recorded.lecture.title, [Text("go to a step", DIM)], list(options))
        show_dialog(self, dialog, lambda chosen: self._begin(options[chosen], plays=False))

    def action_notes(self) -> None:
        """Show or hide the notes of each step."""
        self._shows_notes = not self._shows_notes
        self._show_text()

    def action_ask(self) -> None:
        """Ask the question of the step, as the class will be asked."""
        step = self.step
        if step.question is None:
            return
        question = step.question
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

    def _leave_question(self, dialog: AnswerDialog | TextDialog) -> None:
        """Leave the question for its answer, or the answer for the next step: a remote control has one key."""
        dialog.dismiss(None)
        step = self.step
        if isinstance(dialog, AnswerDialog) and step.question is not None:
            self._show_answer(step.number, step.question, "")
        elif self.place + 1 < len(self._recorded.lecture.steps):
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
                screen.show_step(step, self._recorded.begin_of(step), self._recorded.stop_of(step), plays)
            self.refresh_bindings()

    async def _open_run(self) -> None:
        """Show the run of the step, if another one is shown."""
        recorded, run = self._recorded.run_of(self.step), self.step.run or 0
        if run == self._run:
            return
        before, self._run = self._source, run
        source = self._source = FileSource(recorded.file)
        self.theme_styles.dark = self.current_theme.dark
        title = self._recorded.lecture.title
        screen = StepScreen(source, self.theme_styles, title, self.layout_settings, self.user_keys)
        if before is None:
            await self.push_screen(screen)
        else:
            await self.deactivate_run()
            await self.switch_screen(screen)
            before.close()

    def _show_text(self) -> None:
        screen, step = self.screen, self.step
        if not isinstance(screen, StepScreen):
            return
        title = f"{step.number}/{len(self._recorded.lecture.steps)}  {sanitize(step.title)}"
        asks = f"\n\n*A question: {step.question.text.strip()}*" if step.question is not None else ""
        notes = (step.notes or "*This step has none.*") if self._shows_notes else ""
        screen.panel.show(title, f"{step.text}{asks}", notes)
        screen.fit_panel()


def rehearse(recorded: RecordedLecture, place: int) -> int:
    """Rehearse the lecture from the step at this place on, and return the exit status."""
    return RehearsalApp(recorded, place, settings_file()).show(read_user_keys(keys_file()))
