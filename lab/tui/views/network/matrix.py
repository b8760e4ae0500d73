"""The matrix of links as text: a row for each sender, a column for each receiver.

    from→to    1           ★2          ✖3
               1               ·           ╳ cut
    ▶         ★2   +400ms →1               ╳ cut
       killed ✖3   ╳ cut       ╳ cut

If there is no room for words, a link has only a sign. If there is no room for all nodes, the rows and columns
around the cursor are shown.
"""

from itertools import chain

from rich.cells import cell_len
from rich.style import Style

from lab.analysis.connectivity import Pair
from lab.tui.terminal.fitting import Piece, fit
from lab.tui.terminal.theme_styles import DIM, ThemeStyles
from lab.tui.views.network.link_signs import cell_of
from lab.tui.views.network.links import STOPPED, NetworkNode, NetworkNow

__all__ = ["Matrix"]

_BOLD = Style(bold=True)
_WIDEST = 16
_WORDY = 9
"""The least columns of a link that leave room for the states of processes."""
_LONGEST_PROCESS = 8


class Matrix:
    """The part of the matrix that fits into ``width`` and ``height``. ``cursor`` is the link under the cursor."""

    def __init__(self, now: NetworkNow, theme_styles: ThemeStyles, width: int, height: int, cursor: Pair) -> None:
        self._now = now
        self._theme_styles = theme_styles
        self._ids = list(now.nodes)
        self._cursor = cursor
        self._known: dict[object, list[Piece]] = {}
        count, self._digits = max(1, len(self._ids)), max((len(str(node)) for node in self._ids), default=1)
        self._head = max(self._digits + 5, len("from"))
        wordy = (width - self._head - _LONGEST_PROCESS) // count >= _WORDY
        self._head += _LONGEST_PROCESS if wordy else 0
        self.cell = max(1, min((width - self._head) // count, _WIDEST))
        self._upright = self.cell > self._digits
        self._head_lines = 1 if self._upright else self._digits
        across = max(1, (width - self._head) // self.cell)
        self._columns = self._seen(cursor[1], across)
        self._rows = self._seen(cursor[0], max(1, height - self._head_lines))
        self._tall = 2 if wordy and height >= self._head_lines + 2 * count else 1

    @property
    def width(self) -> int:
        """The width in columns."""
        return self._head + len(self._columns) * self.cell

    @property
    def left_out(self) -> str:
        """The visible rows and columns, if not all are visible."""
        parts = (("rows", self._rows), ("columns", self._columns))
        text = [f"{what} {part[0]}-{part[-1]}" for what, part in parts if len(part) < len(self._ids)]
        return f"{', '.join(text)} of {len(self._ids)} nodes: arrows scroll" if text else ""

    def lines(self, selected: int | None, has_focus: bool) -> list[list[Piece]]:
        """Return all lines, beginning with the head."""
        heads = [self._column_heads(line) for line in range(self._head_lines)]
        rows = [[self._row(node, selected, has_focus), *([] for _ in range(1, self._tall))] for node in self._rows]
        return [*heads, *chain.from_iterable(rows)]

    def link_at(self, x: int, y: int) -> Pair | None:
        """Return the link drawn at a cell."""
        row, column = (y - self._head_lines) // self._tall, (x - self._head) // self.cell
        if 0 <= row < len(self._rows) and 0 <= column < len(self._columns):
            return self._rows[row], self._columns[column]
        return None

    def _seen(self, here: int, room: int) -> list[int]:
        """Return as many nodes around this one as fit."""
        place = self._ids.index(here) if here in self._ids else 0
        first = max(0, min(place - room // 2, len(self._ids) - room))
        return self._ids[first : first + room]

    def _column_heads(self, line: int) -> list[Piece]:
        corner = f"from{self._theme_styles.glyphs.arrow}to" if self._head >= len("from→to ") else "from"
        pieces: list[Piece] = [(f"{corner if line == self._head_lines - 1 else '':{self._head}}", DIM)]
        for node in self._columns:
            member = self._now.nodes[node]
            text = str(node) if self._upright else f"{node:>{self._digits}}"[line]
            style = self._style(member) + (Style(underline=True) if node == self._cursor[1] else Style())
            sign = self._sign(member).strip() if self.cell > self._digits + 2 else ""
            pieces += fit([(sign, self._theme_styles.leader if member.leads else style), (text, style)], self.cell)
        return pieces

    def _row(self, node: int, selected: int | None, has_focus: bool) -> list[Piece]:
        theme_styles, member = self._theme_styles, self._now.nodes[node]
        process = "" if member.process == "running" else member.process
        label = "not up" if process == "absent" else process  # *not started* is too long for the column
        word = f"{label:{_LONGEST_PROCESS}}" if self._head > self._digits + _LONGEST_PROCESS else ""
        style = self._style(member) + (Style(underline=True) if node == self._cursor[0] else Style())
        pieces: list[Piece] = [
            (f"{theme_styles.glyphs.play if node == selected else ' '} ", theme_styles.accent),
            (word, theme_styles.status(process)),
            (self._sign(member), theme_styles.status(process) if process else theme_styles.leader),
            (f"{node:>{self._digits}}", style),
        ]
        pieces = fit(pieces, self._head)
        for target in self._columns:
            pieces += self._cell((node, target), has_focus)
        return pieces

    def _cell(self, link: Pair, has_focus: bool) -> list[Piece]:
        gap = self.cell > 1
        room = self.cell - gap
        shown = self._cell_pieces(link, room)
        if any(self._now.nodes[node].process in STOPPED for node in link) and link not in self._now.in_flight:
            shown = [(text if link in self._now.effects else " " * cell_len(text), DIM) for text, _ in shown]
        if link[0] == link[1]:
            shown = fit([("\\" if self.cell < _WORDY else "", DIM)], room)
        if link == self._cursor:
            badge = self._theme_styles.accent + (Style(reverse=True) if has_focus else Style(underline=True))
            shown = [(text, badge) for text, _ in shown]
        return [*shown, (" " * gap, Style())]

    def _cell_pieces(self, link: Pair, room: int) -> list[Piece]:
        """Most links are like others: what is said of them is made once."""
        effects, in_flight = self._now.effects.get(link, ()), self._now.in_flight.get(link, ())
        key = tuple(each.fault.id for each in effects), tuple((each.held, each.copies) for each in in_flight)
        if key not in self._known:
            self._known[key] = fit(cell_of(effects, in_flight, self._theme_styles, room), room)
        return self._known[key]

    def _sign(self, member: NetworkNode) -> str:
        """Return the sign of its process, or of a leader."""
        if member.process != "running":
            return self._theme_styles.glyph(member.process)
        return self._theme_styles.glyphs.leads if member.leads else " "

    def _style(self, member: NetworkNode) -> Style:
        return _BOLD if member.process == "running" else self._theme_styles.status(member.process)
