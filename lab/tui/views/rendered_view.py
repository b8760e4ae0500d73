"""Views that a function draws anew for each frame, as a rich renderable: such a function is a whole view."""

from collections.abc import Callable

from rich.console import RenderableType
from rich.style import Style

from lab.styles import ThemeStyles
from lab.tasks.view_frame import ViewFrame
from lab.tui.player import Cursor
from lab.tui.source import Source
from lab.tui.views.lines_view import PictureView


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
