"""Nodes and faults in pictures: lanes coloured by status, walls of partitions, backgrounds of other faults."""

from collections.abc import Iterator
from itertools import pairwise

import drawsvg

from lab.analysis.spacetime import FaultInterval
from lab.export.annotations import describe_fault, describe_interval, describe_status, printable
from lab.export.frame import Frame
from lab.export.shapes import FAINT, HALO, INK, PAPER, Labels, Position, line, text, text_width
from lab.glyphs import UNICODE
from lab.palette import Palette

__all__ = ["LANES", "WHOLE", "draw_faults", "draw_lanes", "draw_nodes", "draw_status_labels"]

LANES = {"killed": (2.0, "2 5"), "failed": (2.0, "2 5"), "absent": (1.0, "1 5"), "paused": (5.0, "5 5")}
"""(width, dash pattern) of a lane by state of the process; ``WHOLE`` otherwise."""
WHOLE = (7.0, "")
_SIZE = 11


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
            spot = labels.place(words, _SIZE, _label_positions(words, start, frame))
            if spot is not None:
                yield text(words, _SIZE, spot, colour, font_weight="bold", **HALO)


def _label_positions(words: str, start: Position, frame: Frame) -> list[Position]:
    """Return the candidate positions of a label, next to the beginning of its interval."""
    half = text_width(words, _SIZE) / 2
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
