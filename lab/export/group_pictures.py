"""The history of groups as pictures: lanes as in the terminal, in SVG; and a graph, in Graphviz's language.

The graph has an arrow from each group to the groups formed from it.
"""

import textwrap
from collections.abc import Sequence
from itertools import islice
from typing import TextIO

import drawsvg

from lab.analysis.group_history import GroupHistory, GroupLog
from lab.export.excerpt import Excerpt, ExportError
from lab.export.figure_options import FONT
from lab.export.group_layout import GroupLayout, GroupRow, Word
from lab.export.svg_shapes import FAINT, INK, PAPER, text
from lab.glyphs import UNICODE
from lab.palette import Palette
from lab.recording.records import Header
from lab.text import sanitize
from lab.units import CountText, format_ranges

# SVG

_LEFT, _TOP, _LANE, _TEXT, _MARGIN = 100, 106, 76, 400, 24
_ROW, _NARROW, _LINE = 52, 34, 18
_LETTERS = 54
"""Characters per line of text."""


def group_picture(header: Header, log: GroupLog) -> str:
    """Return the text of an SVG file with a white background."""
    layout = GroupLayout(log.groups, log.cluster_events, header.nodes, header.timing.t_us)
    return str(_Picture(layout, f"{sanitize(header.protocol.name, 60)}: the history of groups").drawn().as_svg())


