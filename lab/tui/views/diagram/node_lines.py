"""The lines of the nodes: their status by colour, sign and stroke, with a word at every change."""

from msgspec import Struct
from rich.style import Style

from lab.analysis.spacetime import StatusInterval
from lab.tui.views.diagram.canvas import Canvas
from lab.tui.views.diagram.scene import QUIET, Scene

__all__ = ["draw_lines", "draw_words"]

_RANKS = ("Normal", "Idle", "Reorganization", "Election", "Down", "absent", "paused", "killed", "failed")
"""If a node has several statuses within a cell, the one that is last in this list is drawn."""
_STOPPED = ("killed", "failed", "absent")
_STAR_EVERY = 8


class _Cell(Struct):
    """The content of a cell of a line. ``begins``: this status begins here, after the status ``before``.

    ``starred``: the cell shows that the node leads.
    """

    interval: StatusInterval
    starred: bool
    begins: bool = False
    before: StatusInterval | None = None


Cells = list[_Cell | None]


def draw_lines(canvas: Canvas, scene: Scene) -> dict[int, Cells]:
    """Draw every line without words. Return the cells of each node."""
    drawn = {node: _cells(scene, node) for node in scene.plane.lanes}
    for node, lane in scene.plane.lanes.items():
        for along, cell in enumerate(drawn[node]):
            if cell is not None:
                x, y = scene.plane.cell(along, lane)
                sign, style = _cell_sign(scene, cell, along)
                if sign != " ":
                    canvas.put(x, y, sign, style, node)
    return drawn


def draw_words(canvas: Canvas, scene: Scene, drawn: dict[int, Cells]) -> None:
    """Write a word at every change of the lines, if there is room for it."""
    plane = scene.plane
    for node, lane in plane.lanes.items():
        cells = drawn[node]
        for along, cell in enumerate(cells):
            if cell is None or not cell.begins:
                continue
            word, style = _word(cell), _cell_style(scene, cell, along)
            x, y = plane.cell(along, lane)
            if not plane.down:
                room = next(
                    (i for i, other in enumerate(cells[along + 1 :]) if other and other.begins), len(cells)
                )
                if room >= len(word) + 1:
                    canvas.put(x + 1, y, word, style, node)
                continue
            room = plane.pitch - 3
            short = word if len(word) <= room else f"{word[: room - 1]}…"
            right = canvas.is_free(x + 1, y, min(len(short) + 2, plane.width - x - 1))
            if len(short) >= 3 and right:
                canvas.put(x + 2, y, short, style, node)
            elif (
                len(short) >= 3 and canvas.is_free(x - 2 - len(short), y, len(short) + 1) and lane > plane.left + 2
            ):
                canvas.put(x - 1 - len(short), y, short, style, node)


def _cells(scene: Scene, node: int) -> Cells:
    """Return the content of each cell of a node's line."""
    along = scene.plane.along
    cells: Cells = [None] * along
    end = int(scene.place(scene.last)) + scene.scale.step
    before: StatusInterval | None = None
    for interval in scene.status_intervals(node):
        first = int(scene.place(interval.since) // 1)
        last = end if interval.until is None else int(scene.place(interval.until) // 1)
        is_taken = (
            0 <= first < along
            and (at_first := cells[first]) is not None
            and _rank(at_first.interval) > _rank(interval)
        )
        for place in range(max(0, first + is_taken), min(along, max(first + 1, last))):
            present = cells[place]
            if present is None or _rank(interval) >= _rank(present.interval):
                starred = interval.leads and (place - first) % _STAR_EVERY == is_taken
                cells[place] = _Cell(interval, starred, place == first and _is_change(interval, before), before)
        before = interval
    return cells


def _is_change(interval: StatusInterval, before: StatusInterval | None) -> bool:
    if before is None:
        return interval.shown != "absent" and interval.since.record > 0
    return (interval.shown, interval.leads) != (before.shown, before.leads)


def _rank(interval: StatusInterval) -> int:
    return _RANKS.index(interval.shown) if interval.shown in _RANKS else 1


def _is_start(cell: _Cell) -> bool:
    return cell.interval.shown == "Down" and (cell.before is None or cell.before.shown in _STOPPED)


def _word(cell: _Cell) -> str:
    if _is_start(cell):
        return "up"
    return cell.interval.shown


def _cell_sign(scene: Scene, cell: _Cell, along: int) -> tuple[str, Style]:
    interval, signs, theme_styles = cell.interval, scene.signs, scene.theme_styles
    style = _cell_style(scene, cell, along)
    if cell.begins:
        if _is_start(cell):
            return signs.up, style
        if not interval.leads:
            return theme_styles.glyph(interval.shown), style + Style(bold=True)
    if cell.starred:
        return theme_styles.glyphs.leads, style if style == QUIET else theme_styles.leader
    return signs.lane.get(interval.shown, signs.other)[0 if scene.plane.down else 1], style


def _cell_style(scene: Scene, cell: _Cell, along: int) -> Style:
    interval = cell.interval
    if scene.is_apart(interval.node, along):
        return QUIET
    if scene.marked and interval.since.record in scene.marked:
        return scene.theme_styles.warning
    return scene.theme_styles.status(interval.shown)
