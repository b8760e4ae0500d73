"""Views made of lines: only the visible ones are drawn, and of these only the ones that changed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from msgspec import Struct
from rich.console import RenderableType
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from lab.styles import Line, ThemeStyles, fit, highlight
from lab.tasks.extension import draw_safely
from lab.tasks.view_frame import ViewFrame
from lab.tui.player import Cursor, Picked
from lab.tui.source import Source

Copied = tuple[str, str]
"""(a description for the user, the text)."""


class LinesView(ScrollView, can_focus=True, inherit_bindings=False):
    """Lines that scroll below a head that does not. Subclasses return the line at any place in ``line``.

    The view follows its end, or the place of interest, until it is scrolled away from there. ``cursor`` is what
    ``Enter`` opens; None stands for the last one. Home and End are not bound here: they move the cursor in time.
    """

    @dataclass
    class Sought(Message):
        """Request to move the cursor in time to this record."""

        record: int

    @dataclass
    class Selected(Message):
        """Something was selected in this view, or nothing is any more: mark it in the others."""

        view: "LinesView"
        picked: Picked | None

    DEFAULT_CSS = "LinesView { height: 1fr; scrollbar-size-vertical: 1; overflow-x: hidden; }"

    BINDINGS: ClassVar[list[BindingType]] = [
        ("up", "cursor(-1)"),
        ("down", "cursor(1)"),
        ("pageup", "cursor_page(-1)"),
        ("pagedown", "cursor_page(1)"),
    ]

    def __init__(self, name: str, styles: ThemeStyles) -> None:
        super().__init__(id=name)
        self.cursor: int | None = None
        self._picked: Picked | None = None
        self._styles = styles
        self._follow = True
        self._count = 0
        self._head: Sequence[Line] = ()
        self._key: tuple[object, ...] = ()
        self._drawn: list[Line] = []
        self._drawn_top = 0

    def show(self, cursor: Cursor) -> None:
        """Draw what is visible at the cursor in time."""
        raise NotImplementedError

    def line(self, place: int) -> Line:
        """Return the line at this place, which is below the number of lines."""
        raise NotImplementedError

    def select(self, picked: Picked | None) -> None:
        """Mark what was selected in another view."""
        self._picked = picked

    def activate(self) -> None:
        """Open what is under the cursor, if the view has one."""

    def copied(self) -> Copied | None:
        """Return what is under the cursor, to be copied, or None."""
        return None

    def action_cursor(self, by: int) -> None:
        """Move the cursor, or scroll if the view has none."""
        self._follow = False
        self._scroll(self.scroll_offset.y + by)

    def action_cursor_page(self, pages: int) -> None:
        self.action_cursor(pages * max(1, self._page))

    def on_mouse_scroll_up(self) -> None:
        """Stop following until the end is reached again."""
        self._follow = False

    def on_scroll_to(self) -> None:
        """Stop following when the scroll bar is dragged."""
        self._follow = False

    def on_resize(self) -> None:
        self._key = ()

    def render_line(self, y: int) -> Strip:
        width, base = self._width, self.rich_style
        return Strip([Segment(text, base + style) for text, style in fit(self._line_at(y), width)], width)

    # for subclasses

    def _pick(self, picked: Picked | None) -> None:
        """Select something in all views, or nothing."""
        if picked != self._picked:
            self._picked = picked
            self.post_message(self.Selected(self, picked))

    def _marked_as_picked(self, line: Line) -> Line:
        """Return a line that begins with a blank as wide as the view, with the mark of what is selected."""
        (text, style), *rest = line
        return self._in_style([(self._styles.glyphs.play + text[1:], style), *rest], self._styles.picked)

    @property
    def _page(self) -> int:
        """The number of lines, or of items, that a page has."""
        return self._height - 1

    @property
    def _width(self) -> int:
        """The columns of a line: those of the view without its scroll bar, which is laid out only later."""
        return self.size.width - (self._count > self._height)

    @property
    def _height(self) -> int:
        """The number of visible lines that scroll."""
        return self.size.height - len(self._head)

    @property
    def _last_top(self) -> int:
        return max(0, self._count - self._height)

    def _is_new(self, *key: object) -> bool:
        """Return whether this key of the contents, the width, or the theme differs from the last time."""
        before, self._key = self._key, (*key, self.scrollable_content_region.width, self._styles.dark)
        return self._key != before

    def _put(self, count: int, head: Sequence[Line] = ()) -> None:
        """Take a new number of lines and a new head."""
        self._count, self._head = count, head
        self.virtual_size = Size(self.scrollable_content_region.width, count + len(head))

    def _redraw(self) -> None:
        """Draw the visible lines that changed."""
        top, drawn = self.scroll_offset.y, [self._line_at(y) for y in range(self.size.height)]
        if top != self._drawn_top or len(drawn) != len(self._drawn):
            self.refresh()
        elif changed := [
            y for y, (line, before) in enumerate(zip(drawn, self._drawn, strict=True)) if line != before
        ]:
            self.refresh(*(Region(0, y, self.size.width, 1) for y in changed))
        self._drawn, self._drawn_top = drawn, top

    def _scroll(self, top: int) -> None:
        # by force: for new lines, the scroll bar is laid out only later, and its place must be set
        self.scroll_to(y=max(0, top), animate=False, force=True, immediate=True)
        self.vertical_scrollbar.position = self.scroll_y

    def _follow_end(self) -> None:
        """Scroll to the end if the view follows it, or is scrolled beyond it."""
        if self._follow or self.scroll_offset.y > self._last_top:
            self._scroll(self._last_top)

    def _place_at(self, event: events.Click) -> int | None:
        """Return the place of the line under the mouse, if there is one."""
        offset = event.get_content_offset(self)
        place = -1 if offset is None else self.scroll_offset.y + offset.y - len(self._head)
        is_line = offset is not None and offset.y >= len(self._head) and place < self._count
        return place if is_line else None

    def _in_style(self, line: Line, ground: Style) -> Line:
        """Return a line as wide as the view, on top of this style."""
        return [(text, ground + style) for text, style in fit(line, self._width)]

    def _line_at(self, y: int) -> Line:
        if y < len(self._head):
            return self._head[y]
        place = self.scroll_offset.y + y - len(self._head)
        return self.line(place) if place < self._count else []


class PictureView(LinesView):
    """A view whose lines are drawn for its size, and do not scroll."""

    DEFAULT_CSS = "PictureView { overflow: hidden; }"

    def __init__(self, name: str, styles: ThemeStyles) -> None:
        super().__init__(name, styles)
        self._lines: Sequence[Line] = ()

    def line(self, place: int) -> Line:
        return self._lines[place]

    def _put_lines(self, lines: Sequence[Line]) -> None:
        self._lines = lines
        self._put(min(len(lines), self.size.height))
        self._redraw()


class RenderedView(PictureView):
    """A view of what ``draw`` returns for each frame. The cursor keys scroll it."""

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
            draw_safely(self._draw, frame), console.options.update(width=width, height=None), pad=False
        )
        self._lowest = frame.last_top
        self._put_lines([[(text, style or Style()) for text, style, _ in line] for line in lines])

    def action_cursor(self, by: int) -> None:
        self._top = max(0, min(self._top + by, self._lowest))

    @property
    def _page(self) -> int:
        return self.size.height // 2


class Row(Struct, frozen=True):
    """A line of a view. ``item`` is the number of the item that it is part of, if any."""

    pieces: Line
    item: int | None = None


class RowsView(LinesView):
    """A view that keeps all its rows, and can be searched for text. ``cursor`` is an item."""

    def __init__(self, name: str, styles: ThemeStyles) -> None:
        super().__init__(name, styles)
        self._rows: Sequence[Row] = ()
        self._highlighted = ""

    def line(self, place: int) -> Line:
        return highlight(self._rows[place].pieces, [self._highlighted], self._styles.highlight)

    def texts(self) -> list[str]:
        """Return the texts of all rows, from the top."""
        return ["".join(text for text, _ in row.pieces) for row in self._rows]

    def move_cursor(self, place: int) -> None:
        """Move the cursor to the item of a row, and scroll the row into view."""
        self._scroll(place - self.size.height // 2)

    def highlight_text(self, text: str) -> None:
        """Highlight every occurrence of a text."""
        self._highlighted = text
        self.refresh()

    def _put_rows(self, rows: Sequence[Row], head: Sequence[Line] = ()) -> None:
        self._rows = rows
        self._put(len(rows), head)
        self._redraw()

    def _item_at(self, event: events.Click) -> int | None:
        """Return the item under the mouse, if there is one."""
        place = self._place_at(event)
        return None if place is None else self._rows[place].item

    def _top_for(self, item: int | None, beyond: int = 0) -> int:
        """Return the nearest scroll position that shows an item and ``beyond`` rows around it."""
        top = self.scroll_offset.y
        places = [place for place, row in enumerate(self._rows) if row.item == item]
        if item is None or not places:
            return top
        lowest = min(len(self._rows) - 1, places[-1] + beyond) - self._height + 1
        return min(places[0], max(lowest, min(top, places[0] - beyond), 0))
