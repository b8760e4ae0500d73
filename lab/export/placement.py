"""Place the texts of a picture, by their widths, so that none covers another, nor a line that it does not name.

A text is a rectangle, perhaps turned; what it must not cover are rectangles and lines. All are convex polygons,
and two of these are apart if and only if a side of one of them separates them. ``Labels`` tries the candidates for
a text in order, and keeps the first that is free.

Pictures are lettered in Helvetica. Arial and Liberation Sans, which stand in for it, have the same widths; so what
is placed by these widths fits in every viewer. A character outside of ASCII counts as wide as the widest of its
kind.
"""

import unicodedata
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import pairwise
from math import cos, hypot, radians, sin
from typing import Literal

from msgspec import Struct

_FIRST = ord(" ")
_REGULAR = (
    *(278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278),
    *(556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556),
    *(1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778),
    *(667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556),
    *(333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556),
    *(556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584),
)
_BOLD = (
    *(278, 333, 474, 556, 556, 889, 722, 238, 333, 333, 389, 584, 278, 333, 278, 278),
    *(556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 333, 333, 584, 584, 584, 611),
    *(975, 722, 722, 722, 722, 667, 611, 778, 722, 278, 556, 722, 611, 833, 722, 778),
    *(667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 333, 278, 333, 584, 556),
    *(333, 556, 611, 556, 611, 556, 333, 611, 611, 278, 278, 556, 278, 889, 611, 611),
    *(611, 611, 389, 556, 333, 611, 556, 778, 556, 556, 500, 389, 280, 389, 584),
)
"""Thousandths of the size, from the space to the tilde (Adobe's font metrics)."""
_OTHER = {"·": 278, "…": 1000, "“": 500, "”": 500, "–": 556, "µ": 611, "×": 584, "±": 584, "→": 1000}
_NARROW, _WIDE = 834, 1000


def text_width(words: str, size: float, bold: bool = False) -> float:
    """Return the width of a text."""
    widths = _BOLD if bold else _REGULAR
    return sum(_width(letter, widths) for letter in words) * size / 1000


def _width(letter: str, widths: Sequence[int]) -> int:
    place = ord(letter) - _FIRST
    if 0 <= place < len(widths):
        return widths[place]
    if letter in _OTHER:
        return _OTHER[letter]
    if unicodedata.combining(letter):
        return 0
    return _WIDE if unicodedata.east_asian_width(letter) in "WF" else _NARROW


def wrap_to_width(words: str, size: float, width: float, most: int = 100) -> list[str]:
    """Return the text in lines of at most this width, at most so many; a longer word is broken."""
    lines = [""]
    for word in words.split():
        rest = word
        if lines[-1] and text_width(f"{lines[-1]} {rest}", size) <= width:
            lines[-1] += f" {rest}"
            continue
        if lines[-1]:
            lines.append("")
        while (fits := _letters_that_fit(rest, size, width)) < len(rest):
            lines[-1:] = [rest[:fits], ""]
            rest = rest[fits:]
        lines[-1] = rest
    return lines if len(lines) <= most else [*lines[: most - 1], cut_to_width(f"{lines[most - 1]} …", size, width)]


def cut_to_width(words: str, size: float, width: float) -> str:
    """Return the text, cut with an ellipsis if it is wider."""
    if text_width(words, size) <= width:
        return words
    kept = _letters_that_fit(words, size, width - text_width("…", size))
    return f"{words[:kept].rstrip(' …')}…"


def _letters_that_fit(words: str, size: float, width: float) -> int:
    """Return how many letters fit, at least one."""
    count = 1
    while count < len(words) and text_width(words[: count + 1], size) <= width:
        count += 1
    return min(count, len(words))


Position = tuple[float, float]
Polygon = tuple[Position, ...]
Anchor = Literal["start", "middle", "end"]

_ASCENT, _DESCENT = 0.76, 0.24
"""The height of a text above and below its base line, in parts of its size."""
_CELL = 48
_TOUCH, _GAP = 0.2, -0.4
"""Polygons that overlap by no more than this touch; labels are placed apart, as a file rounds positions."""


