"""The space-time diagram as text with a line for each event: as plain text, and in Mermaid's language."""

import re
from collections.abc import Iterator
from typing import TextIO

from msgspec import Struct

from lab.analysis.spacetime import MessageEdge, StatusInterval
from lab.export.annotations import (
    Annotation,
    annotations_in,
    describe_delivery,
    describe_excerpt,
    describe_status,
    printable,
    status_label,
)
from lab.export.excerpt import Excerpt
from lab.glyphs import ASCII, UNICODE
from lab.units import format_ranges

_RANKS: tuple[type, ...] = (StatusInterval, Annotation, MessageEdge)


class DiagramRow(Struct, frozen=True):
    """A status change, the sending of a message (or its end, with ``ends``), or an annotation."""

    record: int
    at_us: int
    what: StatusInterval | MessageEdge | Annotation
    ends: bool = False


def rows_of(excerpt: Excerpt) -> list[DiagramRow]:
    """Return the rows in order of time. A message that takes longer than Tm has another row for its end."""
    rows = [DiagramRow(remark.record, remark.at_us, remark) for remark in annotations_in(excerpt)]
    shown = {interval.node: describe_status(interval) for interval in initial_intervals(excerpt)}
    for interval in excerpt.status_intervals:
        if interval.since.record >= excerpt.first and describe_status(interval) != shown.get(interval.node):
            shown[interval.node] = describe_status(interval)
            rows.append(DiagramRow(interval.since.record, interval.since.at_us, interval))
    for edge in excerpt.messages:
        is_sent_here = edge.line.record >= excerpt.first
        if is_sent_here:
            rows.append(DiagramRow(edge.line.record, edge.line.at_us, edge))
        end = edge.end
        if end is not None and end.record <= excerpt.last and (not is_sent_here or is_slow(edge, excerpt)):
            rows.append(DiagramRow(end.record, end.at_us, edge, ends=True))
    # live steps are recorded slightly after they are taken
    return sorted(rows, key=lambda row: (row.at_us, row.record, _RANKS.index(type(row.what)), not row.ends))


def is_slow(edge: MessageEdge, excerpt: Excerpt) -> bool:
    """Return whether the message was in flight for longer than Tm."""
    return edge.end is not None and edge.end.at_us - edge.line.at_us > excerpt.header.timing.tm_us


def initial_intervals(excerpt: Excerpt) -> list[StatusInterval]:
    """Return the status intervals at the beginning of the window."""
    return [interval for interval in excerpt.status_intervals if interval.since.record < max(excerpt.first, 1)]


# Mermaid

MOST_ARROWS = 200
"""Mermaid's own limits are 500 edges and 50,000 characters."""
_SPECIAL = re.compile(r"[^\w .,:()=+/|'→★·-]")
_KEYWORD = re.compile(r"\bend\b", re.IGNORECASE)


def write_mermaid(excerpt: Excerpt, out: TextIO) -> None:
    """Write the sequence diagram. Raises ExportError if the excerpt is too large."""
    excerpt.need_at_most(MOST_ARROWS, "a sequence diagram")
    out.write("sequenceDiagram\n")
    out.write(f"  accTitle: {_plain(excerpt.header.title)}\n  accDescr: {_plain(describe_excerpt(excerpt))}\n")
    for node in excerpt.nodes:
        out.write(f"  participant n{node} as node {node}\n")
    for line in _lines(excerpt):
        out.write(f"  {line}\n")


def _lines(excerpt: Excerpt) -> Iterator[str]:
    for interval in initial_intervals(excerpt):
        if interval.shown != "absent":
            yield f"Note over n{interval.node}: {_plain(describe_status(interval))}"
    for row in rows_of(excerpt):
        if not (row.ends and isinstance(row.what, MessageEdge) and row.what.line.record >= excerpt.first):
            yield _line(row, excerpt)


def _line(row: DiagramRow, excerpt: Excerpt) -> str:
    what = row.what
    if isinstance(what, StatusInterval):
        return f"Note over n{what.node}: {_plain(describe_status(what))}"
    if isinstance(what, MessageEdge):
        return _arrow(what, excerpt)
    ends = dict.fromkeys((excerpt.nodes[0], excerpt.nodes[-1]))
    return f"Note over {','.join(f'n{node}' for node in ends)}: {row.at_us / 1e6:.3f} s {_plain(what.text)}"


def _arrow(edge: MessageEdge, excerpt: Excerpt) -> str:
    line = edge.line
    is_answer = line.kind.endswith("Answer")
    is_gone = edge.end is not None and not edge.arrived
    way = ("--" if is_answer else "-") + ("x" if is_gone else ">>" if edge.end is not None else ")")
    label = f"{line.at_us / 1e6:.3f} s {line.kind}"
    if edge.fate != "delivered" or is_slow(edge, excerpt):
        label += f" ({describe_delivery(edge)})"
    return f"n{line.source}{way}n{line.target}: {_plain(label)}"


def _plain(text: str) -> str:
    """Escape the text for Mermaid: special characters as numbers, and the keyword ``end`` broken up."""
    escaped = _SPECIAL.sub(lambda hit: f"#{ord(hit.group())};", printable(text, 160))
    return _KEYWORD.sub(lambda hit: f"{hit.group()[0]}#{ord(hit.group()[1])};{hit.group()[2]}", escaped)


# plain text: a column for each node, a row for each event; time runs down

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
        header = self._excerpt.header
        rows = rows_of(self._excerpt)
        shown = dict.fromkeys(interval.shown for interval in self._excerpt.status_intervals)
        signs = [f"{self._glyphs.status.get(each, self._glyphs.dot)} {status_label(each)}" for each in shown]
        lines = [
            printable(header.title, 60),
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
            name = self._excerpt.header.names.get(node, str(node))
            row[place : place + len(name)] = name
        return "".join(row).rstrip()

    def _initial_text(self) -> str:
        """Describe the status of all nodes at the beginning of the window."""
        nodes: dict[str, list[int]] = {}
        for node, interval in sorted(self._intervals.items()):
            nodes.setdefault(describe_status(interval), []).append(node)
        return "; ".join(f"{format_ranges(who)}: {how}" for how, who in nodes.items())

    def _row(self, row: DiagramRow) -> str:
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
        start, stop = (self._place[node] for node in edge.ends)
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
