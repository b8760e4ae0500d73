"""The class, a line for each student: drawn by the Line API, only when something in it is another."""

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

from lab.exercises.teacher import Pupil, in_minutes
from lab.text import sanitize
from lab.tui.terminal.fitting import Piece, fit
from lab.tui.terminal.theme_styles import DIM, ThemeStyles

__all__ = ["PupilRows"]

_STUCK_S = 300
"""After that a line is as loud as a warning."""
_NAME, _STUCK, _TASKS, _POINTS, _AT, _ON = 20, 7, 9, 8, 34, 10
_BOLD = Style(bold=True)


class PupilRows(ScrollView, can_focus=True, inherit_bindings=False):
    """``chosen`` is the name of the student at the cursor."""

    DEFAULT_CSS = "PupilRows { height: 1fr; background: $background; }"

    BINDINGS: ClassVar[list[BindingType]] = [
        ("up,k", "move(-1)", ""),
        ("down,j", "move(1)", ""),
        ("pageup", "move(-10)", ""),
        ("pagedown", "move(10)", ""),
    ]

    class Opened(Message):
        """Enter, or a click on the line at the cursor."""

    class Moved(Message):
        """The cursor is at another student."""

    def __init__(self, theme_styles: ThemeStyles) -> None:
        super().__init__()
        self._look = theme_styles
        self._pupils: tuple[Pupil, ...] = ()
        self._shown: list[list[Piece]] = []
        self.chosen = ""

    @property
    def pupil(self) -> Pupil | None:
        """The student at the cursor."""
        return next((each for each in self._pupils if each.name == self.chosen), None)

    def put(self, pupils: Sequence[Pupil]) -> None:
        """Show these; the cursor stays with its student."""
        self._pupils = tuple(pupils)
        if self.pupil is None:
            self.chosen = self._pupils[0].name if self._pupils else ""
        shown = [self._pieces(each) for each in self._pupils]
        if shown != self._shown:
            self._shown = shown
            self.virtual_size = Size(self.size.width, len(shown) + 1)
            self.refresh()

    def action_move(self, by: int) -> None:
        """To another student."""
        if self._pupils:
            place = min(max(self._place + by, 0), len(self._pupils) - 1)
            self._choose(place)

    def on_resize(self) -> None:
        """As wide as there is room for."""
        self.virtual_size = Size(self.size.width, len(self._shown) + 1)

    def on_click(self, event: events.Click) -> None:
        """Choose a line; again, open it."""
        offset = event.get_content_offset(self)
        place = -1 if offset is None else self.scroll_offset.y + offset.y - 1
        if 0 <= place < len(self._pupils):
            again = self._pupils[place].name == self.chosen
            self._choose(place)
            if again:
                self.post_message(self.Opened())

    def render_line(self, y: int) -> Strip:
        """One row; the first is the heads of the columns."""
        width, row = self.size.width, self.scroll_offset.y + y
        if row == 0:
            pieces = _columns("student", "stuck", "tasks", "points", "exercise", "on for", "", style=DIM)
        elif row <= len(self._shown):
            pieces = self._shown[row - 1]
        else:
            return Strip.blank(width, self.rich_style)
        is_chosen = row > 0 and self._pupils[row - 1].name == self.chosen
        base = self.rich_style + Style(reverse=is_chosen)
        return Strip([Segment(text, base + style) for text, style in fit(pieces, width)], width)

    @property
    def _place(self) -> int:
        return next((place for place, each in enumerate(self._pupils) if each.name == self.chosen), 0)

    def _choose(self, place: int) -> None:
        self.chosen = self._pupils[place].name
        top, height = self.scroll_offset.y, self.size.height
        if place + 1 < top + (place > 0) or place + 1 >= top + height:
            self.scroll_to(y=max(0, place + 2 - height), animate=False)
        self.refresh()
        self.post_message(self.Moved())

    def _pieces(self, pupil: Pupil) -> list[Piece]:
        theme_styles = self._look
        is_on, stuck_s = bool(pupil.since), pupil.stuck_s
        sign = theme_styles.glyphs.status["Normal"] if is_on else theme_styles.glyphs.status["absent"]
        said = "you have the keys" if pupil.keys else "" if is_on or not pupil.cluster else "the cluster goes on"
        pieces = _columns(
            f"{sign} {sanitize(pupil.name, _NAME - 3)}",
            "" if stuck_s is None else in_minutes(stuck_s),
            f"{pupil.done} of {pupil.tasks}" if pupil.tasks else "",
            str(pupil.points),
            f"{sanitize(pupil.exercise, _AT - 6)} {pupil.attempt}" if pupil.exercise else "",
            "off" if pupil.on_s is None else in_minutes(pupil.on_s),
            said,
            style=_BOLD if is_on else DIM,
        )
        if stuck_s is not None and stuck_s >= _STUCK_S:
            pieces = [
                (text, theme_styles.warning if place == 1 else style) for place, (text, style) in enumerate(pieces)
            ]
        return pieces


def _columns(
    name: str, stuck: str, tasks: str, points: str, at: str, on: str, said: str, style: Style
) -> list[Piece]:
    """What a narrow screen cuts off is at the right."""
    return [
        (f" {name:{_NAME}}", style),
        (f"{stuck:>{_STUCK}}  ", style),
        (f"{tasks:>{_TASKS}}  ", style),
        (f"{points:>{_POINTS}}  ", style),
        (f"{at:{_AT}}", style),
        (f"{on:>{_ON}}  ", style),
        (said, style),
    ]
