"""The lines of the nodes: how each stood, by colour, sign and stroke, with a word wherever that changes."""

from msgspec import Struct
from rich.style import Style

from lab.analysis.spacetime import StatusInterval
from lab.tui.views.diagram.canvas import Canvas
from lab.tui.views.diagram.scene import QUIET, Scene

__all__ = ["draw_lines", "draw_words"]

_RANKS = ("Normal", "Idle", "Reorganization", "Election", "Down", "absent", "paused", "killed", "failed")
"""What is seen of a node that changes several times within a cell: the last of these."""
_GONE = ("killed", "failed", "absent")
_STAR_EVERY = 8


class _Cell(Struct):
    """What is seen in a cell of a line; ``begins``: it begins there, and the one ``before`` is over.

    ``starred``: it is to be seen there that it leads.
    """

    stretch: StatusInterval
    starred: bool
    begins: bool = False
    before: StatusInterval | None = None


Cells = list[_Cell | None]


def draw_lines(canvas: Canvas, scene: Scene) -> dict[int, Cells]:
    """Every line, without words; what is seen of each node in each cell of time."""
    drawn = {node: _cells(scene, node) for node in scene.plane.lanes}
    for node, lane in scene.plane.lanes.items():
        for along, cell in enumerate(drawn[node]):
            if cell is not None:
                x, y = scene.plane.cell(along, lane)
                sign, style = _drawn(scene, cell, along)
                if sign != " ":
                    canvas.put(x, y, sign, style, node)
    return drawn


def draw_words(canvas: Canvas, scene: Scene, drawn: dict[int, Cells]) -> None:
    """A word at every change of the lines that are ``drawn``, where there is room for it."""
    plane = scene.plane
    for node, lane in plane.lanes.items():
        cells = drawn[node]
        for along, cell in enumerate(cells):
            if cell is None or not cell.begins:
                continue
            word, style = _word(cell), _styled(scene, cell, along)
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
    """What is seen of the node in each cell of time."""
    along = scene.plane.along
    cells: Cells = [None] * along
    end = int(scene.place(scene.last)) + scene.scale.step
    before: StatusInterval | None = None
    for stretch in scene.stretches(node):
        first = int(scene.place(stretch.since) // 1)
        last = end if stretch.until is None else int(scene.place(stretch.until) // 1)
        taken = (
            0 <= first < along
            and (at_first := cells[first]) is not None
            and _rank(at_first.stretch) > _rank(stretch)
        )
        for place in range(max(0, first + taken), min(along, max(first + 1, last))):
            was = cells[place]
            if was is None or _rank(stretch) >= _rank(was.stretch):
                starred = stretch.leads and (place - first) % _STAR_EVERY == taken
                cells[place] = _Cell(stretch, starred, place == first and _is_change(stretch, before), before)
        before = stretch
    return cells


def _is_change(stretch: StatusInterval, before: StatusInterval | None) -> bool:
    if before is None:
        return stretch.shown != "absent" and stretch.since.record > 0
    return (stretch.shown, stretch.leads) != (before.shown, before.leads)


def _rank(stretch: StatusInterval) -> int:
    return _RANKS.index(stretch.shown) if stretch.shown in _RANKS else 1


def _comes_up(cell: _Cell) -> bool:
    return cell.stretch.shown == "Down" and (cell.before is None or cell.before.shown in _GONE)


def _word(cell: _Cell) -> str:
    if _comes_up(cell):
        return "up"
    return cell.stretch.shown


def _drawn(scene: Scene, cell: _Cell, along: int) -> tuple[str, Style]:
    stretch, signs, theme_styles = cell.stretch, scene.signs, scene.theme_styles
    style = _styled(scene, cell, along)
    if cell.begins:
        if _comes_up(cell):
            return signs.up, style
        if not stretch.leads:
            return theme_styles.glyph(stretch.shown), style + Style(bold=True)
    if cell.starred:
        return theme_styles.glyphs.leads, style if style == QUIET else theme_styles.leader
    return signs.lane.get(stretch.shown, signs.other)[0 if scene.plane.down else 1], style


def _styled(scene: Scene, cell: _Cell, along: int) -> Style:
    stretch = cell.stretch
    if scene.is_apart(stretch.node, along):
        return QUIET
    if scene.marked and stretch.since.record in scene.marked:
        return scene.theme_styles.warning
    return scene.theme_styles.status(stretch.shown)
