"""The space-time diagram as plain text: a column for each node, a row for each event; time runs down."""

from typing import TextIO

from lab.analysis.spacetime import MessageEdge, StatusInterval
from lab.export.annotations import describe_delivery, describe_excerpt, describe_status, printable, status_label
from lab.export.excerpt import Excerpt
from lab.export.rows import Row, initial_intervals, is_slow, rows_of
from lab.glyphs import ASCII, UNICODE
from lab.units import format_ranges

__all__ = ["write_text"]

_COLUMN = 8
_FINE = {"up": "│", "paused": "╎", "way": "─", "past": "┼", "right": "▶", "left": "◀", "lost": "×", "off": "○"}
_PLAIN = {"up": "|", "paused": ":", "way": "-", "past": "+", "right": ">", "left": "<", "lost": "x", "off": "o"}
_ALIKE = str.maketrans(
    {"→": "->", "↩": "<-", "·": "-", "×": "x", "★": "^", "…": "...", "−": "-", "µ": "u", "±": "+-"}
)
_SIGNS = {"met": "ok", "unmet": "NOT MET", "fault": "!", "mark": "mark"}


def write_text(excerpt: Excerpt, out: TextIO) -> None:
    """Write the diagram; in ASCII only, if the options say so."""
    drawing = _Drawing(excerpt)
    for line in drawing.lines():
        shown = line.rstrip()
        if excerpt.options.ascii:
            shown = shown.translate(_ALIKE).encode("ascii", "backslashreplace").decode()
        out.write(f"{shown}\n")


class _Drawing:
    def __init__(self, excerpt: Excerpt) -> None:
        self._excerpt = excerpt
        self._glyphs = ASCII if excerpt.options.ascii else UNICODE
        self._marks = _PLAIN if excerpt.options.ascii else _FINE
        self._place = {node: _COLUMN * (n + 1) - 2 for n, node in enumerate(excerpt.nodes)}
        self._intervals = {interval.node: interval for interval in initial_intervals(excerpt)}

    def lines(self) -> list[str]:
        """Return all lines, beginning with the head."""
        header = self._excerpt.header
        rows = rows_of(self._excerpt)
        shown = dict.fromkeys(interval.shown for interval in self._excerpt.status_intervals)
        signs = [f"{self._glyphs.status.get(each, self._glyphs.dot)} {status_label(each)}" for each in shown]
        lines = [
            printable(header.protocol.title, 60),
            describe_excerpt(self._excerpt),
            "  ".join([*signs, f"{self._marks['lost']} lost"]),
            "",
            f"{'seconds':>10} {self._names()}",
            self._line(self._excerpt.from_us, self._columns(glyphs=True), self._initial_text()),
        ]
        return [*lines, *map(self._row, rows)]

    def _names(self) -> str:
        row = [" "] * (_COLUMN * (len(self._place) + 1))
        for node, place in self._place.items():
            name = str(node)
            row[place : place + len(name)] = name
        return "".join(row).rstrip()

    def _initial_text(self) -> str:
        """Describe the status of all nodes at the beginning of the window."""
        nodes: dict[str, list[int]] = {}
        for node, interval in sorted(self._intervals.items()):
            nodes.setdefault(describe_status(interval), []).append(node)
        return "; ".join(f"{format_ranges(who)}: {how}" for how, who in nodes.items())

    def _row(self, row: Row) -> str:
        what = row.what
        if isinstance(what, StatusInterval):
            self._intervals[what.node] = what
            columns = self._columns()
            columns[self._place[what.node]] = self._glyphs.status.get(what.shown, self._glyphs.dot)
            return self._line(row.at_us, columns, f"{what.node}: {describe_status(what)}")
        if isinstance(what, MessageEdge):
            return self._line(row.at_us, self._draw_edge(what, row.ends), self._describe(what, row.ends))
        sign = f"{_SIGNS[what.kind]}: " if what.kind in _SIGNS else ""
        return self._line(row.at_us, self._columns(), f"{sign}{printable(what.text, 300)}")

    def _line(self, at_us: int, columns: list[str], text: str) -> str:
        return f"{at_us / 1e6:10.6f} {''.join(columns)} {text}"

    def _columns(self, glyphs: bool = False) -> list[str]:
        """Return the lanes; with ``glyphs``, the symbols of the statuses."""
        row = [" "] * (_COLUMN * len(self._place) + 1)
        for node, place in self._place.items():
            shown = self._intervals[node].shown if node in self._intervals else "absent"
            if glyphs:
                row[place] = self._glyphs.status.get(shown, self._glyphs.dot)
            elif shown not in ("absent", "killed", "failed"):
                row[place] = self._marks["paused" if shown == "paused" else "up"]
        return row

    def _draw_edge(self, edge: MessageEdge, ends: bool) -> list[str]:
        """Return the lanes with the arrow drawn across them.

        If it does not arrive in this row, only the half at its sender is drawn, or the half at its receiver.
        """
        row, marks = self._columns(), self._marks
        assert edge.line.source is not None
        assert edge.line.target is not None
        start, stop = self._place[edge.line.source], self._place[edge.line.target]
        forward = 1 if stop >= start else -1
        slow = is_slow(edge, self._excerpt)
        tip = stop - forward
        if not ends and (slow or edge.end is None):
            tip = start + forward * (abs(stop - start) // 2)
        if ends and slow:
            start = stop - forward * (abs(stop - start) // 2)
        for place in range(start + forward, tip, forward):
            row[place] = marks["way"] if row[place] == " " else marks["past"]
        row[start] = row[start] if row[start] != " " else marks["off"]
        if tip == stop - forward and (ends or not slow):
            head = marks["right" if forward > 0 else "left"]
            row[tip] = head if edge.arrived else marks["lost"]
        else:
            row[tip] = marks["off"]
        return row

    def _describe(self, edge: MessageEdge, ends: bool) -> str:
        line = edge.line
        payload = "" if ends or line.text in ("", "{}") else f"  {printable(line.text, 60)}"
        return f"{line.source} → {line.target} {printable(line.kind, 40)}  {describe_delivery(edge)}{payload}"
