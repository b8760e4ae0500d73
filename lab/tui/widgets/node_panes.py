"""The nodes in one widget, drawn line by line: a card for each if there is room, else a row."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import ClassVar, Literal

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from lab.styles import DIM, Line, Piece, ThemeStyles, fit, width_of
from lab.tasks.extension import NodeText
from lab.tui.widgets.node_rows import awaited, columns_of, details, heading, row, status_pieces, visible
from lab.tui.widgets.pane import STOPPED, Pane

_LOW, _HIGH = 5, 7
"""The height of a card, and of a card with the text of a task if there is room."""
_LEAST_WIDTH = 26
_BEST_WIDTH = 40
_MOST_ENTRIES = 6
"""The most entries of a log."""
_LEAST_PEERS = 8
"""The least columns beside the coordinator in which the members fit."""
_DETAILS = 2
_LEAST_ROW = 78
"""The least columns of a row where rows are beside each other."""

Density = Literal["auto", "rows", "cards"]


class NodePanes(Widget, can_focus=True):
    """The nodes, as cards or as rows. ``show(panes, selected)`` redraws only what changed.

    ``most_height`` is how many lines they may take. ``density`` is what the user has chosen; *auto* draws cards if
    there is ``room_for_cards`` and all of them fit.
    """

    DEFAULT_CSS = "NodePanes { height: auto; }"

    @dataclass
    class Selected(Message):
        """A node was selected by click or arrow key."""

        node: int

    @dataclass
    class Opened(Message):
        """A node was clicked on twice: show its full state."""

        node: int

    BINDINGS: ClassVar[list[BindingType]] = [
        ("left", "move(-1, 0)"),
        ("right", "move(1, 0)"),
        ("up", "move(0, -1)"),
        ("down", "move(0, 1)"),
    ]

    def __init__(self, styles: ThemeStyles) -> None:
        super().__init__(id="nodes")
        self._styles = styles
        self._panes: tuple[Pane, ...] = ()
        self._selected: int | None = None
        self._marked: frozenset[int] = frozenset()
        self._drawn: list[tuple[Line, tuple[int | None, ...]]] = []
        self._drawn_size = Size()
        self._laid_out = 0
        self.most_height = 10
        self.room_for_cards = True
        self.density: Density = "auto"

    def show(self, panes: tuple[Pane, ...], selected: int | None, marked: frozenset[int] = frozenset()) -> None:
        """Draw these panes; ``marked`` are the nodes of a witness."""
        width = self.size.width
        is_same = (panes, selected, marked) == (self._panes, self._selected, self._marked)
        if is_same and self._content_height(width) == self._laid_out:
            return
        before = self._framed()
        self._panes, self._selected, self._marked = panes, selected, marked
        if self._content_height(width) != self._laid_out:
            self._drawn = []
            self.refresh(layout=True)
        elif self.are_cards:
            framed = self._framed()
            self.refresh(*(self._region_of(place) for place, each in enumerate(framed) if before[place] != each))
        else:
            old = self._drawn
            self._draw_rows()
            pairs = enumerate(zip_longest(old, self._drawn))
            self.refresh(*(Region(0, y, width, 1) for y, (was, now) in pairs if was != now))

    def _framed(self) -> list[tuple[Pane, bool, bool]]:
        return [(pane, pane.id == self._selected, pane.id in self._marked) for pane in self._panes]

    @property
    def are_cards(self) -> bool:
        """True if the nodes are drawn as cards."""
        return self._fit_as_cards(self.size.width)

    def _fit_as_cards(self, width: int) -> bool:
        wanted = self.density == "cards" or (self.density == "auto" and self.room_for_cards)
        return wanted and self._cards_height(width, _LOW) <= self.most_height

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the height of the cards, or of a row for each node."""
        self._laid_out = self._content_height(width)
        return self._laid_out

    def _content_height(self, width: int) -> int:
        if self._fit_as_cards(width):
            highest = _HIGH if _has_task(self._panes) else _LOW
            is_high = self._cards_height(width, highest) <= self.most_height
            return self._cards_height(width, highest if is_high else _LOW)
        opened = _DETAILS if self._selected is not None else 0
        across = self._rows_across(width)
        rows = -(-len(self._panes) // across) + 1 + (opened if across == 1 else 0)
        return max(1, min(rows, self.most_height))

    def _rows_across(self, width: int) -> int:
        """Return how many rows are beside each other: more than one only if one column has no room for all."""
        return 1 if len(self._panes) < self.most_height else max(1, width // _LEAST_ROW)

    def action_move(self, right: int, down: int) -> None:
        """Select the node next to the selected one."""
        ids = [pane.id for pane in self._panes]
        if not ids:
            return
        if self._selected not in ids:
            self.post_message(self.Selected(ids[0] if right + down > 0 else ids[-1]))
            return
        across = self._columns(self.size.width) if self.are_cards else 1
        place = ids.index(self._selected) + right + down * across
        if 0 <= place < len(ids):
            self.post_message(self.Selected(ids[place]))

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None:
            return
        if self.are_cards:
            columns = self._columns(self.size.width)
            place = offset.y // self._card_height * columns + offset.x * columns // max(1, self.size.width)
            node = self._panes[place].id if place < len(self._panes) else None
        else:
            nodes = self._drawn[offset.y][1] if offset.y < len(self._drawn) else (None,)
            node = nodes[min(offset.x * len(nodes) // max(1, self.size.width), len(nodes) - 1)]
        if node is not None:
            self.post_message(self.Selected(node))
            if event.chain > 1:
                self.post_message(self.Opened(node))

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        pieces: list[Piece] = []
        if self.are_cards:
            columns = self._columns(width)
            line, inside = divmod(y, self._card_height)
            for place, pane in enumerate(self._panes[line * columns : (line + 1) * columns]):
                left, right = place * width // columns, (place + 1) * width // columns
                pieces += fit(self._card_line(pane, inside, right - left), right - left)
        else:
            if not self._drawn or self._drawn_size != self.size:  # while it was hidden, it had none
                self._draw_rows()
            pieces = self._drawn[y][0] if y < len(self._drawn) else []
        base = self.rich_style
        return Strip([Segment(text, base + style) for text, style in fit(pieces, width)], width)

    # rows

    def _draw_rows(self) -> None:
        self._drawn, self._drawn_size = self._rows(*self.size), self.size

    def _rows(self, width: int, height: int) -> list[tuple[Line, tuple[int | None, ...]]]:
        """Return the lines, each with the nodes in it, from left to right."""
        across = self._rows_across(width)
        if across == 1:
            return [(line, (node,)) for line, node in self._column(self._panes, width, height)]
        rows = max(1, height - 1)  # the heading has one
        panes, hidden = visible(self._panes, self._selected, across * rows)
        part = -(-len(panes) // across)
        parts = [panes[place * part : (place + 1) * part] for place in range(across)]
        columns = [self._column(each, width // across, len(each) + 1) for each in parts]  # none opens
        lines = [
            (
                [piece for line, _ in together for piece in fit(line, width // across)],
                tuple(node for _, node in together),
            )
            for together in zip_longest(*columns, fillvalue=([], None))
        ]
        return [*lines[: height - 1], ([(f"  … {hidden}", DIM)], (None,))] if hidden else lines

    def _column(self, panes: Sequence[Pane], width: int, height: int) -> list[tuple[Line, int | None]]:
        """Return the lines of these nodes, each with the node that it belongs to."""
        columns, styles, count = columns_of(self._panes, width), self._styles, len(panes)
        has_heading, is_open = height > count, height > count + _DETAILS
        lines: list[tuple[Line, int | None]] = [(heading(columns, width), None)] if has_heading else []
        shown, hidden = visible(panes, self._selected, height)
        for pane in shown:
            is_selected = pane.id == self._selected
            lines.append((row(pane, columns, styles, is_selected, pane.id in self._marked), pane.id))
            if is_selected and is_open:
                lines += [(line, pane.id) for line in details(pane, styles)]
        return [*lines, ([(f"  … {hidden}", DIM)], None)] if hidden else lines

    # cards

    def _cards_height(self, width: int, card: int) -> int:
        return -(-len(self._panes) // self._columns(width)) * card if self._panes else 1

    @property
    def _card_height(self) -> int:
        """The height of a card, at most what its content needs."""
        lines = -(-len(self._panes) // self._columns(self.size.width)) or 1
        return max(_LOW, min(self.size.height // lines, _HIGH if _has_task(self._panes) else _LOW))

    def _region_of(self, place: int) -> Region:
        width, columns = self.size.width, self._columns(self.size.width)
        line, column = divmod(place, columns)
        left, right = column * width // columns, (column + 1) * width // columns
        return Region(left, line * self._card_height, right - left, self._card_height)

    def _columns(self, width: int) -> int:
        count = max(1, len(self._panes))
        best = min(count, max(1, width // _BEST_WIDTH))
        most = min(count, max(1, width // _LEAST_WIDTH))
        lines = -(-count // best)
        return most if lines * _LOW > self.most_height else -(-count // lines)

    def _card_line(self, pane: Pane, inside: int, width: int) -> list[Piece]:
        styles = self._styles
        selected, marked = pane.id == self._selected, pane.id in self._marked
        style = styles.accent if selected else styles.warning if marked else styles.status(pane.shown) + DIM
        box = tuple(styles.glyphs.heavy if selected or marked else styles.glyphs.box)
        top_left, across, top_right, side, bottom_left, bottom_right = box
        if inside == 0:
            title = [(f" {pane.id} ", Style(bold=True)), *status_pieces(pane, styles), (" ", Style())]
            used = width_of(title)
            return [
                (top_left + across, style),
                *fit(title, min(used, width - 3)),
                (across * max(0, width - used - 3) + top_right, style),
            ]
        if inside == self._card_height - 1:
            rows = f" {pane.links} " if pane.links else ""
            used = min(cell_len(rows), width - 4)
            rest = across * (width - 3 - used) + bottom_right
            return [(bottom_left + across, style), *fit([(rows, styles.warning)], used), (rest, style)]
        content = self._content(pane, width - 4)[inside - 1]
        return [(f"{side} ", style), *fit(content, width - 4), (f" {side}", style)]

    def _content(self, pane: Pane, width: int) -> list[list[Piece]]:
        """Return exactly as many lines as the box holds."""
        inside = self._card_height - 2
        rows = [*self._card_rows(pane, width)[:inside]]
        return [*rows, *([] for _ in range(inside - len(rows)))]

    def _card_rows(self, pane: Pane, width: int) -> tuple[list[Piece], ...]:
        if pane.task is not None:
            return self._task_rows(pane, pane.task, width)
        if pane.process in STOPPED:
            return [], [(pane.waits, DIM)]
        peers = self._peer_pieces(pane)
        reserved = width_of(peers) + 2 if pane.procedure else 0
        leader = self._leader_pieces(pane, width - reserved)
        if not pane.procedure:
            return leader, peers, [(_waits(pane, width), DIM)]
        if width - width_of(leader) >= _LEAST_PEERS:
            leader = [*leader, ("  ", Style()), *peers]
        return leader, self._procedure_pieces(pane, width), [(_waits(pane, width), Style())]

    def _procedure_pieces(self, pane: Pane, width: int) -> list[Piece]:
        """Return the waiting procedure and its remaining time."""
        left = "" if pane.left_us is None else f" {pane.left_us / 1e6:.1f} of {pane.total_us / 1e6:.1f} s"
        room, where = width - len(left), f"{pane.procedure}, line {pane.line}"
        procedure = fit([(where if cell_len(where) <= room else pane.procedure, Style())], room)
        return [*procedure, (left, self._styles.leader)]

    def _task_rows(self, pane: Pane, task: NodeText, width: int) -> tuple[list[Piece], ...]:
        """Return up to five lines, or the three that matter most if there is no room."""
        state, work, log = task.state, task.work, log_pieces(task, width)
        waits: list[Piece] = [(_waits(pane, width), Style() if pane.procedure else DIM)]
        if pane.process in STOPPED:
            return waits, log
        is_low = self._card_height < _HIGH
        first = [*state, *work] if is_low and not pane.procedure else state
        leader = [] if pane.facts else [*self._leader_pieces(pane), ("  ", Style())]
        if cell_len("".join(text for text, _ in (*leader, *first)).rstrip()) <= width:
            first = [*state, *leader, *first[len(state) :]]
        procedure = self._procedure_pieces(pane, width) if pane.procedure else []
        if is_low:
            return first, work if pane.procedure else log, waits
        return (first, *filter(None, (work, log, procedure)), waits)

    def _leader_pieces(self, pane: Pane, room: int = 0) -> list[Piece]:
        """Return the coordinator and the group, with the word *group* if it fits."""
        if pane.facts:
            return [("  ".join(pane.facts[:2]), Style())]
        leader = "no coordinator" if pane.coordinator is None else f"coordinator {pane.coordinator}"
        if pane.hue is not None:
            named = f" group {pane.group} "
            badge = named if cell_len(f"{named} {leader}") <= room else f" {pane.group} "
            return [(badge, self._styles.badge(pane.hue)), (f" {leader}", Style())]
        group = "" if pane.group is None else f", group {pane.group}"
        return [(leader + group, Style())]

    def _peer_pieces(self, pane: Pane) -> list[Piece]:
        if pane.facts:
            return [("  ".join(pane.facts[2:]), DIM)]
        return [(f"up {' '.join(map(str, pane.up))}" if pane.up else "", DIM)]


def _waits(pane: Pane, width: int) -> str:
    """Return what a node waits for, in short if it does not fit."""
    return pane.waits if cell_len(pane.waits) <= width else awaited(pane)


def log_pieces(task: NodeText, width: int) -> list[Piece]:
    """Return the newest entries of the log that fit; older ones are cut off."""
    if task.log is None:
        return []
    text, more = "", len(task.log)
    for entry in reversed(task.log[-_MOST_ENTRIES:]):
        longer = f"{entry}, {text}" if text else entry
        if text and cell_len(longer) > width - len("log … "):
            break
        text, more = longer, more - 1
    return [(f"log {'… ' if more else ''}{text}" if text else "the log is empty", DIM)]


def _has_task(panes: tuple[Pane, ...]) -> bool:
    return any(pane.task is not None for pane in panes)
