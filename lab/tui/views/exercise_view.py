"""The exercise view: the tasks and their state at the cursor in time."""

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.strip import Strip

from lab.exercises.assessment import AttemptStatus
from lab.tui.attempt_log import AttemptLog
from lab.tui.player import Cursor
from lab.tui.source import Source
from lab.tui.terminal.styles import Piece, ThemeStyles, fit, highlight
from lab.tui.views.exercise_text import Row, Sheet
from lab.tui.views.following_view import FollowingView


class ExerciseView(FollowingView):
    """The tasks of the exercise. ``cursor`` is the task that the user selected; None means the first open one.

    The first row is fixed; the others scroll below it. ``drafts`` maps tasks to answers not submitted yet.
    """

    def __init__(self, theme_styles: ThemeStyles, source: Source) -> None:
        super().__init__("exercise")
        self._theme_styles = theme_styles
        self._source = source
        self._sheet: Sheet | None = None
        self._status: AttemptStatus | None = None
        self._drawn: tuple[object, ...] = ()
        self._head: list[Piece] = []
        self._rows: list[Row] = []
        self._highlighted = ""
        self.drafts: dict[int, str] = {}

    @property
    def selected(self) -> int:
        """The number of the selected task."""
        if self.cursor is not None:
            return self.cursor
        attempt = self._source.attempt
        assert attempt is not None
        status = self._status or attempt.last
        return status.next_open or len(status.results)

    def show(self, time_cursor: Cursor) -> None:
        """Draw the state of the tasks at the cursor in time."""
        attempt = self._source.attempt
        if attempt is None:
            return
        before, self._status = self._status, attempt.at(time_cursor.record)
        takes = self._source.takes_commands
        width = self.scrollable_content_region.width
        to_draw = (self._status, self.selected, takes, width, self._theme_styles.dark)
        if to_draw == self._drawn:
            return
        self._drawn = to_draw
        changed = [] if before is None else _changed(before, self._status)
        if self.cursor in changed and self._status.results[self.cursor - 1].state != "open":
            self.cursor = None
        self._layout_rows(attempt, self._status, takes, width)
        if changed and self.cursor is None:
            self._scroll_to_change(changed[-1])
        elif self.cursor in changed:
            self._scroll_to_task(self.cursor)

    def texts(self) -> list[str]:
        """Return the text of the rows."""
        return ["".join(text for text, _ in row.pieces) for row in self._rows]

    def move_cursor(self, place: int) -> None:
        """Select the task of this row and scroll to it."""
        self.cursor = self._rows[place].task
        self._scroll(place)

    def highlight_text(self, text: str) -> None:
        """Highlight every occurrence of this text."""
        self._highlighted = text
        self.refresh()

    def activate(self) -> None:
        """Answer the selected task, or show its full text."""
        self.call_later(self.run_action, "screen.do('answer')")

    def action_cursor(self, by: int) -> None:
        """Scroll through the rest of the selected task, then select the next one.

        Above the first task, scroll to the introduction; below the last one, scroll to the end.
        """
        attempt = self._source.attempt
        if attempt is None:
            return
        first, last = self._places(self.selected)
        top, height = self.scroll_offset.y, self._height
        if by > 0 and last >= top + height:
            self._scroll(min(top + height, last - height + 1))  # first scroll through the rest of this task
        elif by < 0 and first < top:
            self._scroll(max(first, top - height))
        elif not 1 <= self.selected + by <= len(attempt.exercise.tasks):
            self._scroll(0 if by < 0 else len(self._rows))
        else:
            self.cursor = self.selected + by
            self._scroll_to_task(self.cursor)
        self.refresh()

    def action_cursor_page(self, pages: int) -> None:
        """Scroll by pages."""
        self._scroll(self.scroll_offset.y + pages * max(1, self._height - 1))

    def on_click(self, event: events.Click) -> None:
        """Select the task under the mouse, or answer it if it is selected already."""
        offset = event.get_content_offset(self)
        place = 0 if offset is None else self.scroll_offset.y + offset.y - 1
        if offset is None or offset.y == 0 or place >= len(self._rows):
            return
        task = self._rows[place].task
        if task is not None and task == self.selected:
            self.activate()
        elif task is not None:
            self.cursor = task

    def render_line(self, y: int) -> Strip:
        width, base = self.size.width, self.rich_style
        place = self.scroll_offset.y + y - 1
        if y == 0:
            pieces = self._head
        elif place < len(self._rows):
            pieces = highlight(self._rows[place].pieces, [self._highlighted], self._theme_styles.highlight)
        else:
            pieces = []
        ground = base if y else base + Style(bgcolor=self.app.current_theme.panel)
        return Strip([Segment(text, ground + style) for text, style in fit(pieces, width)], width)

    @property
    def _height(self) -> int:
        """The number of visible rows that scroll."""
        return max(1, self.size.height - 1)

    def _layout_rows(self, attempt: AttemptLog, status: AttemptStatus, takes: bool, width: int) -> None:
        if self._sheet is None:
            self._sheet = Sheet(attempt.exercise, attempt.number, self._theme_styles)
        self._head = self._sheet.head(status)
        self._rows = list(self._sheet.rows(status, self.selected, takes, width))
        self.virtual_size = Size(width, len(self._rows) + 1)
        self.refresh()

    def _scroll_to_change(self, changed: int) -> None:
        """Scroll to a changed task, with as much of the selected task below it as fits."""
        first, last = self._places(changed)
        _, selected_last = self._places(self.selected)
        self._scroll(min(first, max(0, max(last, selected_last) - self._height + 1)))

    def _scroll_to_task(self, task: int) -> None:
        """Scroll to a task, no further than needed; show the beginning of a task that is too long."""
        first, last = self._places(task)
        self._scroll(min(first, max(self.scroll_offset.y, last - self._height + 1)))

    def _places(self, task: int) -> tuple[int, int]:
        """Return the first and the last row of a task."""
        places = [place for place, row in enumerate(self._rows) if row.task == task]
        return (places[0], places[-1]) if places else (0, 0)

    def _scroll(self, top: int) -> None:
        self.scroll_to(y=max(0, top), animate=False, immediate=True)


def _changed(before: AttemptStatus, now: AttemptStatus) -> list[int]:
    """Return the tasks whose result has changed."""
    return [new.task for old, new in zip(before.results, now.results, strict=True) if old != new]
