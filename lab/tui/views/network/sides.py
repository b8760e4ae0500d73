"""The sides of the network: boxes of nodes that hear each other, and what passes between the boxes.

    ╭─ hear each other ───╮
    │ 1 ★2                │
    ╰─────────────────────╯
          ╳ cut both ways
    ╭─ hear each other ───╮
    │ 3 4 ★5              │
    │ +400ms  3→4         │
    ╰─────────────────────╯
      ✖ 6 killed

Where there is no room for boxes, the same in words.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

from rich.cells import cell_len
from rich.style import Style

from lab.analysis.connectivity import Pair
from lab.tui.terminal.fitting import Piece, fit
from lab.tui.terminal.theme_styles import DIM, ThemeStyles
from lab.tui.views.groups.drawing import wrapped
from lab.tui.views.network.links import NetworkNow, Stand
from lab.tui.views.network.signs import FATES, NAMES, label_of, style_of
from lab.units import count_of, listed

__all__ = ["Sides", "width_of"]

_BOLD = Style(bold=True)
_MOST_BUNDLES = 3
_MOST_NOTES = 4
_MOST_SINGLY = 12
"""So many nodes of a side are written one by one."""
_IN = 6
"""How far what is between two boxes is from the left."""
Side = tuple[int, ...]


class Sides:
    """The sides of this network, drawn in so many columns."""

    def __init__(self, now: NetworkNow, theme_styles: ThemeStyles, width: int) -> None:
        self._now = now
        self._look = theme_styles
        self._width = width
        self._sides = now.connections.sides
        pairs = [now.connections.passing(*two) for two in combinations(self._sides, 2)]
        self._nothing_passes = not any(pairs)

    def boxes(self, height: int) -> list[list[Piece]]:
        """Boxes below each other; words where they would be higher than that."""
        inside = [self._inside(side) for side in self._sides]
        widths = [width_of(line) for lines in inside for line in lines]
        widths += [cell_len(self._title(side)) + 2 for side in self._sides]
        width = min(self._width, max(widths, default=0) + 4)
        lines: list[list[Piece]] = []
        for place, side in enumerate(self._sides):
            if place:
                lines.append([(" " * _IN, Style()), self._between(self._sides[place - 1], side)])
            lines += self._box(side, inside[place], width)
        lines += [[("  ", Style()), phrase] for phrase in (*self._others(), *self._apart())]
        return lines if len(lines) <= height else self.words(height)

    def words(self, height: int) -> list[list[Piece]]:
        """The same in at most so many lines of words."""
        words: list[Piece] = []
        for place, side in enumerate(self._sides):
            if place and (len(self._sides) == 2 or not self._nothing_passes):
                words += _words(self._between(self._sides[place - 1], side))
            words += [("[", DIM), *(word for row in self._members(side) for word in row), ("]", DIM)]
        if len(self._sides) == 1:
            words += _words((self._title(self._sides[0]), DIM))
        for phrase in (*self._others(), *self._apart()):
            words += _words(phrase)
        return wrapped(words, self._width)[:height]

    # a box

    def _box(self, side: Side, inside: list[list[Piece]], width: int) -> Iterator[list[Piece]]:
        top_left, across, top_right, upright, bottom_left, bottom_right = tuple(self._look.glyphs.box)
        frame = self._look.status("Normal")
        title = f"{across} {self._title(side)} "
        yield [(f"{top_left}{title}{across * (width - 2 - cell_len(title))}{top_right}", frame)]
        for line in inside:
            yield [(f"{upright} ", frame), *fit(line, width - 4), (f" {upright}", frame)]
        yield [(f"{bottom_left}{across * (width - 2)}{bottom_right}", frame)]

    def _title(self, side: Side) -> str:
        if len(side) == 1:
            return "alone"
        return "connected" if self._now.connections.closed_within(side) else "hear each other"

    def _inside(self, side: Side) -> list[list[Piece]]:
        room = self._width - 4
        lines = [line for row in self._members(side) for line in wrapped(row, room)]
        notes = list(self._notes(side))
        if len(notes) > _MOST_NOTES:
            notes[_MOST_NOTES - 1 :] = [[(f"and {count_of(len(notes) - _MOST_NOTES + 1, 'fault')} more", DIM)]]
        return [*lines, *notes]

    def _members(self, side: Side) -> list[list[Piece]]:
        """Its nodes word by word, those of each group by themselves; the coordinators with their star."""
        stands = [self._now.nodes[node] for node in side]
        groups = list(dict.fromkeys(stand.group for stand in stands))
        rows = []
        for group in groups:
            words: list[Piece] = []
            if group is not None:
                words.append((f" {group[0]} ", self._look.plate(group[1])))
            words += self._named([stand for stand in stands if stand.group == group], len(side) <= _MOST_SINGLY)
            rows.append(words)
        return rows

    def _named(self, stands: Sequence[Stand], singly: bool) -> Iterator[Piece]:
        led: list[int] = []
        for stand in stands:
            if stand.leads:
                yield from ((text, _BOLD) for text in _numbers(led, singly))
                led = []
                yield f"{self._look.glyphs.leads}{stand.id}", self._look.leader
            else:
                led.append(stand.id)
        yield from ((text, _BOLD) for text in _numbers(led, singly))

    def _notes(self, side: Side) -> Iterator[list[Piece]]:
        """What the links on that side do to messages, those that do the same together."""
        nodes, theme_styles = set(side), self._look
        troubles = {each.fault.id: each for here in self._now.troubles.values() for each in here}
        found: dict[Piece, dict[Pair, None]] = {}
        for trouble in troubles.values():
            links = (link for link in trouble.fault.links if nodes.issuperset(link) and link in self._now.troubles)
            piece = label_of(trouble, theme_styles), style_of(trouble, theme_styles)
            found.setdefault(piece, {}).update(dict.fromkeys(links))
        for (label, style), links_of_it in found.items():
            if links_of_it:
                is_everywhere = len(links_of_it) == len(side) * (len(side) - 1)
                where = "on every link" if is_everywhere else self._links_said(tuple(links_of_it))
                yield [(label, style), (f"  {where}", Style())]

    # what is between them

    def _between(self, one: Side, other: Side) -> Piece:
        """What passes from one to the other, and back."""
        passing, theme_styles = self._now.connections.passing(one, other), self._look
        if passing:
            return f"{theme_styles.glyphs.arrow} one way only: {self._links_said(passing)}", theme_styles.fate(
                "too late"
            )
        if len(self._sides) > 2 and self._nothing_passes:
            return theme_styles.glyphs.links["cut"], theme_styles.fate("cut")
        links = [link for a in one for b in other for link in ((a, b), (b, a))]
        sorts = {next(each.sort for each in self._now.troubles[link] if each.closes) for link in links}
        if len(sorts) > 1:
            return f"{theme_styles.glyphs.links['cut']} nothing passes", theme_styles.fate("cut")
        sort = sorts.pop()
        return f"{theme_styles.glyphs.links[sort]} {NAMES[sort]} both ways", theme_styles.fate(FATES[sort])

    def _others(self) -> list[Piece]:
        """Of sides that are not beside each other: what passes; or that nothing does, anywhere."""
        if len(self._sides) < 3:
            return []
        if self._nothing_passes:
            return [("nothing passes between any of them", self._look.fate("cut"))]
        beside = set(pairwise(self._sides))
        found = (self._now.connections.passing(*two) for two in combinations(self._sides, 2) if two not in beside)
        return [(f"one way: {self._links_said(each)}", self._look.fate("too late")) for each in found if each]

    def _apart(self) -> list[Piece]:
        """Who does not run."""
        theme_styles = self._look
        found: dict[str, list[int]] = {}
        for stand in self._now.apart():
            found.setdefault(stand.process, []).append(stand.id)
        return [
            (f"{theme_styles.glyph(process)} {listed(ids)} {process}", theme_styles.status(process))
            for process, ids in found.items()
        ]

    def _links_said(self, links: Sequence[Pair]) -> str:
        """Which links: sources that have the same targets together; how many, where that is too long."""
        targets: dict[int, list[int]] = {}
        for source, target in sorted(links):
            targets.setdefault(source, []).append(target)
        alike: dict[str, list[int]] = {}
        for source, theirs in targets.items():
            alike.setdefault(listed(theirs), []).append(source)
        if len(alike) > _MOST_BUNDLES:
            return count_of(len(links), "link")
        return ", ".join(
            f"{listed(sources)}{self._look.glyphs.arrow}{theirs}" for theirs, sources in alike.items()
        )


def _numbers(nodes: Sequence[int], singly: bool) -> list[str]:
    return list(map(str, nodes)) if singly else listed(nodes).split()


def _words(phrase: Piece) -> list[Piece]:
    return [(word, phrase[1]) for word in phrase[0].split()]


def width_of(line: list[Piece]) -> int:
    """The columns that a line takes."""
    return sum(cell_len(text) for text, _ in line)
