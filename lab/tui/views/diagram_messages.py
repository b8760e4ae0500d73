"""The messages of the diagram: arrows from sending to delivery, showing what happened to them, and their labels.

If many fall into one cell of time, the number that passes between two lines is drawn instead.

A fan-out, the messages of a kind that a node sends in one step, has one label, near its sender. Labels are drawn
last, where nothing else is: they may cover the arrows that they name, and no others. If there is no room for a
label, it is shortened or left out.
"""

from collections import Counter
from collections.abc import Hashable, Iterator
from functools import partial
from itertools import chain, pairwise

from msgspec import Struct
from rich.cells import cell_len
from rich.style import Style

from lab.analysis.spacetime import MessageEdge
from lab.export.diagram_layout import FEW, Position, dense_cells, fan_out_of, passing
from lab.styles import fit
from lab.text import sanitize
from lab.tui.views.diagram_canvas import Canvas, Spot
from lab.tui.views.diagram_scene import DIMMED, Scene

_LEAST_LABEL = 6
"""The fewest cells that are worth a part of a label."""
_NAMED_PITCH = 24
"""The least columns from line to line that leave room for the kinds of answers; else a sign and the request's."""
_STUB = 4
"""The longest arrow of a message in flight."""
_STEEP = 4
"""The most columns that a steep arrow crosses in a row."""
_NEAR = 8
"""The most rows of an arrow that are searched for room next to it."""


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


class FanOut(Struct, eq=False):
    """The messages that share a label: a fan-out, or a single message."""

    arrows: list[_MessageLine]


def draw_arrows(canvas: Canvas, scene: Scene) -> list[FanOut]:
    """Draw every message without its label, the selected one last so that it covers the others.

    Return what is to be labelled.
    """
    edges = scene.messages()
    dense = dense_cells(edges, partial(_cell, scene))
    for cell, many in dense.items():
        _draw_density(canvas, scene, cell, many)
    fan_outs: dict[Hashable, FanOut] = {}
    drawn: list[tuple[_MessageLine, FanOut]] = []
    for edge in edges:
        arrow = _arrow(scene, edge) if scene.is_picked(edge) or _cell(scene, edge) not in dense else None
        if arrow is not None:
            fan_out = fan_outs.setdefault(_label_key(scene, arrow), FanOut([]))
            fan_out.arrows.append(arrow)
            drawn.append((arrow, fan_out))
    drawn.sort(key=lambda each: (scene.is_picked(each[0].edge), each[0].style != DIMMED))
    for arrow, fan_out in drawn:
        _draw_line(canvas, scene, arrow, fan_out)
    for arrow, _ in drawn:
        _draw_ends(canvas, scene, arrow)
    return [*fan_outs.values()]


def _label_key(scene: Scene, arrow: _MessageLine) -> Hashable:
    """Return what messages with the same label have in common. The sender of a fan-out must be in the picture."""
    edge, plane = arrow.edge, scene.plane
    is_sent_here = edge.ends[0] in plane.lanes and 0 <= arrow.start < plane.along
    if scene.is_picked(edge) or not is_sent_here:
        return edge.line.message
    return fan_out_of(edge), _is_delayed(edge)


def _is_delayed(edge: MessageEdge) -> bool:
    return bool(edge.by) and edge.arrived


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


