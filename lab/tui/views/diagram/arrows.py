"""The messages: arrows from where they were sent to where they arrived, with what became of them.

Where many go within one cell of time, how many pass between two lines is written there instead.
"""

from collections import Counter

from rich.style import Style

from lab.analysis.group_history import Point
from lab.analysis.spacetime import MessageEdge
from lab.text import sanitize
from lab.tui.views.diagram.canvas import Canvas
from lab.tui.views.diagram.scene import QUIET, Scene

__all__ = ["draw_arrows"]

_FEW = 3
"""So many messages within one cell of time are drawn one by one."""
_LEAST_LABEL = 4
_STUB = 4


def draw_arrows(canvas: Canvas, scene: Scene) -> None:
    """Every message; what is selected last, so that it is over the others."""
    arrows = scene.arrows()
    dense = _dense(scene, arrows)
    drawn = [arrow for arrow in arrows if arrow is scene.picked or _cell(scene, arrow) not in dense]
    drawn.sort(key=lambda arrow: (arrow is scene.picked, scene.style_of(arrow) != QUIET))
    for cell, many in dense.items():
        _draw_density(canvas, scene, cell, many)
    for arrow in drawn:
        _draw_line(canvas, scene, arrow)
    for arrow in drawn:
        _draw_end(canvas, scene, arrow)
    for arrow in reversed(drawn):
        _draw_label(canvas, scene, arrow)


def _lanes(scene: Scene, arrow: MessageEdge) -> tuple[int, int, int] | None:
    """(from which line, to which, the way between them); beyond the border where one is not seen."""
    plane, line = scene.plane, arrow.line
    assert line.source is not None
    assert line.target is not None
    source, target = plane.lanes.get(line.source), plane.lanes.get(line.target)
    if line.source == line.target or (source is None and target is None):
        return None
    way = 1 if line.target > line.source else -1
    edge = max(plane.lanes.values()) if way > 0 else min(plane.lanes.values())
    back = min(plane.lanes.values()) if way > 0 else max(plane.lanes.values())
    if source is None:
        source = back - way * plane.pitch
    if target is None:
        target = edge + way * plane.pitch
    return source, target, way


