"""The space-time diagram as a picture: SVG, and from that PDF and PNG, by CairoSVG (extra ``figures``).

Lanes are coloured by status. Arrows have the colour of their kind, and those of answers an open head; the first
arrow has the id ``m0``. Faults of links have a background, and walls between the lanes that they separate. Where a
row of time has too many messages to draw each, their number is a shade between the lanes. The margins have the
time axis, annotations and a legend. No text covers another: see ``lab.export.placement``.

Text in the PDF is text, in an embedded font. A pixel is 1/96 inch, so that a picture of 16 cm is printed as wide.
"""

import importlib
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, TextIO

import drawsvg
from msgspec import Struct

from lab.analysis.spacetime import FaultInterval, MessageEdge, StatusInterval
from lab.export.annotations import (
    Annotation,
    annotations_in,
    describe_excerpt,
    describe_fault,
    describe_interval,
    describe_message,
    describe_span,
    printable,
    status_label,
)
from lab.export.diagram_layout import REACH, dense_cells, passing
from lab.export.excerpt import Excerpt, ExportError
from lab.export.figure_frame import Frame, frame_of
from lab.export.figure_options import FONT, Theme
from lab.export.message_labels import (
    LINE,
    FanOut,
    Way,
    fan_outs_of,
    initials_of,
    kind_names,
    place_label,
)
from lab.export.placement import (
    Anchor,
    Labels,
    PlacedText,
    Position,
    cut_to_width,
    rectangle,
    text_width,
    wrap_to_width,
)
from lab.export.svg_shapes import (
    NOTE_SIGNS,
    arrow_head,
    cross,
    drawn_text,
    group,
    line,
    star,
    status_sign,
    symbol,
)
from lab.units import CountText, format_us

_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
_STYLE = ".m:hover .way, .m:focus .way { stroke-width: 3 } .m:focus { outline: none }"
_SCALE_NOTES = {
    "log": "time in seconds; waits are drawn on a logarithmic scale",
    "true": "time in seconds, to scale",
    "broken": "time in seconds, to scale; longer waits are cut out",
}
_LANES = {"killed": (0.3, "2 5"), "failed": (0.3, "2 5"), "absent": (0.15, "1 5"), "paused": (0.7, "5 5")}
"""(width, dash pattern) of a lane by state of the process, as a part of the theme's; ``_WHOLE`` otherwise."""
_WHOLE = (1.0, "")
_DASHES = {"timed out": "7 3", "held": "2 4", "in flight": "2 4"}
_AT_ONCE = 8.0
_MARKS = ("", "disc", "ring")
_KIND_COLOURS = ("sky", "orange", "green", "purple", "vermilion", "yellow")
_MINOR = "status"
"""The kind of the annotations that are left out first."""
_MOST_LINES = 5

Medium = Literal["svg", "print", "page", "film"]
"""What a picture is drawn for: a file with tooltips, a medium without, a page, or a film."""
FrameMaker = Callable[[Excerpt, Sequence[int], bool], Frame]
Shapes = Sequence[drawsvg.DrawingElement]


def write_svg(excerpt: Excerpt, out: TextIO) -> None:
    """Write the diagram as one file, with tooltips. Raises ExportError."""
    out.write(diagram_of(excerpt))


def diagram_of(excerpt: Excerpt, header: str = _XML, medium: Medium = "svg") -> str:
    """Return the text of an SVG file, preceded by ``header``."""
    return str(Picture(excerpt, medium).drawing.as_svg(header=header))


class DiagramParts(Struct, frozen=True):
    """The parts of a picture besides its head, in the order in which they are drawn.

    ``times`` are the lines and the labels of the time axis, ``labels`` those of messages and statuses, ``texts``
    all of these texts. ``height`` is that of all together.
    """

    faults: Shapes
    times: Shapes
    lanes: Shapes
    labels: Shapes
    names: Shapes
    texts: tuple[PlacedText, ...]
    height: float

    @property
    def rules(self) -> Shapes:
        """The lines of the time axis."""
        return [each for each in self.times if not isinstance(each, drawsvg.Text)]

    @property
    def ticks(self) -> Shapes:
        """The labels of the time axis."""
        return [each for each in self.times if isinstance(each, drawsvg.Text)]