def _draw_density(canvas: Canvas, scene: Scene, cell: int, many: list[MessageEdge]) -> None:
    plane, signs = scene.plane, scene.signs
    counts, lost = passing(plane, many)
    for (lane, next_lane), count in counts.items():
        style = scene.styles.warning if (lane, next_lane) in lost else scene.styles.accent
        style = style if scene.cone is None else DIMMED
        sign, room = signs.density[0 if count <= FEW else 1 if count < 16 else 2], next_lane - lane - 1
        if plane.down:
            text = f" {count} " if room >= len(str(count)) + 4 else str(count) if count > 1 else ""
            canvas.put(*plane.cell(cell, lane + 1), f"{text:{sign}^{room}}"[:room], style, many[0])
            continue
        for across in range(lane + 1, next_lane):
            upright = signs.density[2] if count > FEW else signs.across[1]
            canvas.put(*plane.cell(cell, across), upright, style, many[0])
        if count > 1 and room > 1:
            canvas.put(*plane.cell(cell, (lane + next_lane) // 2), str(count), style, many[0])


# single messages


def _draw_line(canvas: Canvas, scene: Scene, arrow: _MessageLine, group: FanOut) -> None:
    plane, way, start = scene.plane, arrow.way, arrow.start
    for place, leg in enumerate(arrow.legs):
        if scene.is_seen(start, leg.end):
            # Clip first: the ends may be far outside the picture.
            head = leg.end, leg.across + 0.5 - way * 0.6
            first, last = _clip((start, arrow.source + 0.5 + way * 0.6), head, plane.along)
            gaps = place > 0 or arrow.edge.fate == "timed out" or bool(arrow.edge.by)
            canvas.line(plane.xy(*first), plane.xy(*last), arrow.style, arrow.edge, group, gaps)
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
                style = arrow.style if arrow.style == DIMMED else arrow.style + Style(bold=True)
                canvas.put(x, y, sign, style, edge)


def _head(scene: Scene, arrow: _MessageLine, leg: _Leg) -> int:
    """Return where a leg ends across the lanes: before its receiver's lane, or halfway, clear of any lane."""
    across = round(leg.across)
    return across - arrow.way if leg.comes or across in scene.plane.lanes.values() else across


def _side(scene: Scene, way: int) -> str:
    if scene.plane.down:
        return "right" if way > 0 else "left"
    return "down" if way > 0 else "up"


# labels


def draw_labels(canvas: Canvas, scene: Scene, fan_outs: list[FanOut]) -> None:
    """Label the messages, the selected one first, grey ones last, unless there is nothing between the lines."""
    if scene.plane.pitch == 1:
        return

    def rank(fan_out: FanOut) -> tuple[bool, bool]:
        return not scene.is_picked(fan_out.arrows[0].edge), _label_style(fan_out) == DIMMED

    for fan_out in sorted(fan_outs, key=rank):
        _draw_label(canvas, scene, fan_out)


def _label_style(fan_out: FanOut) -> Style:
    """Return the style of a label: grey only if all of its arrows are, that of a loss only if none arrived."""
    return max(fan_out.arrows, key=lambda arrow: (arrow.style != DIMMED, arrow.edge.arrived)).style


def _draw_label(canvas: Canvas, scene: Scene, fan_out: FanOut) -> None:
    """Write the kind of the messages where there is room for it, or a part of it at an end of an arrow."""
    text, style = _label(scene, fan_out.arrows[0].edge), _label_style(fan_out)
    width = cell_len(text)

    def room(spot: Spot) -> int:
        x, y, way = spot
        if x < first or not plane.top <= y < bottom:
            return 0
        return min(canvas.room(spot, width + 1, fan_out), width if way > 0 else x + 1 - first)

    plane = scene.plane
    first = plane.left if plane.down else max(plane.left, plane.left + int(fan_out.arrows[0].start))  # not before
    bottom = plane.top + plane.along if plane.down else plane.height - 2
    ends = _ends(scene, fan_out)
    full = next((spot for spot in chain(ends, _elsewhere(scene, fan_out)) if room(spot) >= width), None)
    x, y, way = full or max(ends if len(fan_out.arrows) == 1 else [*ends, *_elsewhere(scene, fan_out)], key=room)
    found = min(width, room((x, y, way)))
    if found >= min(width, _LEAST_LABEL):
        shown = fit([(text, style)], found)[0][0]
        canvas.put(x if way > 0 else x + 1 - cell_len(shown), y, shown, style, fan_out.arrows[0].edge)


def _label(scene: Scene, edge: MessageEdge) -> str:
    kind = sanitize(edge.line.kind, 40)
    request = kind.removesuffix("Answer")
    is_named = request == kind or (scene.plane.down and scene.plane.pitch >= _NAMED_PITCH)
    delayed = scene.signs.delayed if _is_delayed(edge) else ""
    return delayed + (kind if is_named else scene.styles.glyphs.answer + request)


def _ends(scene: Scene, fan_out: FanOut) -> list[Spot]:
    """Return the places at the ends of arrows: of a fan-out first near the sender, of a single message last."""
    tails, heads = _tails(scene, fan_out), [spot for arrow in fan_out.arrows for spot in _heads(scene, arrow)]
    return [*heads, *tails] if len(fan_out.arrows) == 1 else [*tails, *heads]


def _tails(scene: Scene, fan_out: FanOut) -> list[Spot]:
    """Return the places next to the sender, on the side of most arrows first."""
    ways = Counter(arrow.way for arrow in fan_out.arrows).most_common()
    return [_tail(scene, fan_out.arrows[0], way) for way, _ in ways]


def _elsewhere(scene: Scene, fan_out: FanOut) -> Iterator[Spot]:
    yield from _near(scene, fan_out)
    yield from _behind(scene, fan_out)


def _behind(scene: Scene, fan_out: FanOut) -> Iterator[Spot]:
    """Yield the places on the other side of the sender than its arrows, and a row later."""
    arrow = fan_out.arrows[0]
    if arrow.source in scene.plane.lanes.values():
        for side in {1, -1} - {arrow.way for arrow in fan_out.arrows}:
            x, y, way = _tail(scene, arrow, side)
            yield x, y, way
            yield x, y + 1, way


def _tail(scene: Scene, arrow: _MessageLine, side: int) -> Spot:
    x, y = scene.plane.cell(int(arrow.start // 1), arrow.source + side)
    return (x + side, y, side) if scene.plane.down else (x + 1, y, 1)


def _heads(scene: Scene, arrow: _MessageLine) -> Iterator[Spot]:
    leg = arrow.legs[0]
    if not 0 <= leg.end < scene.plane.along:
        return
    x, y = scene.plane.cell(int(leg.end), _head(scene, arrow, leg))
    if scene.plane.down:
        yield x - arrow.way, y, -arrow.way
    else:
        yield x + 1, y, 1
        yield x - 1, y, -1


def _near(scene: Scene, fan_out: FanOut) -> Iterator[Spot]:
    """Yield the ends of the gaps that a flat arrow passes, and the cells to both sides of a steep one.

    Those of a fan-out begin near the sender, those of a single message at its end.
    """
    plane = scene.plane
    for arrow in fan_out.arrows:
        leg = arrow.legs[0]
        (x0, y0), (x1, y1) = plane.xy(arrow.start, arrow.source + 0.5), plane.xy(leg.end, leg.across + 0.5)
        if int(y0) == int(y1):
            continue
        step, slope = 1 if y1 > y0 else -1, (x1 - x0) / (y1 - y0)
        low, high = sorted((arrow.source, arrow.target)) if plane.down else (plane.left, plane.width)
        lanes = [lane for lane in plane.lanes.values() if low < lane < high] if plane.down else []
        gaps = [*pairwise((low, *lanes, high))]
        rows = range(int(y0), int(y1) + step, step)
        for y in (rows[::-1] if len(fan_out.arrows) == 1 else rows)[:_NEAR]:
            shown = (min(max(each, min(y0, y1)), max(y0, y1)) for each in (y, y + 1))
            left, right = sorted(int(x0 + (each - y0) * slope) for each in shown)
            if abs(slope) > _STEEP:
                yield from _in_gaps(gaps, left, right, y)
            else:
                yield from (spot for spot in ((right + 2, y, 1), (left - 2, y, -1)) if low < spot[0] < high)


def _in_gaps(gaps: list[tuple[int, int]], left: int, right: int, y: int) -> Iterator[Spot]:
    """Yield both ends of the gaps that a part of an arrow passes in a row."""
    for lane, next_lane in gaps:
        first, last = max(left, lane + 1) + 1, min(right, next_lane - 1) - 1
        if first < last:
            yield first, y, 1
            yield last, y, -1
