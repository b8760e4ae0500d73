"""The network at the cursor, in the place of the log: who hears whom, and the matrix of links.

Where there is room the sides are boxes beside the matrix, else words above it.
"""

from itertools import zip_longest
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from lab.analysis.connectivity import Pair
from lab.analysis.group_history import GroupLog
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header
from lab.tui.run.cursor import Cursor
from lab.tui.terminal.fitting import Piece, fit
from lab.tui.terminal.theme_styles import DIM, ThemeStyles
from lab.tui.views.groups.drawing import wrapped
from lab.tui.views.network.links import NetworkNow, network_now
from lab.tui.views.network.matrix import Matrix
from lab.tui.views.network.sides import Sides, width_of
from lab.tui.views.network.signs import NAMES
from lab.tui.views.network.telling import latency_said, link_told

__all__ = ["NetworkView"]

_BESIDE = 76
"""From so many columns on there may be room for boxes beside the matrix."""
_BOXES = 34
_GAP = 3
_LEAST_CELL = 6
_MANY = 10
_MOST_WORDS = 4
_HIGH = 14
"""From so many lines on there is a legend, and a head for the matrix."""


class NetworkView(Widget, can_focus=True):
    """``show`` draws the network as of a record. The arrows move over the matrix, ``Enter`` is for that link."""

    class Opened(Message):
        """Something is to be done to this link."""

        def __init__(self, link: Pair, now: NetworkNow) -> None:
            super().__init__()
            self.link = link
            self.now = now

    BINDINGS: ClassVar[list[BindingType]] = [
        ("up", "move(-1, 0)"),
        ("down", "move(1, 0)"),
        ("left", "move(0, -1)"),
        ("right", "move(0, 1)"),
    ]

    DEFAULT_CSS = "NetworkView { height: 1fr; padding: 0 1; }"

    def __init__(self, theme_styles: ThemeStyles, header: Header, groups: GroupLog) -> None:
        super().__init__(id="network")
        self._look = theme_styles
        self._header = header
        self._groups = groups
        self._record = -1
        self._now = network_now(ClusterState.of(header), groups)
        self._now_us = 0
        self._selected: int | None = None
        self._cursor: Pair = header.nodes[0], header.nodes[min(1, len(header.nodes) - 1)]
        self._drawn: object = None
        self._body: list[list[Piece]] = []
        self._matrix: Matrix | None = None
        self._matrix_at = (0, 0)

    def show(self, moment: Cursor) -> None:
        """Draw the network of that moment; a node that is newly selected has its row seen."""
        if moment.cluster.record != self._record:
            self._record = moment.cluster.record
            now = network_now(moment.cluster, self._groups)
            self._now = self._now if now == self._now else now  # what is the same need not be compared again
        if moment.selected != self._selected and moment.selected in self._now.nodes:
            source, target = self._cursor
            self._cursor = (moment.selected, source if target == moment.selected else target)
        if moment.now_us != self._now_us and self._cursor in self._now.in_flight:
            self.refresh(Region(0, len(self._body), self.size.width, self._foot_height))
        self._selected, self._now_us = moment.selected, moment.now_us
        if self._to_draw() != self._drawn:
            self.refresh()

    def _to_draw(self) -> object:
        return self._now, self._cursor, self._selected, self.has_focus, self.size, self._look.dark

    def open_cursor(self) -> None:
        """Something is to be done to the link under the cursor."""
        self.post_message(self.Opened(self._cursor, self._now))

    def action_move(self, down: int, right: int) -> None:
        """To the next link below or beside, over that of a node to itself, which there is not."""
        ids = list(self._now.nodes)
        row, column = (ids.index(node) if node in ids else 0 for node in self._cursor)
        row, column = row + down, column + right
        if row == column:
            row, column = row + down, column + right
        if 0 <= row < len(ids) and 0 <= column < len(ids):
            self._go(ids[row], ids[column])

    def on_click(self, event: events.Click) -> None:
        """To the link under the mouse; where the cursor is there already, something is to be done to it."""
        offset = event.get_content_offset(self)
        if offset is None or self._matrix is None:
            return
        link = self._matrix.link_at(offset.x - self._matrix_at[0], offset.y - self._matrix_at[1])
        if link == self._cursor:
            self.open_cursor()
        elif link is not None:
            self._go(*link)

    def render_line(self, y: int) -> Strip:
        """A line of the sides or the matrix; below them the link under the cursor, in words."""
        width, base = self.size.width, self.rich_style
        if self._to_draw() != self._drawn:
            self._drawn = self._to_draw()
            self._body = self._whole_body(width, self.size.height - self._foot_height)
        from_foot = y - len(self._body)
        lines, place = (self._body, y) if from_foot < 0 else (self._foot(width), from_foot)
        pieces = lines[place] if place < len(lines) else []
        return Strip([Segment(text, base + style) for text, style in fit(pieces, width)], width)

    def _go(self, source: int, target: int) -> None:
        self._cursor = source, target
        self.refresh()

    # below: the link under the cursor

    @property
    def _is_high(self) -> bool:
        return self.size.height >= _HIGH

    @property
    def _foot_height(self) -> int:
        return 5 if self._is_high else 2

    def _foot(self, width: int) -> list[list[Piece]]:
        phrases = link_told(self._cursor, self._now, self._header.link, self._now_us, self._look)
        dot = self._look.glyphs.dot
        words: list[Piece] = []
        for place, (phrase, style) in enumerate(phrases):
            words += [(dot, DIM)] if place > 1 else []
            words += [(word, style) for word in phrase.split()]
        lines = self._in_lines(wrapped(words, width), 3 if self._is_high else self._foot_height)
        return [[(self._look.glyphs.rest * width, DIM)], *lines, self._legend()] if self._is_high else lines

    def _in_lines(self, lines: list[list[Piece]], most: int) -> list[list[Piece]]:
        """So many lines exactly; all that is too much is in the last, which is too long for it then."""
        last = [piece for line in lines[most - 1 :] for piece in (*line, (" ", Style()))]
        return [*lines[: most - 1], last, *([] for _ in range(most - len(lines)))][:most]

    def _legend(self) -> list[Piece]:
        theme_styles = self._look
        signs = theme_styles.glyphs.links
        said = [f"{signs[sort]} {name}" for sort, name in NAMES.items() if sort != "other"]
        return [("  ".join([*said, f"{theme_styles.glyphs.arrow}2 on their way", "(…) inert so far"]), DIM)]

    # above: the sides, and the matrix

    def _whole_body(self, width: int, height: int) -> list[list[Piece]]:
        left = Sides(self._now, self._look, max(_BOXES, width // 4)).boxes(height)
        boxes = max(map(width_of, left), default=0)
        across = width - boxes - _GAP
        least = _LEAST_CELL if len(self._now.nodes) <= _MANY else 2
        if width >= _BESIDE and self._is_high and self._new_matrix(across, height).cell >= least:
            right = self._drawn_matrix(across, height)
            self._matrix_at = boxes + _GAP, self._matrix_at[1]
            nothing: list[Piece] = []
            pairs = zip_longest(left, right, fillvalue=nothing)
            return [[*fit(one, boxes), (" " * _GAP, Style()), *other] for one, other in pairs]
        words = Sides(self._now, self._look, width).words(_MOST_WORDS if self._is_high else 2)
        lines = self._drawn_matrix(width, height - len(words))
        self._matrix_at = 0, self._matrix_at[1] + len(words)
        return [*words, *lines]

    def _new_matrix(self, width: int, height: int) -> Matrix:
        return Matrix(self._now, self._look, width, height, self._cursor)

    def _drawn_matrix(self, width: int, height: int) -> list[list[Piece]]:
        """With a line above it, where there is room for that, or not for all of the matrix."""
        matrix = self._new_matrix(width, height)
        titled = self._is_high or bool(matrix.left_out)
        if titled:
            matrix = self._new_matrix(width, height - 1)
        self._matrix, self._matrix_at = matrix, (0, int(titled))
        lines = matrix.lines(self._selected, self.has_focus)
        return [[(self._title(matrix), DIM)], *lines] if titled else lines

    def _title(self, matrix: Matrix) -> str:
        every = f"every link: {latency_said(self._header.link)}"
        return matrix.left_out or f"rows send, columns receive; {every}"
