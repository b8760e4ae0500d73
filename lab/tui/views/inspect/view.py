"""One node as a whole: what its last step took, changed and sent, its waits, its state, its safe storage."""

from functools import cached_property

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.strip import Strip

from lab.analysis.inspection import Inspector
from lab.analysis.lookback import LastStep, LastSteps
from lab.recording.snapshot import NodeState
from lab.replay.source_listing import Listing
from lab.text import sanitize
from lab.tui.run.cursor import Cursor
from lab.tui.run.source import Source
from lab.tui.terminal.copying import Copied
from lab.tui.terminal.fitting import Piece, fit, lit
from lab.tui.terminal.theme_styles import DIM, ThemeStyles
from lab.tui.views.following import FollowingView
from lab.tui.views.inspect.rows import Row, inspected, times_left

__all__ = ["InspectView"]


class InspectView(FollowingView):
    """Shows the selected node, or, where none is, that whose step was the last one. Its head stays."""

    def __init__(self, theme_styles: ThemeStyles, source: Source) -> None:
        super().__init__("inspect")
        self._look = theme_styles
        self._source = source
        self._steps = LastSteps(source.lines)
        self._inspector = Inspector(source.lines, source.safe_fields)
        self._shown: list[Row] = []
        self._drawn: tuple[object, ...] = ()
        self._rows: list[Row] = []
        self._head: list[Piece] = []
        self._node: int | None = None
        self._lit = ""

    def show(self, moment: Cursor) -> None:
        """Draw the node as of that moment."""
        last = self._steps.at(moment.record, moment.selected)
        node = last.step.node if moment.selected is None and last is not None else moment.selected
        view = None if node is None else moment.cluster.nodes.get(node)
        if node != self._node:
            self._node = node
            self.scroll_to(y=0, animate=False, immediate=True)
        width = self.scrollable_content_region.width
        self._put(self._head_of(view, moment.selected), self._rows_of(last, view, moment, width), width)

    def texts(self) -> list[str]:
        """Its rows, from the top, without the head."""
        return ["".join(text for text, _ in row) for row in self._shown]

    def put_cursor(self, place: int) -> None:
        """See that row."""
        self.scroll_to(y=place - self.size.height // 2, animate=False, immediate=True)

    def light_text(self, text: str) -> None:
        """Light this text up wherever it is."""
        self._lit = text
        self.refresh()

    def copied(self) -> Copied | None:
        """All that is said of the node."""
        head = "".join(text for text, _ in self._head)
        return f"node {self._node}", "\n".join(text.rstrip() for text in (head, *self.texts()))

    def open_cursor(self) -> None:
        """There is nothing in it to be opened."""

    def action_cursor(self, by: int) -> None:
        """Scroll by so many rows."""
        self.scroll_to(y=self.scroll_offset.y + by, animate=False, immediate=True)

    def action_cursor_page(self, pages: int) -> None:
        """Scroll by about what fits on the screen."""
        self.action_cursor(pages * max(1, self.size.height - 2))

    def render_line(self, y: int) -> Strip:
        """The head, or a row below it."""
        width, place = self.size.width, self.scroll_offset.y + y - 1
        row = self._head if not y else self._shown[place] if place < len(self._shown) else []
        base = self.rich_style
        pieces = fit(lit(row, [self._lit], self._look.lit), width)
        return Strip([Segment(text, base + style) for text, style in pieces], width)

    @cached_property
    def _listing(self) -> Listing:
        return Listing(self._source.lines.header.protocol)

    def _put(self, head: list[Piece], rows: list[Row], width: int) -> None:
        """Draw what differs."""
        before = [self._head, *self._shown]
        self._head, self._shown = head, rows
        if len(rows) + 1 != len(before) or width != self.virtual_size.width:
            self.virtual_size = Size(width, len(rows) + 1)
            self.refresh()
            return
        for place, (was, now) in enumerate(zip(before, [head, *rows], strict=True)):
            y = place - self.scroll_offset.y if place else 0
            if was != now and 0 <= y < self.size.height:
                self.refresh(Region(0, y, self.size.width, 1))

    def _rows_of(self, last: LastStep | None, view: NodeState | None, moment: Cursor, width: int) -> list[Row]:
        if view is None or last is None:
            return [[(" it has made no step so far", DIM)]]
        found = self._inspector.of(last)
        to_draw = (found, view.process, times_left(found, moment.now_us), width, self._look.dark)
        if to_draw != self._drawn:
            self._drawn = to_draw
            self._rows = inspected(found, view, moment.now_us, self._listing, self._look, width)
        return self._rows

    def _head_of(self, view: NodeState | None, selected: int | None) -> list[Piece]:
        theme_styles = self._look
        if view is None:
            return [(" no node has made a step so far; a digit selects one", DIM)]
        shown = view.status if view.process == "running" else view.process
        pieces: list[Piece] = [
            (f" node {view.id} ", Style(bold=True)),
            (f" {theme_styles.glyph(shown)} {sanitize(shown, 20)}", theme_styles.status(shown) + Style(bold=True)),
        ]
        if view.leads:
            pieces.append((f" {theme_styles.glyphs.leads} leads", theme_styles.leader))
        process = f"  {view.process}, life {view.incarnation}" + (f", process {view.pid}" if view.pid else "")
        why = "selected" if selected is not None else "it made the last step; a digit selects another"
        return [*pieces, (process, Style()), (f"  {why}", DIM)]
