"""Nodes and faults in pictures: lanes in the colours of Statuses, walls of partitions, grounds of other faults."""

from collections.abc import Iterator
from itertools import pairwise

import drawsvg

from lab.analysis.spacetime import FaultInterval
from lab.export.frame import Frame
from lab.export.paper import FAINT, HALO, INK, PAPER, Labels, Place, letters, line, text
from lab.export.words import fault_said, safe, stands, stretch_said
from lab.glyphs import UNICODE
from lab.palette import Palette

__all__ = ["LANES", "WHOLE", "faults_drawn", "lanes_drawn", "nodes_drawn", "words_drawn"]

LANES = {"killed": (2.0, "2 5"), "failed": (2.0, "2 5"), "absent": (1.0, "1 5"), "paused": (5.0, "5 5")}
"""How wide a lane is, and how it is dashed, while its node does this; else it is whole."""
WHOLE = (7.0, "")
_SIZE = 11


def nodes_drawn(frame: Frame) -> Iterator[drawsvg.DrawingElement]:
    """The names of the nodes at the beginnings of their lanes."""
    for node in frame.excerpt.nodes:
        x, y = frame.place(frame.begin - (60 if frame.is_right else 20), frame.lane(node))
        yield drawsvg.Rectangle(x - 31, y - 13, 62, 22, rx=7, fill=PAPER, stroke=FAINT)
        yield text(f"node {node}", 12, (x, y + 2), INK, text_anchor="middle", font_weight="bold")


def lanes_drawn(frame: Frame, palette: Palette) -> Iterator[drawsvg.Group]:
    """The stretches."""
    for stretch in frame.excerpt.stretches:
        width, dashes = LANES.get(stretch.shown, WHOLE)
        end = frame.end if stretch.until is None else frame.along(stretch.until.at_us)
        group = drawsvg.Group(class_="s")
        group.append_title(stretch_said(stretch))
        start = frame.at(stretch.since.at_us, stretch.node)
        stop = frame.place(end, frame.lane(stretch.node))
        group.append(line(start, stop, palette.status(stretch.shown) or FAINT, width, dashes))
        yield group


def words_drawn(frame: Frame, palette: Palette, labels: Labels) -> Iterator[drawsvg.DrawingElement]:
    """How a node stands, where that is another way than before."""
    said: dict[int, str] = {}
    for stretch in frame.excerpt.stretches:
        colour = palette.status(stretch.shown) or FAINT
        start_us = stretch.since.at_us
        start = frame.at(start_us, stretch.node)
        words = stands(stretch)
        is_nothing = stretch.until is not None and frame.along(stretch.until.at_us) == frame.along(start_us)
        if words != said.get(stretch.node) and stretch.shown != "absent" and not is_nothing:
            said[stretch.node] = words
            glyph = UNICODE.status.get(stretch.shown, "")
            yield text(glyph, 13, (start[0], start[1] + 4.5), colour, font_weight="bold", **HALO)
            spot = labels.find(words, _SIZE, _beside(words, start, frame))
            if spot is not None:
                yield text(words, _SIZE, spot, colour, font_weight="bold", **HALO)


def _beside(words: str, start: Place, frame: Frame) -> list[Place]:
    """Where a word may be, by the beginning of its stretch."""
    half = letters(words, _SIZE) / 2
    if frame.is_right:
        return [(start[0] + half + 6, start[1] + down) for down in (-8, 17, -20, 29)]
    return [(start[0] + side * (half + 8), start[1] + down) for down in (10, 22) for side in (1, -1)]


def faults_drawn(frame: Frame, palette: Palette) -> Iterator[drawsvg.DrawingElement]:
    """The faults of links: a ground while they are in force, walls between lanes that cannot reach each other."""
    for strike in frame.excerpt.strikes:
        if not strike.fault.links:
            continue
        group = drawsvg.Group(class_="f")
        group.append_title(_strike_said(strike))
        begin = frame.along(strike.since.at_us)
        end = frame.end if strike.until is None else frame.along(strike.until.at_us)
        left, top = frame.place(begin, frame.lanes_begin)
        right, bottom = frame.place(end, frame.lanes_end)
        colour = palette.mark("fault")
        group.append(drawsvg.Rectangle(left, top, right - left, bottom - top, fill=colour, fill_opacity=0.06))
        for wall in _walls(frame, strike):
            group.append(line(frame.place(begin, wall), frame.place(end, wall), colour, 2.5, "7 4"))
        yield group


def _walls(frame: Frame, strike: FaultInterval) -> Iterator[float]:
    """Between neighbours whose links are cut in both directions."""
    links = frozenset(strike.fault.links)
    nodes = frame.excerpt.nodes
    if strike.fault.kind in ("partition", "cut"):
        for one, other in pairwise(nodes):
            if {(one, other), (other, one)} <= links:
                yield (frame.lane(one) + frame.lane(other)) / 2


def _strike_said(strike: FaultInterval) -> str:
    until = "the end" if strike.until is None else f"{strike.until.at_us / 1e6:.6f} s"
    said, touched = safe(fault_said(strike.fault)), f"{strike.fault.touched:,}"
    return f"{said}\nfrom {strike.since.at_us / 1e6:.6f} s until {until}\ntouched: {touched}"