class _Picture:
    def __init__(self, layout: GroupLayout, title: str) -> None:
        self._layout = layout
        self._title = title
        self._palette = Palette(dark=False)
        self._x = {node: _LEFT + _LANE * place + _LANE // 2 for place, node in enumerate(layout.nodes)}
        self._texts = [_wrapped(layout.words(row)) for row in layout.rows]
        self._y = [_TOP]
        for row, lines in zip(layout.rows, self._texts, strict=True):
            self._y.append(self._y[-1] + max(_ROW if row.groups else _NARROW, _LINE * len(lines) + 16))
        width = _LEFT + _LANE * len(layout.nodes) + _TEXT + _MARGIN
        self._drawing = drawsvg.Drawing(width, self._y[-1] + _MARGIN, font_family=FONT)

    def drawn(self) -> drawsvg.Drawing:
        """Draw the bars first, so that lanes which a bar only crosses lie on top of it."""
        put, rows = self._drawing.append, self._layout.rows
        put(drawsvg.Rectangle(0, 0, self._drawing.width, self._drawing.height, fill=PAPER))
        put(text(self._title, 18, (_MARGIN, 34), INK, font_weight="bold"))
        signs = f"{UNICODE.leads} coordinator; a lane is broken where its node is not Normal"
        put(text(signs, 12, (_MARGIN, 54), FAINT))
        put(text("seconds", 13, (_LEFT - 12, _TOP - 26), FAINT, text_anchor="end"))
        for node, x in self._x.items():
            put(text(f"node {node}", 13, (x, _TOP - 26), INK, text_anchor="middle"))
        for row, y in zip(rows, self._y, strict=False):
            if joined := self._layout.joined(row):
                self._line(self._x[joined[0]], y, self._x[joined[-1]], y, self._colour(row.groups[0]), 10)
        for place, row in enumerate(rows):
            for node, lane in row.lanes.items():
                x, dashes = self._x[node], "none" if node in row.normal else "3 6"
                self._line(x, self._y[place], x, self._y[place + 1], self._colour(lane.group), 8, dashes)
        for row, lines, y in zip(rows, self._texts, self._y, strict=False):
            self._row(row, y)
            for place, words in enumerate(lines):
                self._words(words, y + 5 + _LINE * place)
        return self._drawing

    def _row(self, row: GroupRow, y: int) -> None:
        put = self._drawing.append
        put(text(f"{row.at.at_us / 1e6:.3f}", 13, (_LEFT - 12, y + 5), FAINT, text_anchor="end"))
        for node, lane in row.changes.items():
            if lane is not None:
                self._badge(node, lane.group, y)
        for node in row.affected:
            if node in self._x:
                glyph, colour = UNICODE.status.get(row.text, UNICODE.dot), self._palette.named("vermilion")
                put(text(glyph, 20, (self._x[node], y + 7), colour, text_anchor="middle"))

    def _badge(self, node: int, number: int, y: int) -> None:
        group, x, width = self._layout.groups[number], self._x[node], _LANE - 16
        self._drawing.append(drawsvg.Rectangle(x - width // 2, y - 13, width, 26, rx=8, fill=self._colour(number)))
        star = f"{UNICODE.leads} " if group.coordinator == node else ""
        self._drawing.append(
            text(star + group.name, 14, (x, y + 5), PAPER, font_weight="bold", text_anchor="middle")
        )

    def _words(self, words: Sequence[Word], y: int) -> None:
        line = text("", 14, (_LEFT + _LANE * len(self._x) + 12, y), INK)
        for place, (word, role) in enumerate(words):
            if place:
                line.append(drawsvg.TSpan(" ", fill=INK, font_weight="normal", xml__space="preserve"))
            weight = "bold" if role in ("bold", "accent", "warning") else "normal"
            line.append(drawsvg.TSpan(word, fill=self._role(role), font_weight=weight, xml__space="preserve"))
        self._drawing.append(line)

    def _role(self, role: str | int) -> str:
        """Return the colour of a word."""
        if isinstance(role, int):
            return self._palette.group(role)
        names = {"accent": "sky", "warning": "vermilion"}
        return self._palette.named(names[role]) if role in names else FAINT if role == "dim" else INK

    def _line(self, x: int, y: int, to_x: int, to_y: int, colour: str, width: int, dashes: str = "none") -> None:
        shape = drawsvg.Line(x, y, to_x, to_y, stroke=colour, stroke_width=width, stroke_dasharray=dashes)
        self._drawing.append(shape)

    def _colour(self, number: int) -> str:
        return self._palette.group(self._layout.groups[number].hue)


def _wrapped(words: Sequence[Word]) -> list[list[Word]]:
    """Return the words line by line. A longer word gets a line of its own."""
    sentence = " ".join(word for word, _ in words)
    lines = textwrap.wrap(sentence, _LETTERS, break_long_words=False, break_on_hyphens=False)
    rest = iter(words)
    return [list(islice(rest, len(line.split()))) for line in lines] or [[]]


# Graphviz


def write_dot(excerpt: Excerpt, out: TextIO) -> None:
    """Write the groups that existed in the window and had one of the nodes. Raises ExportError without any."""
    log = GroupLog()
    for number, record in enumerate(excerpt.store.records(0, excerpt.last + 1)):
        log.observe(record)
        excerpt.progress(CountText(number, excerpt.last + 1, "record", "read"))
    groups = [group for group in log.groups if _is_in(group, excerpt)]
    if not groups:
        raise ExportError(
            f"this run of {sanitize(excerpt.header.protocol.name, 40)} has no groups; record a protocol that "
            "forms groups: lab run invitation --record run.jsonl"
        )
    out.write(_graph(excerpt.header, groups))


def _is_in(group: GroupHistory, excerpt: Excerpt) -> bool:
    over = group.ended is not None and group.ended.record < excerpt.first
    return not over and any(stay.node in excerpt.nodes for stay in group.memberships)


def format_graph(header: Header, log: GroupLog) -> str:
    """Return the text of a DOT file, with everything escaped that Graphviz would interpret."""
    return _graph(header, log.groups)


def _graph(header: Header, groups: Sequence[GroupHistory]) -> str:
    palette = Palette(dark=True)  # bright colours, as the text is black
    shown = {group.number for group in groups}
    lines = [
        "digraph groups {",
        f"  label={_quoted(f'{sanitize(header.protocol.name, 60)}: the history of groups')};",
        '  labelloc=t; fontname="Helvetica";',
        '  node [shape=box, style="rounded,filled", fontname="Helvetica"];',
    ]
    for group in groups:
        fill = palette.group(group.hue)
        lines.append(f"  g{group.number} [label={_quoted(_group_label(group))}, fillcolor={_quoted(fill)}];")
    for group in groups:
        lines += [f"  g{of} -> g{group.number};" for of in group.of if of in shown]
    return "\n".join([*lines, "}", ""])


def _group_label(group: GroupHistory) -> str:
    led = "never complete"
    if group.defined:
        followers = format_ranges(sorted({*group.members} - {group.coordinator}))
        led = f"{group.coordinator} leads {followers or 'nobody'}"
    ended = "" if group.ended is None else f" to {group.ended.at_us / 1e6:.3f} s"
    return f"{group.name}\n{led}\n{group.formed.at_us / 1e6:.3f} s{ended}"


def _quoted(label: str) -> str:
    escaped = label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
