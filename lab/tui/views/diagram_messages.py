"""The messages: arrows from sending to delivery, showing what happened to them.

If many fall into one cell of time, the number that passes between two lines is drawn instead.
"""

from collections import Counter
from itertools import pairwise

from msgspec import Struct
from rich.style import Style

from lab.analysis.spacetime import MessageEdge
from lab.export.diagram_layout import Position, label_of
from lab.text import sanitize
from lab.tui.views.diagram_canvas import Canvas
from lab.tui.views.diagram_scene import QUIET, Scene

_FEW = 3
"""The most messages within one cell of time that are drawn one by one."""
_LEAST_LABEL = 4
_STUB = 4
"""The longest arrow of a message in flight."""


class _Leg(Struct, frozen=True):
    """The way of one copy of a message. ``comes``: as far as its receiver's lane."""

    end: float
    across: float
    comes: bool
    again: bool


class _MessageLine(Struct, frozen=True):
    """A message between two lanes. ``way`` is 1 or -1: to a higher or a lower node."""

    edge: MessageEdge
    style: Style
    source: int
    target: int
    way: int
    start: float
    legs: list[_Leg]


def draw_messages(canvas: Canvas, scene: Scene) -> None:
    """Draw every message, the selected one last so that it covers the others."""
    edges = scene.messages()
    dense = _dense_cells(scene, edges)
    for cell, many in dense.items():
        _draw_density(canvas, scene, cell, many)
    drawn = (edge for edge in edges if scene.is_picked(edge) or _cell(scene, edge) not in dense)
    arrows = [arrow for arrow in (_arrow(scene, edge) for edge in drawn) if arrow is not None]
    arrows.sort(key=lambda arrow: (scene.is_picked(arrow.edge), arrow.style != QUIET))
    for arrow in arrows:
        _draw_line(canvas, scene, arrow)
    for arrow in arrows:
        _draw_ends(canvas, scene, arrow)
    for arrow in reversed(arrows):
        _draw_label(canvas, scene, arrow)


def _arrow(scene: Scene, edge: MessageEdge) -> _MessageLine | None:
    lanes = scene.plane.ends(edge)
    if lanes is None:
        return None
    source, target = lanes
    start, legs = scene.place(edge.sent), []
    for point in (edge.end or scene.last, *edge.again):
        end, again = scene.place(point), point in edge.again
        comes = edge.arrived or edge.fate == "receiver down" or again
        across = target if comes else (source + target) / 2  # halfway if it is dropped or in flight
        legs.append(_Leg(min(end, start + _STUB) if edge.end is None else end, across, comes, again))
    return _MessageLine(edge, scene.style_of(edge), source, target, 1 if target > source else -1, start, legs)


# many messages in a cell


