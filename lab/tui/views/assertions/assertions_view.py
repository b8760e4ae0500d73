"""The assertions at the cursor in time: each with its statement, verdict and witness."""

from rich.segment import Segment
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from lab.properties import Violation
from lab.tui.run.cursor import Cursor
from lab.tui.run.source import Source
from lab.tui.run.verdict_text import next_violation
from lab.tui.terminal.clipboard import Copied
from lab.tui.terminal.fitting import fit, highlight
from lab.tui.terminal.theme_styles import ThemeStyles
from lab.tui.views.assertions.assertion_rows import Judgement, Row, assertion_rows, judgements_at, unjudged_rows
from lab.tui.views.following_view import FollowingView

__all__ = ["AssertionsView"]


class AssertionsView(FollowingView):
    """``cursor`` is the index of an assertion. ``Enter`` goes to its next violation, as ``v`` does to any."""

    class Witnessed(Message):
        """Request to show this violation, or to report that there is none of ``assertion``."""

        def __init__(self, assertion: str, violation: Violation | None) -> None:
            super().__init__()
            self.assertion = assertion
            self.violation = violation

    def __init__(self, theme_styles: ThemeStyles, source: Source) -> None:
        super().__init__("assertions")
        self._theme_styles = theme_styles
        self._source = source
        self.cursor: int = 0
        self._record = 0
        self._last_violation: Violation | None = None
        self._drawn: tuple[object, ...] = ()
        self._judgements: list[Judgement] = []
        self._highlighted = ""
        self._shown: list[tuple[int | None, Row]] = []

    def show(self, cursor: Cursor) -> None:
        self._record = cursor.record
        header, judge = self._source.store.header, self._source.judge
        width = self.scrollable_content_region.width
        judgements = judgements_at(header, judge, cursor.record, cursor.hides_future)
        to_draw = (judgements, width, self._theme_styles.dark, self.cursor)
        if to_draw == self._drawn:
            return
        self._drawn = to_draw
        self._judgements = judgements
        self._shown = [
            (place, row)
            for place, each in enumerate(judgements)
            for row in assertion_rows(each, self._theme_styles, width, place == self.cursor)
        ]
        self._shown += [(None, row) for row in unjudged_rows(header, width)]
        self.virtual_size = Size(width, len(self._shown))
        self.refresh()

    def texts(self) -> list[str]:
        """Return its rows, from the top."""
        return ["".join(text for text, _ in row) for _, row in self._shown]

    def move_cursor(self, place: int) -> None:
        """Move to the assertion of a row and scroll it into view. Rows below them select the last one."""
        which = self._shown[place][0]
        self.cursor = len(self._judgements) - 1 if which is None else which
        self.scroll_to(y=place - self.size.height // 2, animate=False, immediate=True)

    def highlight_text(self, text: str) -> None:
        """Highlight every occurrence of a text."""
        self._highlighted = text
        self.refresh()

    def copied(self) -> Copied | None:
        """Return the name and the text of the assertion under the cursor."""
        if not self._judgements:
            return None
        rows = [text for text, (which, _) in zip(self.texts(), self._shown, strict=True) if which == self.cursor]
        return self._judgements[self.cursor].assertion.id, "\n".join(row.rstrip() for row in rows).rstrip()

    def activate(self) -> None:
        """Go to the next violation of the assertion under the cursor, wrapping around."""
        if self._judgements:
            name = self._judgements[self.cursor].assertion.id
            own = [violation for violation in self._source.judge.violations if violation.assertion == name]
            self._last_violation = next_violation(own, self._record, self._last_violation)
            self.post_message(self.Witnessed(name, self._last_violation))

    def action_cursor(self, by: int) -> None:
        """Move to another assertion, and scroll all of it into view if it fits."""
        if not self._judgements:
            return
        self.cursor = max(0, min(self.cursor + by, len(self._judgements) - 1))
        places = [place for place, (which, _) in enumerate(self._shown) if which == self.cursor]
        lowest = places[-1] - self.size.height + 1
        top = min(places[0], max(lowest, self.scroll_offset.y))
        self.scroll_to(y=top, animate=False, immediate=True)

    def action_cursor_page(self, pages: int) -> None:
        """Scroll by a screen."""
        y = self.scroll_offset.y + pages * max(1, self.size.height - 1)
        self.scroll_to(y=y, animate=False, immediate=True)

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        place = len(self._shown) if offset is None else self.scroll_offset.y + offset.y
        which = self._shown[place][0] if place < len(self._shown) else None
        if which is not None:
            self.cursor = which

    def render_line(self, y: int) -> Strip:
        width, place = self.size.width, self.scroll_offset.y + y
        row = self._shown[place][1] if place < len(self._shown) else []
        base = self.rich_style
        pieces = fit(highlight(row, [self._highlighted], self._theme_styles.highlight), width)
        return Strip([Segment(text, base + style) for text, style in pieces], width)
