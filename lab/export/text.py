"""The space-time diagram as plain text: a column for each node, a row for each thing that happens, time down."""

from typing import TextIO

from lab.analysis.spacetime import MessageEdge, StatusInterval
from lab.export.excerpt import Excerpt
from lab.export.rows import Row, is_slow, rows_of, standing_at_first
from lab.export.words import fate_said, head_said, safe, stands
from lab.glyphs import ASCII, UNICODE
from lab.units import listed

__all__ = ["write_text"]

_COLUMN = 8
_FINE = {"up": "│", "paused": "╎", "way": "─", "past": "┼", "right": "▶", "left": "◀", "lost": "×", "off": "○"}
_PLAIN = {"up": "|", "paused": ":", "way": "-", "past": "+", "right": ">", "left": "<", "lost": "x", "off": "o"}
_ALIKE = str.maketrans(
    {"→": "->", "↩": "<-", "·": "-", "×": "x", "★": "^", "…": "...", "−": "-", "µ": "u", "±": "+-"}
)
_SIGNS = {"met": "ok", "unmet": "NOT MET", "fault": "!", "mark": "mark"}


def write_text(excerpt: Excerpt, out: TextIO) -> None:
    """In ASCII alone, if it is wanted so."""
    drawing = _Drawing(excerpt)
    for line in drawing.lines():
        shown = line.rstrip()
        if excerpt.wanted.ascii:
            shown = shown.translate(_ALIKE).encode("ascii", "backslashreplace").decode()
        out.write(f"{shown}\n")


class _Drawing:
    def __init__(self, excerpt: Excerpt) -> None:
        self._excerpt = excerpt
        self._glyphs = ASCII if excerpt.wanted.ascii else UNICODE
        self._marks = _PLAIN if excerpt.wanted.ascii else _FINE
        self._place = {node: _COLUMN * (n + 1) - 2 for n, node in enumerate(excerpt.nodes)}
        self._stands = {stretch.node: stretch for stretch in standing_at_first(excerpt)}

    def lines(self) -> list[str]:
        """All of them, the head first."""
        header = self._excerpt.header
        rows = rows_of(self._excerpt)
        shown = dict.fromkeys(stretch.shown for stretch in self._excerpt.stretches)
        signs = [f"{self._glyphs.status.get(each, self._glyphs.dot)} {safe(each, 30)}" for each in shown]
        lines = [
            safe(header.protocol.title, 60),
            head_said(self._excerpt),
            "  ".join([*signs, f"{self._marks['lost']} lost on its way"]),
            "",
            f"{'seconds':>10} {self._names()}",
            self._line(self._excerpt.from_us, self._columns(glyphs=True), self._standing()),
        ]
        return [*lines, *map(self._row, rows)]

    def _names(self) -> str:
        row = [" "] * (_COLUMN * (len(self._place) + 1))
        for node, place in self._place.items():
            name = str(node)
            row[place : place + len(name)] = name
        return "".join(row).rstrip()

    def _standing(self) -> str:
        """How all nodes stand as the window begins."""
        nodes: dict[str, list[int]] = {}
        for node, stretch in sorted(self._stands.items()):
            nodes.setdefault(stands(stretch), []).append(node)
        return "; ".join(f"{listed(who)}: {how}" for how, who in nodes.items())

    def _row(self, row: Row) -> str:
        what = row.what
        if isinstance(what, StatusInterval):
            self._stands[what.node] = what
            columns = self._columns()
            columns[self._place[what.node]] = self._glyphs.status.get(what.shown, self._glyphs.dot)
            return self._line(row.at_us, columns, f"{what.node}: {stands(what)}")
        if isinstance(what, MessageEdge):
            return self._line(row.at_us, self._drawn(what, row.ends), self._said(what, row.ends))
        sign = f"{_SIGNS[what.kind]}: " if what.kind in _SIGNS else ""
        return self._line(row.at_us, self._columns(), f"{sign}{safe(what.text, 300)}")

    def _line(self, at_us: int, columns: list[str], said: str) -> str:
        return f"{at_us / 1e6:10.6f} {''.join(columns)} {said}"

    def _columns(self, glyphs: bool = False) -> list[str]:
        """The lanes as they stand; with the ``glyphs`` of how they do."""
        row = [" "] * (_COLUMN * len(self._place) + 1)
        for node, place in self._place.items():
            shown = self._stands[node].shown if node in self._stands else "absent"
            if glyphs:
                row[place] = self._glyphs.status.get(shown, self._glyphs.dot)
            elif shown not in ("absent", "killed", "failed"):
                row[place] = self._marks["paused" if shown == "paused" else "up"]
        return row

    def _drawn(self, arrow: MessageEdge, ends: bool) -> list[str]:
        """The lanes with the arrow across them: all of it, but only to the middle where it does not end there."""
        row, marks = self._columns(), self._marks
        assert arrow.line.source is not None
        assert arrow.line.target is not None
        start, stop = self._place[arrow.line.source], self._place[arrow.line.target]
        forward = 1 if stop >= start else -1
        slow = is_slow(arrow, self._excerpt)
        tip = stop - forward
        if not ends and (slow or arrow.end is None):
            tip = start + forward * (abs(stop - start) // 2)
        if ends and slow:
            start = stop - forward * (abs(stop - start) // 2)
        for place in range(start + forward, tip, forward):
            row[place] = marks["way"] if row[place] == " " else marks["past"]
        row[start] = row[start] if row[start] != " " else marks["off"]
        if tip == stop - forward and (ends or not slow):
            head = marks["right" if forward > 0 else "left"]
            row[tip] = head if arrow.arrived else marks["lost"]
        else:
            row[tip] = marks["off"]
        return row

    def _said(self, arrow: MessageEdge, ends: bool) -> str:
        line = arrow.line
        text = "" if line.text in ("", "{}") else f"  {safe(line.text, 60)}"
        said = f"{line.source} → {line.target} {safe(line.kind, 40)}"
        return f"{said}  {fate_said(arrow)}{'' if ends else text}"
