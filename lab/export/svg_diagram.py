"""The space-time diagram as an SVG picture on white paper, and as a page around it.

Lanes are coloured by status. Arrows have the colour of their kind; the first arrow has the id ``m0``. Faults of
links have a background, and walls between the lanes that they separate. The margins have the time axis,
annotations and a legend.

The page is one file, for use offline, and shows the causal past and future of a message. Its script reads the
messages from a JSON element. The content security policy of the page allows only this script, so foreign text in
the page cannot run code.
"""

import base64
import hashlib
import textwrap
from collections.abc import Hashable, Iterator
from html import escape
from importlib.resources import files
from string import Template
from typing import Any, TextIO

import drawsvg
import msgspec

from lab.analysis.spacetime import FaultInterval, MessageEdge, StatusInterval
from lab.export.annotations import (
    Annotation,
    annotations_in,
    describe_excerpt,
    describe_fault,
    describe_interval,
    describe_message,
    describe_span,
    describe_status,
    printable,
    status_label,
)
from lab.export.diagram_layout import REACH, Layout, LogarithmicAxis, Position, fan_out_of
from lab.export.excerpt import Excerpt
from lab.export.svg_shapes import (
    FAINT,
    FONT,
    HALO,
    INK,
    PAPER,
    RULE,
    Labels,
    arrow_head,
    cross,
    line,
    text,
    text_width,
)
from lab.glyphs import UNICODE
from lab.palette import Palette
from lab.units import CountText, format_us

MOST_ARROWS = 3_000
_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
_LEAST_WIDTH = 640
_STYLE = ".m:hover .way, .m:focus .way { stroke-width: 3 } .m:focus { outline: none }"
_SCALE_NOTE = "time in seconds; waits are drawn on a logarithmic scale"

_LANES = {"killed": (2.0, "2 5"), "failed": (2.0, "2 5"), "absent": (1.0, "1 5"), "paused": (5.0, "5 5")}
"""(width, dash pattern) of a lane by state of the process; ``_WHOLE`` otherwise."""
_WHOLE = (7.0, "")
_DASHES = {"timed out": "7 3", "held": "2 4", "in flight": "2 4"}
_STATUS_SIZE, _KIND_SIZE, _NOTE_SIZE = 11, 10.5, 12
_LABELLED = (0.5, 0.36, 0.64, 0.24, 0.76, 0.14, 0.86)
"""The parts of its arrow before a label."""
_AT_ONCE = 8.0
Way = tuple[Position, Position]

_MARGIN, _RIGHT_MARGIN = 380, 150
"""Room next to the lanes if time runs down; after their end if it runs to the right."""
_LAST_STATUS = 150
"""Room for the statuses of the last node, if time runs down."""
_LETTERS = 56
_LINE = 15
_SIGNS = {"fault": "✖", "unmet": "✗", "met": "✓", "caption": "“", "mark": "⚑", "command": "▶", "status": "·"}


def write_svg(excerpt: Excerpt, out: TextIO) -> None:
    """Write the diagram as one file, with tooltips. Raises ExportError."""
    out.write(diagram_of(excerpt))


def diagram_of(excerpt: Excerpt, header: str = _XML) -> str:
    """Return the text of an SVG file, preceded by ``header``. Raises ExportError."""
    excerpt.need_at_most(MOST_ARROWS, "a picture")
    return str(_Picture(excerpt).drawn().as_svg(header=header))


