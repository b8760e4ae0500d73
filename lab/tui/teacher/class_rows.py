"""The list of students, a line each, redrawn only when something changes."""

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from lab.exercises.teacher import Student, format_minutes
from lab.text import sanitize
from lab.tui.terminal.fitting import Piece, fit
from lab.tui.terminal.theme_styles import DIM, ThemeStyles

__all__ = ["ClassRows"]

_STUCK_S = 300
"""A student stuck for this long is shown as a warning."""
_NAME, _STUCK, _TASKS, _POINTS, _AT, _ON = 20, 7, 9, 8, 34, 10
_BOLD = Style(bold=True)


class ClassRows(ScrollView, can_focus=True, inherit_bindings=False):
    """The rows; ``chosen`` is the name of the selected student."""

    DEFAULT_CSS = "ClassRows { height: 1fr; background: $background; }"

    BINDINGS: ClassVar[list[BindingType]] = [
        ("up,k", "move(-1)", ""),
        ("down,j", "move(1)", ""),
        ("pageup", "move(-10)", ""),
        ("pagedown", "move(10)", ""),
    ]

    class Opened(Message):
        """The user clicked the selected line."""

    class Moved(Message):
        """Another student was selected."""

    def __init__(self, theme_styles: ThemeStyles) -> None:
        super().__init__()
        self._theme_styles = theme_styles
        self._students: tuple[Student, ...] = ()
        self._shown: list[list[Piece]] = []
        self.chosen = ""

    @property
    def student(self) -> Student | None:
        """The selected student."""
        return next((each for each in self._students if each.name == self.chosen), None)

    def put(self, students: Sequence[Student]) -> None:
        """Show these students; the selection stays with its student."""
        self._students = tuple(students)
        if self.student is None:
            self.chosen = self._students[0].name if self._students else ""
        shown = [self._pieces(each) for each in self._students]
        if shown != self._shown:
            self._shown = shown
            self.virtual_size = Size(self.size.width, len(shown) + 1)
            self.refresh()

    def action_move(self, by: int) -> None:
        if self._students:
            place = min(max(self._place + by, 0), len(self._students) - 1)
            self._select(place)

    def on_resize(self) -> None:
        self.virtual_size = Size(self.size.width, len(self._shown) + 1)

    def on_click(self, event: events.Click) -> None:
        """Select a line, or open it if it is selected already."""
        offset = event.get_content_offset(self)
        place = -1 if offset is None else self.scroll_offset.y + offset.y - 1
        if 0 <= place < len(self._students):
            again = self._students[place].name == self.chosen
            self._select(place)
            if again:
                self.post_message(self.Opened())

    def render_line(self, y: int) -> Strip:
        """Draw a row; the first one holds the column titles."""
        width, row = self.size.width, self.scroll_offset.y + y
        if row == 0:
            pieces = _columns("student", "stuck", "tasks", "points", "exercise", "on for", "", style=DIM)
        elif row <= len(self._shown):
            pieces = self._shown[row - 1]
        else:
            return Strip.blank(width, self.rich_style)
        is_chosen = row > 0 and self._students[row - 1].name == self.chosen
        base = self.rich_style + Style(reverse=is_chosen)
        return Strip([Segment(text, base + style) for text, style in fit(pieces, width)], width)

    @property
    def _place(self) -> int:
        return next((place for place, each in enumerate(self._students) if each.name == self.chosen), 0)

    def _select(self, place: int) -> None:
        self.chosen = self._students[place].name
        top, height = self.scroll_offset.y, self.size.height
        if place + 1 < top + (place > 0) or place + 1 >= top + height:
            self.scroll_to(y=max(0, place + 2 - height), animate=False)
        self.refresh()
        self.post_message(self.Moved())

    def _pieces(self, student: Student) -> list[Piece]:
        theme_styles = self._theme_styles
        is_on, stuck_s = bool(student.since), student.stuck_s
        sign = theme_styles.glyphs.status["Normal"] if is_on else theme_styles.glyphs.status["absent"]
        note = (
            "you have control" if student.keys else "" if is_on or not student.cluster else "cluster still running"
        )
        pieces = _columns(
            f"{sign} {sanitize(student.name, _NAME - 3)}",
            "" if stuck_s is None else format_minutes(stuck_s),
            f"{student.done} of {student.tasks}" if student.tasks else "",
            str(student.points),
            f"{sanitize(student.exercise, _AT - 6)} {student.attempt}" if student.exercise else "",
            "off" if student.on_s is None else format_minutes(student.on_s),
            note,
            style=_BOLD if is_on else DIM,
        )
        if stuck_s is not None and stuck_s >= _STUCK_S:
            pieces = [
                (text, theme_styles.warning if place == 1 else style) for place, (text, style) in enumerate(pieces)
            ]
        return pieces


def _columns(
    name: str, stuck: str, tasks: str, points: str, at: str, on: str, note: str, style: Style
) -> list[Piece]:
    """Return a row; the least important columns are at the right, where a narrow screen cuts them off."""
    return [
        (f" {name:{_NAME}}", style),
        (f"{stuck:>{_STUCK}}  ", style),
        (f"{tasks:>{_TASKS}}  ", style),
        (f"{points:>{_POINTS}}  ", style),
        (f"{at:{_AT}}", style),
        (f"{on:>{_ON}}  ", style),
        (note, style),
    ]