def _cell(scene: Scene, arrow: MessageEdge) -> int | None:
    """The one cell of time that it is in; None where it goes on longer, or cells are records."""
    if scene.scale.by_records or arrow.end is None:
        return None
    first, last = int(scene.place(arrow.sent) // 1), int(scene.place(arrow.end) // 1)
    return first if first == last else None


def _dense(scene: Scene, arrows: list[MessageEdge]) -> dict[int, list[MessageEdge]]:
    """The messages that are in one cell of time with many others, by that."""
    cells: dict[int, list[MessageEdge]] = {}
    for arrow in arrows:
        cell = _cell(scene, arrow)
        if cell is not None:
            cells.setdefault(cell, []).append(arrow)
    return {cell: many for cell, many in cells.items() if len(many) > _FEW}


def _draw_density(canvas: Canvas, scene: Scene, cell: int, many: list[MessageEdge]) -> None:
    lanes = sorted(scene.plane.lanes.values())
    passing: Counter[int] = Counter()
    lost: set[int] = set()
    for arrow in many:
        ends = _lanes(scene, arrow)
        if ends is None:
            continue
        low, high = sorted(ends[:2])
        crossed = [gap for gap in range(len(lanes) - 1) if low <= lanes[gap] and lanes[gap + 1] <= high]
        passing.update(crossed)
        if not arrow.arrived:
            lost.update(crossed)
    for gap, count in passing.items():
        style = (
            QUIET
            if scene.cone is not None
            else scene.theme_styles.warning
            if gap in lost
            else scene.theme_styles.accent
        )
        sign = scene.signs.density[0 if count <= _FEW else 1 if count < 16 else 2]
        if scene.plane.down:
            first, room = lanes[gap] + 1, lanes[gap + 1] - lanes[gap] - 1
            said = f" {count} " if room >= len(str(count)) + 4 else str(count) if count > 1 else ""
            x, y = scene.plane.cell(cell, first)
            canvas.put(x, y, f"{said:{sign}^{room}}"[:room], style, many[0])
        else:
            for across in range(lanes[gap] + 1, lanes[gap + 1]):
                x, y = scene.plane.cell(cell, across)
                canvas.put(x, y, scene.signs.density[2] if count > _FEW else scene.signs.across[1], style, many[0])
            x, y = scene.plane.cell(cell, (lanes[gap] + lanes[gap + 1]) // 2)
            if count > 1 and lanes[gap + 1] - lanes[gap] > 2:
                canvas.put(x, y, str(count), style, many[0])


def _draw_line(canvas: Canvas, scene: Scene, arrow: MessageEdge) -> None:
    ends = _lanes(scene, arrow)
    if ends is None:
        return
    source, target, way = ends
    style, plane = scene.style_of(arrow), scene.plane
    start = scene.place(arrow.sent)
    for place, point in enumerate(scene.ends(arrow)):
        end, across = scene.place(point), _reach(scene, arrow, source, target, point)
        if arrow.end is None:
            end = min(end, start + _STUB)
        if not scene.is_seen(start, end):
            continue
        # a straight line from its lane to the other; what is far out of the picture is cut off first
        first, last = _clipped((start, source + 0.5 + way * 0.6), (end, across + 0.5 - way * 0.6), plane.along)
        gaps = place > 0 or arrow.fate == "too late" or bool(arrow.by)
        canvas.line(plane.xy(*first), plane.xy(*last), style, arrow, gaps)
    x, y = plane.cell(int(start // 1), source)
    if 0 <= int(start // 1) < plane.along:
        _join(canvas, scene, x, y, way)


def _reach(scene: Scene, arrow: MessageEdge, source: int, target: int, point: Point) -> float:
    """How far across it came: what was lost on its way, or is on it, only half."""
    came = arrow.arrived or arrow.fate == "receiver down" or point in arrow.again
    return target if came else (source + target) / 2


def _clipped(
    start: tuple[float, float], end: tuple[float, float], along: int
) -> tuple[tuple[float, float], tuple[float, float]]:
    """What of a line is in the picture."""

    def at(place: float) -> tuple[float, float]:
        share = (place - start[0]) / (end[0] - start[0])
        return place, start[1] + (end[1] - start[1]) * share

    first = at(0) if start[0] < 0 < end[0] else start
    below = along - 0.01
    last = at(below) if start[0] < below < end[0] else end
    return first, last


def _join(canvas: Canvas, scene: Scene, x: int, y: int, way: int) -> None:
    """The sign of a line, where a message leaves it."""
    if not 0 <= x < canvas.width:
        return
    sign, joints = canvas.letter(x, y), scene.signs.joints
    side = _side(scene, way)
    if sign in joints.values():
        canvas.put(x, y, sign if sign == joints[side] else joints["both"], canvas.style(x, y), canvas.owner(x, y))
    elif sign in scene.signs.joined:
        canvas.put(x, y, joints[side], canvas.style(x, y), canvas.owner(x, y))


def _draw_end(canvas: Canvas, scene: Scene, arrow: MessageEdge) -> None:
    ends = _lanes(scene, arrow)
    if ends is None:
        return
    source, target, way = ends
    style, plane, signs = scene.style_of(arrow), scene.plane, scene.signs
    for point in scene.ends(arrow):
        place = scene.place(point)
        if arrow.end is None:
            place = min(place, scene.place(arrow.sent) + _STUB)
        reached = _reach(scene, arrow, source, target, point)
        across = target - way if reached == target else _beside(scene, round(reached), way)
        if arrow.arrived or point in arrow.again:
            heads = signs.late if arrow.fate == "too late" else signs.heads
            sign = heads[_side(scene, way)]
        else:
            sign = {"in flight": signs.flying, "held": signs.held}.get(arrow.fate, signs.lost)
        if 0 <= place < plane.along:
            x, y = plane.cell(int(place), across)
            if canvas.is_free(x, y, 1):
                canvas.put(x, y, sign, style if style == QUIET else style + Style(bold=True), arrow)


def _beside(scene: Scene, across: int, way: int) -> int:
    """There, or one cell before it where the line of a node is there."""
    return across - way if across in scene.plane.lanes.values() else across


def _side(scene: Scene, way: int) -> str:
    if scene.plane.down:
        return "right" if way > 0 else "left"
    return "down" if way > 0 else "up"


def _draw_label(canvas: Canvas, scene: Scene, arrow: MessageEdge) -> None:
    """Its kind, beside where it ends."""
    ends = _lanes(scene, arrow)
    if ends is None:
        return
    source, target, way = ends
    plane = scene.plane
    place = scene.place(arrow.end or scene.last)
    if arrow.end is None:
        place = min(place, scene.place(arrow.sent) + _STUB)
    if not 0 <= place < plane.along:
        return
    label, style = _label(scene, arrow), scene.style_of(arrow)
    if not plane.down:
        x, y = plane.cell(int(place), target - way)
        if len(label) < plane.pitch * 4 and canvas.is_blank(x + 1, y, len(label)):
            canvas.put(x + 1, y, label, style, arrow)
        return
    reached = _reach(scene, arrow, source, target, arrow.end or scene.last)
    room = plane.pitch - 2 if reached == target else abs(target - source) // 2 - 2
    room = min(room, plane.pitch - 2)
    if room < _LEAST_LABEL:
        return
    fitted = label if len(label) <= room else f"{label[: room - 1]}…"
    head = target - way if reached == target else _beside(scene, round(reached), way)
    x, y = plane.cell(int(place), head - len(fitted) if way > 0 else head + 1)
    if canvas.is_free(x, y, len(fitted)):
        canvas.put(x, y, fitted, style, arrow)


def _label(scene: Scene, arrow: MessageEdge) -> str:
    kind = sanitize(arrow.line.kind, 40)
    is_answer = kind.endswith("Answer")
    sign = scene.signs.delayed if arrow.by and arrow.arrived else ""
    return f"{sign}{scene.theme_styles.glyphs.answer if is_answer else ''}{kind.removesuffix('Answer')}"
