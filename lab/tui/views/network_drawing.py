"""The network as text: the matrix of links, and the sides, which are boxes of nodes that can communicate.

The matrix has a row for each sender, a column for each receiver:

    from→to    1           ★2          ✖3
               1               ·           ╳ cut
    ▶         ★2   +400ms →1               ╳ cut
       killed ✖3   ╳ cut       ╳ cut

If there is no room for words, a link has only a sign. If there is no room for all nodes, the rows and columns
around the cursor are shown.

Between the boxes stands what passes between the sides. If there is no room for boxes, the same as text:

    ╭─ fully connected ───╮
    │ 1 ★2                │
    ╰─────────────────────╯
          ╳ cut both ways
    ╭─ fully connected ───╮
    │ 3 4 ★5              │
    │ +400ms  3→4         │
    ╰─────────────────────╯
      ✖ 6 killed
"""

from collections.abc import Iterator, Sequence
from itertools import chain, combinations, pairwise

from rich.cells import cell_len
from rich.style import Style

from lab.styles import DIM, Line, Piece, ThemeStyles, fit, width_of, wrap_words
from lab.tui.views.network_state import (
    FAULT_LABELS,
    OUTCOMES,
    NetworkNode,
    NetworkNow,
    Pair,
    cell_of,
    label_of,
    style_of,
)
from lab.tui.widgets.pane import STOPPED, process_text
from lab.units import format_count, format_ranges

_BOLD = Style(bold=True)
_WIDEST = 16
_WORDY = 9
"""The least columns of a link that leave room for the states of processes."""
_LONGEST_PROCESS = 8


class Matrix:
    """The part of the matrix that fits into ``width`` and ``height``. ``cursor`` is the link under the cursor."""

    def __init__(self, now: NetworkNow, styles: ThemeStyles, width: int, height: int, cursor: Pair) -> None:
        self._now = now
        self._styles = styles
        self._ids = list(now.nodes)
        self._cursor = cursor
        self._known: dict[object, Line] = {}
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
    def left_out(self) -> str:
        """The visible rows and columns, if not all are visible."""
        parts = (("rows", self._rows), ("columns", self._columns))
        text = [f"{what} {part[0]}-{part[-1]}" for what, part in parts if len(part) < len(self._ids)]
        return f"{', '.join(text)} of {len(self._ids)} nodes: arrows scroll" if text else ""

    def lines(self, selected: int | None, has_focus: bool) -> list[Line]:
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

    def _column_heads(self, line: int) -> Line:
        corner = f"from{self._styles.glyphs.arrow}to" if self._head >= len("from→to ") else "from"
        pieces: Line = [(f"{corner if line == self._head_lines - 1 else '':{self._head}}", DIM)]
        for node in self._columns:
            member = self._now.nodes[node]
            text = str(node) if self._upright else f"{node:>{self._digits}}"[line]
            style = self._style(member) + (Style(underline=True) if node == self._cursor[1] else Style())
            sign = self._sign(member).strip() if self.cell > self._digits + 2 else ""
            pieces += fit([(sign, self._styles.leader if member.leads else style), (text, style)], self.cell)
        return pieces

    def _row(self, node: int, selected: int | None, has_focus: bool) -> Line:
        styles, member = self._styles, self._now.nodes[node]
        process = "" if member.process == "running" else member.process
        label = "not up" if process == "absent" else process  # *not started* is too long for the column
        word = f"{label:{_LONGEST_PROCESS}}" if self._head > self._digits + _LONGEST_PROCESS else ""
        style = self._style(member) + (Style(underline=True) if node == self._cursor[0] else Style())
        pieces: Line = [
            (f"{styles.glyphs.play if node == selected else ' '} ", styles.accent),
            (word, styles.status(process)),
            (self._sign(member), styles.status(process) if process else styles.leader),
            (f"{node:>{self._digits}}", style),
        ]
        pieces = fit(pieces, self._head)
        for target in self._columns:
            pieces += self._cell((node, target), has_focus)
        return pieces

    def _cell(self, link: Pair, has_focus: bool) -> Line:
        gap = self.cell > 1
        room = self.cell - gap
        shown = self._cell_pieces(link, room)
        if any(self._now.nodes[node].process in STOPPED for node in link) and link not in self._now.in_flight:
            shown = [(text if link in self._now.effects else " " * cell_len(text), DIM) for text, _ in shown]
        if link[0] == link[1]:
            shown = fit([("\\" if self.cell < _WORDY else "", DIM)], room)
        if link == self._cursor:
            badge = self._styles.accent + (Style(reverse=True) if has_focus else Style(underline=True))
            shown = [(text, badge) for text, _ in shown]
        return [*shown, (" " * gap, Style())]

    def _cell_pieces(self, link: Pair, room: int) -> Line:
        """Most links are like others: what is said of them is made once."""
        effects, in_flight = self._now.effects.get(link, ()), self._now.in_flight.get(link, ())
        key = tuple(each.fault.id for each in effects), tuple((each.held, each.copies) for each in in_flight)
        if key not in self._known:
            self._known[key] = fit(cell_of(effects, in_flight, self._styles, room), room)
        return self._known[key]

    def _sign(self, member: NetworkNode) -> str:
        """Return the sign of its process, or of a leader."""
        if member.process != "running":
            return self._styles.glyph(member.process)
        return self._styles.glyphs.leads if member.leads else " "

    def _style(self, member: NetworkNode) -> Style:
        return _BOLD if member.process == "running" else self._styles.status(member.process)


