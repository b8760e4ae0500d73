"""The exercise view: the tasks and their state at the cursor in time."""

from rich.style import Style
from textual import events

from lab.exercises.assessment import AttemptStatus
from lab.styles import ThemeStyles
from lab.tui.attempt_log import AttemptLog
from lab.tui.player import Cursor
from lab.tui.source import Source
from lab.tui.views.exercise_text import Sheet
from lab.tui.views.lines_view import RowsView


class ExerciseView(RowsView):
    """The tasks of the exercise. ``cursor`` is the task that the user selected; None means the first open one.

    ``drafts`` maps tasks to answers not submitted yet.
    """

    def __init__(self, styles: ThemeStyles, source: Source) -> None:
        super().__init__("exercise", styles)
        self._source = source
        self._sheet: Sheet | None = None
        self._status: AttemptStatus | None = None
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
        panel = Style(bgcolor=self.app.current_theme.panel)
        if not self._is_new(self._status, self.selected, takes, panel):
            return
        changed = [] if before is None else _changed(before, self._status)
        if self.cursor in changed and self._status.results[self.cursor - 1].state != "open":
            self.cursor = None
        sheet = self._sheet_of(attempt)
        rows = list(sheet.rows(self._status, self.selected, takes, self.scrollable_content_region.width))
        self._put_rows(rows, [self._in_style(sheet.head(self._status), panel)])
        if changed and self.cursor is None:
            self._scroll_to_change(changed[-1])
        elif self.cursor in changed:
            self._scroll(self._top_for(self.cursor))

    def move_cursor(self, place: int) -> None:
        """Select the task of this row and scroll to it."""
        self.cursor = self._rows[place].item
        self._scroll(place)

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
        top, height = self.scroll_offset.y, max(1, self._height)
        if by > 0 and last >= top + height:
            self._scroll(min(top + height, last - height + 1))  # first scroll through the rest of this task
        elif by < 0 and first < top:
            self._scroll(max(first, top - height))
        elif not 1 <= self.selected + by <= len(attempt.exercise.tasks):
            self._scroll(0 if by < 0 else len(self._rows))
        else:
            self.cursor = self.selected + by
            self._scroll(self._top_for(self.cursor))
        self.refresh()

    def action_cursor_page(self, pages: int) -> None:
        """Scroll by pages."""
        self._scroll(self.scroll_offset.y + pages * max(1, self._page))

    def on_click(self, event: events.Click) -> None:
        """Select the task under the mouse, or answer it if it is selected already."""
        task = self._item_at(event)
        if task is not None and task == self.selected:
            self.activate()
        elif task is not None:
            self.cursor = task

    def _sheet_of(self, attempt: AttemptLog) -> "Sheet":
        if self._sheet is None:
            self._sheet = Sheet(attempt.exercise, attempt.number, self._styles)
        return self._sheet

    def _scroll_to_change(self, changed: int) -> None:
        """Scroll to a changed task, with as much of the selected task below it as fits."""
        first, last = self._places(changed)
        _, selected_last = self._places(self.selected)
        self._scroll(min(first, max(0, max(last, selected_last) - self._height + 1)))

    def _places(self, task: int) -> tuple[int, int]:
        """Return the first and the last row of a task."""
        places = [place for place, row in enumerate(self._rows) if row.item == task]
        return (places[0], places[-1]) if places else (0, 0)


def _changed(before: AttemptStatus, now: AttemptStatus) -> list[int]:
    """Return the tasks whose result has changed."""
    return [new.task for old, new in zip(before.results, now.results, strict=True) if old != new]
