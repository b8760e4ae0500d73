"""The script of a run in the place of the log: what is done of it, what it waits for, what was not met."""

import textwrap
from collections.abc import Iterator

from msgspec import Struct
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.strip import Strip

from lab.text import sanitize
from lab.tui.run.cursor import Cursor
from lab.tui.run.source import Source
from lab.tui.terminal.fitting import Piece, fit, lit
from lab.tui.terminal.theme_styles import DIM, ThemeStyles
from lab.tui.views.following import FollowingView
from lab.tui.views.script.text import Script, ScriptLine, State, script_in, states_of

__all__ = ["ScriptView"]

_MARGIN = 28
"""Before the text of a line: its number, a sign and a word for what came of it, and when."""
_LEAST_TEXT = 20
_LONGEST = 1000


class _Row(Struct, frozen=True):
    """One row on the screen; of a line of the script, or what is said before the first."""

    pieces: list[Piece]
    line: int | None = None


class ScriptView(FollowingView):
    """Follows the line that was reached last. ``cursor`` is the line to whose record ``Enter`` goes."""

    def __init__(self, theme_styles: ThemeStyles, source: Source) -> None:
        super().__init__("script")
        self._look = theme_styles
        self._source = source
        self._script: Script | None = None
        self._drawn: tuple[object, ...] = ()
        self._states: dict[int, State] = {}
        self._reached: int | None = None
        self._rows: list[_Row] = []
        self._lit = ""

    def show(self, moment: Cursor) -> None:
        """Draw the script as of the record that the cluster is at."""
        cluster = moment.cluster
        header, log = self._source.lines.header, self._source.script_log
        deeds = log.deeds(cluster.record)
        in_branch = header.parent is not None and cluster.record > header.parent.record
        over = log.is_over(cluster.record) or in_branch
        width = self.scrollable_content_region.width
        judge = self._source.judge
        violations = [each for each in judge.violations if each.record <= cluster.record]
        is_judged = over and judge.number >= cluster.record
        to_draw = (len(deeds), len(violations), over, is_judged, width, self._look.dark)
        if to_draw != self._drawn:
            self._drawn = to_draw
            if self._script is None:
                self._script = script_in(header.scenario)
            self._states = states_of(self._script, deeds, violations, over, is_judged)
            self._reached = deeds[-1].line if deeds else None
            self._rows = list(self._all_rows(self._script, width))
            self.virtual_size = Size(width, len(self._rows))
            self.refresh()
        self._follow_reached()

    def texts(self) -> list[str]:
        """Its rows, from the top."""
        return ["".join(text for text, _ in row.pieces) for row in self._rows]

    def put_cursor(self, place: int) -> None:
        """Move the cursor to the line that this row is of, and see it."""
        self._follow = False
        self.cursor = self._rows[place].line
        top = place if self.cursor is None else self._top_for(self.cursor, 0)
        self.scroll_to(y=top, animate=False, immediate=True)
        self.refresh()

    def light_text(self, text: str) -> None:
        """Light this text up wherever it is."""
        self._lit = text
        self.refresh()

    def open_cursor(self) -> None:
        """Go to the record of the line under the cursor, or of the one that was reached last."""
        self._seek(self._reached if self.cursor is None else self.cursor)

    def action_cursor(self, by: int) -> None:
        """Move the cursor by so many lines; at the last one it follows what is reached."""
        lines = list(dict.fromkeys(row.line for row in self._rows if row.line in self._states))
        if not lines:
            return
        here = self._reached if self.cursor is None else self.cursor
        place = lines.index(here) + by if here in lines else 0
        self._follow = place >= len(lines)
        self.cursor = None if self._follow else lines[max(0, place)]
        if self.cursor is not None:
            # over the first line there are the title, and what it shows
            top = self._top_for(self.cursor, 0) if place >= 0 else max(0, self.scroll_offset.y + by)
            self.scroll_to(y=top, animate=False, immediate=True)
        self.refresh()

    def action_cursor_page(self, pages: int) -> None:
        """Move the cursor by about what fits on the screen."""
        self.action_cursor(pages * max(1, self.size.height // 2))

    def on_click(self, event: events.Click) -> None:
        """Go to the record of a line."""
        offset = event.get_content_offset(self)
        place = len(self._rows) if offset is None else self.scroll_offset.y + offset.y
        if place < len(self._rows):
            self._seek(self._rows[place].line)

    def render_line(self, y: int) -> Strip:
        """One row."""
        width, place = self.size.width, self.scroll_offset.y + y
        base = self.rich_style
        if place >= len(self._rows):
            return Strip.blank(width, base)
        row = self._rows[place]
        if row.line is not None and row.line == self.cursor and self.has_focus:
            base += Style(reverse=True)
        pieces = lit(row.pieces, [self._lit], self._look.lit)
        return Strip([Segment(text, base + style) for text, style in fit(pieces, width)], width)

    def _seek(self, line: int | None) -> None:
        state = None if line is None else self._states.get(line)
        if state is not None and state.record is not None:
            self.post_message(self.Sought(state.record))

    def _follow_reached(self) -> None:
        """See what was reached last and some of what is next, before that the top; unless scrolled away."""
        top = 0 if self._reached is None else self._top_for(self._reached, self.size.height // 3)
        self._follow |= self.cursor is None and top == self.scroll_offset.y
        if self._follow:
            self.scroll_to(y=top, animate=False, immediate=True)

    def _top_for(self, line: int | None, beyond: int) -> int:
        """Scrolled no further than is needed to see a line, and so many rows beyond it."""
        top = self.scroll_offset.y
        places = [place for place, row in enumerate(self._rows) if row.line == line]
        if line is None or not places:
            return top
        lowest = min(len(self._rows) - 1, places[-1] + beyond) - self.size.height + 1
        return min(places[0], max(lowest, min(top, places[0] - beyond), 0))

    # what is in the rows

    def _all_rows(self, script: Script, width: int) -> Iterator[_Row]:
        for place, paragraph in enumerate(script.about):
            style = Style(bold=True) if not place else DIM
            for text in textwrap.wrap(sanitize(paragraph, _LONGEST), max(_LEAST_TEXT, width - 2)):
                yield _Row([(f" {text}", style)])
        if script.about:
            yield _Row([])
        for line in script.lines:
            yield from self._line_rows(line, max(_LEAST_TEXT, width - _MARGIN))

    def _line_rows(self, line: ScriptLine, room: int) -> Iterator[_Row]:
        theme_styles, state = self._look, self._states.get(line.number)
        if state is None:
            yield _Row(
                [(f"{line.number:5}{'':{_MARGIN - 5}}", DIM), (sanitize(line.text, _LONGEST), DIM)], line.number
            )
            return
        reached = line.number == self._reached
        style = theme_styles.accent if reached else DIM if state.sort == "later" else Style()
        sign, signed = self._sign(state)
        clock = "" if state.record is None else f"{state.at_us / 1e6:.3f}"
        before: list[Piece] = [
            (theme_styles.glyphs.play if reached else " ", theme_styles.accent),
            (f"{line.number:4} ", DIM),
            (f"{sign} {state.word:10}", signed),
            (f"{clock:>8}  ", DIM),
        ]
        said = sanitize(line.text, _LONGEST)
        said = said if cell_len(said) <= room else " ".join(said.split())  # it was set in columns
        for text in textwrap.wrap(said, room, subsequent_indent="    ", break_on_hyphens=False):
            yield _Row([*before, (text, style)], line.number)
            before = [(" " * _MARGIN, Style())]
        for text in textwrap.wrap(sanitize(state.why, _LONGEST), room - 2):
            yield _Row([(" " * (_MARGIN + 2), Style()), (text, signed)], line.number)

    def _sign(self, state: State) -> Piece:
        theme_styles = self._look
        if state.sort == "waits":
            return theme_styles.glyph("Waiting"), theme_styles.status("Waiting")
        if state.sort == "later":
            return " ", DIM
        return theme_styles.glyphs.marks[state.sort], theme_styles.mark(state.sort)
