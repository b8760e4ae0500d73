"""The space-time diagram as an SVG picture on white paper."""

import textwrap
from collections.abc import Iterator
from itertools import pairwise
from typing import TextIO

import drawsvg

from lab.analysis.spacetime import FaultInterval, MessageEdge
from lab.export.annotations import (
    Annotation,
    describe_excerpt,
    describe_fault,
    describe_interval,
    describe_message,
    describe_status,
    printable,
    status_label,
)
from lab.export.excerpt import Excerpt
from lab.export.svg_layout import Frame
from lab.export.svg_shapes import (
    FAINT,
    FONT,
    HALO,
    INK,
    PAPER,
    RULE,
    Labels,
    Position,
    arrow_head,
    cross,
    line,
    text,
    text_width,
)
from lab.glyphs import UNICODE
from lab.palette import Palette
from lab.units import format_us

# nodes and faults: lanes coloured by status, walls of partitions, backgrounds of other faults

LANES = {"killed": (2.0, "2 5"), "failed": (2.0, "2 5"), "absent": (1.0, "1 5"), "paused": (5.0, "5 5")}
"""(width, dash pattern) of a lane by state of the process; ``WHOLE`` otherwise."""
WHOLE = (7.0, "")
_STATUS_SIZE = 11


def draw_nodes(frame: Frame) -> Iterator[drawsvg.DrawingElement]:
    """Yield the names of the nodes, at the beginnings of their lanes."""
    for node in frame.excerpt.nodes:
        x, y = frame.place(frame.begin - (60 if frame.is_right else 20), frame.lane(node))
        yield drawsvg.Rectangle(x - 31, y - 13, 62, 22, rx=7, fill=PAPER, stroke=FAINT)
        yield text(f"node {node}", 12, (x, y + 2), INK, text_anchor="middle", font_weight="bold")


def draw_lanes(frame: Frame, palette: Palette) -> Iterator[drawsvg.Group]:
    """Yield the status intervals."""
    for interval in frame.excerpt.status_intervals:
        width, dashes = LANES.get(interval.shown, WHOLE)
        end = frame.end if interval.until is None else frame.along(interval.until.at_us)
        group = drawsvg.Group(class_="s")
        group.append_title(describe_interval(interval))
        start = frame.at(interval.since.at_us, interval.node)
        stop = frame.place(end, frame.lane(interval.node))
        group.append(line(start, stop, palette.status(interval.shown) or FAINT, width, dashes))
        yield group


def draw_status_labels(frame: Frame, palette: Palette, labels: Labels) -> Iterator[drawsvg.DrawingElement]:
    """Yield the status of a node where it changes."""
    shown: dict[int, str] = {}
    for interval in frame.excerpt.status_intervals:
        colour = palette.status(interval.shown) or FAINT
        start_us = interval.since.at_us
        start = frame.at(start_us, interval.node)
        words = describe_status(interval)
        is_nothing = interval.until is not None and frame.along(interval.until.at_us) == frame.along(start_us)
        if words != shown.get(interval.node) and interval.shown != "absent" and not is_nothing:
            shown[interval.node] = words
            glyph = UNICODE.status.get(interval.shown, "")
            yield text(glyph, 13, (start[0], start[1] + 4.5), colour, font_weight="bold", **HALO)
            spot = labels.place(words, _STATUS_SIZE, _label_positions(words, start, frame))
            if spot is not None:
                yield text(words, _STATUS_SIZE, spot, colour, font_weight="bold", **HALO)


def _label_positions(words: str, start: Position, frame: Frame) -> list[Position]:
    """Return the candidate positions of a label, next to the beginning of its interval."""
    half = text_width(words, _STATUS_SIZE) / 2
    if frame.is_right:
        return [(start[0] + half + 6, start[1] + down) for down in (-8, 17, -20, 29)]
    return [(start[0] + side * (half + 8), start[1] + down) for down in (10, 22) for side in (1, -1)]


def draw_faults(frame: Frame, palette: Palette) -> Iterator[drawsvg.DrawingElement]:
    """Yield the link faults: a background while they are in force, and walls between separated lanes."""
    for fault_interval in frame.excerpt.fault_intervals:
        if not fault_interval.fault.links:
            continue
        group = drawsvg.Group(class_="f")
        group.append_title(_describe_fault_interval(fault_interval))
        begin = frame.along(fault_interval.since.at_us)
        end = frame.end if fault_interval.until is None else frame.along(fault_interval.until.at_us)
        left, top = frame.place(begin, frame.lanes_begin)
        right, bottom = frame.place(end, frame.lanes_end)
        colour = palette.mark("fault")
        group.append(drawsvg.Rectangle(left, top, right - left, bottom - top, fill=colour, fill_opacity=0.06))
        for wall in _walls(frame, fault_interval):
            group.append(line(frame.place(begin, wall), frame.place(end, wall), colour, 2.5, "7 4"))
        yield group


