"""Drawing primitives. Symbols are shapes, not letters, so that they look the same in every font.

Foreign text must never be used in an attribute: drawsvg escapes only the text between tags.
"""

from collections.abc import Iterable
from math import cos, hypot, pi, sin
from typing import Any

import drawsvg

from lab.export.placement import PlacedText, Position

INK, FAINT, PAPER = "#222222", "#777777", "#ffffff"  # of the pictures without a theme

_UPRIGHT = {
    "cross": "M-3.4,-3.4 L3.4,3.4 M-3.4,3.4 L3.4,-3.4",
    "check": "M-3.6,0.4 L-1,3 L3.8,-3.4",
    "question": "M-2.3,-2 a2.3,2.1 0 1 1 3.3,1.9 q-1,0.6 -1,1.5 M0,3.4 l0,0.4",
    "wave": "M-3.6,1 q1.8,-3.6 3.6,-1 t3.6,-1",
    "bars": "M-1.7,-3.2 L-1.7,3.2 M1.7,-3.2 L1.7,3.2",
    "flag": "M-2.4,4 L-2.4,-4 L3,-2.2 L-2.4,-0.4",
    "play": "M-2.4,-3.4 L3.4,0 L-2.4,3.4 Z",
    "dots": "M-3,0 l0.3,0 M0,0 l0.3,0 M3,0 l0.3,0",
    "quotes": "M-3,2.8 q-0.6,-3.8 2,-5.4 M1.4,2.8 q-0.6,-3.8 2,-5.4",
    "bang": "M0,-3.6 L0,1 M0,3.4 l0,0.4",
}
_STATUS_SIGNS = {
    "Normal": "disc",
    "Election": "question",
    "Reorganization": "wave",
    "Down": "cross",
    "Inside": "disc",
    "Holding": "ring",
    "Waiting": "dots",
    "Working": "ring",
    "Uncertain": "question",
    "Blocked": "square",
    "killed": "cross",
    "failed": "bang",
    "paused": "bars",
    "absent": "dot",
}
NOTE_SIGNS = {
    "fault": "cross",
    "unmet": "cross",
    "met": "check",
    "caption": "quotes",
    "mark": "flag",
    "command": "play",
    "status": "dot",
}


def status_sign(shown: str) -> str:
    """Return the name of the symbol of a status, or of the state of a process."""
    return _STATUS_SIGNS.get(shown, "dot")


def drawn_text(text: PlacedText, colour: str, **style: Any) -> drawsvg.Text:
    x, y = round(text.at[0], 1), round(text.at[1], 1)
    if text.anchor != "start":
        style["text_anchor"] = text.anchor
    if text.bold:
        style["font_weight"] = "bold"
    if text.angle:
        style["transform"] = f"rotate({text.angle:.1f},{x},{y})"
    return drawsvg.Text(text.words, round(text.size, 2), x, y, fill=colour, **style)


def text(words: str, size: float, at: Position, colour: str = INK, **style: Any) -> drawsvg.Text:
    """Return a text with its lower left corner at ``at``; ``text_anchor`` can make that its middle or end."""
    return drawsvg.Text(words, size, round(at[0], 1), round(at[1], 1), fill=colour, **style)


def line(
    start: Position, end: Position, colour: str, width: float, dashes: str = "", **style: Any
) -> drawsvg.Line:
    if dashes:
        style["stroke_dasharray"] = dashes
    ends = (round(each, 1) for each in (*start, *end))
    return drawsvg.Line(*ends, stroke=colour, stroke_width=round(width, 2), **style)


def arrow_head(start: Position, tip: Position, colour: str, size: float, is_open: bool) -> drawsvg.DrawingElement:
    """Return the head of an arrow from ``start`` to ``tip``; that of an answer is open."""
    dx, dy = tip[0] - start[0], tip[1] - start[1]
    length = hypot(dx, dy) or 1.0
    dx, dy = dx / length * size, dy / length * size
    left = tip[0] - dx - dy / 2.6, tip[1] - dy + dx / 2.6
    right = tip[0] - dx + dy / 2.6, tip[1] - dy - dx / 2.6
    if is_open:
        corners = (round(each, 1) for each in (*left, *tip, *right))
        return drawsvg.Lines(*corners, fill="none", stroke=colour, stroke_width=round(size / 7, 2), class_="tip")
    corners = (round(each, 1) for each in (*tip, *left, *right))
    return drawsvg.Lines(*corners, close=True, fill=colour, class_="tip")


def cross(at: Position, colour: str, size: float) -> drawsvg.Path:
    """Return the end of a lost message."""
    x, y = at
    corners = [
        (round(x + dx * size, 1), round(y + dy * size, 1)) for dx, dy in ((-1, -1), (1, 1), (-1, 1), (1, -1))
    ]
    strokes = " ".join(f"{letter}{x},{y}" for letter, (x, y) in zip("MLML", corners, strict=True))
    return drawsvg.Path(strokes, stroke=colour, stroke_width=round(size * 0.42, 2), fill="none")


def star(at: Position, radius: float, colour: str) -> drawsvg.Lines:
    points = [
        (at[0] + r * sin(pi * n / 5), at[1] - r * cos(pi * n / 5))
        for n, r in ((n, radius if n % 2 == 0 else radius * 0.42) for n in range(10))
    ]
    return drawsvg.Lines(*(round(each, 1) for point in points for each in point), close=True, fill=colour)


def symbol(name: str, at: Position, colour: str, scale: float) -> drawsvg.DrawingElement:
    """Return a symbol, about eight pixels high at scale 1."""
    x, y = round(at[0], 1), round(at[1], 1)
    if name == "disc":
        return drawsvg.Circle(x, y, round(3.2 * scale, 1), fill=colour)
    if name == "dot":
        return drawsvg.Circle(x, y, round(1.4 * scale, 1), fill=colour)
    if name == "ring":
        return drawsvg.Circle(x, y, round(2.8 * scale, 1), fill="none", stroke=colour, stroke_width=1.4 * scale)
    if name == "square":
        half = 2.8 * scale
        return drawsvg.Rectangle(x - half, y - half, 2 * half, 2 * half, fill=colour)
    fill = colour if name in ("play", "flag") else "none"
    move = f"translate({x},{y}) scale({scale:.2f})"
    return drawsvg.Path(
        _UPRIGHT[name], stroke=colour, stroke_width=1.6, fill=fill, stroke_linecap="round", transform=move
    )


def group(elements: Iterable[drawsvg.DrawingElement], title: str = "", **attributes: Any) -> drawsvg.Group:
    made = drawsvg.Group(**attributes)
    if title:
        made.append_title(title)
    made.extend(elements)
    return made
