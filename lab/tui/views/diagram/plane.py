"""Where things are on the sheet: lines of nodes, the axis of time, room for words.

Along is the way that time flows, across the way from node to node; both are counted in cells.
"""

from collections.abc import Sequence

from msgspec import Struct

__all__ = ["Plane", "plane_of"]

_CLOCK = 10
_LEAST_PITCH = 3
_WIDEST_PITCH = 16
_LEGIBLE_PITCH = 11
"""So many columns from line to line are enough for a word between them."""
_LEAST_MARGIN, _MARGIN = 14, 40
"""So many columns are left for what is said of no node: before the lines have legible words, and then."""
_NAMES = 8
_TALLEST_PITCH = 7


class Plane(Struct, frozen=True):
    """``lanes`` are where the lines of nodes are; ``left`` and ``top`` where the picture begins.

    ``along`` is how many cells of time there are, ``across`` how many for the nodes, ``pitch`` those from one line
    to the next. ``margin`` is the column from which on there is room for words, where time flows down.
    """

    down: bool
    width: int
    height: int
    left: int
    top: int
    along: int
    across: int
    pitch: int
    margin: int
    lanes: dict[int, int]

    def xy(self, along: float, across: float) -> tuple[float, float]:
        """The cell, or a place in one."""
        return (across, self.top + along) if self.down else (self.left + along, across)

    def cell(self, along: int, across: int) -> tuple[int, int]:
        """The cell."""
        return (across, self.top + along) if self.down else (self.left + along, across)

    def along_at(self, x: int, y: int) -> int:
        """How far along the flow of time that cell is."""
        return y - self.top if self.down else x - self.left

    def lane_near(self, x: int, y: int) -> int | None:
        """The node whose line is in that cell or, where time flows down, right beside it."""
        across, reach = (x, 1) if self.down else (y, 0)
        near = [node for node, lane in self.lanes.items() if abs(lane - across) <= reach]
        return near[0] if near else None


def plane_of(nodes: Sequence[int], selected: int | None, width: int, height: int, down: bool) -> Plane:
    """A sheet of that size, with a line above and below what is drawn; not all nodes may have room on it.

    Of many nodes those around the selected one are seen.
    """
    left, top = (_CLOCK, 1) if down else (_NAMES, 1)
    along = max(1, height - 2 if down else width - left)
    if down:
        room = width - left
        legible = min(_LEGIBLE_PITCH, (room - _LEAST_MARGIN) // len(nodes))
        pitch = max(_LEAST_PITCH, legible, min(_WIDEST_PITCH, (room - _MARGIN) // len(nodes)))
        most = max(1, (room - 1) // pitch)
    else:
        room = height - 3  # the line below the nodes is for what is said of none
        pitch = max(1, min(_TALLEST_PITCH, room // len(nodes)))
        most = max(1, room // pitch)
    seen = _around(nodes, selected, most)
    first = left + 1 if down else top + (pitch - 1) // 2
    lanes = {node: first + place * pitch for place, node in enumerate(seen)}
    across = len(seen) * pitch
    margin = left + (len(seen) - 1) * pitch + min(pitch, _WIDEST_PITCH) + 1
    return Plane(down, width, height, left, top, along, across, pitch, margin, lanes)


def _around(nodes: Sequence[int], selected: int | None, most: int) -> Sequence[int]:
    if len(nodes) <= most:
        return nodes
    place = nodes.index(selected) if selected in nodes else 0
    first = max(0, min(place - most // 2, len(nodes) - most))
    return nodes[first : first + most]
