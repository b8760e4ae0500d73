"""The messages: arrows from sending to delivery, showing what happened to them.

If many fall into one cell of time, the number that passes between two lines is drawn instead.
"""

from collections import Counter

from rich.style import Style

from lab.analysis.group_history import Point
from lab.analysis.spacetime import MessageEdge
from lab.text import sanitize
from lab.tui.views.diagram_canvas import Canvas
from lab.tui.views.diagram_layout import QUIET, Scene

_FEW = 3
"""The most messages within one cell of time that are drawn one by one."""
_LEAST_LABEL = 4
_STUB = 4


def draw_messages(canvas: Canvas, scene: Scene) -> None:
    """Draw every message, the selected one last so that it covers the others."""
    edges = scene.messages()
    dense = _dense_cells(scene, edges)
    drawn = [edge for edge in edges if edge is scene.picked or _cell(scene, edge) not in dense]
    drawn.sort(key=lambda edge: (edge is scene.picked, scene.style_of(edge) != QUIET))
    for cell, many in dense.items():
        _draw_density(canvas, scene, cell, many)
    for edge in drawn:
        _draw_line(canvas, scene, edge)
    for edge in drawn:
        _draw_end(canvas, scene, edge)
    for edge in reversed(drawn):
        _draw_label(canvas, scene, edge)


def _lanes(scene: Scene, edge: MessageEdge) -> tuple[int, int, int] | None:
    """Return (source lane, target lane, direction). A node without a lane is placed beyond the border."""
    plane, line = scene.plane, edge.line
    assert line.source is not None
    assert line.target is not None
    source, target = plane.lanes.get(line.source), plane.lanes.get(line.target)
    if line.source == line.target or (source is None and target is None):
        return None
    way = 1 if line.target > line.source else -1
    far_lane = max(plane.lanes.values()) if way > 0 else min(plane.lanes.values())
    near_lane = min(plane.lanes.values()) if way > 0 else max(plane.lanes.values())
    if source is None:
        source = near_lane - way * plane.pitch
    if target is None:
        target = far_lane + way * plane.pitch
    return source, target, way


