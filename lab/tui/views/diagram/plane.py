"""The layout of the picture: lines of nodes, the axis of time, room for text.

*Along* is the direction in which time flows; *across* is the direction from node to node. Both are counted in
cells.
"""

from collections.abc import Sequence

from msgspec import Struct

__all__ = ["Plane", "plane_of"]

_CLOCK = 10
_LEAST_PITCH = 3
_WIDEST_PITCH = 16
_LEGIBLE_PITCH = 11
"""Columns from line to line that leave room for a word."""
_LEAST_MARGIN, _MARGIN = 14, 40
"""Columns for labels of no node: the least, and those left before lines get wider than legible."""
_NAMES = 8
_TALLEST_PITCH = 7


class Plane(Struct, frozen=True):
    """The layout. ``lanes`` are the positions of nodes; the picture begins at ``left`` and ``top``.

    ``along`` is the number of cells of time, ``across`` the number of cells for nodes, and ``pitch`` the distance
    from line to line. ``margin`` is the first column for labels, if time flows down.
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
        """Return a point in canvas coordinates."""
        return (across, self.top + along) if self.down else (self.left + along, across)

    def cell(self, along: int, across: int) -> tuple[int, int]:
        """Return a cell in canvas coordinates."""
        return (across, self.top + along) if self.down else (self.left + along, across)

    def along_at(self, x: int, y: int) -> int:
        """Return the position of a cell along the flow of time."""
        return y - self.top if self.down else x - self.left

    def lane_near(self, x: int, y: int) -> int | None:
        """Return the node whose line is in a cell, or next to it if time flows down."""
        across, reach = (x, 1) if self.down else (y, 0)
        near = [node for node, lane in self.lanes.items() if abs(lane - across) <= reach]
        return near[0] if near else None


def plane_of(nodes: Sequence[int], selected: int | None, width: int, height: int, down: bool) -> Plane:
    """Return the layout for a size. If not all nodes fit, it shows those around the selected one.

    One line above and one below the picture stay free.
    """
    left, top = (_CLOCK, 1) if down else (_NAMES, 1)
    along = max(1, height - 2 if down else width - left)
    if down:
        room = width - left
        legible = min(_LEGIBLE_PITCH, (room - _LEAST_MARGIN) // len(nodes))
        pitch = max(_LEAST_PITCH, legible, min(_WIDEST_PITCH, (room - _MARGIN) // len(nodes)))
        most = max(1, (room - 1) // pitch)
    else:
        room = height - 3  # the line below the nodes is for labels of no node
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
