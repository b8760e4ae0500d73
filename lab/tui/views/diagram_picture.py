"""The picture of the diagram, drawn in layers: names, times, node lines, messages, labels, the cursor in time."""

from msgspec import Struct
from rich.cells import cell_len
from rich.style import Style

from lab.analysis.group_history import Point
from lab.analysis.spacetime import StatusInterval
from lab.recording.log_lines import LogLine
from lab.text import sanitize
from lab.tui.terminal.styles import DIM
from lab.tui.views.diagram_canvas import Canvas
from lab.tui.views.diagram_messages import draw_messages
from lab.tui.views.diagram_scene import QUIET, Scene

_LOUD_KINDS = ("command", "caption", "mark", "expectation", "failure", "end")
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
        sign, style = (
            (styles.glyphs.leads, styles.leader) if at.leads else (styles.glyph(at.shown), styles.status(at.shown))
        )
        name_style = Style(bold=True, reverse=node == scene.cursor.selected or None)
        if plane.down:
            canvas.put(lane + 1 - len(str(node)), 0, str(node), name_style, node)
            if plane.pitch > 4:
                canvas.put(lane + 2, 0, sign, style, node)
        else:
            canvas.put(1, lane, f"{node:>3}", name_style, node)
            canvas.put(5, lane, sign, style, node)


def draw_axis(canvas: Canvas, scene: Scene) -> None:
    """Draw the clock times along the flow of time, and the lengths of quiet periods."""
    plane, axis = scene.plane, scene.axis
    before, behind = scene.signs.tick if axis.us else ("", "")
    for along, clock in axis.ticks(scene.top, plane.along, plane.down):
        if plane.down:
            canvas.put(plane.left - 2 - len(clock), plane.top + along, f"{clock}{before}", DIM)
        elif canvas.is_blank(plane.left + along, 0, len(clock) + 2):
            canvas.put(plane.left + along, 0, f"{behind}{clock}", DIM)
    for along, quiet_us in axis.rests(scene.top, plane.along):
        _draw_quiet(canvas, scene, along, quiet_us)


def _draw_quiet(canvas: Canvas, scene: Scene, along: int, quiet_us: int) -> None:
    """Draw the length of a quiet period beside the lines, or only a sign if time flows to the right."""
    plane, sign = scene.plane, scene.signs.quiet
    labels = f"{sign} {quiet_us / 1e6:.1f} s" if quiet_us >= 1_000_000 else f"{sign} {round(quiet_us / 1000)} ms"
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
    if event.what == "failure":
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
                canvas.restyle(x, y, _dimmed)
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


def _dimmed(style: Style) -> Style:
    return style + DIM


# the lines of the nodes: their status by colour, sign and stroke, with a word at every change

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
    return cell.interval.shown == "Down" and (cell.before is None or cell.before.shown in _STOPPED)


def _word(cell: _Cell) -> str:
    if _is_start(cell):
        return "up"
    return cell.interval.shown


def _cell_sign(scene: Scene, cell: _Cell, along: int) -> tuple[str, Style]:
    interval, signs, styles = cell.interval, scene.signs, scene.styles
    style = _cell_style(scene, cell, along)
    if cell.begins:
        if _is_start(cell):
            return signs.up, style
        if not interval.leads:
            return styles.glyph(interval.shown), style + Style(bold=True)
    if cell.starred:
        return styles.glyphs.leads, style if style == QUIET else styles.leader
    return signs.lane.get(interval.shown, signs.other)[0 if scene.plane.down else 1], style


def _cell_style(scene: Scene, cell: _Cell, along: int) -> Style:
    interval = cell.interval
    if scene.is_apart(interval.node, along):
        return QUIET
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
    draw_messages(canvas, scene)
    draw_words(canvas, scene, lines)
    draw_events(canvas, scene)
    draw_bands(canvas, scene)
    draw_cursor(canvas, scene)
    return canvas
