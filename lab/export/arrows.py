"""Messages in pictures: arrows in the colour of their kind."""

from collections.abc import Iterator

import drawsvg

from lab.analysis.spacetime import MessageEdge
from lab.export.annotations import describe_fault, describe_message, printable
from lab.export.frame import Frame
from lab.export.shapes import HALO, INK, PAPER, Labels, Position, arrow_head, cross, line, text
from lab.palette import Palette

__all__ = ["DASHES", "SHARES", "Arrows"]

SHARES = {"lost": 0.55, "cut": 0.55, "not sent": 0.15, "receiver down": 0.93, "in flight": 0.8, "held": 0.5}
"""The reach of an arrow between the lanes, by delivery outcome, if it does not arrive."""
DASHES = {"timed out": "7 3", "held": "2 4", "in flight": "2 4"}
_LABELLED = (0.5, 0.36, 0.64, 0.24, 0.76, 0.14, 0.86)
_SIZE = 10.5
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
        spot = self._labels.place(words, _SIZE, spots)
        if spot is not None:
            group.append(text(words, _SIZE, spot, colour, **HALO))

    def _end_us(self, edge: MessageEdge) -> int:
        return self._frame.excerpt.until_us if edge.end is None else edge.end.at_us

    def _is_shown(self, at_us: int) -> bool:
        return self._frame.excerpt.clip(at_us) == at_us
