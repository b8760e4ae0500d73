"""What stands at the margin of pictures: the time, remarks, and above all what the signs mean."""

import textwrap
from collections.abc import Iterator

import drawsvg

from lab.export.arrows import DASHES, SHARES
from lab.export.frame import Frame
from lab.export.lanes import LANES, WHOLE
from lab.export.paper import FAINT, HALO, INK, RULE, arrow_head, cross, letters, line, text
from lab.export.words import Remark, safe
from lab.glyphs import UNICODE
from lab.palette import Palette
from lab.units import format_us

__all__ = ["MARGIN", "RIGHT_MARGIN", "legend_drawn", "remarks_drawn", "times_drawn"]

MARGIN, RIGHT_MARGIN = 380, 60
"""Beside the lanes, where time flows down; behind their end, where it flows to the right."""
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


def times_drawn(frame: Frame) -> Iterator[drawsvg.DrawingElement]:
    """The axis: named instants, and how long the long waits are."""
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


def remarks_drawn(frame: Frame, palette: Palette) -> tuple[drawsvg.Group, float]:
    """(the remarks beside the lanes, or below them, where that ends)."""
    group = drawsvg.Group()
    return group, _below(group, frame, palette) if frame.is_right else _beside(group, frame, palette)


def _beside(group: drawsvg.Group, frame: Frame, palette: Palette) -> float:
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


def _below(group: drawsvg.Group, frame: Frame, palette: Palette) -> float:
    """In rows, each remark in the first that is free there."""
    rows: list[float] = []
    top = frame.lanes_end + 24
    for remark in frame.remarks:
        colour = palette.mark(remark.kind)
        words = safe(f"{_SIGNS[remark.kind]} {remark.text}", 110)
        at, wide = frame.along(remark.at_us), letters(words, _SIZE)
        x = max(frame.begin, min(at, frame.end + RIGHT_MARGIN - wide))  # none ends outside the picture
        row = next((row for row, free in enumerate(rows) if free <= x), len(rows))
        rows[row : row + 1] = [x + wide + 16]
        y = top + _LINE * row
        group.append(line((at, frame.lanes_begin), (at, y - 10), colour, 1, "1 4"))
        group.append(text(words, _SIZE, (x, y), colour, **{**HALO, "text_anchor": "start"}))
    return top + _LINE * len(rows) + 12


def _wrapped(remark: Remark) -> list[str]:
    return textwrap.wrap(f"{_SIGNS[remark.kind]} {safe(remark.text, 400)}", _LETTERS, break_long_words=True)


def legend_drawn(frame: Frame, palette: Palette, width: float) -> tuple[drawsvg.Group, float]:
    """(what the lanes and the arrows that there are mean, how high that is)."""
    group = drawsvg.Group()
    x, y = 24.0, 8.0
    entries = [*_lane_signs(frame, palette), *_arrow_signs(frame, palette)]
    for words, signs in entries:
        wide = 40 + letters(words, 11) + 22
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
    for shown in dict.fromkeys(stretch.shown for stretch in frame.excerpt.stretches):
        wide, dashes = LANES.get(shown, WHOLE)
        sign = line((0, 0), (30, 0), palette.status(shown) or FAINT, wide, dashes)
        yield f"{UNICODE.status.get(shown, '')} {safe(shown, 30)}", [sign]
    if any(stretch.leads for stretch in frame.excerpt.stretches):
        yield "its own coordinator", [text("★", 13, (10, 5), palette.named("yellow"))]
    if any(strike.fault.links for strike in frame.excerpt.strikes):
        ground = drawsvg.Rectangle(0, -7, 30, 14, fill=palette.mark("fault"), fill_opacity=0.15)
        yield "a fault of links is in force", [ground]


def _arrow_signs(frame: Frame, palette: Palette) -> Iterator[tuple[str, list[drawsvg.DrawingElement]]]:
    fates = {arrow.fate for arrow in frame.excerpt.arrows}
    if "delivered" in fates:
        yield "message", [line((0, 0), (30, 0), INK, 1.4), arrow_head((0, 0), (30, 0), INK)]
    if "too late" in fates:
        way = line((0, 0), (30, 0), INK, 1.4, DASHES["too late"])
        yield "too late for its request", [way, arrow_head((0, 0), (30, 0), INK)]
    lost = [fate for fate in SHARES if fate in fates and fate not in ("in flight", "held")]
    if lost:
        signs = [line((0, 0), (22, 0), INK, 1.4), cross((22, 0), palette.mark("fault"))]
        yield " or ".join(lost), signs
    going = [fate for fate in ("in flight", "held") if fate in fates]
    if going:
        yield " or ".join(going), [line((0, 0), (30, 0), INK, 1.4, DASHES[going[0]])]
