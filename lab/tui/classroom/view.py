"""The exercise beside the cluster: what is to be done, and how it stands, as of the cursor in time."""

from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.strip import Strip

from lab.exercises.assessment import Stand
from lab.tui.classroom.attempt import AttemptLog
from lab.tui.offers import takes_commands
from lab.tui.run.cursor import Cursor
from lab.tui.run.source import Source
from lab.tui.terminal.fitting import Piece, fit, lit
from lab.tui.terminal.theme_styles import ThemeStyles
from lab.tui.views.following import FollowingView

if TYPE_CHECKING:
    from lab.tui.classroom.rows import Row, Sheet

__all__ = ["ExerciseView"]


class ExerciseView(FollowingView):
    """``cursor`` is the task that was selected; while it is None, the first that is open is.

    The first row is always seen; the others scroll below it. ``drafts`` is what was typed of answers that were not
    given yet, by task.
    """

    def __init__(self, theme_styles: ThemeStyles, source: Source) -> None:
        super().__init__("exercise")
        self._look = theme_styles
        self._source = source
        self._sheet: Sheet | None = None
        self._stand: Stand | None = None
        self._drawn: tuple[object, ...] = ()
        self._head: list[Piece] = []
        self._rows: list[Row] = []
        self._lit = ""
        self.drafts: dict[int, str] = {}

    @property
    def selected(self) -> int:
        """The number of the task that is selected."""
        if self.cursor is not None:
            return self.cursor
        attempt = self._source.attempt
        assert attempt is not None
        stand = self._stand or attempt.last
        return stand.next_open or len(stand.results)

    def show(self, moment: Cursor) -> None:
        """Draw how the tasks stood at the record that the cluster is at."""
        attempt = self._source.attempt
        if attempt is None:
            return
        before, self._stand = self._stand, attempt.at(moment.record)
        takes = takes_commands(self._source)
        width = self.scrollable_content_region.width
        to_draw = (self._stand, self.selected, takes, width, self._look.dark)
        if to_draw == self._drawn:
            return
        self._drawn = to_draw
        changed = [] if before is None else _changed(before, self._stand)
        if self.cursor in changed and self._stand.results[self.cursor - 1].state != "open":
            self.cursor = None
        self._write(attempt, self._stand, takes, width)
        if changed and self.cursor is None:
            self._see_change(changed[-1])
        elif self.cursor in changed:
            self._see(self.cursor)

    def texts(self) -> list[str]:
        """Its rows, from the top."""
        return ["".join(text for text, _ in row.pieces) for row in self._rows]

    def put_cursor(self, place: int) -> None:
        """Select the task that this row is of, and see it."""
        self.cursor = self._rows[place].task
        self._scroll(place)

    def light_text(self, text: str) -> None:
        """Light this text up wherever it is."""
        self._lit = text
        self.refresh()

    def open_cursor(self) -> None:
        """Answer the selected task, or read all of it."""
        self.call_later(self.run_action, "screen.do('answer')")

    def action_cursor(self, by: int) -> None:
        """Select another task; over the first, see what is before it, and below the last, its end."""
        attempt = self._source.attempt
        if attempt is None:
            return
        first, last = self._places(self.selected)
        top, height = self.scroll_offset.y, self._height
        if by > 0 and last >= top + height:
            self._scroll(min(top + height, last - height + 1))  # the rest of it first
        elif by < 0 and first < top:
            self._scroll(max(first, top - height))
        elif not 1 <= self.selected + by <= len(attempt.exercise.tasks):
            self._scroll(0 if by < 0 else len(self._rows))
        else:
            self.cursor = self.selected + by
            self._see(self.cursor)
        self.refresh()

    def action_cursor_page(self, pages: int) -> None:
        """Scroll by what is seen."""
        self._scroll(self.scroll_offset.y + pages * max(1, self._height - 1))

    def on_click(self, event: events.Click) -> None:
        """Select the task under the mouse; if it is that already, answer it."""
        offset = event.get_content_offset(self)
        place = 0 if offset is None else self.scroll_offset.y + offset.y - 1
        if offset is None or offset.y == 0 or place >= len(self._rows):
            return
        task = self._rows[place].task
        if task is not None and task == self.selected:
            self.open_cursor()
        elif task is not None:
            self.cursor = task

    def render_line(self, y: int) -> Strip:
        """One row."""
        width, base = self.size.width, self.rich_style
        place = self.scroll_offset.y + y - 1
        if y == 0:
            pieces = self._head
        elif place < len(self._rows):
            pieces = lit(self._rows[place].pieces, [self._lit], self._look.lit)
        else:
            pieces = []
        ground = base if y else base + Style(bgcolor=self.app.current_theme.panel)
        return Strip([Segment(text, ground + style) for text, style in fit(pieces, width)], width)

    @property
    def _height(self) -> int:
        """How many rows of those that scroll are seen."""
        return max(1, self.size.height - 1)

    def _write(self, attempt: AttemptLog, stand: Stand, takes: bool, width: int) -> None:
        if self._sheet is None:
            from lab.tui.classroom.rows import Sheet  # noqa: PLC0415 - other runs need not load it

            self._sheet = Sheet(attempt.exercise, attempt.number, self._look)
        self._head = self._sheet.head(stand)
        self._rows = list(self._sheet.rows(stand, self.selected, takes, width))
        self.virtual_size = Size(width, len(self._rows) + 1)
        self.refresh()

    def _see_change(self, changed: int) -> None:
        """What became of a task, and below it as much as there is room for of the next that is open."""
        first, last = self._places(changed)
        _, below = self._places(self.selected)
        self._scroll(min(first, max(0, max(last, below) - self._height + 1)))

    def _see(self, task: int) -> None:
        """Scrolled no further than is needed; of what is too long, the beginning."""
        first, last = self._places(task)
        self._scroll(min(first, max(self.scroll_offset.y, last - self._height + 1)))

    def _places(self, task: int) -> tuple[int, int]:
        """The first row of a task, and the last."""
        places = [place for place, row in enumerate(self._rows) if row.task == task]
        return (places[0], places[-1]) if places else (0, 0)

    def _scroll(self, top: int) -> None:
        self.scroll_to(y=max(0, top), animate=False, immediate=True)


def _changed(before: Stand, now: Stand) -> list[int]:
    """The tasks that stand otherwise now."""
    return [new.task for old, new in zip(before.results, now.results, strict=True) if old != new]
