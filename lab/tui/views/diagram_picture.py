"""The picture of the diagram, drawn in layers: names, times, node lines, messages, labels, the cursor in time."""

from collections.abc import Iterable

from msgspec import Struct
from rich.cells import cell_len
from rich.style import Style

from lab.analysis.group_history import RecordedMoment
from lab.analysis.spacetime import StatusInterval
from lab.recording.log_lines import LogLine
from lab.styles import DIM, Line, fit, width_of
from lab.text import sanitize
from lab.tui.views.diagram_canvas import Canvas
from lab.tui.views.diagram_messages import draw_arrows, draw_labels
from lab.tui.views.diagram_scene import DIMMED, Scene
from lab.tui.widgets.pane import STOPPED
from lab.units import format_rounded

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
        name = scene.names.get(node, str(node))
        if plane.down:
            canvas.put(lane + 1 - len(name), 0, name, name_style, node)
            if plane.pitch > 4:
                canvas.put(lane + 2, 0, sign, style, node)
        else:
            canvas.put(1, lane, f"{name[:3]:>3}", name_style, node)
            canvas.put(5, lane, sign, style, node)
    _draw_hidden(canvas, scene, statuses)


def _draw_hidden(canvas: Canvas, scene: Scene, nodes: Iterable[int]) -> None:
    """Draw how many nodes have no line, on either side."""
    plane, heads = scene.plane, scene.signs.heads
    before, after = (
        sum(node < min(plane.lanes) for node in nodes),
        sum(node > max(plane.lanes) for node in nodes),
    )
    if before:
        canvas.put(0, 0, f"{heads['left' if plane.down else 'up']} {before} more ", DIM)
    if after and plane.down:
        canvas.put(plane.margin, 0, f"{after} more {heads['right']}", DIM)
    elif after:
        canvas.put(0, plane.height - 2, f"{heads['down']} {after} more ", DIM)


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
    labels = f"{sign} {format_rounded(idle_us)}"
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
        along = int(scene.place(RecordedMoment(violation.record, violation.at_us)) // 1)
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
    """Write labels in the margin. If important ones need more room, also over lines, but over nothing else."""
    plane, text = scene.plane, _joined(labels)
    x, y = plane.left + along, canvas.height - 2
    if plane.down:
        y = plane.top + along
        needed = max(plane.width - plane.margin, width_of(_joined([each for each in labels if each[1] != DIM])))
        x = plane.width + 1 - canvas.room((plane.width - 1, y, -1), needed + 1, over=scene.signs.strokes)
    width = min(width_of(text), plane.width - x)
    if not plane.down and not canvas.is_blank(x - 1, y, width + 1):
        return
    canvas.put(x - 1, y, " ", DIM)
    for piece, style in fit(text, width):
        canvas.put(x, y, piece, style)
        x += cell_len(piece)


def _joined(labels: list[tuple[str, Style]]) -> Line:
    return [piece for label in labels for piece in (("   ", DIM), label)][1:]


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
_LEAST_WORD = 5
"""The fewest cells that are worth a part of a word."""


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
    changes = [
        (cells, along, cell)
        for cells in drawn.values()
        for along, cell in enumerate(cells)
        if cell is not None and cell.begins
    ]
    if not scene.plane.down:
        for change in changes:
            _write_along(canvas, scene, *change)
    else:
        for rows_later, over_arrows in ((0, False), (1, False), (0, True), (1, True)):
            changes = [
                change for change in changes if not _write_next_to(canvas, scene, *change, rows_later, over_arrows)
            ]


def _write_along(canvas: Canvas, scene: Scene, cells: Cells, along: int, cell: _Cell) -> None:
    """Write the status onto the line, if it ends before the next change and in the picture."""
    word, node = _word(cell), cell.interval.node
    rest = cells[along + 1 :]
    room = next((place - 1 for place, other in enumerate(rest) if other and other.begins), len(rest))
    if room >= len(word):
        x, y = scene.plane.cell(along + 1, scene.plane.lanes[node])
        canvas.put(x, y, word, _cell_style(scene, cell, along), node)


def _write_next_to(
    canvas: Canvas, scene: Scene, cells: Cells, along: int, cell: _Cell, rows_later: int, over_arrows: bool
) -> bool:
    """Write the status to the right or left of the line, and return whether there was room."""
    plane, node = scene.plane, cell.interval.node
    lane, y = plane.lanes[node], plane.top + along + rows_later
    later = cells[along + rows_later] if along + rows_later < len(cells) else None
    word, width = _word(cell), plane.pitch - 3
    if later is None or (rows_later and later.begins) or width < min(len(word), _LEAST_WORD):
        return False
    style = _cell_style(scene, cell, along)
    word = fit([(word, style)], min(width, len(word)))[0][0]
    for side in (1, -1) if lane > plane.left + 2 else (1,):
        x = lane + 2 if side > 0 else lane - 1 - len(word)
        room = canvas.room((lane + side, y, side), len(word) + 2)
        if canvas.is_free(min(x, x - side), y, len(word) + 1) if over_arrows else room > len(word):
            canvas.put(x, y, word, style, node)
            return True
    return False


def _word(cell: _Cell) -> str:
    return "up" if _is_start(cell) else sanitize(cell.interval.shown, _LONGEST)


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
                begins = place == first + is_taken and _is_change(interval, before)
                cells[place] = _Cell(interval, starred, begins, before)
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


# all layers


def draw(scene: Scene) -> Canvas:
    """Draw a scene. The last row stays free."""
    plane = scene.plane
    canvas = Canvas(plane.width, plane.height, fine=not scene.signs.lost.isascii())
    draw_names(canvas, scene)
    draw_axis(canvas, scene)
    lines = draw_lines(canvas, scene)
    fan_outs = draw_arrows(canvas, scene)
    draw_words(canvas, scene, lines)
    draw_events(canvas, scene)
    draw_labels(canvas, scene, fan_outs)
    draw_bands(canvas, scene)
    draw_cursor(canvas, scene)
    return canvas
