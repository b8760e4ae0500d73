"""Views that a function draws anew for each frame, as a rich renderable: such a function is a whole view."""

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct
from rich.console import RenderableType
from rich.style import Style
from rich.text import Text

from lab.analysis.group_history import GroupLog
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header
from lab.tui.player import Cursor
from lab.tui.source import Source
from lab.tui.terminal.styles import DIM, Line, ThemeStyles, fit
from lab.tui.views.lines_view import PictureView
from lab.units import format_count


class ViewFrame(Struct):
    """A run at the cursor in time, and the room to draw it. ``top`` is how far the user has scrolled."""

    header: Header
    cluster: ClusterState
    groups: GroupLog
    now_us: int
    styles: ThemeStyles
    width: int
    height: int
    top: int = 0
    last_top: int = 0
    """How far scrolling has any effect."""

    def scrolled(self, lines: Sequence[Line], height: int, noun: str) -> Sequence[Line]:
        """Return the lines that fit into a height, from ``top`` on; the last one counts those below."""
        last_top = max(0, len(lines) - max(1, height))
        self.last_top = max(self.last_top, last_top)
        if self.top >= last_top:
            return lines[last_top:]
        end = self.top + max(0, height - 1)
        return [*lines[self.top : end], [(f"and {format_count(len(lines) - end, f'more {noun}')} (PgDn)", DIM)]]

    def text(self, lines: Iterable[Line]) -> Text:
        """Return lines as text, each cut to the width."""
        return Text("\n", no_wrap=True).join(Text.assemble(*fit(line, self.width)) for line in lines)


class RenderedView(PictureView):
    """What ``draw`` returns for each frame. The cursor keys scroll it."""

    DEFAULT_CSS = "RenderedView { padding: 0 1; }"

    def __init__(
        self, name: str, styles: ThemeStyles, source: Source, draw: Callable[[ViewFrame], RenderableType]
    ) -> None:
        super().__init__(name, styles)
        self._source = source
        self._draw = draw
        self._top = self._lowest = 0

    def show(self, cursor: Cursor) -> None:
        (width, height), console = self.size, self.app.console
        if not width or not self._is_new(cursor.record, cursor.now_us, height, self._top):
            return
        header, groups, at = self._source.store.header, self._source.groups, cursor.cluster
        frame = ViewFrame(header, at, groups, cursor.now_us, self._styles, width, height, self._top)
        lines = console.render_lines(
            self._draw(frame), console.options.update(width=width, height=None), pad=False
        )
        self._lowest = frame.last_top
        self._put_lines([[(text, style or Style()) for text, style, _ in line] for line in lines])

    def action_cursor(self, by: int) -> None:
        self._top = max(0, min(self._top + by, self._lowest))

    @property
    def _page(self) -> int:
        return self.size.height // 2