def _walls(frame: Frame, fault_interval: FaultInterval) -> Iterator[float]:
    """Yield the positions between neighbours whose links are cut in both directions."""
    links = frozenset(fault_interval.fault.links)
    nodes = frame.excerpt.nodes
    if fault_interval.fault.kind in ("partition", "cut"):
        for one, other in pairwise(nodes):
            if {(one, other), (other, one)} <= links:
                yield (frame.lane(one) + frame.lane(other)) / 2


def _describe_fault_interval(fault_interval: FaultInterval) -> str:
    until = "the end" if fault_interval.until is None else f"{fault_interval.until.at_us / 1e6:.6f} s"
    shown, touched = printable(describe_fault(fault_interval.fault)), f"{fault_interval.fault.touched:,}"
    return f"{shown}\nfrom {fault_interval.since.at_us / 1e6:.6f} s until {until}\naffected: {touched}"


# messages: arrows in the colour of their kind

SHARES = {"lost": 0.55, "cut": 0.55, "not sent": 0.15, "receiver down": 0.93, "in flight": 0.8, "held": 0.5}
"""The reach of an arrow between the lanes, by delivery outcome, if it does not arrive."""
DASHES = {"timed out": "7 3", "held": "2 4", "in flight": "2 4"}
_LABELLED = (0.5, 0.36, 0.64, 0.24, 0.76, 0.14, 0.86)
_KIND_SIZE = 10.5
_AT_ONCE = 8.0


class Arrows:
    """Draws each message as a group with a title; ``m0`` is the first one."""

    def __init__(self, frame: Frame, palette: Palette, labels: Labels) -> None:
        self._frame = frame
        self._palette = palette
        self._labels = labels
        self._faults = {
            fault_interval.fault.id: describe_fault(fault_interval.fault)
            for fault_interval in frame.excerpt.space.fault_intervals
        }

    def drawn(self) -> Iterator[drawsvg.Group]:
        """Yield the arrows in the order in which the messages were sent."""
        for number, edge in enumerate(self._frame.excerpt.messages):
            group = drawsvg.Group(class_="m", id=f"m{number}", tabindex=0)
            group.append_title(describe_message(edge, self._faults))
            self._draw(group, edge)
            self._frame.excerpt.progress(f"{number:,} of {len(self._frame.excerpt.messages):,} messages drawn")
            yield group

    def _draw(self, group: drawsvg.Group, edge: MessageEdge) -> None:
        colour = self._palette.kind(edge.line.kind)
        start, end = self._frame.ends(edge, self._end_us(edge), SHARES.get(edge.fate, 1.0))
        if edge.end is not None and not edge.arrived and edge.end.at_us == edge.line.at_us:
            # otherwise messages that are lost at once would be drawn on top of each other
            end = (end[0] + _AT_ONCE, end[1]) if self._frame.is_right else (end[0], end[1] + _AT_ONCE)
        group.append(line(start, end, PAPER, 11, class_="hit", stroke_opacity=0))
        group.append(line(start, end, colour, 1.4, DASHES.get(edge.fate, ""), class_="way"))
        self._tip(group, edge, start, end, colour)
        for point in edge.again:
            again_start, again_end = self._frame.ends(edge, point.at_us)
            group.append(line(again_start, again_end, colour, 1, "1 3", class_="way"))
            if self._is_shown(point.at_us):
                group.append(arrow_head(again_start, again_end, colour))
        self._label(group, edge, start, end, colour)

    def _tip(self, group: drawsvg.Group, edge: MessageEdge, start: Position, end: Position, colour: str) -> None:
        if edge.end is not None and not self._is_shown(edge.end.at_us):
            return  # the arrow leaves the picture
        if edge.arrived:
            group.append(arrow_head(start, end, colour))
        elif edge.end is not None:
            group.append(cross(end, self._palette.fate(edge.fate) or INK))
        else:
            group.append(drawsvg.Circle(round(end[0], 1), round(end[1], 1), 3, fill=PAPER, stroke=colour))

    def _label(self, group: drawsvg.Group, edge: MessageEdge, start: Position, end: Position, colour: str) -> None:
        kind = printable(edge.line.kind, 28)
        words = f"↩ {kind.removesuffix('Answer')}" if kind.endswith("Answer") else kind
        if edge.fate == "timed out":
            words += " (late)"
        spots = [
            (start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share - 3)
            for share in _LABELLED
        ]
        spot = self._labels.place(words, _KIND_SIZE, spots)
        if spot is not None:
            group.append(text(words, _KIND_SIZE, spot, colour, **HALO))

    def _end_us(self, edge: MessageEdge) -> int:
        return self._frame.excerpt.until_us if edge.end is None else edge.end.at_us

    def _is_shown(self, at_us: int) -> bool:
        return self._frame.excerpt.clip(at_us) == at_us