class _Picture:
    """The parts of the picture. Positions are below its head; lanes lie between ``near`` and ``far``."""

    def __init__(self, excerpt: Excerpt) -> None:
        right = excerpt.options.time == "right"
        self._excerpt = excerpt
        self._right = right
        self._palette = Palette(dark=False)
        self._labels = Labels()
        self._remarks = annotations_in(excerpt)
        pitch, self._begin, self._near, stretch = (96, 116, 34, 1.7) if right else (144, 44, 96, 1.0)
        lanes = {node: self._near + pitch * (n + 0.5) for n, node in enumerate(excerpt.nodes)}
        self._layout = Layout[float](not right, lanes, pitch, 0)
        self._far = lanes[excerpt.nodes[-1]] + (pitch / 2 if right else _LAST_STATUS)
        self._axis = LogarithmicAxis(self._instants(), self._begin, stretch)
        self._end = self._axis.end

    def drawn(self) -> drawsvg.Drawing:
        margin, height_below = self._annotations()
        if self._right:
            width = max(self._end + _RIGHT_MARGIN, _LEAST_WIDTH)
        else:
            width = max(self._far + (_MARGIN if self._remarks else 24), _LEAST_WIDTH)
        head, top = self._head(width)
        legend, legend_height = self._legend(width)
        drawing = drawsvg.Drawing(round(width), round(top + legend_height + height_below), font_family=FONT)
        drawing.append_css(_STYLE)
        drawing.append(drawsvg.Rectangle(0, 0, drawing.width, drawing.height, fill=PAPER))
        drawing.append(head)
        drawing.append(_translated(legend, top))
        self._labels.reserve((0, 0, *self._xy(self._end, self._near - 8)))  # the time axis
        for lane in self._layout.lanes.values():
            (left, top_y), (right, bottom_y) = self._xy(self._begin, lane), self._xy(self._end, lane)
            self._labels.reserve((left - 4, top_y - 4, right + 4, bottom_y + 4))
        words = [*self._status_labels()]  # placed first, drawn last
        body = _group(
            *self._faults(), *self._times(), margin, *self._statuses(), *self._arrows(), *words, *self._names()
        )
        drawing.append(_translated(body, top + legend_height))
        return drawing

    def _head(self, width: float) -> tuple[drawsvg.Group, float]:
        title = text(printable(self._excerpt.header.protocol.title, 60), 18, (24, 32), INK, font_weight="bold")
        lines = [*textwrap.wrap(describe_excerpt(self._excerpt), int((width - 48) / 6.4)), _SCALE_NOTE]
        words = (text(words, 12, (24, 52 + 17 * place), FAINT) for place, words in enumerate(lines))
        return _group(title, *words), 52 + 17 * len(lines) + 4.0

    # positions

    def _instants(self) -> Iterator[int]:
        """Yield the times that the axis has to show."""
        excerpt = self._excerpt
        intervals: list[StatusInterval | FaultInterval] = [*excerpt.status_intervals, *excerpt.fault_intervals]
        points = [point for each in intervals for point in (each.since, each.until)]
        points += [point for edge in excerpt.messages for point in (edge.sent, edge.end, *edge.again)]
        times = [point.at_us for point in points if point is not None]
        times += [remark.at_us for remark in self._remarks]
        return map(excerpt.clip, (excerpt.from_us, excerpt.until_us, *times))

    def _xy(self, along: float, across: float) -> Position:
        return self._layout.xy(along, across)

    def _until(self, interval: StatusInterval | FaultInterval) -> float:
        """Return the position along the time axis at which an interval ends."""
        return self._end if interval.until is None else self._axis.place(interval.until.at_us)

    def _ends(self, edge: MessageEdge, end_us: int, reach: float = 1.0) -> tuple[Position, Position]:
        """Return the ends of an arrow that arrives at ``end_us``, cut off at the window.

        ``reach`` is the part of the way between the lanes that it covers.
        """
        source, target = edge.ends
        begin_us, lane = edge.line.at_us, self._layout.lanes[source]
        across = (self._layout.lanes[target] - lane) * reach

        def point(at_us: int, done: float) -> Position:
            shown_us = self._excerpt.clip(at_us)
            if shown_us != at_us and end_us != begin_us:
                done = (shown_us - begin_us) / (end_us - begin_us)
            return self._xy(self._axis.place(at_us), lane + across * done)

        return point(begin_us, 0.0), point(end_us, 1.0)

    def _is_shown(self, at_us: int) -> bool:
        return self._excerpt.clip(at_us) == at_us

    # nodes

    def _names(self) -> Iterator[drawsvg.DrawingElement]:
        """Yield the names of the nodes, at the beginnings of their lanes."""
        for node, lane in self._layout.lanes.items():
            x, y = self._xy(self._begin - (60 if self._right else 20), lane)
            yield drawsvg.Rectangle(x - 31, y - 13, 62, 22, rx=7, fill=PAPER, stroke=FAINT)
            yield text(f"node {node}", 12, (x, y + 2), INK, text_anchor="middle", font_weight="bold")

    def _statuses(self) -> Iterator[drawsvg.Group]:
        for interval in self._excerpt.status_intervals:
            start, stop = self._span(interval)
            width, dashes = _LANES.get(interval.shown, _WHOLE)
            lane = line(start, stop, self._status_colour(interval.shown), width, dashes)
            yield _group(lane, class_="s", title=describe_interval(interval))

    def _status_labels(self) -> Iterator[drawsvg.DrawingElement]:
        """Yield the status of a node where it changes."""
        shown: dict[int, str] = {}
        for interval in self._excerpt.status_intervals:
            start, stop = self._span(interval)
            words, colour = describe_status(interval), self._status_colour(interval.shown)
            is_nothing = interval.until is not None and start == stop
            if words != shown.get(interval.node) and interval.shown != "absent" and not is_nothing:
                shown[interval.node] = words
                glyph = UNICODE.status.get(interval.shown, "")
                yield text(glyph, 13, (start[0], start[1] + 4.5), colour, font_weight="bold", **HALO)
                spot = self._labels.place(words, _STATUS_SIZE, self._label_positions(words, start))
                if spot is not None:
                    yield text(words, _STATUS_SIZE, spot, colour, font_weight="bold", **HALO)

    def _label_positions(self, words: str, start: Position) -> list[Position]:
        """Return the candidate positions of a label, next to the beginning of its interval."""
        half = text_width(words, _STATUS_SIZE) / 2
        if self._right:
            return [(start[0] + half + 6, start[1] + down) for down in (-8, 17, -20, 29)]
        return [(start[0] + side * (half + 8), start[1] + down) for down in (10, 22) for side in (1, -1)]

    def _span(self, interval: StatusInterval) -> tuple[Position, Position]:
        lane = self._layout.lanes[interval.node]
        return self._xy(self._axis.place(interval.since.at_us), lane), self._xy(self._until(interval), lane)

    def _status_colour(self, shown: str) -> str:
        return self._palette.status(shown) or FAINT

    # faults

    def _faults(self) -> Iterator[drawsvg.Group]:
        colour = self._palette.mark("fault")
        for interval in self._excerpt.fault_intervals:
            if not interval.fault.links:
                continue
            begin, end = self._axis.place(interval.since.at_us), self._until(interval)
            (left, top), (right, bottom) = self._xy(begin, self._near), self._xy(end, self._far)
            ground = drawsvg.Rectangle(left, top, right - left, bottom - top, fill=colour, fill_opacity=0.06)
            walls = (
                line(self._xy(begin, wall), self._xy(end, wall), colour, 2.5, "7 4")
                for wall in self._walls(interval)
            )
            yield _group(ground, *walls, class_="f", title=_describe_fault_interval(interval))

    def _walls(self, interval: FaultInterval) -> Iterator[float]:
        """Yield the positions between neighbours whose links are cut in both directions."""
        if interval.fault.kind in ("partition", "cut"):
            for lane, other, both_ways in self._layout.gaps(interval.fault):
                if both_ways:
                    yield (lane + other) / 2

    # messages

    def _arrows(self) -> Iterator[drawsvg.Group]:
        """Yield the arrows in the order in which the messages were sent."""
        faults = {each.fault.id: describe_fault(each.fault) for each in self._excerpt.space.fault_intervals}
        edges = self._excerpt.messages
        ways = [self._way(edge) for edge in edges]
        labelled: dict[Hashable, list[Way]] = {}
        for edge, way in zip(edges, ways, strict=True):
            self._labels.reserve_line(*way, _label_key(edge))
            labelled.setdefault(_label_key(edge), []).append(way)
        for number, (edge, way) in enumerate(zip(edges, ways, strict=True)):
            title = describe_message(edge, faults)
            shapes = self._arrow(edge, *way, _label_spots(labelled.pop(_label_key(edge), [])))
            yield _group(*shapes, class_="m", id=f"m{number}", tabindex=0, title=title)
            self._excerpt.progress(CountText(number, len(edges), "message", "drawn"))

    def _way(self, edge: MessageEdge) -> Way:
        """Return the ends of the arrow of a message."""
        end_us = self._excerpt.until_us if edge.end is None else edge.end.at_us
        start, end = self._ends(edge, end_us, REACH.get(edge.fate, 1.0))
        if edge.end is not None and not edge.arrived and end_us == edge.line.at_us:
            # otherwise messages that are lost at once would be drawn on top of each other
            end = (end[0] + _AT_ONCE, end[1]) if self._right else (end[0], end[1] + _AT_ONCE)
        return start, end

    def _arrow(
        self, edge: MessageEdge, start: Position, end: Position, spots: list[Position]
    ) -> Iterator[drawsvg.DrawingElement]:
        """Yield the shapes of an arrow, and its label if one of ``spots`` is free."""
        colour = self._palette.kind(edge.line.kind)
        yield line(start, end, PAPER, 11, class_="hit", stroke_opacity=0)
        yield line(start, end, colour, 1.4, _DASHES.get(edge.fate, ""), class_="way")
        if edge.end is None:
            yield drawsvg.Circle(round(end[0], 1), round(end[1], 1), 3, fill=PAPER, stroke=colour)
        elif self._is_shown(edge.end.at_us):  # otherwise the arrow leaves the picture
            fate_colour = self._palette.fate(edge.fate) or INK
            yield arrow_head(start, end, colour) if edge.arrived else cross(end, fate_colour)
        for point in edge.again:
            again_start, again_end = self._ends(edge, point.at_us)
            yield line(again_start, again_end, colour, 1, "1 3", class_="way")
            if self._is_shown(point.at_us):
                yield arrow_head(again_start, again_end, colour)
        words = printable(edge.line.kind, 28) + (" (late)" if edge.fate == "timed out" else "")
        spot = self._labels.place(words, _KIND_SIZE, spots, _label_key(edge))
        if spot is not None:
            yield text(words, _KIND_SIZE, spot, colour, **HALO)

    # the margins

    def _times(self) -> Iterator[drawsvg.DrawingElement]:
        """Yield labelled times, and the length of long waits."""
        for along, clock in self._axis.ticks():
            yield line(self._xy(along, self._near - 8), self._xy(along, self._far), RULE, 1)
            yield self._time_label(along, clock)
        for along, idle_us in self._axis.idle_periods():
            words = f"{'⋯' if self._right else '⋮'} {format_us(round(idle_us, -3))}"
            yield self._time_label(along, words, font_style="italic")

    def _time_label(self, along: float, words: str, **style: str) -> drawsvg.Text:
        (x, y), anchor = self._xy(along, self._near - 14), "middle" if self._right else "end"
        return text(words, 11, (x, y if self._right else y + 4), FAINT, text_anchor=anchor, **style)

    def _annotations(self) -> tuple[drawsvg.Group, float]:
        """Return the annotations, next to the lanes or below them, and where they end."""
        group = drawsvg.Group()
        return group, self._draw_below_lanes(group) if self._right else self._draw_in_margin(group)

    def _draw_in_margin(self, group: drawsvg.Group) -> float:
        free: float = self._begin - _LINE
        x = self._far + 24
        for remark in self._remarks:
            colour, y = self._palette.mark(remark.kind), self._axis.place(remark.at_us)
            shown, lines = max(y, free), _wrapped(remark)
            group.append(line((self._near, y), (self._far, y), colour, 1, "1 4"))
            group.append(line((self._far, y), (x - 4, shown), colour, 1))
            for place, words in enumerate(lines):
                at = x + (0 if place == 0 else 16), shown + 4 + _LINE * place
                group.append(text(words, _NOTE_SIZE, at, colour))
            free = shown + _LINE * len(lines) + 4
        return max(self._end, free) + 24

    def _draw_below_lanes(self, group: drawsvg.Group) -> float:
        """Draw the annotations in rows, each in the first row with room for it."""
        rows: list[float] = []
        top = self._far + 24
        for remark in self._remarks:
            colour, at = self._palette.mark(remark.kind), self._axis.place(remark.at_us)
            words = printable(f"{_SIGNS[remark.kind]} {remark.text}", 110)
            wide = text_width(words, _NOTE_SIZE)
            x = max(self._begin, min(at, self._end + _RIGHT_MARGIN - wide))  # keep it inside the picture
            row = next((row for row, free in enumerate(rows) if free <= x), len(rows))
            rows[row : row + 1] = [x + wide + 16]
            y = top + _LINE * row
            group.append(line((at, self._near), (at, y - 10), colour, 1, "1 4"))
            group.append(text(words, _NOTE_SIZE, (x, y), colour, **{**HALO, "text_anchor": "start"}))
        return top + _LINE * len(rows) + 12

    def _legend(self, width: float) -> tuple[drawsvg.Group, float]:
        """Return the legend of the lanes and arrows that occur, and its height."""
        group = drawsvg.Group()
        x, y = 24.0, 8.0
        for words, signs in (*self._lane_signs(), *self._arrow_signs()):
            wide = 40 + text_width(words, 11) + 22
            if x + wide > width - 24:
                x, y = 24.0, y + 20
            entry = _group(*signs, text(words, 11, (38, 4), INK), transform=f"translate({x:.1f},{y:.1f})")
            group.append(entry)
            x += wide
        return group, y + 16

    def _lane_signs(self) -> Iterator[tuple[str, list[drawsvg.DrawingElement]]]:
        intervals = self._excerpt.status_intervals
        for shown in dict.fromkeys(interval.shown for interval in intervals):
            wide, dashes = _LANES.get(shown, _WHOLE)
            sign = line((0, 0), (30, 0), self._status_colour(shown), wide, dashes)
            yield f"{UNICODE.status.get(shown, '')} {status_label(shown)}", [sign]
        if any(interval.leads for interval in intervals):
            yield "its own coordinator", [text("★", 13, (10, 5), self._palette.named("yellow"))]
        if any(interval.fault.links for interval in self._excerpt.fault_intervals):
            ground = drawsvg.Rectangle(0, -7, 30, 14, fill=self._palette.mark("fault"), fill_opacity=0.15)
            yield "a fault of links is in force", [ground]

    def _arrow_signs(self) -> Iterator[tuple[str, list[drawsvg.DrawingElement]]]:
        outcomes = {edge.fate for edge in self._excerpt.messages}
        if "delivered" in outcomes:
            yield "message", [line((0, 0), (30, 0), INK, 1.4), arrow_head((0, 0), (30, 0), INK)]
        if "timed out" in outcomes:
            way = line((0, 0), (30, 0), INK, 1.4, _DASHES["timed out"])
            yield "arrived after its request timed out", [way, arrow_head((0, 0), (30, 0), INK)]
        lost = [fate for fate in REACH if fate in outcomes and fate not in ("in flight", "held")]
        if lost:
            yield " or ".join(lost), [line((0, 0), (22, 0), INK, 1.4), cross((22, 0), self._palette.mark("fault"))]
        going = [fate for fate in ("in flight", "held") if fate in outcomes]
        if going:
            yield " or ".join(going), [line((0, 0), (30, 0), INK, 1.4, _DASHES[going[0]])]


