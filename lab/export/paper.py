"""What pictures are drawn on: shapes and texts in the colours of paper, and labels that do not cover each other.

No foreign text may come into an attribute: drawsvg escapes what is between tags alone.
"""

from collections import defaultdict
from collections.abc import Iterable
from math import hypot
from typing import Any

import drawsvg

__all__ = [
    "FAINT",
    "FONT",
    "HALO",
    "INK",
    "PAPER",
    "RULE",
    "Labels",
    "arrow_head",
    "cross",
    "letters",
    "line",
    "text",
]

INK, FAINT, RULE, PAPER = "#222222", "#777777", "#e4e4e4", "#ffffff"
HALO = {"stroke": PAPER, "stroke_width": 3, "paint_order": "stroke", "text_anchor": "middle"}
"""Of a text that stands on lines, in the middle of its place."""
FONT = "Helvetica, Arial, sans-serif"
_CELL = 64
Place = tuple[float, float]
Box = tuple[float, float, float, float]


def letters(words: str, size: float) -> float:
    """How wide a text is, about."""
    return 0.53 * size * len(words)


def text(words: str, size: float, at: Place, colour: str = INK, **style: Any) -> drawsvg.Text:
    """A text, with its lower left corner there, or its middle or end by ``text_anchor``."""
    return drawsvg.Text(words, size, round(at[0], 1), round(at[1], 1), fill=colour, **style)


def line(start: Place, end: Place, colour: str, width: float, dashes: str = "", **style: Any) -> drawsvg.Line:
    """A line."""
    if dashes:
        style["stroke_dasharray"] = dashes
    ends = (round(each, 1) for each in (*start, *end))
    return drawsvg.Line(*ends, stroke=colour, stroke_width=width, **style)


def arrow_head(start: Place, tip: Place, colour: str, size: float = 7) -> drawsvg.Lines:
    """The head of an arrow from ``start``, with its tip there."""
    dx, dy = tip[0] - start[0], tip[1] - start[1]
    length = hypot(dx, dy) or 1.0
    dx, dy = dx / length * size, dy / length * size
    corners = (
        *tip,
        tip[0] - dx - dy / 2.6,
        tip[1] - dy + dx / 2.6,
        tip[0] - dx + dy / 2.6,
        tip[1] - dy - dx / 2.6,
    )
    return drawsvg.Lines(*(round(each, 1) for each in corners), close=True, fill=colour, class_="tip")


def cross(at: Place, colour: str, size: float = 4.5) -> drawsvg.Path:
    """A ×."""
    x, y = round(at[0], 1), round(at[1], 1)
    strokes = f"M{x - size},{y - size} L{x + size},{y + size} M{x - size},{y + size} L{x + size},{y - size}"
    return drawsvg.Path(strokes, stroke=colour, stroke_width=2, fill="none")


class Labels:
    """Room that is taken. ``find`` gives the first of some places that is free, and takes it."""

    def __init__(self) -> None:
        self._taken: defaultdict[tuple[int, int], list[Box]] = defaultdict(list)

    def take(self, box: Box) -> None:
        """This is written on: left, top, right, bottom."""
        for cell in self._cells(box):
            self._taken[cell].append(box)

    def find(self, words: str, size: float, places: Iterable[Place]) -> Place | None:
        """The middle of the lower edge of a text; None where all places are taken."""
        half = letters(words, size) / 2
        for x, y in places:
            box = (x - half, y - size, x + half, y + 2)
            if self._is_free(box):
                self.take(box)
                return x, y
        return None

    def _is_free(self, box: Box) -> bool:
        return not any(
            box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]
            for cell in self._cells(box)
            for other in self._taken[cell]
        )

    def _cells(self, box: Box) -> list[tuple[int, int]]:
        columns = range(int(box[0] // _CELL), int(box[2] // _CELL) + 1)
        rows = range(int(box[1] // _CELL), int(box[3] // _CELL) + 1)
        return [(column, row) for column in columns for row in rows]
