"""The network at the cursor: which nodes can communicate, and the matrix of links.

If there is room, the sides are boxes beside the matrix, else text above it.
"""

from dataclasses import dataclass
from itertools import zip_longest
from typing import ClassVar

from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.message import Message

from lab.recording.cluster_state import ClusterState
from lab.styles import DIM, Line, ThemeStyles, fit, width_of, wrap_words
from lab.tui.player import Cursor, Picked
from lab.tui.source import Source
from lab.tui.views.lines_view import PictureView
from lab.tui.views.network_drawing import Matrix, Sides
from lab.tui.views.network_state import FAULT_LABELS, NetworkNow, Pair, describe_link, format_latency, network_now

_BOXES_WIDTH = 76
"""The least columns for boxes beside the matrix."""
_BOXES = 34
_GAP = 3
_LEAST_CELL = 6
_MANY = 10
_MOST_WORDS = 4
_HIGH = 14
"""The least lines for a legend and a head of the matrix."""


class NetworkView(PictureView, inherit_bindings=False):
    """The network as of a record. The arrows move over the matrix; ``Enter`` changes the link under the cursor."""

    @dataclass
    class Opened(Message):
        """Request to change this link."""

        link: Pair
        now: NetworkNow

    BINDINGS: ClassVar[list[BindingType]] = [
        ("up", "move(-1, 0)"),
        ("down", "move(1, 0)"),
        ("left", "move(0, -1)"),
        ("right", "move(0, 1)"),
    ]

    DEFAULT_CSS = "NetworkView { padding: 0 1; }"

    def __init__(self, styles: ThemeStyles, source: Source) -> None:
        super().__init__("network", styles)
        header = self._header = source.store.header
        self._groups = source.groups
        self._record = -1
        self._now = network_now(ClusterState.of(header), self._groups)
        self._now_us = 0
        self._selected: int | None = None
        self._link: Pair = header.nodes[0], header.nodes[min(1, len(header.nodes) - 1)]
        self._body: list[Line] = []
        self._matrix: Matrix | None = None
        self._matrix_at = (0, 0)

    def show(self, cursor: Cursor) -> None:
        """Draw the network at the cursor. A newly selected node has its row shown."""
        if cursor.record != self._record:
            self._record = cursor.record
            now = network_now(cursor.cluster, self._groups)
            if now != self._now:  # keeping the object makes the next comparison cheap
                self._now = now
        if cursor.selected != self._selected and cursor.selected in self._now.nodes:
            source, target = self._link
            self._link = (cursor.selected, source if target == cursor.selected else target)
        self._selected, self._now_us = cursor.selected, cursor.now_us
        self._draw()

    def select(self, picked: Picked | None) -> None:
        """Move to the link of a message that was selected in another view."""
        super().select(picked)
        if picked is not None and picked.message is not None and picked.target is not None:
            self._link = picked.message[0], picked.target

    def activate(self) -> None:
        self.post_message(self.Opened(self._link, self._now))

    def action_move(self, down: int, right: int) -> None:
        """Move to the next link, skipping the diagonal."""
        ids = list(self._now.nodes)
        row, column = (ids.index(node) if node in ids else 0 for node in self._link)
        row, column = row + down, column + right
        if row == column:
            row, column = row + down, column + right
        if 0 <= row < len(ids) and 0 <= column < len(ids):
            self._link = ids[row], ids[column]
            self._draw()

    def on_click(self, event: events.Click) -> None:
        """Move to the link under the mouse; a double click changes it."""
        offset = event.get_content_offset(self)
        if offset is None or self._matrix is None:
            return
        link = self._matrix.link_at(offset.x - self._matrix_at[0], offset.y - self._matrix_at[1])
        if link is None:
            return
        self._link = link
        self._draw()
        if event.chain > 1:
            self.activate()

    def _draw(self) -> None:
        """Draw the sides, the matrix, and the text about the link under the cursor."""
        width, height = self.size
        if self._is_new(self._now, self._link, self._selected, self.has_focus, height):
            self._body = self._whole_body(width, height - self._foot_height)
        self._put_lines([*self._body, *self._foot(width)])

    # below: the link under the cursor

    @property
    def _is_high(self) -> bool:
        return self.size.height >= _HIGH

    @property
    def _foot_height(self) -> int:
        return 5 if self._is_high else 2

    def _foot(self, width: int) -> list[Line]:
        phrases = describe_link(self._link, self._now, self._header.link, self._now_us, self._styles)
        dot = self._styles.glyphs.dot
        words: Line = []
        for place, (phrase, style) in enumerate(phrases):
            words += [(dot, DIM)] if place > 1 else []
            words += [(word, style) for word in phrase.split()]
        lines = self._in_lines(wrap_words(words, width), 3 if self._is_high else self._foot_height)
        return [[(self._styles.glyphs.rest * width, DIM)], *lines, self._legend()] if self._is_high else lines

    def _in_lines(self, lines: list[Line], most: int) -> list[Line]:
        """Return exactly ``most`` lines. The rest is appended to the last one, which is cut off at the right."""
        last = [piece for line in lines[most - 1 :] for piece in (*line, (" ", Style()))]
        return [*lines[: most - 1], last, *([] for _ in range(most - len(lines)))][:most]

    def _legend(self) -> Line:
        styles = self._styles
        signs = styles.glyphs.links
        legend = [f"{signs[name]} {label}" for name, label in FAULT_LABELS.items() if name != "other"]
        return [("  ".join([*legend, f"{styles.glyphs.arrow}2 in flight", "(…) no effect so far"]), DIM)]

    # above: the sides, and the matrix

    def _whole_body(self, width: int, height: int) -> list[Line]:
        left = Sides(self._now, self._styles, max(_BOXES, width // 4)).boxes(height)
        boxes = max(map(width_of, left), default=0)
        across = width - boxes - _GAP
        least = _LEAST_CELL if len(self._now.nodes) <= _MANY else 2
        if width >= _BOXES_WIDTH and self._is_high and self._new_matrix(across, height).cell >= least:
            right = self._drawn_matrix(across, height)
            self._matrix_at = boxes + _GAP, self._matrix_at[1]
            nothing: Line = []
            pairs = zip_longest(left, right, fillvalue=nothing)
            return [[*fit(one, boxes), (" " * _GAP, Style()), *other] for one, other in pairs]
        words = Sides(self._now, self._styles, width).words(_MOST_WORDS if self._is_high else 2)
        lines = self._drawn_matrix(width, height - len(words))
        self._matrix_at = 0, self._matrix_at[1] + len(words)
        return [*words, *lines]

    def _new_matrix(self, width: int, height: int) -> Matrix:
        return Matrix(self._now, self._styles, width, height, self._link)

    def _drawn_matrix(self, width: int, height: int) -> list[Line]:
        """Return the matrix, with a title if there is room or if parts of the matrix are not visible."""
        matrix = self._new_matrix(width, height)
        titled = self._is_high or bool(matrix.left_out)
        if titled:
            matrix = self._new_matrix(width, height - 1)
        self._matrix, self._matrix_at = matrix, (0, int(titled))
        lines = matrix.lines(self._selected, self.has_focus)
        return [[(self._title(matrix), DIM)], *lines] if titled else lines

    def _title(self, matrix: Matrix) -> str:
        every = f"every link: {format_latency(self._header.link)}"
        return matrix.left_out or f"rows send, columns receive; {every}"
