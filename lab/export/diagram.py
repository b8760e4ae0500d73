"""The space-time diagram as an SVG picture on white paper."""

import textwrap
from typing import TextIO

import drawsvg

from lab.export.arrows import Arrows
from lab.export.excerpt import Excerpt
from lab.export.frame import Frame
from lab.export.lanes import faults_drawn, lanes_drawn, nodes_drawn, words_drawn
from lab.export.margin import MARGIN, RIGHT_MARGIN, legend_drawn, remarks_drawn, times_drawn
from lab.export.paper import FAINT, FONT, INK, PAPER, Labels, text
from lab.export.words import head_said, safe
from lab.palette import Palette

__all__ = ["MOST_ARROWS", "diagram_of", "write_svg"]

MOST_ARROWS = 3_000
_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
_LEAST_WIDTH = 640
_STYLE = ".m:hover .way, .m:focus .way { stroke-width: 3 } .m:focus { outline: none }"
_SCALE_SAID = "time in seconds; longer waits are drawn longer, but not to scale"


def write_svg(excerpt: Excerpt, out: TextIO) -> None:
    """One file, with what each thing is under the mouse. ExportError."""
    out.write(diagram_of(excerpt))


def diagram_of(excerpt: Excerpt, header: str = _XML) -> str:
    """The text of an SVG file, behind that header. ExportError."""
    excerpt.need_at_most(MOST_ARROWS, "a picture")
    frame, palette, labels = Frame(excerpt), Palette(dark=False), Labels()
    margin, below = remarks_drawn(frame, palette)
    if frame.is_right:
        width = max(frame.end + RIGHT_MARGIN, _LEAST_WIDTH)
    else:
        width = max(frame.lanes_end + (MARGIN if frame.remarks else 24), _LEAST_WIDTH)
    head, top = _head(excerpt, width)
    legend, legend_height = legend_drawn(frame, palette, width)
    drawing = drawsvg.Drawing(round(width), round(top + legend_height + below), font_family=FONT)
    drawing.append_css(_STYLE)
    drawing.append(drawsvg.Rectangle(0, 0, drawing.width, drawing.height, fill=PAPER))
    drawing.append(head)
    drawing.append(_moved(legend, top))
    body = drawsvg.Group()
    labels.take((0, 0, *frame.place(frame.end, frame.lanes_begin - 8)))  # the times
    for node in excerpt.nodes:
        (left, top_), (right, bottom) = (
            frame.place(along, frame.lane(node)) for along in (frame.begin, frame.end)
        )
        labels.take((left - 4, top_ - 4, right + 4, bottom + 4))
    words = [*words_drawn(frame, palette, labels)]  # they choose their places first, and lie above
    for each in (
        *faults_drawn(frame, palette),
        *times_drawn(frame),
        margin,
        *lanes_drawn(frame, palette),
        *Arrows(frame, palette, labels).drawn(),
        *words,
        *nodes_drawn(frame),
    ):
        body.append(each)
    drawing.append(_moved(body, top + legend_height))
    return str(drawing.as_svg(header=header))


def _head(excerpt: Excerpt, width: float) -> tuple[drawsvg.Group, float]:
    group = drawsvg.Group()
    group.append(text(safe(excerpt.header.protocol.title, 60), 18, (24, 32), INK, font_weight="bold"))
    y = 52
    for words in (*textwrap.wrap(head_said(excerpt), int((width - 48) / 6.4)), _SCALE_SAID):
        group.append(text(words, 12, (24, y), FAINT))
        y += 17
    return group, y + 4.0


def _moved(group: drawsvg.Group, down: float) -> drawsvg.Group:
    moved = drawsvg.Group(transform=f"translate(0,{down:.1f})")
    moved.append(group)
    return moved