# the margins: time axis, annotations and legend

MARGIN, RIGHT_MARGIN = 380, 60
"""Room next to the lanes if time runs down; after their end if it runs to the right."""
_LETTERS = 56
_LINE = 15
_SIZE = 12
_SIGNS = {"fault": "✖", "unmet": "✗", "met": "✓", "caption": "“", "mark": "⚑", "command": "▶", "status": "·"}


def draw_times(frame: Frame) -> Iterator[drawsvg.DrawingElement]:
    """Yield the time axis: labelled times, and the length of long waits."""
    far = frame.lanes_end
    for along, clock in frame.scale.ticks():
        yield line(frame.place(along, frame.lanes_begin - 8), frame.place(along, far), RULE, 1)
        x, y = frame.place(along, frame.lanes_begin - 14)
        anchor = "middle" if frame.is_right else "end"
        yield text(clock, 11, (x, y if frame.is_right else y + 4), FAINT, text_anchor=anchor)
    for along, rest_us in frame.scale.rests():
        x, y = frame.place(along, frame.lanes_begin - 14)
        words = f"{'⋯' if frame.is_right else '⋮'} {format_us(round(rest_us, -3))}"
        anchor = "middle" if frame.is_right else "end"
        yield text(words, 11, (x, y if frame.is_right else y + 4), FAINT, text_anchor=anchor, font_style="italic")


def draw_annotations(frame: Frame, palette: Palette) -> tuple[drawsvg.Group, float]:
    """Return the annotations, next to the lanes or below them, and where they end."""
    group = drawsvg.Group()
    return group, _draw_below_lanes(group, frame, palette) if frame.is_right else _draw_in_margin(
        group, frame, palette
    )


def _draw_in_margin(group: drawsvg.Group, frame: Frame, palette: Palette) -> float:
    free: float = frame.begin - _LINE
    x = frame.lanes_end + 24
    for remark in frame.remarks:
        colour = palette.mark(remark.kind)
        y = frame.along(remark.at_us)
        shown = max(y, free)
        group.append(line((frame.lanes_begin, y), (frame.lanes_end, y), colour, 1, "1 4"))
        group.append(line((frame.lanes_end, y), (x - 4, shown), colour, 1))
        for place, words in enumerate(_wrapped(remark)):
            group.append(text(words, _SIZE, (x + (0 if place == 0 else 16), shown + 4 + _LINE * place), colour))
        free = shown + _LINE * len(_wrapped(remark)) + 4
    return max(frame.end, free) + 24


def _draw_below_lanes(group: drawsvg.Group, frame: Frame, palette: Palette) -> float:
    """Draw the annotations in rows, each in the first row with room for it."""
    rows: list[float] = []
    top = frame.lanes_end + 24
    for remark in frame.remarks:
        colour = palette.mark(remark.kind)
        words = printable(f"{_SIGNS[remark.kind]} {remark.text}", 110)
        at, wide = frame.along(remark.at_us), text_width(words, _SIZE)
        x = max(frame.begin, min(at, frame.end + RIGHT_MARGIN - wide))  # keep it inside the picture
        row = next((row for row, free in enumerate(rows) if free <= x), len(rows))
        rows[row : row + 1] = [x + wide + 16]
        y = top + _LINE * row
        group.append(line((at, frame.lanes_begin), (at, y - 10), colour, 1, "1 4"))
        group.append(text(words, _SIZE, (x, y), colour, **{**HALO, "text_anchor": "start"}))
    return top + _LINE * len(rows) + 12


def _wrapped(remark: Annotation) -> list[str]:
    return textwrap.wrap(f"{_SIGNS[remark.kind]} {printable(remark.text, 400)}", _LETTERS, break_long_words=True)


def draw_legend(frame: Frame, palette: Palette, width: float) -> tuple[drawsvg.Group, float]:
    """Return the legend of the lanes and arrows that occur, and its height."""
    group = drawsvg.Group()
    x, y = 24.0, 8.0
    entries = [*_lane_signs(frame, palette), *_arrow_signs(frame, palette)]
    for words, signs in entries:
        wide = 40 + text_width(words, 11) + 22
        if x + wide > width - 24:
            x, y = 24.0, y + 20
        moved = drawsvg.Group(transform=f"translate({x:.1f},{y:.1f})")
        for sign in signs:
            moved.append(sign)
        moved.append(text(words, 11, (38, 4), INK))
        group.append(moved)
        x += wide
    return group, y + 16