class PlacedText(Struct, frozen=True):
    """A text at a base point, turned clockwise around it by ``angle`` degrees."""

    words: str
    size: float
    at: Position
    anchor: Anchor = "start"
    angle: float = 0.0
    bold: bool = False

    @property
    def width(self) -> float:
        return text_width(self.words, self.size, self.bold)

    @property
    def corners(self) -> Polygon:
        """The corners of the rectangle that it fills."""
        before = {"start": 0.0, "middle": 0.5, "end": 1.0}[self.anchor] * self.width
        left, right = -before, self.width - before
        top, bottom = -_ASCENT * self.size, _DESCENT * self.size
        c, s = cos(radians(self.angle)), sin(radians(self.angle))
        return tuple(
            (self.at[0] + x * c - y * s, self.at[1] + x * s + y * c)
            for x, y in ((left, top), (right, top), (right, bottom), (left, bottom))
        )

    def moved(self, by: Position) -> "PlacedText":
        at = self.at[0] + by[0], self.at[1] + by[1]
        return PlacedText(self.words, self.size, at, self.anchor, self.angle, self.bold)


def rectangle(left: float, top: float, right: float, bottom: float) -> Polygon:
    return (left, top), (right, top), (right, bottom), (left, bottom)


def overlap(one: Polygon, other: Polygon, touch: float = _TOUCH) -> bool:
    """Return whether two convex polygons have more in common than an edge; a line is a polygon of two points."""
    return not (_is_separated(one, other, touch) or _is_separated(other, one, touch))


class Labels:
    """The occupied areas of a picture. ``bounds`` are those that no label may leave."""

    def __init__(self, bounds: Polygon) -> None:
        (self._left, self._top), _, (self._right, self._bottom), _ = bounds
        self._taken: defaultdict[tuple[int, int], list[tuple[Polygon, Hashable]]] = defaultdict(list)

    def reserve(self, area: Polygon, owner: Hashable = None) -> None:
        """Mark an area or a line as occupied, except for what its owner places."""
        for cell in _cells(area):
            self._taken[cell].append((area, owner))

    def place(self, candidates: Iterable[PlacedText], owner: Hashable = None) -> PlacedText | None:
        """Reserve the first free candidate and return it; None if all are occupied."""
        for text in candidates:
            if self.is_free(text.corners, owner):
                self.reserve(text.corners)
                return text
        return None

    def is_free(self, area: Polygon, owner: Hashable = None) -> bool:
        if not all(self._left <= x <= self._right and self._top <= y <= self._bottom for x, y in area):
            return False
        return not any(
            (owner is None or other != owner) and overlap(area, taken, _GAP)
            for cell in _cells(area)
            for taken, other in self._taken[cell]
        )


def _is_separated(one: Polygon, other: Polygon, touch: float) -> bool:
    """Return whether a side of ``one`` separates it from ``other``."""
    for place, (x, y) in enumerate(one):
        to_x, to_y = one[(place + 1) % len(one)]
        length = hypot(to_x - x, to_y - y)
        if length == 0:
            continue
        along, across = (to_x - x) / length, (to_y - y) / length
        for normal in ((-across, along), (along, across)) if len(one) == 2 else ((-across, along),):
            low, high = _extent(one, normal)
            other_low, other_high = _extent(other, normal)
            if high - touch <= other_low or other_high - touch <= low:
                return True
    return False


def _extent(polygon: Polygon, normal: Position) -> tuple[float, float]:
    shadow = [x * normal[0] + y * normal[1] for x, y in polygon]
    return min(shadow), max(shadow)


def _cells(area: Sequence[Position]) -> Iterator[tuple[int, int]]:
    """Yield the cells of a grid that an area may touch; of a line, those near it."""
    if len(area) == 2 and (length := hypot(area[1][0] - area[0][0], area[1][1] - area[0][1])) > _CELL:
        (x, y), (to_x, to_y) = area
        count = int(length / _CELL) + 1
        steps = [(x + (to_x - x) * n / count, y + (to_y - y) * n / count) for n in range(count + 1)]
        yield from {cell for pair in pairwise(steps) for cell in _cells(pair)}
        return
    xs, ys = [x for x, _ in area], [y for _, y in area]
    for column in range(int(min(xs) // _CELL), int(max(xs) // _CELL) + 1):
        for row in range(int(min(ys) // _CELL), int(max(ys) // _CELL) + 1):
            yield column, row
