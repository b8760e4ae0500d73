"""The space-time diagram as an SVG picture on white paper."""

import textwrap
from typing import TextIO

import drawsvg

from lab.export.annotations import describe_excerpt, printable
from lab.export.arrows import Arrows
from lab.export.excerpt import Excerpt
from lab.export.frame import Frame
from lab.export.lanes import draw_faults, draw_lanes, draw_nodes, draw_status_labels
from lab.export.margin import MARGIN, RIGHT_MARGIN, draw_annotations, draw_legend, draw_times
from lab.export.shapes import FAINT, FONT, INK, PAPER, Labels, text
from lab.palette import Palette

__all__ = ["MOST_ARROWS", "diagram_of", "write_svg"]

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