def _cell(scene: Scene, edge: MessageEdge) -> int | None:
    """Return the one cell of time that the message is in, or None if it takes longer or cells are records."""
    if not scene.axis.us or edge.end is None:
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
    plane, signs = scene.plane, scene.signs
    gaps = list(pairwise(sorted(plane.lanes.values())))
    passing: Counter[tuple[int, int]] = Counter()
    lost: set[tuple[int, int]] = set()
    for edge in many:
        low, high = sorted(plane.ends(edge) or (0, 0))
        crossed = [gap for gap in gaps if low <= gap[0] and gap[1] <= high]
        passing.update(crossed)
        if not edge.arrived:
            lost.update(crossed)
    for (lane, next_lane), count in passing.items():
        style = scene.styles.warning if (lane, next_lane) in lost else scene.styles.accent
        style = style if scene.cone is None else QUIET
        sign, room = signs.density[0 if count <= _FEW else 1 if count < 16 else 2], next_lane - lane - 1
        if plane.down:
            text = f" {count} " if room >= len(str(count)) + 4 else str(count) if count > 1 else ""
            canvas.put(*plane.cell(cell, lane + 1), f"{text:{sign}^{room}}"[:room], style, many[0])
            continue
        for across in range(lane + 1, next_lane):
            upright = signs.density[2] if count > _FEW else signs.across[1]
            canvas.put(*plane.cell(cell, across), upright, style, many[0])
        if count > 1 and room > 1:
            canvas.put(*plane.cell(cell, (lane + next_lane) // 2), str(count), style, many[0])


# single messages


def _draw_line(canvas: Canvas, scene: Scene, arrow: _MessageLine) -> None:
    plane, way, start = scene.plane, arrow.way, arrow.start
    for place, leg in enumerate(arrow.legs):
        if scene.is_seen(start, leg.end):
            # Clip first: the ends may be far outside the picture.
            head = leg.end, leg.across + 0.5 - way * 0.6
            first, last = _clip((start, arrow.source + 0.5 + way * 0.6), head, plane.along)
            gaps = place > 0 or arrow.edge.fate == "timed out" or bool(arrow.edge.by)
            canvas.line(plane.xy(*first), plane.xy(*last), arrow.style, arrow.edge, gaps)
    if 0 <= int(start // 1) < plane.along:
        _draw_joint(canvas, scene, *plane.cell(int(start // 1), arrow.source), way)


def _clip(start: Position, end: Position, along: int) -> tuple[Position, Position]:
    """Return the part of a line that is in the picture."""

    def at(place: float) -> Position:
        share = (place - start[0]) / (end[0] - start[0])
        return place, start[1] + (end[1] - start[1]) * share

    bottom = along - 0.01
    return at(0) if start[0] < 0 < end[0] else start, at(bottom) if start[0] < bottom < end[0] else end


def _draw_joint(canvas: Canvas, scene: Scene, x: int, y: int, way: int) -> None:
    """Draw the joint where a message leaves a line."""
    if not 0 <= x < canvas.width:
        return
    sign, joints = canvas.letter(x, y), scene.signs.joints
    joint = joints[_side(scene, way)]
    if sign in joints.values():
        canvas.put(x, y, sign if sign == joint else joints["both"], canvas.style(x, y), canvas.owner(x, y))
    elif sign in scene.signs.joined:
        canvas.put(x, y, joint, canvas.style(x, y), canvas.owner(x, y))


def _draw_ends(canvas: Canvas, scene: Scene, arrow: _MessageLine) -> None:
    edge, plane, signs = arrow.edge, scene.plane, scene.signs
    heads = signs.late if edge.fate == "timed out" else signs.heads
    dropped = {"in flight": signs.flying, "held": signs.held}.get(edge.fate, signs.lost)
    for leg in arrow.legs:
        sign = heads[_side(scene, arrow.way)] if edge.arrived or leg.again else dropped
        if 0 <= leg.end < plane.along:
            x, y = plane.cell(int(leg.end), _head(scene, arrow, leg))
            if canvas.is_free(x, y, 1):
                style = arrow.style if arrow.style == QUIET else arrow.style + Style(bold=True)
                canvas.put(x, y, sign, style, edge)


def _draw_label(canvas: Canvas, scene: Scene, arrow: _MessageLine) -> None:
    """Draw the message's kind beside the end of its arrow."""
    edge, plane, way, leg = arrow.edge, scene.plane, arrow.way, arrow.legs[0]
    if not 0 <= leg.end < plane.along:
        return
    delayed = scene.signs.delayed if edge.by and edge.arrived else ""
    label = delayed + label_of(sanitize(edge.line.kind, 40), scene.styles.glyphs.answer)
    if not plane.down:
        x, y = plane.cell(int(leg.end), arrow.target - way)
        if len(label) < plane.pitch * 4 and canvas.is_blank(x + 1, y, len(label)):
            canvas.put(x + 1, y, label, arrow.style, edge)
        return
    room = min(plane.pitch, plane.pitch if leg.comes else abs(arrow.target - arrow.source) // 2) - 2
    if room < _LEAST_LABEL:
        return
    fitted = label if len(label) <= room else f"{label[: room - 1]}…"
    head = _head(scene, arrow, leg)
    x, y = plane.cell(int(leg.end), head - len(fitted) if way > 0 else head + 1)
    if canvas.is_free(x, y, len(fitted)):
        canvas.put(x, y, fitted, arrow.style, edge)


def _head(scene: Scene, arrow: _MessageLine, leg: _Leg) -> int:
    """Return where a leg ends across the lanes: before its receiver's lane, or halfway, clear of any lane."""
    across = round(leg.across)
    return across - arrow.way if leg.comes or across in scene.plane.lanes.values() else across


def _side(scene: Scene, way: int) -> str:
    if scene.plane.down:
        return "right" if way > 0 else "left"
    return "down" if way > 0 else "up"
