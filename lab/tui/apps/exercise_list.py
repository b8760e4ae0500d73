"""The list of exercises with the progress in each, and a description of the one at the cursor."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import ClassVar

from msgspec import Struct
from rich.cells import cell_len, set_cell_size
from rich.style import Style
from rich.text import Text
from textual.binding import BindingType
from textual.message import Message
from textual.widgets import OptionList

from lab.exercises.attempts import ExerciseProgress, StudentFolder
from lab.exercises.course import CourseSchedule, ScheduledGroup, describe_deadline, format_date
from lab.exercises.course_grades import grade_progress
from lab.exercises.exercise import KINDS, LEVELS, Exercise
from lab.exercises.exercise_reader import ExerciseError, drawn_for
from lab.exercises.teacher import Comment
from lab.styles import DIM, ThemeStyles
from lab.text import sanitize
from lab.tui.apps.described_list import DescribedListScreen, list_bindings
from lab.tui.views.exercise_view import answer_lines, explanation_of, markdown_lines, option_lines, wrap
from lab.tui.widgets.dialogs import DialogEntry, FilterableList
from lab.units import format_count

RUNNING_ROW = "/"
"""The id of the row of the running attempt; no exercise has this name."""
_BOLD = Style(bold=True)
_KIND, _NUMBERS = 12, 20
_SIGN = 10
_LONGEST_TITLE = 60
_COMMENT = "  comment"


class RunningAttempt(Struct, frozen=True):
    """An attempt whose run has not ended."""

    exercise: Exercise
    attempt: int
    socket: str
    recording: str


class ListScreen(DescribedListScreen):
    """The bottom screen of the stack: the list of exercises. Attempts are shown on top of it."""

    DEFAULT_CSS = """
    ListScreen FilterableList { height: 3fr; }
    ListScreen #about { height: 2fr; }
    ListScreen #box.columns #about { height: 1fr; width: 60; padding: 1 2; }
    ListScreen #box.columns FilterableList { height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = list_bindings("begin")
    HINT = "arrows select, Enter begins an attempt, letters filter, PgDn scrolls the text"
    ROOM_FOR_COLUMNS = 132

    @dataclass
    class AttemptRequested(Message):
        """The user wants a new attempt at an exercise."""

        exercise: Exercise

    @dataclass
    class ResumeRequested(Message):
        """The user wants to resume the running attempt."""

        running: RunningAttempt

    def __init__(
        self, home: StudentFolder, exercises: Sequence[Exercise], is_served: bool, styles: ThemeStyles
    ) -> None:
        super().__init__(styles)
        self._home = home
        self._exercises = {each.name: each for each in exercises}
        self._is_served = is_served
        self.running: RunningAttempt | None = None
        self.schedule = CourseSchedule()
        self.comments: tuple[Comment, ...] = ()
        self._drawn: dict[str, Exercise] = {}
        self._late_days_in: dict[str, int] = {}

    def show_schedule(self, schedule: CourseSchedule) -> None:
        """Group the exercises as the course does; the cursor begins at the first of them."""
        is_first = bool(schedule.groups) and not self.schedule.groups
        self.schedule = schedule
        self.redraw()
        if is_first and self.running is None:
            listed = self.query_one(FilterableList)
            listed.move_to(schedule.groups[0].exercises[0])
            listed.scroll_home(animate=False)

    def show_comments(self, comments: tuple[Comment, ...]) -> None:
        """Show the teacher's comments with the exercises."""
        self.comments = comments
        self.redraw()

    def offer(self, running: RunningAttempt | None) -> None:
        """Offer to resume this attempt, or withdraw the offer. A new offer gets the cursor."""
        is_new = running is not None and self.running is None
        self.running = running
        self.redraw()
        if is_new:
            self.query_one(FilterableList).move_to(RUNNING_ROW)
            self.message.show("one of your attempts is still running: Enter resumes it")

    def show_result(self, exercise: Exercise, text: str) -> None:
        """Move the cursor to the exercise that was left, and show what came of it."""
        listed = self.query_one(FilterableList)
        if any(option.id == exercise.name for option in listed.options):
            listed.highlighted = listed.get_option_index(exercise.name)
        self.message.show(text)

    # actions of the user

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        if event.option_id == RUNNING_ROW and self.running is not None:
            self.post_message(self.ResumeRequested(self.running))
            return
        exercise = self._exercises[event.option_id or ""]
        if exercise.starting_file is not None:
            self.message.show(f"{exercise.title}: {self._start_hint(exercise)}", warn=True)
        else:
            self.post_message(self.AttemptRequested(exercise))

    # drawing

    def redraw(self) -> None:
        """Draw the list and the description as they are now."""
        self._late_days_in = self._spend_late_days() if self.schedule.groups else {}
        super().redraw()

    def _head(self) -> Text:
        found = [each for each in self._exercises.values() if each.is_on_server or not self._is_served]
        progress = [self._home.progress_of(each.name) for each in found]
        solved = sum(bool(each.first_solved) for each in progress)
        points = sum(each.points for each in progress)
        most = sum(each.points for each in found)
        total = f"{solved} of {format_count(len(progress), 'exercise')} solved, {points} of {most} points"
        name = sanitize(self._home.student, 40)
        dot = f" {self._styles.glyphs.dot} "
        late_days = f"{dot}{self._late_days()}" if self.schedule.groups and self.schedule.late.days else ""
        title = sanitize(self.schedule.title) or "lab exercises"
        return Text.assemble((title, "bold"), dot, (name, self._styles.accent), dot, total, late_days)

    def _late_days(self) -> str:
        """Return how many late days the points earned so far need: ``1 of 4 late days spent``."""
        return f"{sum(self._late_days_in.values())} of {format_count(self.schedule.late.days, 'late day')} spent"

    def _spend_late_days(self) -> dict[str, int]:
        """Return the late days spent in each group, to the student's advantage."""
        if not {name for group in self.schedule.groups for name in group.exercises} <= self._exercises.keys():
            return {}  # the course has just changed
        grade = grade_progress(self.schedule, self._exercises, self._home.all_progress)
        return {group.group: group.late_days for group in grade.groups}

    def _entries(self) -> Iterator[DialogEntry]:
        width = self.query_one(FilterableList).size.width - 3
        if self.running is not None:
            running = self.running
            yield DialogEntry(Text("RUNNING", self._styles.accent), head=True)
            text = f"  {self._styles.glyphs.play} resume attempt {running.attempt}: {running.exercise.title}"
            yield DialogEntry(Text(sanitize(text, max(2, width)), _BOLD), RUNNING_ROW)
        for head, exercises in self._sections():
            head.truncate(max(2, width), overflow="ellipsis")
            yield DialogEntry(head, head=True)
            for exercise in exercises:
                progress = self._home.progress_of(exercise.name)
                yield DialogEntry(self._row(exercise, progress, width), exercise.name, also=exercise.name)

    def _sections(self) -> Iterator[tuple[Text, list[Exercise]]]:
        """Yield the groups of the course with their exercises, then the other exercises by level."""
        others, now = dict(self._exercises), datetime.now(UTC)
        for group in self.schedule.groups:
            known = [others.pop(name) for name in group.exercises if name in others]
            yield self._group_head(group, known, now), known
        for level, title in LEVELS.items():
            of_level = [each for each in others.values() if each.level == level]
            if of_level:
                note = " (not in the course)" if self.schedule.groups else ""
                yield Text.assemble((title.upper(), self._styles.accent), (note, DIM)), of_level

    def _group_head(self, group: ScheduledGroup, exercises: Sequence[Exercise], now: datetime) -> Text:
        """Return the group's name, what is due when, and what remains."""
        points = sum(self._home.progress_of(each.name).points for each in exercises)
        share = Fraction(group.weight * 100, sum(each.weight for each in self.schedule.groups))
        due = describe_deadline(group, self.schedule.late, now)
        most = sum(each.points for each in exercises)
        spent = self._late_days_in.get(group.name, 0)
        facts = [due, *([f"{format_count(spent, 'late day')} spent"] if spent else [])]
        facts += [f"{points} of {most} points", f"{round(share)} % of the grade"]
        dot = f" {self._styles.glyphs.dot} "
        style = self._styles.warning if " late day" in due or "closed" in due else Style()
        return Text.assemble((sanitize(group.name).upper(), self._styles.accent), (dot + dot.join(facts), style))

    def _row(self, exercise: Exercise, progress: ExerciseProgress, width: int) -> Text:
        sign, style = self._sign(progress)
        is_unread = any(comment.exercise == exercise.name and not comment.read for comment in self.comments)
        note = _COMMENT if is_unread else ""
        room = max(12, min(width - _SIGN - _KIND - _NUMBERS - len(note) - 2, _LONGEST_TITLE))
        title = sanitize(exercise.title, room)
        row = Text.assemble("  ", (set_cell_size(sign, _SIGN), style), set_cell_size(title, room))
        row.append(f"  {exercise.kind:{_KIND}}", DIM)
        if exercise.starting_file is not None and not progress.attempts:
            row.append("not on the server" if self._is_served else "in your editor", DIM)
        elif not exercise.points:
            row.append("by the teacher", DIM)
        else:
            row.append(f"{progress.points:2} of {exercise.points:2}", style)
            row.append(f"{f'{progress.attempts}x' if progress.attempts else '':>5}", DIM)
        row.append(note, self._styles.warning)
        row.truncate(width)
        return row

    def _sign(self, progress: ExerciseProgress) -> tuple[str, Style]:
        styles = self._styles
        if progress.first_solved:
            return f"{styles.glyphs.marks['met']} solved", styles.mark("met") + _BOLD
        if progress.attempts:
            return f"{styles.glyphs.dot} tried", Style()
        return f"{styles.glyph('Working')} new", Style()

    def _describe(self, row: str, width: int) -> Iterator[Text]:
        exercise = self._chosen(row)
        return iter(()) if exercise is None else self._description(exercise, width)

    def _chosen(self, name: str) -> Exercise | None:
        if name == RUNNING_ROW and self.running is not None:
            return self.running.exercise
        return self._exercises.get(name)

    def _description(self, exercise: Exercise, width: int) -> Iterator[Text]:
        warning = "" if exercise.starting_file is None else self._start_hint(exercise)
        progress = self._home.progress_of(exercise.name)
        for comment in reversed(self.comments):
            if comment.exercise == exercise.name:
                at = format_date(datetime.fromisoformat(comment.at))
                head = f"your teacher on attempt {comment.attempt}, {at}"
                style = Style() if comment.read else self._styles.warning
                yield from wrap(Text(head, self._styles.accent), width)
                yield from wrap(Text(sanitize(comment.text), style), width)
                yield Text()
        yield from describe_exercise(self._as_drawn(exercise), progress, width, self._styles, warning)
        yield from self._past_results(self._as_drawn(exercise), progress, width)

    def _past_results(self, exercise: Exercise, progress: ExerciseProgress, width: int) -> Iterator[Text]:
        """Yield what the student answered in the best attempt, with the explanations."""
        results = {result.task: result for result in progress.best}
        for task in exercise.tasks:
            result = results.get(task.number)
            if result is None or result.is_open:
                continue
            is_missed_file = task.grades_file and result.state != "done"  # its explanation is the solution
            explanation = "" if is_missed_file else explanation_of(task, result)
            answer = list(answer_lines(result, width, self._styles))
            if answer or explanation:
                yield Text()
                yield from wrap(Text(f"{task.number}. {sanitize(task.title)}", self._styles.accent), width)
                yield from wrap(Text(sanitize(" ".join((task.question or task.explain).split())), _BOLD), width)
                yield from option_lines(task, result, self._styles)
                yield from answer
                yield from markdown_lines(explanation, width, self._styles)

    def _as_drawn(self, exercise: Exercise) -> Exercise:
        """Return the exercise as this student has it."""
        if exercise.name not in self._drawn:
            try:
                drawn = drawn_for(exercise, self._home.student, self._home.nonce)
            except ExerciseError:  # its files were changed meanwhile
                drawn = exercise
            self._drawn[exercise.name] = drawn
        return self._drawn[exercise.name]

    def _start_hint(self, exercise: Exercise) -> str:
        """Return how to start an exercise that is not done with a cluster."""
        where = "not on the server; on a machine with lab" if self._is_served else "in your editor; in a shell"
        return f"{where}, run: lab exercise start {exercise.name}"