# the sides

_MOST_BUNDLES = 3
_MOST_NOTES = 4
_MOST_SINGLY = 12
"""The most nodes of a side that are listed one by one."""
_IN = 6
"""The indentation of the text between two boxes."""
Side = tuple[int, ...]


class Sides:
    """The sides of a network, drawn for a width."""

    def __init__(self, now: NetworkNow, styles: ThemeStyles, width: int) -> None:
        self._now = now
        self._styles = styles
        self._width = width
        self._sides = now.connections.components
        pairs = [now.connections.open_links(*two) for two in combinations(self._sides, 2)]
        self._nothing_passes = not any(pairs)

    def boxes(self, height: int) -> list[Line]:
        """Return boxes below each other, or text if they would be higher than ``height``."""
        inside = [self._inside(side) for side in self._sides]
        widths = [width_of(line) for lines in inside for line in lines]
        widths += [cell_len(self._title(side)) + 2 for side in self._sides]
        width = min(self._width, max(widths, default=0) + 4)
        lines: list[Line] = []
        for place, side in enumerate(self._sides):
            if place:
                lines.append([(" " * _IN, Style()), self._between(self._sides[place - 1], side)])
            lines += self._box(side, inside[place], width)
        lines += [[("  ", Style()), phrase] for phrase in (*self._other_pairs(), *self._stopped_pieces())]
        return lines if len(lines) <= height else self.words(height)

    def words(self, height: int) -> list[Line]:
        """Return the sides as at most ``height`` lines of text."""
        words: Line = []
        for place, side in enumerate(self._sides):
            if place and (len(self._sides) == 2 or not self._nothing_passes):
                words += _words(self._between(self._sides[place - 1], side))
            words += [("[", DIM), *(word for row in self._members(side) for word in row), ("]", DIM)]
        if len(self._sides) == 1:
            words += _words((self._title(self._sides[0]), DIM))
        for phrase in (*self._other_pairs(), *self._stopped_pieces()):
            words += _words(phrase)
        return wrap_words(words, self._width)[:height]

    # a box

    def _box(self, side: Side, inside: list[Line], width: int) -> Iterator[Line]:
        top_left, across, top_right, upright, bottom_left, bottom_right = tuple(self._styles.glyphs.box)
        frame = self._styles.status("Normal")
        title = f"{across} {self._title(side)} "
        yield [(f"{top_left}{title}{across * (width - 2 - cell_len(title))}{top_right}", frame)]
        for line in inside:
            yield [(f"{upright} ", frame), *fit(line, width - 4), (f" {upright}", frame)]
        yield [(f"{bottom_left}{across * (width - 2)}{bottom_right}", frame)]

    def _title(self, side: Side) -> str:
        if len(side) == 1:
            return "alone"
        return "connected" if self._now.connections.closed_within(side) else "fully connected"

    def _inside(self, side: Side) -> list[Line]:
        room = self._width - 4
        lines = [line for row in self._members(side) for line in wrap_words(row, room)]
        notes = list(self._notes(side))
        if len(notes) > _MOST_NOTES:
            notes[_MOST_NOTES - 1 :] = [[(f"and {format_count(len(notes) - _MOST_NOTES + 1, 'fault')} more", DIM)]]
        return [*lines, *notes]

    def _members(self, side: Side) -> list[Line]:
        """Return the nodes of a side word by word, a row for each group; coordinators have a star."""
        members = [self._now.nodes[node] for node in side]
        groups = list(dict.fromkeys(member.group for member in members))
        rows = []
        for group in groups:
            words: Line = []
            if group is not None:
                words.append((f" {group[0]} ", self._styles.badge(group[1])))
            words += self._named(
                [member for member in members if member.group == group], len(side) <= _MOST_SINGLY
            )
            rows.append(words)
        return rows

    def _named(self, members: Sequence[NetworkNode], singly: bool) -> Iterator[Piece]:
        led: list[int] = []
        for member in members:
            if member.leads:
                yield from ((text, _BOLD) for text in _numbers(led, singly))
                led = []
                yield f"{self._styles.glyphs.leads}{member.id}", self._styles.leader
            else:
                led.append(member.id)
        yield from ((text, _BOLD) for text in _numbers(led, singly))

    def _notes(self, side: Side) -> Iterator[Line]:
        """Yield the faults on links within a side; equal effects share a line."""
        nodes, styles = set(side), self._styles
        effects = {each.fault.id: each for here in self._now.effects.values() for each in here}
        found: dict[Piece, dict[Pair, None]] = {}
        for effect in effects.values():
            links = (link for link in effect.fault.links if nodes.issuperset(link) and link in self._now.effects)
            piece = label_of(effect, styles), style_of(effect, styles)
            found.setdefault(piece, {}).update(dict.fromkeys(links))
        for (label, style), links_of_it in found.items():
            if links_of_it:
                is_everywhere = len(links_of_it) == len(side) * (len(side) - 1)
                where = "on every link" if is_everywhere else self._describe_links(tuple(links_of_it))
                yield [(label, style), (f"  {where}", Style())]

    # between two boxes

    def _between(self, one: Side, other: Side) -> Piece:
        """Return what passes between two sides."""
        open_links, styles = self._now.connections.open_links(one, other), self._styles
        if open_links:
            text = f"{styles.glyphs.arrow} one way only: {self._describe_links(open_links)}"
            return text, styles.fate("timed out")
        if len(self._sides) > 2 and self._nothing_passes:
            return styles.glyphs.links["cut"], styles.fate("cut")
        links = [link for a in one for b in other for link in ((a, b), (b, a))]
        names = {next(each.name for each in self._now.effects[link] if each.closes) for link in links}
        if len(names) > 1:
            return f"{styles.glyphs.links['cut']} nothing passes", styles.fate("cut")
        name = names.pop()
        return f"{styles.glyphs.links[name]} {FAULT_LABELS[name]} both ways", styles.fate(OUTCOMES[name])

    def _other_pairs(self) -> Line:
        """Return what passes between sides that are not adjacent, or that nothing passes anywhere."""
        if len(self._sides) < 3:
            return []
        if self._nothing_passes:
            return [("nothing passes between any of them", self._styles.fate("cut"))]
        apart = [two for two in combinations(self._sides, 2) if two not in set(pairwise(self._sides))]
        open_links = filter(None, (self._now.connections.open_links(*two) for two in apart))
        style = self._styles.fate("timed out")
        return [(f"one way: {self._describe_links(links)}", style) for links in open_links]

    def _stopped_pieces(self) -> Line:
        """Return the nodes that do not run."""
        styles = self._styles
        found: dict[str, list[int]] = {}
        for member in self._now.stopped():
            found.setdefault(member.process, []).append(member.id)
        return [
            (f"{styles.glyph(process)} {format_ranges(ids)} {process_text(process)}", styles.status(process))
            for process, ids in found.items()
        ]

    def _describe_links(self, links: Sequence[Pair]) -> str:
        """Return the links; sources with equal targets are merged. If too long, return only their number."""
        targets: dict[int, list[int]] = {}
        for source, target in sorted(links):
            targets.setdefault(source, []).append(target)
        alike: dict[str, list[int]] = {}
        for source, theirs in targets.items():
            alike.setdefault(format_ranges(theirs), []).append(source)
        if len(alike) > _MOST_BUNDLES:
            return format_count(len(links), "link")
        return ", ".join(
            f"{format_ranges(sources)}{self._styles.glyphs.arrow}{theirs}" for theirs, sources in alike.items()
        )


def _numbers(nodes: Sequence[int], singly: bool) -> list[str]:
    return list(map(str, nodes)) if singly else format_ranges(nodes).split()


def _words(phrase: Piece) -> Line:
    return [(word, phrase[1]) for word in phrase[0].split()]
