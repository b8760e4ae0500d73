"""The history of groups as text: lanes of coloured bars, and beside them each group's leader, members and origin.

    3.467  ★1.2  ★2.2    ┃     ┃     ┃   1 2 each alone, of 5.2
             ┃     ┃     ┃     ┃     ┃
    3.613    ┃     ┃    5.3 ━ 5.3 ━★5.3  5 leads 3 4, of 5.2, all Normal after 361ms

If lanes do not fit side by side, the groups are a list.
"""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace
from rich.cells import cell_len
from rich.style import Style

from lab.export.group_layout import GroupLayout, GroupRow
from lab.styles import DIM, Line, Piece, ThemeStyles, wrap_words

_CLOCK = 11
_LEAST_TEXT = 20


class DrawnLine(Struct, frozen=True):
    """Line ``place`` of a row, and the ``words`` in it."""

    row: GroupRow
    place: int
    words: Line


class GroupDrawing:
    """A history of groups, drawn for a width."""

    def __init__(self, layout: GroupLayout, styles: ThemeStyles, width: int) -> None:
        self._layout = layout
        self._groups = layout.groups
        self._styles = styles
        self._width = width
        longest = max((len(group.name) for group in layout.groups), default=3)
        room = (width - _CLOCK - _LEAST_TEXT) // max(1, len(layout.nodes))
        self._lane = min(longest + 3, room)
        self._in_lanes = self._lane >= longest + 2  # its sign before it, and a gap after it

    def head(self) -> Line:
        """Return the head line."""
        pieces: Line = [(f"{'seconds':>{_CLOCK - 2}}  ", DIM)]
        if self._in_lanes:
            for node in self._layout.nodes:
                pieces.append((f"{node:^{self._lane - 1}} ", Style(bold=True)))
        return pieces

    def foot(self) -> Line:
        """Return the legend."""
        glyphs = self._styles.glyphs
        signs = f"{glyphs.leads} coordinator  {glyphs.whole} Normal in it  {glyphs.broken} not Normal in it"
        return [(" " * _CLOCK + signs, DIM)] if self._in_lanes else []

    def lines(self) -> list[DrawnLine]:
        """Return all lines below the head, oldest first. Lanes are drawn later, in ``line_pieces``."""
        return [line for row in self._layout.rows for line in self._row_lines(row)]

    def line_pieces(self, line: DrawnLine, mark: str = "") -> Line:
        """Return a line in full. The mark follows the clock, which is in the first line of a row."""
        clock = "" if line.place else f"{line.row.at.at_us / 1e6:{_CLOCK - 2}.3f}"
        lanes: Line = []
        if self._in_lanes:
            lanes = self._across(replace(line.row, groups=(), affected=(), changes={}) if line.place else line.row)
        return [(f"{clock:{_CLOCK - 2}}{mark:2}", DIM), *lanes, *line.words]

    def _row_lines(self, row: GroupRow) -> Iterator[DrawnLine]:
        words = [(word, self._style(role)) for word, role in self._layout.words(row)]
        lanes = len(self._layout.nodes) * self._lane
        if not self._in_lanes:
            words, lanes = [*(self._group_badge(number, leads=False) for number in row.groups), *words], 0
        lines = wrap_words(words, self._width - _CLOCK - lanes)
        if len(lines) == 1 and self._in_lanes and row.groups:
            lines.append([])  # so that the lanes are visible
        return (DrawnLine(row, place, line) for place, line in enumerate(lines))

    def _group_badge(self, number: int, leads: bool) -> Piece:
        group = self._groups[number]
        text = f"{self._styles.glyphs.leads if leads else ' '}{group.name} "
        return text[: self._lane - 1] if self._in_lanes else text, self._styles.badge(group.hue)

    def _across(self, row: GroupRow) -> Line:
        """Return the lanes of a row: nodes that enter a group show its identifier, joined by a bar."""
        joined = self._layout.joined(row)
        first, last = (joined[0], joined[-1]) if joined else (0, 0)
        style = self._styles.group(self._groups[row.groups[0]].hue) if joined else Style()
        pieces: Line = []
        for node in self._layout.nodes:
            text, its = self._cell(row, node)
            left = (self._lane - 1 - cell_len(text)) // 2
            right = self._lane - left - cell_len(text)
            before, behind = first < node <= last, first <= node < last
            bar = self._styles.glyphs.full
            pieces += [((bar if before else " ") * left, style), (text, its)]
            pieces.append(((bar if behind else " ") * right, style))
        return pieces

    def _cell(self, row: GroupRow, node: int) -> Piece:
        styles, lane = self._styles, row.lanes.get(node)
        if node in row.affected:
            return styles.glyph(row.text), styles.status(row.text)
        if lane is None:
            return "", Style()
        group = self._groups[lane.group]
        if row.changes.get(node) is not None:
            return self._group_badge(lane.group, leads=group.coordinator == node)
        return styles.glyphs.whole if node in row.normal else styles.glyphs.broken, styles.group(group.hue)

    def _style(self, role: str | int) -> Style:
        if isinstance(role, int):
            return self._styles.group(role)
        styles = {
            "bold": Style(bold=True),
            "dim": DIM,
            "accent": self._styles.accent,
            "warning": self._styles.warning,
        }
        return styles[role]
