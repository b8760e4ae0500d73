"""The history of groups as text: lanes of coloured bars, and beside them each group's leader, members and origin.

    3.467  ★1.2  ★2.2    ┃     ┃     ┃   1 2 each alone, of 5.2
             ┃     ┃     ┃     ┃     ┃
    3.613    ┃     ┃    5.3 ━ 5.3 ━★5.3  5 leads 3 4, of 5.2, all Normal after 361ms

If lanes do not fit side by side, the groups are a list.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace
from rich.cells import cell_len
from rich.style import Style

from lab.analysis.group_history import ClusterEvent, GroupHistory
from lab.export.group_layout import Row, build_rows
from lab.text import sanitize
from lab.tui.terminal.styles import DIM, Piece, ThemeStyles
from lab.units import format_ranges, format_us

_CLOCK = 11
_LEAST_TEXT = 20
_LONGEST = 60


class DrawnLine(Struct, frozen=True):
    """Line ``place`` of a row, and the ``words`` in it."""

    row: Row
    place: int
    words: list[Piece]


class GroupDrawing:
    """The last ``most`` rows of the groups known so far, drawn for a width."""

    def __init__(
        self,
        groups: Sequence[GroupHistory],
        cluster_events: Iterable[ClusterEvent],
        nodes: Iterable[int],
        together_us: int,
        styles: ThemeStyles,
        width: int,
        most: int = sys.maxsize,
    ) -> None:
        self._groups = groups
        self._styles = styles
        self._width = width
        self._rows = build_rows(groups, cluster_events, together_us)[-most:]
        self._nodes = sorted({*nodes, *(node for row in self._rows for node in row.changes)})
        longest = max((len(group.name) for group in groups), default=3)
        room = (width - _CLOCK - _LEAST_TEXT) // max(1, len(self._nodes))
        self._lane = min(longest + 3, room)
        self._in_lanes = self._lane >= longest + 2  # its sign before it, and a gap after it

    def head(self) -> list[Piece]:
        """Return the head line."""
        pieces: list[Piece] = [(f"{'seconds':>{_CLOCK - 2}}  ", DIM)]
        if self._in_lanes:
            for node in self._nodes:
                pieces.append((f"{node:^{self._lane - 1}} ", Style(bold=True)))
        return pieces

    def foot(self) -> list[Piece]:
        """Return the legend."""
        glyphs = self._styles.glyphs
        signs = f"{glyphs.leads} coordinator  {glyphs.whole} Normal in it  {glyphs.broken} not Normal in it"
        return [(" " * _CLOCK + signs, DIM)] if self._in_lanes else []

    def lines(self) -> list[DrawnLine]:
        """Return all lines below the head, oldest first. Lanes are drawn later, in ``line_pieces``."""
        return [line for row in self._rows for line in self._row_lines(row)]

    def line_pieces(self, line: DrawnLine, mark: str = "") -> list[Piece]:
        """Return a line in full. The mark follows the clock, which is in the first line of a row."""
        clock = "" if line.place else f"{line.row.at.at_us / 1e6:{_CLOCK - 2}.3f}"
        lanes: list[Piece] = []
        if self._in_lanes:
            lanes = self._across(replace(line.row, groups=(), affected=(), changes={}) if line.place else line.row)
        return [(f"{clock:{_CLOCK - 2}}{mark:2}", DIM), *lanes, *line.words]

    def _row_lines(self, row: Row) -> Iterator[DrawnLine]:
        words = row_words(row, self._groups, self._styles)
        lanes = len(self._nodes) * self._lane
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

    def _across(self, row: Row) -> list[Piece]:
        """Return the lanes of a row: nodes that enter a group show its identifier, joined by a bar."""
        taken = [place for place, node in enumerate(self._nodes) if row.changes.get(node) is not None]
        joined = len(row.groups) == 1 and bool(taken)
        first, last = (taken[0], taken[-1]) if joined else (0, 0)
        style = self._styles.group(self._groups[row.groups[0]].hue) if joined else Style()
        pieces: list[Piece] = []
        for place, node in enumerate(self._nodes):
            text, its = self._cell(row, node)
            left = (self._lane - 1 - cell_len(text)) // 2
            right = self._lane - left - cell_len(text)
            before, behind = first < place <= last, first <= place < last
            bar = self._styles.glyphs.full
            pieces += [((bar if before else " ") * left, style), (text, its)]
            pieces.append(((bar if behind else " ") * right, style))
        return pieces

    def _cell(self, row: Row, node: int) -> Piece:
        styles, lane = self._styles, row.lanes.get(node)
        if node in row.affected:
            return styles.glyph(row.text), styles.status(row.text)
        if lane is None:
            return "", Style()
        group = self._groups[lane.group]
        if row.changes.get(node) is not None:
            return self._group_badge(lane.group, leads=group.coordinator == node)
        return styles.glyphs.whole if node in row.normal else styles.glyphs.broken, styles.group(group.hue)


def row_words(row: Row, groups: Sequence[GroupHistory], styles: ThemeStyles) -> list[Piece]:
    """Return the text about a row, word by word."""
    return [(word, style) for text, style in _row_pieces(row, groups, styles) for word in text.split()]


def _row_pieces(row: Row, groups: Sequence[GroupHistory], styles: ThemeStyles) -> list[Piece]:
    if not row.groups:
        whom = format_ranges(sorted(row.affected))
        style = styles.warning if row.text in ("killed", "failed") else styles.accent
        return [(sanitize(f"{whom} {row.text}".strip(), _LONGEST), style)]
    formed = [groups[number] for number in row.groups]
    if row.late:
        takers = sorted(node for node, lane in row.changes.items() if lane is not None)
        joins = f"{format_ranges(takers)} {'joins' if len(takers) == 1 else 'join'}"
        return [(joins, Style(bold=True)), _group_name(formed[0], styles)]
    origins = sorted({number for each in formed for number in each.of}, key=lambda number: groups[number].group)
    of = [_group_name(groups[number], styles) for number in origins]
    if len(formed[0].members) != 1:
        return _leader_pieces(formed[0], of)
    members = format_ranges(sorted(member for each in formed for member in each.members))
    alone = "alone" if len(formed) == 1 else "each alone"
    if not of:
        starts = "starts" if len(formed) == 1 else "start"
        return [(f"{members} {starts}, {alone}", Style(bold=True))]
    return [(f"{members} {alone},", Style(bold=True)), ("of", DIM), *of]


def _leader_pieces(group: GroupHistory, of: list[Piece]) -> list[Piece]:
    """Return the leader, the members, the origin, and the time until all were Normal."""
    leader = "nobody" if group.coordinator is None else str(group.coordinator)
    if group.defined is None:
        came_to = "is forming it" if group.ended is None else "failed to form it"
        return [(f"{leader} {came_to if group.use == 1 else 'has been in it before'}", DIM)]
    led = sanitize(format_ranges(sorted({*group.members} - {group.coordinator})), _LONGEST) or "nobody"
    *others, (last, style) = of or [("nothing", DIM)]
    if group.all_normal is None:
        became = "not all Normal" if group.ended is not None else "not all Normal yet"
    else:
        became = f"all Normal after {format_us(round(group.all_normal.at_us - group.formed.at_us, -3))}"
    return [(f"{leader} leads {led},", Style(bold=True)), ("of", DIM), *others, (f"{last},", style), (became, DIM)]


def _group_name(group: GroupHistory, styles: ThemeStyles) -> Piece:
    return group.name, styles.group(group.hue)


def wrap_words(words: list[Piece], width: int) -> list[list[Piece]]:
    """Wrap words to lines of ``width`` columns. A longer word gets a line of its own."""
    lines: list[list[Piece]] = [[]]
    left = width
    for text, style in words:
        if lines[-1] and cell_len(text) + 1 > left:
            lines.append([])
            left = width
        if lines[-1]:
            lines[-1].append((" ", Style()))
            left -= 1
        lines[-1].append((text, style))
        left -= cell_len(text)
    return lines
