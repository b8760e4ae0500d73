"""Place the texts of a picture so that none covers another, nor a line that it does not name.

A text is a rectangle, perhaps turned; what it must not cover are rectangles and lines. All are convex polygons,
and two of these are apart if and only if a side of one of them separates them. ``Labels`` tries the candidates for
a text in order, and keeps the first that is free.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import pairwise
from math import cos, hypot, radians, sin
from typing import Literal

from msgspec import Struct

from lab.export.text_metrics import text_width

Position = tuple[float, float]
Polygon = tuple[Position, ...]
Anchor = Literal["start", "middle", "end"]

_ASCENT, _DESCENT = 0.76, 0.24
"""The height of a text above and below its base line, in parts of its size."""
_CELL = 48
_TOUCH, _GAP = 0.2, -0.4
"""Polygons that overlap by no more than this touch; labels are placed apart, as a file rounds positions."""


class Text(Struct, frozen=True):
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

    def moved(self, by: Position) -> "Text":
        at = self.at[0] + by[0], self.at[1] + by[1]
        return Text(self.words, self.size, at, self.anchor, self.angle, self.bold)


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

    def place(self, candidates: Iterable[Text], owner: Hashable = None) -> Text | None:
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
