"""The assertions at the cursor in time: each with its statement, the verdict on it, and its witness."""

from rich.segment import Segment
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from lab.properties import Violation
from lab.tui.run.cursor import Cursor
from lab.tui.run.source import Source
from lab.tui.run.verdicts import next_violation
from lab.tui.terminal.copying import Copied
from lab.tui.terminal.fitting import fit, lit
from lab.tui.terminal.theme_styles import ThemeStyles
from lab.tui.views.assertions.rows import Judged, Row, assertion_rows, judged_at, unpromised_row
from lab.tui.views.following import FollowingView

__all__ = ["AssertionsView"]


class AssertionsView(FollowingView):
    """``cursor`` is the place of an assertion; ``Enter`` goes to its next violation, as ``v`` does to any."""

    class Witnessed(Message):
        """This violation is to be seen, or, where there is none, that there is none of ``assertion``."""

        def __init__(self, assertion: str, violation: Violation | None) -> None:
            super().__init__()
            self.assertion = assertion
            self.violation = violation

    def __init__(self, theme_styles: ThemeStyles, source: Source) -> None:
        super().__init__("assertions")
        self._look = theme_styles
        self._source = source
        self.cursor: int = 0
        self._record = 0
        self._seen: Violation | None = None
        self._drawn: tuple[object, ...] = ()
        self._judged: list[Judged] = []
        self._lit = ""
        self._shown: list[tuple[int | None, Row]] = []

    def show(self, moment: Cursor) -> None:
        """Draw the verdicts as of that moment."""
        self._record = moment.record
        header, judge = self._source.lines.header, self._source.judge
        width = self.scrollable_content_region.width
        judged = judged_at(header, judge, moment.record, moment.hides_future)
        to_draw = (judged, width, self._look.dark, self.cursor)
        if to_draw == self._drawn:
            return
        self._drawn = to_draw
        self._judged = judged
        self._shown = [
            (place, row)
            for place, each in enumerate(judged)
            for row in assertion_rows(each, self._look, width, place == self.cursor)
        ]
        self._shown += [(None, row) for row in unpromised_row(header, width)]
        self.virtual_size = Size(width, len(self._shown))
        self.refresh()

    def texts(self) -> list[str]:
        """Its rows, from the top."""
        return ["".join(text for text, _ in row) for _, row in self._shown]

    def put_cursor(self, place: int) -> None:
        """To the assertion that this row is of, and see it; what is not promised is below all of them."""
        which = self._shown[place][0]
        self.cursor = len(self._judged) - 1 if which is None else which
        self.scroll_to(y=place - self.size.height // 2, animate=False, immediate=True)

    def light_text(self, text: str) -> None:
        """Light this text up wherever it is."""
        self._lit = text
        self.refresh()

    def copied(self) -> Copied | None:
        """The assertion under the cursor, as it is seen here."""
        if not self._judged:
            return None
        rows = [text for text, (which, _) in zip(self.texts(), self._shown, strict=True) if which == self.cursor]
        return self._judged[self.cursor].assertion.id, "\n".join(row.rstrip() for row in rows).rstrip()

    def open_cursor(self) -> None:
        """Go to the next violation of the assertion under the cursor; past the last one, to the first."""
        if self._judged:
            name = self._judged[self.cursor].assertion.id
            own = [violation for violation in self._source.judge.violations if violation.assertion == name]
            self._seen = next_violation(own, self._record, self._seen)
            self.post_message(self.Witnessed(name, self._seen))

    def action_cursor(self, by: int) -> None:
        """To another assertion, all of which is to be seen if there is room."""
        if not self._judged:
            return
        self.cursor = max(0, min(self.cursor + by, len(self._judged) - 1))
        places = [place for place, (which, _) in enumerate(self._shown) if which == self.cursor]
        lowest = places[-1] - self.size.height + 1
        top = min(places[0], max(lowest, self.scroll_offset.y))
        self.scroll_to(y=top, animate=False, immediate=True)

    def action_cursor_page(self, pages: int) -> None:
        """Scroll by about what fits on the screen."""
        y = self.scroll_offset.y + pages * max(1, self.size.height - 1)
        self.scroll_to(y=y, animate=False, immediate=True)

    def on_click(self, event: events.Click) -> None:
        """To the assertion under the mouse."""
        offset = event.get_content_offset(self)
        place = len(self._shown) if offset is None else self.scroll_offset.y + offset.y
        which = self._shown[place][0] if place < len(self._shown) else None
        if which is not None:
            self.cursor = which

    def render_line(self, y: int) -> Strip:
        """One row."""
        width, place = self.size.width, self.scroll_offset.y + y
        row = self._shown[place][1] if place < len(self._shown) else []
        base = self.rich_style
        pieces = fit(lit(row, [self._lit], self._look.lit), width)
        return Strip([Segment(text, base + style) for text, style in pieces], width)