def _lane_signs(frame: Frame, palette: Palette) -> Iterator[tuple[str, list[drawsvg.DrawingElement]]]:
    for shown in dict.fromkeys(interval.shown for interval in frame.excerpt.status_intervals):
        wide, dashes = LANES.get(shown, WHOLE)
        sign = line((0, 0), (30, 0), palette.status(shown) or FAINT, wide, dashes)
        yield f"{UNICODE.status.get(shown, '')} {status_label(shown)}", [sign]
    if any(interval.leads for interval in frame.excerpt.status_intervals):
        yield "its own coordinator", [text("★", 13, (10, 5), palette.named("yellow"))]
    if any(fault_interval.fault.links for fault_interval in frame.excerpt.fault_intervals):
        ground = drawsvg.Rectangle(0, -7, 30, 14, fill=palette.mark("fault"), fill_opacity=0.15)
        yield "a fault of links is in force", [ground]


def _arrow_signs(frame: Frame, palette: Palette) -> Iterator[tuple[str, list[drawsvg.DrawingElement]]]:
    outcomes = {edge.fate for edge in frame.excerpt.messages}
    if "delivered" in outcomes:
        yield "message", [line((0, 0), (30, 0), INK, 1.4), arrow_head((0, 0), (30, 0), INK)]
    if "timed out" in outcomes:
        way = line((0, 0), (30, 0), INK, 1.4, DASHES["timed out"])
        yield "arrived after its request timed out", [way, arrow_head((0, 0), (30, 0), INK)]
    lost = [fate for fate in SHARES if fate in outcomes and fate not in ("in flight", "held")]
    if lost:
        signs = [line((0, 0), (22, 0), INK, 1.4), cross((22, 0), palette.mark("fault"))]
        yield " or ".join(lost), signs
    going = [fate for fate in ("in flight", "held") if fate in outcomes]
    if going:
        yield " or ".join(going), [line((0, 0), (30, 0), INK, 1.4, DASHES[going[0]])]


# the whole picture

MOST_ARROWS = 3_000
_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
_LEAST_WIDTH = 640
_STYLE = ".m:hover .way, .m:focus .way { stroke-width: 3 } .m:focus { outline: none }"
_SCALE_NOTE = "time in seconds; waits are drawn on a logarithmic scale"


def write_svg(excerpt: Excerpt, out: TextIO) -> None:
    """Write the diagram as one file, with tooltips. Raises ExportError."""
    out.write(diagram_of(excerpt))


def diagram_of(excerpt: Excerpt, header: str = _XML) -> str:
    """Return the text of an SVG file, preceded by ``header``. Raises ExportError."""
    excerpt.need_at_most(MOST_ARROWS, "a picture")
    frame, palette, labels = Frame(excerpt), Palette(dark=False), Labels()
    margin, height_below = draw_annotations(frame, palette)
    if frame.is_right:
        width = max(frame.end + RIGHT_MARGIN, _LEAST_WIDTH)
    else:
        width = max(frame.lanes_end + (MARGIN if frame.remarks else 24), _LEAST_WIDTH)
    head, top = _head(excerpt, width)
    legend, legend_height = draw_legend(frame, palette, width)
    drawing = drawsvg.Drawing(round(width), round(top + legend_height + height_below), font_family=FONT)
    drawing.append_css(_STYLE)
    drawing.append(drawsvg.Rectangle(0, 0, drawing.width, drawing.height, fill=PAPER))
    drawing.append(head)
    drawing.append(_translated(legend, top))
    body = drawsvg.Group()
    labels.reserve((0, 0, *frame.place(frame.end, frame.lanes_begin - 8)))  # the time axis
    for node in excerpt.nodes:
        (left, top_), (right, bottom) = (
            frame.place(along, frame.lane(node)) for along in (frame.begin, frame.end)
        )
        labels.reserve((left - 4, top_ - 4, right + 4, bottom + 4))
    words = [*draw_status_labels(frame, palette, labels)]  # placed first, drawn last
    for each in (
        *draw_faults(frame, palette),
        *draw_times(frame),
        margin,
        *draw_lanes(frame, palette),
        *Arrows(frame, palette, labels).drawn(),
        *words,
        *draw_nodes(frame),
    ):
        body.append(each)
    drawing.append(_translated(body, top + legend_height))
    return str(drawing.as_svg(header=header))


def _head(excerpt: Excerpt, width: float) -> tuple[drawsvg.Group, float]:
    group = drawsvg.Group()
    group.append(text(printable(excerpt.header.protocol.title, 60), 18, (24, 32), INK, font_weight="bold"))
    y = 52
    for words in (*textwrap.wrap(describe_excerpt(excerpt), int((width - 48) / 6.4)), _SCALE_NOTE):
        group.append(text(words, 12, (24, y), FAINT))
        y += 17
    return group, y + 4.0


def _translated(group: drawsvg.Group, down: float) -> drawsvg.Group:
    translated = drawsvg.Group(transform=f"translate(0,{down:.1f})")
    translated.append(group)
    return translated
