"""The picture of the diagram, drawn in layers: names, times, node lines, messages, labels, the cursor in time."""

from collections import Counter
from itertools import pairwise

from msgspec import Struct
from rich.cells import cell_len
from rich.style import Style

from lab.analysis.group_history import Point
from lab.analysis.spacetime import MessageEdge, StatusInterval
from lab.export.diagram_layout import Position, label_of
from lab.recording.log_lines import LogLine
from lab.styles import DIM
from lab.text import sanitize
from lab.tui.views.diagram_canvas import Canvas
from lab.tui.views.diagram_scene import DIMMED, Scene
from lab.tui.widgets.pane import STOPPED

_LOUD_KINDS = ("command", "caption", "mark", "expectation", "failure", "stall", "end")
_MARGIN_KINDS = (*_LOUD_KINDS, "note", "protocol-command", "log")
_LONGEST = 120


def draw_names(canvas: Canvas, scene: Scene) -> None:
    """Draw the name of each line, and the node's status at the cursor in time."""
    plane, styles = scene.plane, scene.styles
    statuses: dict[int, StatusInterval] = {}
    for interval in scene.space.status_intervals:
        if interval.since.record <= scene.cursor.record or interval.node not in statuses:
            statuses[interval.node] = interval
    for node, lane in plane.lanes.items():
        at = statuses[node]
        sign, style = styles.glyph(at.shown), styles.status(at.shown)
        if at.leads:
            sign, style = styles.glyphs.leads, styles.leader
        name_style = Style(bold=True, reverse=node == scene.cursor.selected or None)
        if plane.down:
            canvas.put(lane + 1 - len(str(node)), 0, str(node), name_style, node)
            if plane.pitch > 4:
                canvas.put(lane + 2, 0, sign, style, node)
        else:
            canvas.put(1, lane, f"{node:>3}", name_style, node)
            canvas.put(5, lane, sign, style, node)


def draw_axis(canvas: Canvas, scene: Scene) -> None:
    """Draw the clock times along the flow of time, and the lengths of idle periods."""
    plane, axis = scene.plane, scene.axis
    before, behind = scene.signs.tick if axis.us else ("", "")
    for along, clock in axis.ticks(scene.top, plane.along, plane.down):
        if plane.down:
            canvas.put(plane.left - 2 - len(clock), plane.top + along, f"{clock}{before}", DIM)
        elif canvas.is_blank(plane.left + along, 0, len(clock) + 2):
            canvas.put(plane.left + along, 0, f"{behind}{clock}", DIM)
    for along, idle_us in axis.idle_periods(scene.top, plane.along):
        _draw_idle_period(canvas, scene, along, idle_us)


def _draw_idle_period(canvas: Canvas, scene: Scene, along: int, idle_us: int) -> None:
    """Draw the length of an idle period beside the lines, or only a sign if time flows to the right."""
    plane, sign = scene.plane, scene.signs.idle
    labels = f"{sign} {idle_us / 1e6:.1f} s" if idle_us >= 1_000_000 else f"{sign} {round(idle_us / 1000)} ms"
    if plane.down:
        canvas.put(plane.left - 1 - len(labels), plane.top + along, labels, scene.styles.mark("caption") + DIM)
    elif canvas.is_blank(plane.left + along, 0, 1):
        canvas.put(plane.left + along, 0, sign, DIM)


