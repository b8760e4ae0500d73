"""The margins of pictures: time axis, annotations and legend."""

import textwrap
from collections.abc import Iterator

import drawsvg

from lab.export.annotations import Annotation, printable, status_label
from lab.export.arrows import DASHES, SHARES
from lab.export.frame import Frame
from lab.export.lanes import LANES, WHOLE
from lab.export.shapes import FAINT, HALO, INK, RULE, arrow_head, cross, line, text, text_width
from lab.glyphs import UNICODE
from lab.palette import Palette
from lab.units import format_us

__all__ = ["MARGIN", "RIGHT_MARGIN", "draw_annotations", "draw_legend", "draw_times"]

MARGIN, RIGHT_MARGIN = 380, 60
"""Room next to the lanes if time runs down; after their end if it runs to the right."""
_LETTERS = 56
_LINE = 15
_SIZE = 12
_SIGNS = {
    "fault": "✖",
    "unmet": "✗",
    "met": "✓",
    "caption": "“",
    "mark": "⚑",
    "command": "▶",
    "status": "·",
}


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
