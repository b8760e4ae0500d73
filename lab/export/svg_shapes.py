"""Drawing primitives: shapes and texts in the colours of paper, and labels that do not overlap.

Foreign text must never be used in an attribute: drawsvg escapes only the text between tags.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable
from math import hypot
from typing import Any

import drawsvg

from lab.export.diagram_layout import Position

INK, FAINT, RULE, PAPER = "#222222", "#777777", "#e4e4e4", "#ffffff"
HALO = {"stroke": PAPER, "stroke_width": 3, "paint_order": "stroke", "text_anchor": "middle"}
"""Style of a text drawn over lines, centred at its position."""
FONT = "Helvetica, Arial, sans-serif"
_HEAD, _HALF_CROSS = 7, 4.5
_CELL = 64
Box = tuple[float, float, float, float]
Cell = tuple[int, int]


def text_width(words: str, size: float) -> float:
    """Return the approximate width of a text."""
    return 0.53 * size * len(words)


def text(words: str, size: float, at: Position, colour: str = INK, **style: Any) -> drawsvg.Text:
    """Return a text with its lower left corner at ``at``; ``text_anchor`` can make that its middle or end."""
    return drawsvg.Text(words, size, round(at[0], 1), round(at[1], 1), fill=colour, **style)


def line(
    start: Position, end: Position, colour: str, width: float, dashes: str = "", **style: Any
) -> drawsvg.Line:
    if dashes:
        style["stroke_dasharray"] = dashes
    ends = (round(each, 1) for each in (*start, *end))
    return drawsvg.Line(*ends, stroke=colour, stroke_width=width, **style)


def arrow_head(start: Position, tip: Position, colour: str) -> drawsvg.Lines:
    """Return the head of an arrow from ``start`` to ``tip``."""
    dx, dy = tip[0] - start[0], tip[1] - start[1]
    length = hypot(dx, dy) or 1.0
    dx, dy = dx / length * _HEAD, dy / length * _HEAD
    corners = (
        *tip,
        tip[0] - dx - dy / 2.6,
        tip[1] - dy + dx / 2.6,
        tip[0] - dx + dy / 2.6,
        tip[1] - dy - dx / 2.6,
    )
    return drawsvg.Lines(*(round(each, 1) for each in corners), close=True, fill=colour, class_="tip")


def cross(at: Position, colour: str) -> drawsvg.Path:
    x, y, size = round(at[0], 1), round(at[1], 1), _HALF_CROSS
    strokes = f"M{x - size},{y - size} L{x + size},{y + size} M{x - size},{y + size} L{x + size},{y - size}"
    return drawsvg.Path(strokes, stroke=colour, stroke_width=2, fill="none")


class Labels:
    """The occupied areas of a picture."""

    def __init__(self) -> None:
        self._boxes: defaultdict[Cell, list[Box]] = defaultdict(list)
        self._lines: defaultdict[Cell, list[tuple[Position, Position, Hashable]]] = defaultdict(list)

    def reserve(self, box: Box) -> None:
        """Mark an area as occupied: left, top, right, bottom."""
        for cell in self._cells(box):
            self._boxes[cell].append(box)

    def reserve_line(self, start: Position, end: Position, group: Hashable) -> None:
        """Mark a line as occupied, except for the label of its group."""
        (x0, x1), (y0, y1) = sorted((start[0], end[0])), sorted((start[1], end[1]))
        for cell in self._cells((x0, y0, x1, y1)):
            x, y = cell[0] * _CELL, cell[1] * _CELL
            if _crosses(start, end, (x, y, x + _CELL, y + _CELL)):
                self._lines[cell].append((start, end, group))

    def place(
        self, words: str, size: float, places: Iterable[Position], group: Hashable = None
    ) -> Position | None:
        """Reserve the first free position for a text, and return it; None if all are occupied.

        Positions are the middle of the text's lower edge.
        """
        half = text_width(words, size) / 2
        for x, y in places:
            box = (x - half, y - size, x + half, y + 2)
            if self._is_free(box, group):
                self.reserve(box)
                return x, y
        return None

    def _is_free(self, box: Box, group: Hashable) -> bool:
        cells = self._cells(box)
        return not any(
            box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]
            for cell in cells
            for other in self._boxes[cell]
        ) and not any(
            other != group and _crosses(start, end, box)
            for cell in cells
            for start, end, other in self._lines[cell]
        )

    def _cells(self, box: Box) -> list[Cell]:
        columns = range(int(box[0] // _CELL), int(box[2] // _CELL) + 1)
        rows = range(int(box[1] // _CELL), int(box[3] // _CELL) + 1)
        return [(column, row) for column in columns for row in rows]


def _crosses(start: Position, end: Position, box: Box) -> bool:
    """Return whether a part of a line is in a box."""
    first, last = 0.0, 1.0
    for axis in (0, 1):
        length = end[axis] - start[axis]
        low, high = box[axis] - start[axis], box[axis + 2] - start[axis]
        if length == 0:
            if low > 0 or high < 0:
                return False
            continue
        enters, leaves = sorted((low / length, high / length))
        first, last = max(first, enters), min(last, leaves)
    return first <= last