def _label_key(edge: MessageEdge) -> Hashable:
    """Return what messages with the same label have in common."""
    return fan_out_of(edge), edge.fate == "timed out"


def _label_spots(ways: list[Way]) -> list[Position]:
    """Return the places for a label: of a fan-out first near the sender, of a message first in the middle."""
    shares = _LABELLED if len(ways) == 1 else sorted(_LABELLED)
    return [
        (x + (to_x - x) * share, y + (to_y - y) * share - 3) for share in shares for (x, y), (to_x, to_y) in ways
    ]


def _group(*elements: drawsvg.DrawingElement, title: str = "", **attributes: Any) -> drawsvg.Group:
    group = drawsvg.Group(**attributes)
    if title:
        group.append_title(title)
    group.extend(elements)
    return group


def _translated(group: drawsvg.Group, down: float) -> drawsvg.Group:
    return _group(group, transform=f"translate(0,{down:.1f})")


def _wrapped(remark: Annotation) -> list[str]:
    return textwrap.wrap(f"{_SIGNS[remark.kind]} {printable(remark.text, 400)}", _LETTERS, break_long_words=True)


def _describe_fault_interval(interval: FaultInterval) -> str:
    shown, touched = printable(describe_fault(interval.fault)), f"{interval.fault.touched:,}"
    return f"{shown}\n{describe_span(interval)}\naffected: {touched}"