def draw_events(canvas: Canvas, scene: Scene) -> None:
    """Draw commands, captions, other events and violations in the margin."""
    pieces: dict[int, list[tuple[str, Style]]] = {}
    for along, event in scene.events():
        if event.what in (_LOUD_KINDS if scene.axis.us else _MARGIN_KINDS):
            pieces.setdefault(along, []).append(_event_label(scene, event))
    for violation in scene.violations:
        along = int(scene.place(Point(violation.record, violation.at_us)) // 1)
        sign = scene.styles.glyphs.marks["unmet"]
        style = scene.styles.warning if violation.is_failure else scene.styles.mark("election")
        text = f"{sign} {violation.assertion} {' '.join(map(str, violation.nodes))}"
        pieces.setdefault(along, []).append((text, style))
    for along, labels in sorted(pieces.items()):
        if 0 <= along < scene.plane.along:
            _put_labels(canvas, scene, along, labels)


def _event_label(scene: Scene, event: LogLine) -> tuple[str, Style]:
    styles, text = scene.styles, sanitize(event.text, _LONGEST)
    who = "" if event.source is None else f"{event.source} "
    if event.what == "command":
        return f"{styles.glyphs.play} {text}", styles.accent
    if event.what in ("caption", "mark", "expectation"):
        kind = event.kind or event.what
        return f"{styles.glyphs.marks[kind]} {text}", styles.mark(kind)
    if event.what in ("failure", "stall"):
        return f"{styles.glyph('failed')} {who}{text}", styles.warning
    label = {"note": "", "protocol-command": "command "}.get(event.what, f"{event.what} ")
    return f"{who}{label}{text}", DIM


def _put_labels(canvas: Canvas, scene: Scene, along: int, labels: list[tuple[str, Style]]) -> None:
    """Write labels in the margin. If important ones do not fit, write over the lines, or leave them out."""
    plane = scene.plane
    if plane.down:
        length = sum(cell_len(text) + 3 for text, style in labels if style != DIM) - 3
        x, y = max(plane.left + 2, min(plane.margin, plane.width - length)), plane.top + along
    else:
        x, y = plane.left + along, canvas.height - 2
    for text, style in labels:
        width = cell_len(text)
        if not plane.down and not canvas.is_blank(x - 1, y, min(width, canvas.width - x)):
            return
        canvas.put(x - 1, y, " ", style)
        canvas.put(x, y, text, style)
        x += width + 3


def draw_bands(canvas: Canvas, scene: Scene) -> None:
    """Draw link faults as bands between the lines that they separate, for as long as they are in force."""
    plane = scene.plane
    sign = scene.signs.band[0 if plane.down else 1]
    for interval in scene.space.fault_intervals:
        first, last = (int(scene.place(point) // 1) for point in (interval.since, interval.until or scene.last))
        parts = interval.fault.kind in ("partition", "cut")
        style = scene.styles.warning if parts else scene.styles.fate("held")
        for lane, next_lane, _ in plane.gaps(interval.fault):
            for along in range(max(0, first), min(plane.along, last + 1)):
                canvas.fill_blank(*plane.cell(along, (lane + next_lane) // 2), sign, style)


def draw_cursor(canvas: Canvas, scene: Scene) -> None:
    """Draw the cursor in time. Erase what must be hidden after it; otherwise dim it if nothing is selected."""
    plane, at = scene.plane, scene.cursor_cell
    style = scene.styles.accent
    for along in range(max(0, at + 1), plane.along):
        for across in range(plane.width if plane.down else plane.height - 1):
            x, y = (across, plane.top + along) if plane.down else (plane.left + along, across)
            if scene.cursor.hides_future:
                canvas.clear(x, y)
            elif scene.cone is None:
                canvas.dim(x, y)
    if not 0 <= at < plane.along or scene.cursor.following:
        return
    if plane.down:
        canvas.put(0, plane.top + at, scene.styles.glyphs.cursor, style)
        for x in range(1, plane.width):
            canvas.fill_blank(x, plane.top + at, scene.signs.across[0], style)
    else:
        canvas.put(plane.left + at, 0, scene.styles.glyphs.cursor, style)
        for y in range(1, canvas.height - 1):
            canvas.fill_blank(plane.left + at, y, scene.signs.across[1], style)


# the lines of the nodes: their status by colour, sign and stroke, with a word at every change

_RANKS = ("Normal", "Idle", "Reorganization", "Election", "Down", "absent", "paused", "killed", "failed")
"""If a node has several statuses within a cell, the one that is last in this list is drawn."""
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
            word: str = "up" if _is_start(cell) else sanitize(cell.interval.shown, _LONGEST)
            style = _cell_style(scene, cell, along)
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
    end = int(scene.place(scene.last)) + scene.axis.step
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
    return cell.interval.shown == "Down" and (cell.before is None or cell.before.shown in STOPPED)


def _cell_sign(scene: Scene, cell: _Cell, along: int) -> tuple[str, Style]:
    interval, signs, styles = cell.interval, scene.signs, scene.styles
    style = _cell_style(scene, cell, along)
    if cell.begins:
        if _is_start(cell):
            return signs.up, style
        if not interval.leads:
            return styles.glyph(interval.shown), style + Style(bold=True)
    if cell.starred:
        return styles.glyphs.leads, style if style == DIMMED else styles.leader
    return signs.lane.get(interval.shown, signs.other)[0 if scene.plane.down else 1], style


def _cell_style(scene: Scene, cell: _Cell, along: int) -> Style:
    interval = cell.interval
    if scene.is_apart(interval.node, along):
        return DIMMED
    if scene.marked and interval.since.record in scene.marked:
        return scene.styles.warning
    return scene.styles.status(interval.shown)


# the messages: arrows from sending to delivery, showing what happened to them
#
# If many fall into one cell of time, the number that passes between two lines is drawn instead.

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
    arrows.sort(key=lambda arrow: (scene.is_picked(arrow.edge), arrow.style != DIMMED))
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
        style = style if scene.cone is None else DIMMED
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
                style = arrow.style if arrow.style == DIMMED else arrow.style + Style(bold=True)
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


# all layers


def draw(scene: Scene) -> Canvas:
    """Draw a scene. The last row stays free."""
    plane = scene.plane
    canvas = Canvas(plane.width, plane.height, fine=not scene.signs.lost.isascii())
    draw_names(canvas, scene)
    draw_axis(canvas, scene)
    lines = draw_lines(canvas, scene)
    draw_messages(canvas, scene)
    draw_words(canvas, scene, lines)
    draw_events(canvas, scene)
    draw_bands(canvas, scene)
    draw_cursor(canvas, scene)
    return canvas
