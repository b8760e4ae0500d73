"""One node in full: its last step, its waits, its state and its stable storage."""

from functools import cached_property

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.strip import Strip

from lab.analysis.inspection import Inspector
from lab.analysis.lookback import LastStep, LastSteps
from lab.recording.snapshot import NodeState
from lab.replay.source_listing import Listing
from lab.text import sanitize
from lab.tui.nodes.pane import process_text
from lab.tui.run.cursor import Cursor
from lab.tui.run.source import Source
from lab.tui.terminal.clipboard import Copied
from lab.tui.terminal.fitting import Piece, fit, highlight
from lab.tui.terminal.theme_styles import DIM, ThemeStyles
from lab.tui.views.following_view import FollowingView
from lab.tui.views.inspect.inspect_rows import Row, inspection_rows, remaining_times

__all__ = ["InspectView"]

_REASONS = ("it made the last step; a digit selects another", "it made the last step", "last step")
"""The reason why a node is shown that is not selected: the first that fits."""


class InspectView(FollowingView):
    """Shows the selected node, or else the node that made the last step. Its head does not scroll."""

    def __init__(self, theme_styles: ThemeStyles, source: Source) -> None:
        super().__init__("inspect")
        self._theme_styles = theme_styles
        self._source = source
        self._steps = LastSteps(source.store)
        self._inspector = Inspector(source.store, source.safe_fields)
        self._shown: list[Row] = []
        self._drawn: tuple[object, ...] = ()
        self._rows: list[Row] = []
        self._head: list[Piece] = []
        self._node: int | None = None
        self._highlighted = ""

    def show(self, cursor: Cursor) -> None:
        last = self._steps.at(cursor.record, cursor.selected)
        node = last.step.node if cursor.selected is None and last is not None else cursor.selected
        view = None if node is None else cursor.cluster.nodes.get(node)
        if node != self._node:
            self._node = node
            self.scroll_to(y=0, animate=False, immediate=True)
        width = self.scrollable_content_region.width
        self._redraw(self._head_of(view, cursor.selected, width), self._rows_of(last, view, cursor, width), width)

    def texts(self) -> list[str]:
        """Return its rows, from the top, without the head."""
        return ["".join(text for text, _ in row) for row in self._shown]

    def move_cursor(self, place: int) -> None:
        """Scroll to a row."""
        self.scroll_to(y=place - self.size.height // 2, animate=False, immediate=True)

    def highlight_text(self, text: str) -> None:
        """Highlight every occurrence of a text."""
        self._highlighted = text
        self.refresh()

    def copied(self) -> Copied | None:
        """Return the whole text about the node."""
        head = "".join(text for text, _ in self._head)
        return f"node {self._node}", "\n".join(text.rstrip() for text in (head, *self.texts()))

    def activate(self) -> None:
        """Do nothing."""

    def action_cursor(self, by: int) -> None:
        """Scroll by a number of rows."""
        self.scroll_to(y=self.scroll_offset.y + by, animate=False, immediate=True)

    def action_cursor_page(self, pages: int) -> None:
        self.action_cursor(pages * max(1, self.size.height - 2))

    def render_line(self, y: int) -> Strip:
        width, place = self.size.width, self.scroll_offset.y + y - 1
        row = self._head if not y else self._shown[place] if place < len(self._shown) else []
        base = self.rich_style
        pieces = fit(highlight(row, [self._highlighted], self._theme_styles.highlight), width)
        return Strip([Segment(text, base + style) for text, style in pieces], width)

    @cached_property
    def _listing(self) -> Listing:
        return Listing(self._source.store.header.protocol)

    def _redraw(self, head: list[Piece], rows: list[Row], width: int) -> None:
        """Redraw the rows that changed."""
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

    def _rows_of(self, last: LastStep | None, view: NodeState | None, cursor: Cursor, width: int) -> list[Row]:
        if view is None or last is None:
            return [[(" no step so far", DIM)]]
        found = self._inspector.of(last)
        to_draw = (found, view.process, remaining_times(found, cursor.now_us), width, self._theme_styles.dark)
        if to_draw != self._drawn:
            self._drawn = to_draw
            self._rows = inspection_rows(found, view, cursor.now_us, self._listing, self._theme_styles, width)
        return self._rows

    def _head_of(self, view: NodeState | None, selected: int | None, width: int) -> list[Piece]:
        theme_styles = self._theme_styles
        if view is None:
            return [(" no node has made a step so far; a digit selects one", DIM)]
        shown = view.status if view.process == "running" else view.process
        pieces: list[Piece] = [
            (f" node {view.id} ", Style(bold=True)),
            (
                f" {theme_styles.glyph(shown)} {sanitize(process_text(shown), 20)}",
                theme_styles.status(shown) + Style(bold=True),
            ),
        ]
        if view.leads:
            pieces.append((f" {theme_styles.glyphs.leads} leads", theme_styles.leader))
        process = f"  incarnation {view.incarnation}" + (f", process {view.pid}" if view.pid else "")
        pieces.append((process, Style()))
        reasons = ("selected",) if selected is not None else _REASONS
        left = width - sum(cell_len(text) for text, _ in pieces) - 2
        return [*pieces, (f"  {next((each for each in reasons if cell_len(each) <= left), reasons[-1])}", DIM)]