# the page


_COLOURS = ("green", "orange", "sky", "vermilion", "purple", "yellow")
_ON_DARK = {INK: "#e6e6e6", FAINT: "#9a9a9a", RULE: "#2e2e2e", PAPER: "#16181c"}


def write_html(excerpt: Excerpt, out: TextIO) -> None:
    """Write the page as one file. Raises ExportError."""
    folder = files("lab.export")
    script = (folder / "page.js").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    page = Template((folder / "page.html").read_text("utf-8")).substitute(
        title=escape(printable(excerpt.header.protocol.title, 60)),
        description=escape(describe_excerpt(excerpt)),
        digest=digest,
        dark=_dark(),
        style=(folder / "page.css").read_text("utf-8"),
        diagram=diagram_of(excerpt, header=""),
        messages=_in_script(_messages(excerpt)),
        script=script,
    )
    out.write(page)


def _messages(excerpt: Excerpt) -> list[dict[str, Any]]:
    """Return, for each message, its nodes by position, the record of its arrival, and its sender's clock."""
    place = {node: n for n, node in enumerate(excerpt.header.nodes)}
    return [
        {
            "from": place[edge.line.source or 0],
            "to": place[edge.line.target or 0],
            "taken": edge.end.record if edge.arrived and edge.end is not None else None,
            "clock": excerpt.clocks.get(edge.line.message, ()),
        }
        for edge in excerpt.messages
    ]


def _in_script(value: Any) -> str:
    """Encode as JSON that cannot end the script element."""
    return msgspec.json.encode(value).decode().replace("<", "\\u003c")


def _dark() -> str:
    """Return the style rules that replace the diagram's colours on a dark background."""
    light, dark = Palette(dark=False), Palette(dark=True)
    colours = {**_ON_DARK, **{light.named(each): dark.named(each) for each in _COLOURS}}
    return "\n".join(
        f'  svg [{paint}="{before}"] {{ {paint}: {after}; }}'
        for before, after in colours.items()
        for paint in ("fill", "stroke")
    )
