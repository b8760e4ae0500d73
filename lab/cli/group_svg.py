"""The history of groups as an SVG picture: time runs down, with a lane for each node, as in the terminal."""

from collections.abc import Sequence

import drawsvg
from rich.style import Style

from lab.analysis.group_history import GroupLog
from lab.export.group_layout import Row, build_rows
from lab.glyphs import UNICODE
from lab.recording.records import Header
from lab.text import sanitize
from lab.tui.terminal.styles import Piece, ThemeStyles
from lab.tui.views.group_drawing import row_words, wrap_words

_LEFT, _TOP, _LANE, _TEXT, _MARGIN = 100, 106, 76, 400, 24
_ROW, _NARROW, _LINE = 52, 34, 18
_INK, _FAINT, _PAPER = "#222222", "#777777", "#ffffff"
_FONT = "Helvetica, Arial, sans-serif"
_LETTERS = 54
"""Characters per line of text."""


def group_picture(header: Header, log: GroupLog) -> str:
    """Return the text of an SVG file with a white background."""
    return str(_Picture(header, log).drawn().as_svg())


class _Picture:
    def __init__(self, header: Header, log: GroupLog) -> None:
        self._title = f"{sanitize(header.protocol.name, 60)}: the history of groups"
        self._groups = log.groups
        self._rows = build_rows(log.groups, log.cluster_events, header.timing.t_us)
        self._styles = ThemeStyles(UNICODE)
        self._styles.dark = False
        nodes = sorted({*header.nodes, *(node for row in self._rows for node in row.changes)})
        self._x = {node: _LEFT + _LANE * place + _LANE // 2 for place, node in enumerate(nodes)}
        self._texts = [wrap_words(row_words(row, self._groups, self._styles), _LETTERS) for row in self._rows]
        self._y = [_TOP]
        for row, text in zip(self._rows, self._texts, strict=True):
            self._y.append(self._y[-1] + max(_ROW if row.groups else _NARROW, _LINE * len(text) + 16))
        self._drawing = drawsvg.Drawing(
            _LEFT + _LANE * len(nodes) + _TEXT + _MARGIN, self._y[-1] + _MARGIN, font_family=_FONT
        )

    def drawn(self) -> drawsvg.Drawing:
        """Draw the bars first, so that lanes which a bar only crosses lie on top of it."""
        put = self._drawing.append
        put(drawsvg.Rectangle(0, 0, self._drawing.width, self._drawing.height, fill=_PAPER))
        put(drawsvg.Text(self._title, 18, _MARGIN, 34, fill=_INK, font_weight="bold"))
        signs = f"{self._styles.glyphs.leads} coordinator; a lane is broken where its node is not Normal"
        put(drawsvg.Text(signs, 12, _MARGIN, 54, fill=_FAINT))
        put(drawsvg.Text("seconds", 13, _LEFT - 12, _TOP - 26, fill=_FAINT, text_anchor="end"))
        for node, x in self._x.items():
            put(drawsvg.Text(f"node {node}", 13, x, _TOP - 26, fill=_INK, text_anchor="middle"))
        for row, y in zip(self._rows, self._y, strict=False):
            self._bar(row, y)
        for place, row in enumerate(self._rows):
            self._lanes(row, self._y[place], self._y[place + 1])
        for row, text, y in zip(self._rows, self._texts, self._y, strict=False):
            self._row(row, y)
            for place, pieces in enumerate(text):
                self._text(pieces, y + 5 + _LINE * place)
        return self._drawing

    def _bar(self, row: Row, y: int) -> None:
        """Draw a bar from the first to the last node that joins a group in this row."""
        if len(row.groups) == 1:
            taken = [self._x[node] for node, lane in row.changes.items() if lane is not None]
            self._line(min(taken), y, max(taken), y, self._colour(row.groups[0]), 10)

    def _lanes(self, row: Row, y: int, y_end: int) -> None:
        for node, lane in row.lanes.items():
            colour, x = self._colour(lane.group), self._x[node]
            self._line(x, y, x, y_end, colour, 8, "none" if node in row.normal else "3 6")

    def _row(self, row: Row, y: int) -> None:
        clock = f"{row.at.at_us / 1e6:.3f}"
        self._drawing.append(drawsvg.Text(clock, 13, _LEFT - 12, y + 5, fill=_FAINT, text_anchor="end"))
        for node, lane in row.changes.items():
            if lane is not None:
                self._draw_badge(node, lane.group, y)
        for node in row.affected:
            if node in self._x:
                glyph = self._styles.glyph(row.text)
                self._drawing.append(
                    drawsvg.Text(
                        glyph, 20, self._x[node], y + 7, fill=_hex(self._styles.warning), text_anchor="middle"
                    )
                )

    def _draw_badge(self, node: int, number: int, y: int) -> None:
        group, x = self._groups[number], self._x[node]
        width = _LANE - 16
        colour = self._colour(number)
        self._drawing.append(drawsvg.Rectangle(x - width // 2, y - 13, width, 26, rx=8, fill=colour))
        star = f"{self._styles.glyphs.leads} " if group.coordinator == node else ""
        style = {"fill": _PAPER, "font_weight": "bold", "text_anchor": "middle"}
        self._drawing.append(drawsvg.Text(star + group.name, 14, x, y + 5, **style))

    def _text(self, pieces: Sequence[Piece], y: int) -> None:
        line = drawsvg.Text("", 14, _LEFT + _LANE * len(self._x) + 12, y, fill=_INK)
        for text, style in pieces:
            weight = "bold" if style.bold else "normal"
            line.append(drawsvg.TSpan(text, fill=_hex(style), font_weight=weight, xml__space="preserve"))
        self._drawing.append(line)

    def _line(self, x: int, y: int, to_x: int, to_y: int, colour: str, width: int, dashes: str = "none") -> None:
        self._drawing.append(
            drawsvg.Line(x, y, to_x, to_y, stroke=colour, stroke_width=width, stroke_dasharray=dashes)
        )

    def _colour(self, number: int) -> str:
        return _hex(self._styles.group(self._groups[number].hue))


def _hex(style: Style) -> str:
    if style.color is None:
        return _FAINT if style.dim else _INK
    return style.color.get_truecolor().hex