def describe_exercise(
    exercise: Exercise, progress: ExerciseProgress, width: int, styles: ThemeStyles, warning: str = ""
) -> Iterator[Text]:
    """Yield the lines that describe an exercise, and the state of its tasks; ``warning`` stands above the text."""
    yield from wrap(Text(sanitize(exercise.title), styles.accent), width)
    yield from wrap(Text(f"{exercise.kind}: {KINDS[exercise.kind]}", DIM), width)
    teaches = sanitize(exercise.describe_topics())
    yield from wrap(Text.assemble(("teaches ", DIM), teaches), width)
    if warning:
        yield from wrap(Text(warning, styles.warning), width)
    yield Text()
    yield from markdown_lines(exercise.intro, width, styles)
    yield Text()
    results = {result.task: result for result in progress.best}
    for task in exercise.tasks:
        result = results.get(task.number)
        is_done = result is not None and result.state == "done"
        sign = styles.glyphs.marks["met"] if is_done else styles.glyph("Working")
        earned = f"{result.points if result is not None else 0} of {format_count(task.points, 'point')}"
        worth = "for your teacher" if task.way == "explain" else earned
        title = sanitize(task.title, max(2, width - 24))
        style = styles.mark("met") if is_done else Style()
        gap = " " * max(2, width - cell_len(title) - 5 - len(worth))
        yield Text.assemble((f"{sign} {task.number:2} ", style), title, gap, (worth, DIM))
    if progress.attempts:
        best = f"best of {format_count(progress.attempts, 'attempt')}"
        if exercise.starting_file is None:
            best += "; a new attempt starts from the beginning"
        yield from wrap(Text(best, DIM), width)
