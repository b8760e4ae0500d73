"""Messages in pictures: arrows that end where the messages did, in the colours of their kinds."""

from collections.abc import Iterator

import drawsvg

from lab.analysis.spacetime import MessageEdge
from lab.export.frame import Frame
from lab.export.paper import HALO, INK, PAPER, Labels, Place, arrow_head, cross, line, text
from lab.export.words import fault_said, message_said, safe
from lab.palette import Palette

__all__ = ["DASHES", "SHARES", "Arrows"]

SHARES = {"lost": 0.55, "cut": 0.55, "not sent": 0.15, "receiver down": 0.93, "in flight": 0.8, "held": 0.5}
"""So far between the lanes an arrow comes that does not arrive."""
DASHES = {"too late": "7 3", "held": "2 4", "in flight": "2 4"}
_LABELLED = (0.5, 0.36, 0.64, 0.24, 0.76, 0.14, 0.86)
_SIZE = 10.5
_AT_ONCE = 8.0


class Arrows:
    """All of them, each a group with a title; ``m0`` is the first one."""

    def __init__(self, frame: Frame, palette: Palette, labels: Labels) -> None:
        self._frame = frame
        self._palette = palette
        self._labels = labels
        self._faults = {strike.fault.id: fault_said(strike.fault) for strike in frame.excerpt.space.strikes}

    def drawn(self) -> Iterator[drawsvg.Group]:
        """In the order in which they were sent."""
        for number, arrow in enumerate(self._frame.excerpt.arrows):
            group = drawsvg.Group(class_="m", id=f"m{number}", tabindex=0)
            group.append_title(message_said(arrow, self._faults))
            self._draw(group, arrow)
            self._frame.excerpt.tell(f"{number:,} of {len(self._frame.excerpt.arrows):,} messages drawn")
            yield group

    def _draw(self, group: drawsvg.Group, arrow: MessageEdge) -> None:
        colour = self._palette.kind(arrow.line.kind)
        start, end = self._frame.ends(arrow, self._end_us(arrow), SHARES.get(arrow.fate, 1.0))
        if arrow.end is not None and not arrow.arrived and arrow.end.at_us == arrow.line.at_us:
            # of several that are lost at once, the lines would lie on each other
            end = (end[0] + _AT_ONCE, end[1]) if self._frame.is_right else (end[0], end[1] + _AT_ONCE)
        group.append(line(start, end, PAPER, 11, class_="hit", stroke_opacity=0))
        group.append(line(start, end, colour, 1.4, DASHES.get(arrow.fate, ""), class_="way"))
        self._tip(group, arrow, start, end, colour)
        for point in arrow.again:
            again_start, again_end = self._frame.ends(arrow, point.at_us)
            group.append(line(again_start, again_end, colour, 1, "1 3", class_="way"))
            if self._is_shown(point.at_us):
                group.append(arrow_head(again_start, again_end, colour))
        self._label(group, arrow, start, end, colour)

    def _tip(self, group: drawsvg.Group, arrow: MessageEdge, start: Place, end: Place, colour: str) -> None:
        if arrow.end is not None and not self._is_shown(arrow.end.at_us):
            return  # it leaves the picture
        if arrow.arrived:
            group.append(arrow_head(start, end, colour))
        elif arrow.end is not None:
            group.append(cross(end, self._palette.fate(arrow.fate) or INK))
        else:
            group.append(drawsvg.Circle(round(end[0], 1), round(end[1], 1), 3, fill=PAPER, stroke=colour))

    def _label(self, group: drawsvg.Group, arrow: MessageEdge, start: Place, end: Place, colour: str) -> None:
        kind = safe(arrow.line.kind, 28)
        words = f"↩ {kind.removesuffix('Answer')}" if kind.endswith("Answer") else kind
        if arrow.fate == "too late":
            words += " (late)"
        spots = [
            (start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share - 3)
            for share in _LABELLED
        ]
        spot = self._labels.find(words, _SIZE, spots)
        if spot is not None:
            group.append(text(words, _SIZE, spot, colour, **HALO))

    def _end_us(self, arrow: MessageEdge) -> int:
        return self._frame.excerpt.until_us if arrow.end is None else arrow.end.at_us

    def _is_shown(self, at_us: int) -> bool:
        return self._frame.excerpt.clip(at_us) == at_us
