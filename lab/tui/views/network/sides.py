"""The sides of the network: boxes of nodes that can communicate, and what passes between the boxes.

    ╭─ fully connected ───╮
    │ 1 ★2                │
    ╰─────────────────────╯
          ╳ cut both ways
    ╭─ fully connected ───╮
    │ 3 4 ★5              │
    │ +400ms  3→4         │
    ╰─────────────────────╯
      ✖ 6 killed

If there is no room for boxes, the same as text.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

from rich.cells import cell_len
from rich.style import Style

from lab.analysis.connectivity import Pair
from lab.tui.nodes.pane import process_text
from lab.tui.terminal.fitting import Piece, fit
from lab.tui.terminal.theme_styles import DIM, ThemeStyles
from lab.tui.views.groups.group_drawing import wrap_words
from lab.tui.views.network.link_signs import FAULT_LABELS, OUTCOMES, label_of, style_of
from lab.tui.views.network.links import NetworkNode, NetworkNow
from lab.units import format_count, format_ranges

__all__ = ["Sides", "width_of"]

_BOLD = Style(bold=True)
_MOST_BUNDLES = 3
_MOST_NOTES = 4
_MOST_SINGLY = 12
"""The most nodes of a side that are listed one by one."""
_IN = 6
"""The indentation of the text between two boxes."""
Side = tuple[int, ...]


class Sides:
    """The sides of a network, drawn for a width."""

    def __init__(self, now: NetworkNow, theme_styles: ThemeStyles, width: int) -> None:
        self._now = now
        self._theme_styles = theme_styles
        self._width = width
        self._sides = now.connections.components
        pairs = [now.connections.open_links(*two) for two in combinations(self._sides, 2)]
        self._nothing_passes = not any(pairs)

    def boxes(self, height: int) -> list[list[Piece]]:
        """Return boxes below each other, or text if they would be higher than ``height``."""
        inside = [self._inside(side) for side in self._sides]
        widths = [width_of(line) for lines in inside for line in lines]
        widths += [cell_len(self._title(side)) + 2 for side in self._sides]
        width = min(self._width, max(widths, default=0) + 4)
        lines: list[list[Piece]] = []
        for place, side in enumerate(self._sides):
            if place:
                lines.append([(" " * _IN, Style()), self._between(self._sides[place - 1], side)])
            lines += self._box(side, inside[place], width)
        lines += [[("  ", Style()), phrase] for phrase in (*self._other_pairs(), *self._stopped_pieces())]
        return lines if len(lines) <= height else self.words(height)

    def words(self, height: int) -> list[list[Piece]]:
        """Return the sides as at most ``height`` lines of text."""
        words: list[Piece] = []
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

    def _box(self, side: Side, inside: list[list[Piece]], width: int) -> Iterator[list[Piece]]:
        top_left, across, top_right, upright, bottom_left, bottom_right = tuple(self._theme_styles.glyphs.box)
        frame = self._theme_styles.status("Normal")
        title = f"{across} {self._title(side)} "
        yield [(f"{top_left}{title}{across * (width - 2 - cell_len(title))}{top_right}", frame)]
        for line in inside:
            yield [(f"{upright} ", frame), *fit(line, width - 4), (f" {upright}", frame)]
        yield [(f"{bottom_left}{across * (width - 2)}{bottom_right}", frame)]

    def _title(self, side: Side) -> str:
        if len(side) == 1:
            return "alone"
        return "connected" if self._now.connections.closed_within(side) else "fully connected"

    def _inside(self, side: Side) -> list[list[Piece]]:
        room = self._width - 4
        lines = [line for row in self._members(side) for line in wrap_words(row, room)]
        notes = list(self._notes(side))
        if len(notes) > _MOST_NOTES:
            notes[_MOST_NOTES - 1 :] = [[(f"and {format_count(len(notes) - _MOST_NOTES + 1, 'fault')} more", DIM)]]
        return [*lines, *notes]

    def _members(self, side: Side) -> list[list[Piece]]:
        """Return the nodes of a side word by word, a row for each group; coordinators have a star."""
        members = [self._now.nodes[node] for node in side]
        groups = list(dict.fromkeys(member.group for member in members))
        rows = []
        for group in groups:
            words: list[Piece] = []
            if group is not None:
                words.append((f" {group[0]} ", self._theme_styles.badge(group[1])))
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
                yield f"{self._theme_styles.glyphs.leads}{member.id}", self._theme_styles.leader
            else:
                led.append(member.id)
        yield from ((text, _BOLD) for text in _numbers(led, singly))

    def _notes(self, side: Side) -> Iterator[list[Piece]]:
        """Yield the faults on links within a side; equal effects share a line."""
        nodes, theme_styles = set(side), self._theme_styles
        effects = {each.fault.id: each for here in self._now.effects.values() for each in here}
        found: dict[Piece, dict[Pair, None]] = {}
        for effect in effects.values():
            links = (link for link in effect.fault.links if nodes.issuperset(link) and link in self._now.effects)
            piece = label_of(effect, theme_styles), style_of(effect, theme_styles)
            found.setdefault(piece, {}).update(dict.fromkeys(links))
        for (label, style), links_of_it in found.items():
            if links_of_it:
                is_everywhere = len(links_of_it) == len(side) * (len(side) - 1)
                where = "on every link" if is_everywhere else self._describe_links(tuple(links_of_it))
                yield [(label, style), (f"  {where}", Style())]

    # between two boxes

    def _between(self, one: Side, other: Side) -> Piece:
        """Return what passes between two sides."""
        open_links, theme_styles = self._now.connections.open_links(one, other), self._theme_styles
        if open_links:
            return (
                f"{theme_styles.glyphs.arrow} one way only: {self._describe_links(open_links)}",
                theme_styles.fate("timed out"),
            )
        if len(self._sides) > 2 and self._nothing_passes:
            return theme_styles.glyphs.links["cut"], theme_styles.fate("cut")
        links = [link for a in one for b in other for link in ((a, b), (b, a))]
        names = {next(each.name for each in self._now.effects[link] if each.closes) for link in links}
        if len(names) > 1:
            return f"{theme_styles.glyphs.links['cut']} nothing passes", theme_styles.fate("cut")
        name = names.pop()
        return f"{theme_styles.glyphs.links[name]} {FAULT_LABELS[name]} both ways", theme_styles.fate(
            OUTCOMES[name]
        )

    def _other_pairs(self) -> list[Piece]:
        """Return what passes between sides that are not adjacent, or that nothing passes anywhere."""
        if len(self._sides) < 3:
            return []
        if self._nothing_passes:
            return [("nothing passes between any of them", self._theme_styles.fate("cut"))]
        adjacent = set(pairwise(self._sides))
        found = (
            self._now.connections.open_links(*two) for two in combinations(self._sides, 2) if two not in adjacent
        )
        return [
            (f"one way: {self._describe_links(each)}", self._theme_styles.fate("timed out"))
            for each in found
            if each
        ]

    def _stopped_pieces(self) -> list[Piece]:
        """Return the nodes that do not run."""
        theme_styles = self._theme_styles
        found: dict[str, list[int]] = {}
        for member in self._now.stopped():
            found.setdefault(member.process, []).append(member.id)
        return [
            (
                f"{theme_styles.glyph(process)} {format_ranges(ids)} {process_text(process)}",
                theme_styles.status(process),
            )
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
            f"{format_ranges(sources)}{self._theme_styles.glyphs.arrow}{theirs}"
            for theirs, sources in alike.items()
        )


def _numbers(nodes: Sequence[int], singly: bool) -> list[str]:
    return list(map(str, nodes)) if singly else format_ranges(nodes).split()


def _words(phrase: Piece) -> list[Piece]:
    return [(word, phrase[1]) for word in phrase[0].split()]


def width_of(line: list[Piece]) -> int:
    """Return the width of a line in columns."""
    return sum(cell_len(text) for text, _ in line)