class Picture:
    """The picture of an excerpt. ``texts`` are all of its texts, where they are in the picture.

    A picture for a page has no tooltips at the messages, which its script describes. One for a film has the frame
    of the film, and no annotations.
    """

    def __init__(self, excerpt: Excerpt, medium: Medium = "svg", make_frame: FrameMaker = frame_of) -> None:
        self._excerpt = excerpt
        self._figure = excerpt.options.figure
        self._medium = medium
        remarks = [] if medium == "film" else annotations_in(excerpt)
        self.frame = make_frame(excerpt, [*self._instants(remarks)], bool(remarks))
        self._theme, self._k, self._size = self.frame.theme, self.frame.scale, self.frame.theme.size
        self._palette = self._theme.palette
        self._end = self.frame.axis.end
        kinds = list(dict.fromkeys(printable(edge.line.kind, 28) for edge in excerpt.messages))
        self._initials = initials_of(kinds)
        self._styles = self._styles_of(kinds)
        self._spelled: dict[str, None] = {}
        """The kinds that the legend has to explain, in order of appearance."""
        self._dense = dense_cells(excerpt.messages, self._cell) if self.frame.axis.row_us else {}
        dense = {id(edge) for many in self._dense.values() for edge in many}
        self._numbers = {id(edge): number for number, edge in enumerate(excerpt.messages)}
        self._edges = [edge for edge in excerpt.messages if id(edge) not in dense]
        self.texts: list[PlacedText] = []
        self.parts = self._drawn(remarks)
        self.drawing = self._whole()

    def _whole(self) -> drawsvg.Drawing:
        """Return the picture, with its head, legend and caption."""
        in_body, self.texts = self.texts, []
        head, top = self._head()
        legend, legend_height = self._legend(top, self.frame.width)
        top += legend_height
        self.texts += [each.moved((0, top)) for each in in_body]
        parts = self.parts
        caption, bottom = self._caption(top + parts.height)
        body = [*parts.faults, *parts.times, *parts.lanes, *parts.labels, *parts.names]
        drawing = drawsvg.Drawing(round(self.frame.width), round(bottom), font_family=FONT)
        drawing.append_css(_STYLE)
        drawing.append(drawsvg.Rectangle(0, 0, drawing.width, drawing.height, fill=self._theme.paper))
        drawing.append(group(head))
        drawing.append(group(legend, class_="legend"))
        drawing.append(group(body, transform=f"translate(0,{top:.1f})", class_="body"))
        drawing.append(group(caption))
        return drawing

    def legend(self, width: float) -> drawsvg.Drawing:
        """Return the legend alone, of this width."""
        in_picture, self.texts = self.texts, []
        shapes, height = self._legend(0, width)
        self.texts = in_picture
        drawing = drawsvg.Drawing(round(width), max(1, round(height)), font_family=FONT)
        drawing.append(group(shapes))
        return drawing

    @property
    def drawn(self) -> frozenset[int]:
        """The numbers of the messages that have an arrow of their own."""
        return frozenset(self._numbers[id(edge)] for edge in self._edges)

    @property
    def settings(self) -> list[str]:
        """The settings of the run, and how the time is drawn."""
        row_us = self.frame.axis.row_us
        rows = f"; a row is {format_us(row_us)}" if row_us else ""
        return [describe_excerpt(self._excerpt), _SCALE_NOTES["true" if row_us else self._figure.scale] + rows]

    def _drawn(self, remarks: list[Annotation]) -> DiagramParts:
        margin, height = self._annotations(remarks)
        self._labels = self._occupied(remarks, height)
        ways = [self._way(edge) for edge in self._edges]
        for way in ways:
            self._labels.reserve(way, LINE)
        # placed first, drawn last
        clocks, statuses = [*self._times()], [*self._status_marks()]
        names = [*self._names()]
        kinds = [*self._message_labels(ways)]
        words = [*self._status_labels()]
        lanes = [
            *margin,
            *self._densities(),
            *self._statuses(),
            *self._arrows(ways),
            *self._breaks(),
        ]
        labels = [*kinds, *statuses, *words]
        return DiagramParts([*self._faults()], clocks, lanes, labels, names, tuple(self.texts), height)

    def _occupied(self, remarks: list[Annotation], height: float) -> Labels:
        """Return the areas that no label may cover: margins, lanes, walls, and the lines of annotations."""
        frame, half = self.frame, self._theme.lane / 2 + 1
        right = frame.notes - 10 * self._k if frame.down and frame.notes_width else frame.width
        labels = Labels(rectangle(0, 0, right if frame.down else frame.width, height))
        labels.reserve(rectangle(0, 0, *frame.xy(self._end, frame.near - 4 * self._k)))  # the clock
        names = frame.begin - 3 * self._k
        labels.reserve(rectangle(0, 0, frame.width, names) if frame.down else rectangle(0, 0, names, frame.far))
        for cell, many in self._dense.items():
            begin, end = (frame.cell_begin(each, self._excerpt.from_us) for each in (cell, cell + 1))
            for lane, other in passing(frame.layout, many)[0]:
                labels.reserve(rectangle(*frame.xy(begin, lane), *frame.xy(end, other)))
        for lane in frame.layout.lanes.values():
            (left, top), (right, bottom) = frame.xy(frame.begin, lane), frame.xy(self._end, lane)
            labels.reserve(rectangle(left - half, top - half, right + half, bottom + half))
        if not frame.down:
            labels.reserve(rectangle(0, frame.far, frame.width, height))
        for wait in frame.axis.waits():
            if wait.broken:
                labels.reserve(rectangle(*frame.xy(wait.begin, frame.near), *frame.xy(wait.end, frame.far)))
        for interval in self._excerpt.fault_intervals:
            for way in self._walls(interval):
                labels.reserve(way, LINE)
        for at in dict.fromkeys(self._place(remark.at_us) for remark in remarks):
            labels.reserve((frame.xy(at, frame.near), frame.xy(at, frame.far)), LINE)
        return labels

    # texts

    def _text(
        self,
        words: str,
        at: Position,
        colour: str,
        size: float | None = None,
        anchor: Anchor = "start",
        bold: bool = False,
        **style: Any,
    ) -> drawsvg.Text:
        return self._put(PlacedText(words, size or self._size, at, anchor, bold=bold), colour, **style)

    def _put(self, text: PlacedText, colour: str, **style: Any) -> drawsvg.Text:
        self.texts.append(text)
        return drawn_text(text, colour, **style)

    def _group(self, shapes: Iterator[drawsvg.DrawingElement], title: str, **attributes: Any) -> drawsvg.Group:
        return group(shapes, title if self._medium in ("svg", "page") else "", **attributes)

    def _head(self) -> tuple[list[drawsvg.DrawingElement], float]:
        """Return the title and the settings, and where they end."""
        theme, k, frame = self._theme, self._k, self.frame
        room = frame.width - 2 * frame.pad
        y = frame.pad
        shapes: list[drawsvg.DrawingElement] = []
        title = self._figure.title or (self._excerpt.header.title if theme.described else "")
        for words in wrap_to_width(printable(title, 200), 17 * k, room / 1.06) if title else []:
            y += 17 * k
            shapes.append(self._text(words, (frame.pad, y - 3 * k), theme.ink, 17 * k, bold=True))
            y += 4 * k
        if theme.described:
            settings, scale = self.settings
            for words in (*wrap_to_width(settings, 12 * k, room), scale):
                y += 16 * k
                shapes.append(self._text(words, (frame.pad, y - 3 * k), theme.faint, 12 * k))
        return shapes, y + 6 * k

    def _caption(self, top: float) -> tuple[list[drawsvg.DrawingElement], float]:
        frame, size = self.frame, 1.1 * self._size
        shapes: list[drawsvg.DrawingElement] = []
        y = top
        if self._figure.caption:
            words = printable(self._figure.caption, 2000)
            for row in wrap_to_width(words, size, frame.width - 2 * frame.pad):
                y += 1.35 * size
                shapes.append(self._text(row, (frame.pad, y - 0.3 * size), self._theme.ink, size))
        return shapes, y + max(frame.pad / 2, 4)

    # positions

    def _instants(self, remarks: list[Annotation]) -> Iterator[int]:
        """Yield the times that the axis has to show."""
        excerpt = self._excerpt
        intervals: list[StatusInterval | FaultInterval] = [*excerpt.status_intervals, *excerpt.fault_intervals]
        points = [point for each in intervals for point in (each.since, each.until)]
        points += [point for edge in excerpt.messages for point in (edge.sent, edge.end, *edge.again)]
        times = [point.at_us for point in points if point is not None]
        times += [remark.at_us for remark in remarks]
        return map(excerpt.clip, (excerpt.from_us, excerpt.until_us, *times))

    def _place(self, at_us: int) -> float:
        return self.frame.axis.place(self._excerpt.clip(at_us))

    def _until(self, interval: StatusInterval | FaultInterval) -> float:
        """Return the position along the time axis at which an interval ends."""
        return self._end if interval.until is None else self._place(interval.until.at_us)

    def _ends(self, edge: MessageEdge, end_us: int, reach: float = 1.0) -> Way:
        """Return the ends of an arrow that arrives at ``end_us``, cut off at the window.

        ``reach`` is the part of the way between the lanes that it covers.
        """
        source, target = edge.ends
        begin_us, lane = edge.line.at_us, self.frame.layout.lanes[source]
        across = (self.frame.layout.lanes[target] - lane) * reach

        def point(at_us: int, done: float) -> Position:
            shown_us = self._excerpt.clip(at_us)
            if shown_us != at_us and end_us != begin_us:
                done = (shown_us - begin_us) / (end_us - begin_us)
            return self.frame.xy(self._place(at_us), lane + across * done)

        return point(begin_us, 0.0), point(end_us, 1.0)

    def _is_shown(self, at_us: int) -> bool:
        return self._excerpt.clip(at_us) == at_us

    def _cell(self, edge: MessageEdge) -> int | None:
        """Return the row of time that a message is in, None if it takes longer."""
        if edge.end is None:
            return None
        excerpt, row_us = self._excerpt, self.frame.axis.row_us
        first, last = (
            (excerpt.clip(at_us) - excerpt.from_us) // row_us for at_us in (edge.line.at_us, edge.end.at_us)
        )
        return first if last <= first + 1 else None

    # nodes

    def _names(self) -> Iterator[drawsvg.DrawingElement]:
        """Yield the names of the nodes, at the beginnings of their lanes; of many nodes only those with room."""
        frame, k, size = self.frame, self._k, self._size * 1.05
        last = -1e9
        for node, lane in frame.layout.lanes.items():
            short = self._excerpt.header.names.get(node, str(node))
            long = short if node in self._excerpt.header.names else f"node {node}"
            wide = text_width(long, size, bold=True) + 14 * k
            fits = frame.layout.pitch > (wide + 4 if frame.down else size * 2.1)
            words = long if fits or not frame.down else short
            half = (text_width(words, size, bold=True) if frame.down else size) / 2 + 2 * k
            if lane - half < last:
                continue
            last = lane + half
            x, y = frame.xy(frame.begin - (16 * k if frame.down else wide / 2 + 9 * k), lane)
            shapes: list[drawsvg.DrawingElement] = []
            if fits:
                box = (x - wide / 2, y - 0.95 * size, wide, 1.9 * size)
                shapes.append(drawsvg.Rectangle(*box, rx=6 * k, fill=self._theme.paper, stroke=self._theme.faint))
            at = x, y + 0.36 * size
            shapes.append(self._text(words, at, self._theme.ink, size, "middle", bold=True))
            yield group(shapes, class_="n")

    def _statuses(self) -> Iterator[drawsvg.Group]:
        for interval in self._excerpt.status_intervals:
            start, stop = self._span(interval)
            share, dashes = _LANES.get(interval.shown, _WHOLE)
            colour = self._status_colour(interval.shown)
            lane = line(start, stop, colour, share * self._theme.lane, self._scaled(dashes))
            yield self._group(iter((lane,)), describe_interval(interval), class_="s")

    def _scaled(self, dashes: str) -> str:
        return " ".join(f"{float(each) * self._k:g}" for each in dashes.split())

    def _changes(self) -> Iterator[tuple[StatusInterval, Position, list[str]]]:
        """Yield the intervals that are labelled, where, and the words to try, the longest first."""
        before: dict[int, list[str]] = {}
        for interval in self._excerpt.status_intervals:
            start, stop = self._span(interval)
            words = _status_words(interval)
            is_nothing = interval.until is not None and start == stop
            if words != before.get(interval.node) and interval.shown != "absent" and not is_nothing:
                before[interval.node] = words
                yield interval, start, words

    def _status_marks(self) -> Iterator[drawsvg.DrawingElement]:
        """Yield the symbol of a status where it begins, if it has room before the next one."""
        frame, k = self.frame, self._k
        if frame.axis.row_us and frame.layout.pitch < 24 * k:
            return
        room = 5.2 * k
        last: dict[int, float] = {}
        for interval, start, _ in reversed([*self._changes()]):
            along = start[1 if frame.down else 0]
            if last.get(interval.node, 1e9) - along < 1.6 * room:
                continue
            last[interval.node] = along
            self._labels.reserve(
                rectangle(start[0] - room, start[1] - room, start[0] + room, start[1] + room), "mark"
            )
            colour = self._status_colour(interval.shown)
            yield drawsvg.Circle(
                *(round(each, 1) for each in start),
                round(room, 1),
                fill=self._theme.paper,
                stroke=colour,
                stroke_width=round(0.9 * k, 1),
            )
            if interval.leads:
                yield star(start, 4.6 * k, colour)
            else:
                yield symbol(status_sign(interval.shown), start, colour, 0.78 * k)

    def _status_labels(self) -> Iterator[drawsvg.DrawingElement]:
        """Yield the status of a node where it changes, if it has room; the lane shows it in any case."""
        for interval, start, words in self._changes():
            found = self._labels.place(self._status_candidates(words, start))
            if found is not None:
                yield self._put(found, self._status_colour(interval.shown), class_="st")

    def _status_candidates(self, words: list[str], start: Position) -> Iterator[PlacedText]:
        """Yield the places of a status, next to the beginning of its interval."""
        size, k, (x, y) = self._size, self._k, start
        for each in words:
            if self.frame.down:
                for down in (0.36, 1.1, 1.9):
                    yield PlacedText(each, size, (x + 7.5 * k, y + down * size), bold=True)
                    yield PlacedText(each, size, (x - 7.5 * k, y + down * size), "end", bold=True)
                continue
            for right in (6 * k, 14 * k):
                for down in (-0.6, 1.25):
                    yield PlacedText(each, size, (x + right, y + down * size), bold=True)

    def _span(self, interval: StatusInterval) -> Way:
        lane = self.frame.layout.lanes[interval.node]
        begin, end = self._place(interval.since.at_us), self._until(interval)
        if self.frame.axis.row_us:  # so that it can be seen
            end = min(max(end, begin + 1.5), self._end)
        return self.frame.xy(begin, lane), self.frame.xy(end, lane)

    def _status_colour(self, shown: str) -> str:
        return self._palette.status(shown) or self._theme.faint

    # faults

    def _faults(self) -> Iterator[drawsvg.Group]:
        frame, colour = self.frame, self._palette.mark("fault")
        for interval in self._excerpt.fault_intervals:
            if not interval.fault.links:
                continue
            begin, end = self._place(interval.since.at_us), self._until(interval)
            (left, top), (right, bottom) = frame.xy(begin, frame.near), frame.xy(end, frame.far)
            ground = drawsvg.Rectangle(
                *(round(each, 1) for each in (left, top, right - left, bottom - top)),
                fill=colour,
                fill_opacity=fault_opacity(self._theme),
            )
            walls = (line(*way, colour, 2 * self._k, "7 4") for way in self._walls(interval))
            yield self._group(iter((ground, *walls)), _describe_fault_interval(interval), class_="f")

    def _walls(self, interval: FaultInterval) -> Iterator[Way]:
        """Yield the walls between neighbours whose links are cut in both directions."""
        if interval.fault.links and interval.fault.kind in ("partition", "cut"):
            begin, end = self._place(interval.since.at_us), self._until(interval)
            for lane, other, both_ways in self.frame.layout.gaps(interval.fault):
                if both_ways:
                    wall = (lane + other) / 2
                    yield self.frame.xy(begin, wall), self.frame.xy(end, wall)

    # messages

    def _styles_of(self, kinds: list[str]) -> dict[str, tuple[str, str]]:
        """Return (colour, mark at the sender) of each kind: those of the interface, or all different."""
        requests = list(dict.fromkeys(kind.removesuffix("Answer") for kind in kinds))
        if self._figure.labels != "legend":
            return {kind: (self._palette.kind(kind), "") for kind in kinds}
        count = len(_KIND_COLOURS)
        styles = {
            kind: (self._palette.named(_KIND_COLOURS[n % count]), _MARKS[n // count % len(_MARKS)])
            for n, kind in enumerate(requests)
        }
        return {kind: styles[kind.removesuffix("Answer")] for kind in kinds}

    def _style(self, edge: MessageEdge) -> tuple[str, str]:
        return self._styles[printable(edge.line.kind, 28)]

    def _densities(self) -> Iterator[drawsvg.DrawingElement]:
        """Yield the shades of rows with many messages, and their numbers where they have room."""
        frame = self.frame
        passed = {cell: passing(frame.layout, many) for cell, many in self._dense.items()}
        most = max((count for counts, _ in passed.values() for count in counts.values()), default=1)
        for cell, (counts, lost) in sorted(passed.items()):
            begin, end = (frame.cell_begin(each, self._excerpt.from_us) for each in (cell, cell + 1))
            for (lane, other), count in counts.items():
                (left, top), (right, bottom) = frame.xy(begin, lane), frame.xy(end, other)
                colour = self._palette.named("vermilion" if (lane, other) in lost else "sky")
                opacity = round(0.12 + 0.7 * (count / most) ** 0.6, 2)
                box = (round(each, 1) for each in (left, top, right - left, bottom - top))
                shade = drawsvg.Rectangle(*box, fill=colour, fill_opacity=opacity)
                yield self._group(iter((shade,)), f"{count:,} messages", class_="d")

    def _arrows(self, ways: list[Way]) -> Iterator[drawsvg.Group]:
        """Yield the arrows in the order in which the messages were sent."""
        faults = {each.fault.id: describe_fault(each.fault) for each in self._excerpt.space.fault_intervals}
        for number, (edge, way) in enumerate(zip(self._edges, ways, strict=True)):
            title = describe_message(edge, faults) if self._medium == "svg" else ""
            named = {"id": f"m{self._numbers[id(edge)]}", "tabindex": 0 if self._medium == "svg" else -1}
            yield group(self._arrow(edge, *way), title, class_="m", **named)
            self._excerpt.progress(CountText(number, len(ways), "message", "drawn"))

    def _way(self, edge: MessageEdge) -> Way:
        """Return the ends of the arrow of a message."""
        end_us = self._excerpt.until_us if edge.end is None else edge.end.at_us
        start, end = self._ends(edge, end_us, REACH.get(edge.fate, 1.0))
        if edge.end is not None and not edge.arrived and end_us == edge.line.at_us:
            # otherwise messages that are lost at once would be drawn on top of each other
            end = (end[0], end[1] + _AT_ONCE) if self.frame.down else (end[0] + _AT_ONCE, end[1])
        return start, end

    def _arrow(self, edge: MessageEdge, start: Position, end: Position) -> Iterator[drawsvg.DrawingElement]:
        (colour, mark), k, theme = self._style(edge), self._k, self._theme
        is_answer = bool(edge.line.reply_to)
        width = theme.stroke * (0.75 if is_answer else 1.0)
        if self._medium in ("svg", "page"):
            yield line(start, end, theme.paper, 11, class_="hit", stroke_opacity=0)
        yield line(start, end, colour, width, self._scaled(_DASHES.get(edge.fate, "")), class_="way")
        if edge.end is None:
            at = (round(each, 1) for each in end)
            yield drawsvg.Circle(*at, 3 * k, fill=theme.paper, stroke=colour, stroke_width=width)
        elif self._is_shown(edge.end.at_us):  # otherwise the arrow leaves the picture
            fate_colour = self._palette.fate(edge.fate) or theme.ink
            yield (
                self._head_of(start, end, colour, is_answer) if edge.arrived else cross(end, fate_colour, 3.8 * k)
            )
        for point in edge.again:
            again_start, again_end = self._ends(edge, point.at_us)
            yield line(again_start, again_end, colour, width * 0.8, "1 3", class_="way")
            if self._is_shown(point.at_us):
                yield self._head_of(again_start, again_end, colour, is_answer)
        if mark:
            yield symbol(mark, start, colour, 0.8 * k)

    def _head_of(self, start: Position, end: Position, colour: str, is_answer: bool) -> drawsvg.DrawingElement:
        return arrow_head(start, end, colour, 6.6 * self._k, is_answer)

    def _message_labels(self, ways: list[Way]) -> Iterator[drawsvg.DrawingElement]:
        """Yield the labels of the fan-outs, the largest first, then those of answers."""
        every = fan_outs_of(self._edges, ways)
        for fan_out in sorted(every, key=lambda each: (each.is_answer, -len(each.ways))):
            kind = printable(fan_out.kind, 28)
            names = kind_names(self._figure.labels, kind, self._initials, self._size * 0.95)
            label = place_label(self._labels, fan_out, names)
            if label is None or label.text.words != kind:
                self._spelled[kind] = None
            yield from self._joint(fan_out)
            if label is not None:
                colour = self._styles[kind][0]
                if label.leader is not None:
                    yield line(*label.leader, colour, 0.5 * self._theme.stroke, class_="leader")
                yield self._put(label.text, colour, class_="k")

    def _joint(self, fan_out: FanOut) -> Iterator[drawsvg.DrawingElement]:
        """Yield the point that the arrows of a fan-out have in common."""
        if len(fan_out.ways) > 1 and not fan_out.is_answer:
            x, y = (round(each, 1) for each in fan_out.start)
            colour = self._styles[printable(fan_out.kind, 28)][0]
            yield drawsvg.Circle(x, y, round(2.2 * self._k, 1), fill=colour)

    # the margins

    def _times(self) -> Iterator[drawsvg.DrawingElement]:
        """Yield labelled times, and the length of long waits."""
        frame, k = self.frame, self._k
        free = Labels(rectangle(0, 0, frame.width, 1e9))
        apart = 42 * k if frame.down else text_width("000.0000", self._size) + 14 * k
        for along, clock in frame.axis.ticks(apart):
            text = free.place([self._clock(along, clock)])
            if text is not None:
                yield line(frame.xy(along, frame.near - 5 * k), frame.xy(along, frame.far), self._theme.rule, 1)
                yield self._put(text, self._theme.faint, class_="tick")
        for wait in frame.axis.waits():
            words = f"{'' if wait.broken else '… '}{format_us(round(wait.us, -3))}"
            text = free.place([self._clock(wait.middle, words, 0), self._clock(wait.middle, words, 1)])
            if text is not None:
                yield self._put(text, self._theme.faint, font_style="italic", class_="wait")

    def _clock(self, along: float, words: str, row: int = 0) -> PlacedText:
        frame, size = self.frame, self._size
        x, y = frame.xy(along, frame.near - (9 + 13 * row) * self._k)
        return (
            PlacedText(words, size, (x, y + 0.36 * size), "end")
            if frame.down
            else PlacedText(words, size, (x, y), "middle")
        )

    def _breaks(self) -> Iterator[drawsvg.DrawingElement]:
        """Yield the marks of a broken axis: a cut across all lanes."""
        frame, k = self.frame, self._k
        for wait in frame.axis.waits():
            if not wait.broken:
                continue
            for along, colour, width in (
                (wait.middle, self._theme.paper, 7 * k),
                (wait.middle - 3.5 * k, self._theme.faint, 0.7 * k),
                (wait.middle + 3.5 * k, self._theme.faint, 0.7 * k),
            ):
                yield self._zigzag(along, colour, width)

    def _zigzag(self, along: float, colour: str, width: float) -> drawsvg.Lines:
        frame, k = self.frame, self._k
        count = max(2, round((frame.far - frame.near) / (9 * k)))
        step = (frame.far - frame.near) / count
        points = [frame.xy(along + (2 * k if n % 2 else -2 * k), frame.near + n * step) for n in range(count + 1)]
        flat = (round(each, 1) for point in points for each in point)
        return drawsvg.Lines(*flat, fill="none", stroke=colour, stroke_width=round(width, 2))

    def _annotations(self, remarks: list[Annotation]) -> tuple[list[drawsvg.DrawingElement], float]:
        """Return the annotations, next to the lanes or below them, and where the body ends."""
        shapes = list(self._in_margin(remarks) if self.frame.down else self._under_lanes(remarks))
        low = max((each.at[1] for each in self.texts), default=0.0)
        ends = self._end if self.frame.down else self.frame.far
        return shapes, max(ends, low) + 10 * self._k

    def _in_margin(self, remarks: list[Annotation]) -> Iterator[drawsvg.DrawingElement]:
        frame, k, size = self.frame, self._k, self._size
        x, row = frame.notes + 13 * k, 1.3 * self._size
        room = frame.notes_width - 13 * k
        wrapped = [(each, wrap_to_width(printable(each.text, 400), size, room, _MOST_LINES)) for each in remarks]
        kept, left_out = _most_important(wrapped, (self._end - frame.begin) / row)
        free = 0.0
        for remark, lines in kept:
            colour, y = self._palette.mark(remark.kind), self._place(remark.at_us)
            shown = max(y, free)
            yield line((frame.near, y), (frame.far, y), colour, 0.8 * k, "1 4")
            yield line((frame.far, y), (frame.notes - 3 * k, shown), colour, 0.8 * k)
            yield from self._sign(remark, (frame.notes + 3 * k, shown))
            for place, words in enumerate(lines):
                at = x, shown + 0.36 * size + row * place
                yield self._text(words, at, colour, class_="note", **self._moment(remark))
            free = shown + row * len(lines) + 0.35 * size
        if left_out:
            at = x, max(free, self._end - row) + 0.36 * size
            yield self._text(f"… and {left_out:,} more notes", at, self._theme.faint)

    def _under_lanes(self, remarks: list[Annotation]) -> Iterator[drawsvg.DrawingElement]:
        """Yield the annotations in rows, from the last on: each below those that begin above its text."""
        frame, k, size = self.frame, self._k, self._size
        right, row = frame.width - frame.pad, 1.35 * self._size
        placed: list[tuple[float, float, int]] = []
        lines: list[drawsvg.DrawingElement] = []
        words_: list[drawsvg.DrawingElement] = []
        most = int((frame.far - frame.near) / row) + 6
        for remark in reversed(remarks):
            colour, at = self._palette.mark(remark.kind), self._place(remark.at_us)
            words = cut_to_width(
                printable(remark.text, 110), size, min(frame.width * 0.62, right - frame.pad) - 12 * k
            )
            wide = text_width(words, size) + 12 * k
            x = max(frame.pad, min(at, right - wide))  # keep it inside the picture
            over = [down for left, end, down in placed if left < x + wide + 8 * k and x < end + 8 * k]
            down = max(over, default=-1) + 1
            if down >= most and remark.kind == _MINOR:
                continue
            placed.append((x, x + wide, down))
            y = frame.far + 20 * k + row * down
            lines.append(line((at, frame.near), (at, y - 0.8 * size), colour, 0.8 * k, "1 4"))
            box = (x - 2, y - 0.8 * size, wide + 2, 1.06 * size)
            words_.append(drawsvg.Rectangle(*(round(each, 1) for each in box), fill=self._theme.paper))
            words_ += self._sign(remark, (x + 4 * k, y - 0.34 * size))
            words_.append(self._text(words, (x + 12 * k, y), colour, class_="note", **self._moment(remark)))
        yield from (*lines, *words_)

    def _moment(self, remark: Annotation) -> dict[str, Any]:
        """Return the attributes by which the script of a page finds the record of an annotation."""
        return {"data_record": remark.record} if self._medium == "page" else {}

    def _sign(self, remark: Annotation, at: Position) -> Iterator[drawsvg.DrawingElement]:
        colour = self._palette.mark(remark.kind)
        yield symbol(NOTE_SIGNS[remark.kind], at, colour, 0.85 * self._k)

    def _legend(self, top: float, width: float) -> tuple[list[drawsvg.DrawingElement], float]:
        """Return the legend of the lanes and arrows that occur, for a picture of this width, and its height."""
        frame, k, size = self.frame, self._k, self._size
        shapes: list[drawsvg.DrawingElement] = []
        x, y = frame.pad, 8.0 * k
        for words, signs in (*self._lane_signs(), *self._arrow_signs(), *self._kind_signs()):
            wide = 30 * k + text_width(words, size) + 14 * k
            if x + wide - 14 * k > width - frame.pad and x > frame.pad:
                x, y = frame.pad, y + 1.6 * size
            move = f"translate({x:.1f},{top + y:.1f}) scale({k:.3f})"
            shapes.append(group(signs, transform=move))
            shapes.append(self._text(words, (x + 29 * k, top + y + 0.36 * size), self._theme.ink))
            x += wide
        return shapes, y + 12 * k if shapes else 0.0

    def _lane_signs(self) -> Iterator[tuple[str, list[drawsvg.DrawingElement]]]:
        """Yield the entries of the legend, drawn at scale 1."""
        intervals, theme = self._excerpt.status_intervals, self._theme
        for shown in dict.fromkeys(interval.shown for interval in intervals):
            share, dashes = _LANES.get(shown, _WHOLE)
            colour = self._status_colour(shown)
            sign = line((0, 0), (24, 0), colour, share * 5, dashes)
            badge = drawsvg.Circle(12, 0, 5.2, fill=theme.paper, stroke=colour, stroke_width=0.9)
            yield status_label(shown), [sign, badge, symbol(status_sign(shown), (12, 0), colour, 0.78)]
        if any(interval.leads for interval in intervals):
            colour = self._status_colour("Normal")
            badge = drawsvg.Circle(12, 0, 5.2, fill=theme.paper, stroke=colour, stroke_width=0.9)
            yield "its own coordinator", [badge, star((12, 0), 4.6, colour)]
        if any(interval.fault.links for interval in self._excerpt.fault_intervals):
            ground = drawsvg.Rectangle(0, -6, 24, 12, fill=self._palette.mark("fault"), fill_opacity=0.15)
            yield "fault of links in force", [ground]
        if self._dense:
            colour = self._palette.named("sky")
            shades = [
                drawsvg.Rectangle(8 * n, -5, 8, 10, fill=colour, fill_opacity=0.2 + 0.3 * n) for n in range(3)
            ]
            yield f"many messages in {format_us(self.frame.axis.row_us)}", shades
            if any(lost for many in self._dense.values() for _, lost in [passing(self.frame.layout, many)]):
                yield (
                    "some of them lost",
                    [drawsvg.Rectangle(0, -5, 24, 10, fill=self._palette.named("vermilion"), fill_opacity=0.5)],
                )

    def _arrow_signs(self) -> Iterator[tuple[str, list[drawsvg.DrawingElement]]]:
        ink, edges = self._theme.ink, self._edges
        outcomes = {edge.fate for edge in edges}
        ends: Way = ((0, 0), (24, 0))
        replies = {bool(edge.line.reply_to) for edge in edges if edge.fate == "delivered"}
        if False in replies:
            yield "message", [line(*ends, ink, 1.2), arrow_head(*ends, ink, 6.6, False)]
        if True in replies:
            yield "answer", [line(*ends, ink, 0.9), arrow_head(*ends, ink, 6.6, True)]
        if "timed out" in outcomes:
            way = line(*ends, ink, 1.2, _DASHES["timed out"])
            yield "arrived when its request no longer waited", [way, arrow_head(*ends, ink, 6.6, True)]
        lost = [fate for fate in REACH if fate in outcomes and fate not in ("in flight", "held")]
        if lost:
            yield (
                " or ".join(lost),
                [line((0, 0), (18, 0), ink, 1.2), cross((18, 0), self._palette.mark("fault"), 4)],
            )
        going = [fate for fate in ("in flight", "held") if fate in outcomes]
        if going:
            yield " or ".join(going), [line(*ends, ink, 1.2, _DASHES[going[0]])]

    def _kind_signs(self) -> Iterator[tuple[str, list[drawsvg.DrawingElement]]]:
        """Yield the kinds that no label, or only their initials, name at some arrow."""
        in_legend = self._figure.labels == "legend"
        every = self._styles if in_legend else self._spelled
        for kind in sorted(every, key=[*self._styles].index):
            if in_legend and kind.endswith("Answer") and kind.removesuffix("Answer") in self._styles:
                continue  # it has the style of its request, and the head of an answer
            colour, mark = self._styles[kind]
            is_answer = kind.endswith("Answer")
            signs = [line((0, 0), (24, 0), colour, 1.2), arrow_head((0, 0), (24, 0), colour, 6.6, is_answer)]
            signs += [symbol(mark, (0, 0), colour, 0.8)] if mark else []
            yield kind if in_legend else f"{self._initials[kind]} = {kind}", signs


def fault_opacity(theme: Theme) -> float:
    """Return the opacity of the background of a fault."""
    return 0.12 if theme.dark else 0.06


def _status_words(interval: StatusInterval) -> list[str]:
    """Return the words for a status, the longest first."""
    label = status_label(interval.shown)
    if label in ("Normal", "Reorganization") and interval.coordinator is not None:
        short = (
            "leads" if interval.leads or interval.coordinator == interval.node else f"under {interval.coordinator}"
        )
        return [f"{label}, leads" if short == "leads" else f"{label} {short}", short]
    return [label]


def _most_important(
    notes: list[tuple[Annotation, list[str]]], rows: float
) -> tuple[list[tuple[Annotation, list[str]]], int]:
    """Return the notes that fit so many rows, and how many are left out. Only minor ones are."""
    used = sum(len(lines) + 0.3 for remark, lines in notes if remark.kind != _MINOR)
    kept = []
    for remark, lines in notes:
        if remark.kind == _MINOR:
            if used + len(lines) > rows:
                continue
            used += len(lines) + 0.3
        kept.append((remark, lines))
    return kept, len(notes) - len(kept)


def _describe_fault_interval(interval: FaultInterval) -> str:
    shown, touched = printable(describe_fault(interval.fault)), f"{interval.fault.touched:,}"
    return f"{shown}\n{describe_span(interval)}\naffected: {touched}"


_CREATED, _NO_DATE = re.compile(rb"(/CreationDate \(D:)(\d+)"), b"20000101000000"
"""The date of a PDF, and what replaces it, so that the same recording gives the same bytes."""
_PIXELS_PER_PIXEL = 2.0
"""For screens and projectors with small pixels."""


def write_pdf(excerpt: Excerpt, out: TextIO) -> None:
    """Write to the binary file below ``out``. Raises ExportError without the extra."""
    cairo = load_cairosvg()
    pdf = cairo.svg2pdf(bytestring=_for_print(excerpt))
    out.buffer.write(_CREATED.sub(lambda hit: hit[1] + _NO_DATE[: len(hit[2])], pdf))


def write_png(excerpt: Excerpt, out: TextIO) -> None:
    """Write to the binary file below ``out``. Raises ExportError without the extra."""
    cairo = load_cairosvg()
    out.buffer.write(cairo.svg2png(bytestring=_for_print(excerpt), scale=_PIXELS_PER_PIXEL))


def _for_print(excerpt: Excerpt) -> bytes:
    return diagram_of(excerpt, medium="print").encode()


def load_cairosvg() -> Any:
    try:
        return importlib.import_module("cairosvg")
    except ImportError:
        what = "this requires CairoSVG: pip install 'coordinator-lab[figures]'"
    except OSError:  # it loads the library of the system
        what = "this requires the library cairo of your system: apt install libcairo2, or brew install cairo"
    raise ExportError(f"{what}; or export to svg, which other programs convert")