def _cell(scene: Scene, edge: MessageEdge) -> int | None:
    """Return the one cell of time that the message is in, or None if it takes longer or cells are records."""
    if scene.scale.by_records or edge.end is None:
        return None
    first, last = int(scene.place(edge.sent) // 1), int(scene.place(edge.end) // 1)
    return first if first == last else None


def _dense_cells(scene: Scene, edges: list[MessageEdge]) -> dict[int, list[MessageEdge]]:
    """Return the messages of each cell of time that has too many to draw one by one."""
    cells: dict[int, list[MessageEdge]] = {}
    for edge in edges:
        cell = _cell(scene, edge)
        if cell is not None:
            cells.setdefault(cell, []).append(edge)
    return {cell: many for cell, many in cells.items() if len(many) > _FEW}


def _draw_density(canvas: Canvas, scene: Scene, cell: int, many: list[MessageEdge]) -> None:
    lanes = sorted(scene.plane.lanes.values())
    passing: Counter[int] = Counter()
    lost: set[int] = set()
    for edge in many:
        ends = _lanes(scene, edge)
        if ends is None:
            continue
        low, high = sorted(ends[:2])
        crossed = [gap for gap in range(len(lanes) - 1) if low <= lanes[gap] and lanes[gap + 1] <= high]
        passing.update(crossed)
        if not edge.arrived:
            lost.update(crossed)
    for gap, count in passing.items():
        style = QUIET if scene.cone is not None else scene.styles.warning if gap in lost else scene.styles.accent
        sign = scene.signs.density[0 if count <= _FEW else 1 if count < 16 else 2]
        if scene.plane.down:
            first, room = lanes[gap] + 1, lanes[gap + 1] - lanes[gap] - 1
            text = f" {count} " if room >= len(str(count)) + 4 else str(count) if count > 1 else ""
            x, y = scene.plane.cell(cell, first)
            canvas.put(x, y, f"{text:{sign}^{room}}"[:room], style, many[0])
        else:
            for across in range(lanes[gap] + 1, lanes[gap + 1]):
                x, y = scene.plane.cell(cell, across)
                canvas.put(x, y, scene.signs.density[2] if count > _FEW else scene.signs.across[1], style, many[0])
            x, y = scene.plane.cell(cell, (lanes[gap] + lanes[gap + 1]) // 2)
            if count > 1 and lanes[gap + 1] - lanes[gap] > 2:
                canvas.put(x, y, str(count), style, many[0])


def _draw_line(canvas: Canvas, scene: Scene, edge: MessageEdge) -> None:
    ends = _lanes(scene, edge)
    if ends is None:
        return
    source, target, way = ends
    style, plane = scene.style_of(edge), scene.plane
    start = scene.place(edge.sent)
    for place, point in enumerate(scene.end_points(edge)):
        end, across = scene.place(point), _end_lane(scene, edge, source, target, point)
        if edge.end is None:
            end = min(end, start + _STUB)
        if not scene.is_seen(start, end):
            continue
        # Clip first: the ends may be far outside the picture.
        first, last = _clip((start, source + 0.5 + way * 0.6), (end, across + 0.5 - way * 0.6), plane.along)
        gaps = place > 0 or edge.fate == "timed out" or bool(edge.by)
        canvas.line(plane.xy(*first), plane.xy(*last), style, edge, gaps)
    x, y = plane.cell(int(start // 1), source)
    if 0 <= int(start // 1) < plane.along:
        _draw_joint(canvas, scene, x, y, way)


def _end_lane(scene: Scene, edge: MessageEdge, source: int, target: int, point: Point) -> float:
    """Return where an arrow ends: at the target's lane, or halfway for messages dropped or in flight."""
    came = edge.arrived or edge.fate == "receiver down" or point in edge.again
    return target if came else (source + target) / 2


def _clip(
    start: tuple[float, float], end: tuple[float, float], along: int
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the part of a line that is in the picture."""

    def at(place: float) -> tuple[float, float]:
        share = (place - start[0]) / (end[0] - start[0])
        return place, start[1] + (end[1] - start[1]) * share

    first = at(0) if start[0] < 0 < end[0] else start
    bottom = along - 0.01
    last = at(bottom) if start[0] < bottom < end[0] else end
    return first, last


def _draw_joint(canvas: Canvas, scene: Scene, x: int, y: int, way: int) -> None:
    """Draw the joint where a message leaves a line."""
    if not 0 <= x < canvas.width:
        return
    sign, joints = canvas.letter(x, y), scene.signs.joints
    side = _side(scene, way)
    if sign in joints.values():
        canvas.put(x, y, sign if sign == joints[side] else joints["both"], canvas.style(x, y), canvas.owner(x, y))
    elif sign in scene.signs.joined:
        canvas.put(x, y, joints[side], canvas.style(x, y), canvas.owner(x, y))


def _draw_end(canvas: Canvas, scene: Scene, edge: MessageEdge) -> None:
    ends = _lanes(scene, edge)
    if ends is None:
        return
    source, target, way = ends
    style, plane, signs = scene.style_of(edge), scene.plane, scene.signs
    for point in scene.end_points(edge):
        place = scene.place(point)
        if edge.end is None:
            place = min(place, scene.place(edge.sent) + _STUB)
        reached = _end_lane(scene, edge, source, target, point)
        across = target - way if reached == target else _clear_of_lane(scene, round(reached), way)
        if edge.arrived or point in edge.again:
            heads = signs.late if edge.fate == "timed out" else signs.heads
            sign = heads[_side(scene, way)]
        else:
            sign = {"in flight": signs.flying, "held": signs.held}.get(edge.fate, signs.lost)
        if 0 <= place < plane.along:
            x, y = plane.cell(int(place), across)
            if canvas.is_free(x, y, 1):
                canvas.put(x, y, sign, style if style == QUIET else style + Style(bold=True), edge)


def _clear_of_lane(scene: Scene, across: int, way: int) -> int:
    """Return ``across``, moved back by one cell if a node's line is there."""
    return across - way if across in scene.plane.lanes.values() else across


def _side(scene: Scene, way: int) -> str:
    if scene.plane.down:
        return "right" if way > 0 else "left"
    return "down" if way > 0 else "up"


def _draw_label(canvas: Canvas, scene: Scene, edge: MessageEdge) -> None:
    """Draw the message's kind beside the end of its arrow."""
    ends = _lanes(scene, edge)
    if ends is None:
        return
    source, target, way = ends
    plane = scene.plane
    place = scene.place(edge.end or scene.last)
    if edge.end is None:
        place = min(place, scene.place(edge.sent) + _STUB)
    if not 0 <= place < plane.along:
        return
    label, style = _label(scene, edge), scene.style_of(edge)
    if not plane.down:
        x, y = plane.cell(int(place), target - way)
        if len(label) < plane.pitch * 4 and canvas.is_blank(x + 1, y, len(label)):
            canvas.put(x + 1, y, label, style, edge)
        return
    reached = _end_lane(scene, edge, source, target, edge.end or scene.last)
    room = plane.pitch - 2 if reached == target else abs(target - source) // 2 - 2
    room = min(room, plane.pitch - 2)
    if room < _LEAST_LABEL:
        return
    fitted = label if len(label) <= room else f"{label[: room - 1]}…"
    head = target - way if reached == target else _clear_of_lane(scene, round(reached), way)
    x, y = plane.cell(int(place), head - len(fitted) if way > 0 else head + 1)
    if canvas.is_free(x, y, len(fitted)):
        canvas.put(x, y, fitted, style, edge)


def _label(scene: Scene, edge: MessageEdge) -> str:
    kind = sanitize(edge.line.kind, 40)
    is_answer = kind.endswith("Answer")
    sign = scene.signs.delayed if edge.by and edge.arrived else ""
    return f"{sign}{scene.styles.glyphs.answer if is_answer else ''}{kind.removesuffix('Answer')}"
