"""The nodes in one widget drawn line by line: boxes if there is room, else one line for each node."""

from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from lab.styles import DIM, Piece, ThemeStyles, fit, width_of
from lab.tasks.extension import NodeText
from lab.tui.widgets.pane import STOPPED, Pane, process_text

_LOW, _HIGH = 5, 7
"""The height of a box, and of a box with the text of a task if there is room."""
_LEAST_WIDTH = 26
_BEST_WIDTH = 40
_MOST_ENTRIES = 6
"""The most entries of a log."""
_LEAST_PEERS = 8
"""The least columns beside the coordinator in which the members fit."""


class NodePanes(Widget, can_focus=True):
    """The panes of the nodes. ``show(panes, selected)`` redraws only what changed."""

    DEFAULT_CSS = "NodePanes { height: auto; }"

    @dataclass
    class Selected(Message):
        """A node was selected by click or arrow key."""

        node: int

    BINDINGS: ClassVar[list[BindingType]] = [
        ("left", "move(-1, 0)"),
        ("right", "move(1, 0)"),
        ("up", "move(0, -1)"),
        ("down", "move(0, 1)"),
    ]

    def __init__(self, styles: ThemeStyles) -> None:
        super().__init__()
        self._styles = styles
        self._panes: tuple[Pane, ...] = ()
        self._selected: int | None = None
        self._marked: frozenset[int] = frozenset()
        self.most_height = 10

    def show(self, panes: tuple[Pane, ...], selected: int | None, marked: frozenset[int] = frozenset()) -> None:
        """Draw these panes; ``marked`` are the nodes of a witness."""
        if (panes, selected, marked) == (self._panes, self._selected, self._marked):
            return
        before = [(pane, self._frame_of(pane)) for pane in self._panes]
        resized = len(panes) != len(self._panes) or _has_task(panes) != _has_task(self._panes)
        self._panes, self._selected, self._marked = panes, selected, marked
        if resized or not self._boxed:
            self.refresh(layout=resized)
            return
        now = [(pane, self._frame_of(pane)) for pane in panes]
        changed = [place for place, each in enumerate(now) if before[place] != each]
        self.refresh(*map(self._region_of, changed))

    def _frame_of(self, pane: Pane) -> tuple[bool, bool]:
        return pane.id == self._selected, pane.id in self._marked

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the height of the boxes, or of one line for each node if the boxes would be too high."""
        columns = self._columns(width)
        rows = -(-len(self._panes) // columns) if self._panes else 1
        highest = _HIGH if _has_task(self._panes) else _LOW
        box = highest if rows * highest <= self.most_height else _LOW
        return rows * box if rows * box <= self.most_height else min(len(self._panes), self.most_height)

    def action_move(self, right: int, down: int) -> None:
        """Select the node next to the selected one."""
        ids = [pane.id for pane in self._panes]
        if not ids:
            return
        if self._selected not in ids:
            self.post_message(self.Selected(ids[0] if right + down > 0 else ids[-1]))
            return
        across = self._columns(self.size.width) if self._boxed else 1
        place = ids.index(self._selected) + right + down * across
        if 0 <= place < len(ids):
            self.post_message(self.Selected(ids[place]))

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None:
            return
        if self._boxed:
            columns = self._columns(self.size.width)
            place = offset.y // self._box_height * columns + offset.x * columns // max(1, self.size.width)
        else:
            place = offset.y + self._first
        if place < len(self._panes):
            self.post_message(self.Selected(self._panes[place].id))

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if self._boxed:
            columns = self._columns(width)
            row, inside = divmod(y, self._box_height)
            panes = self._panes[row * columns : (row + 1) * columns]
            pieces: list[Piece] = []
            for place, pane in enumerate(panes):
                left, right = place * width // columns, (place + 1) * width // columns
                pieces += fit(self._box_line(pane, inside, right - left), right - left)
        else:
            place = y + self._first
            pieces = self._list_line(self._panes[place]) if place < len(self._panes) else []
        base = self.rich_style
        return Strip([Segment(text, base + style) for text, style in fit(pieces, width)], width)

    @property
    def _boxed(self) -> bool:
        return self._box_height >= _LOW

    @property
    def _box_height(self) -> int:
        """The height of a box, at most what its content needs. Less than ``_LOW``: no boxes are drawn."""
        rows = -(-len(self._panes) // self._columns(self.size.width)) or 1
        return min(self.size.height // rows, _HIGH if _has_task(self._panes) else _LOW)

    @property
    def _first(self) -> int:
        """The first node of the list, chosen so that the selected one is visible."""
        ids = [pane.id for pane in self._panes]
        place = ids.index(self._selected) if self._selected in ids else 0
        return max(0, min(place - self.size.height + 1, len(ids) - self.size.height))

    def _region_of(self, place: int) -> Region:
        width, columns = self.size.width, self._columns(self.size.width)
        row, column = divmod(place, columns)
        left, right = column * width // columns, (column + 1) * width // columns
        return Region(left, row * self._box_height, right - left, self._box_height)

    def _columns(self, width: int) -> int:
        count = max(1, len(self._panes))
        best = min(count, max(1, width // _BEST_WIDTH))
        most = min(count, max(1, width // _LEAST_WIDTH))
        rows = -(-count // best)
        return most if rows * _LOW > self.most_height else -(-count // rows)

    def _box_line(self, pane: Pane, inside: int, width: int) -> list[Piece]:
        styles = self._styles
        selected, marked = self._frame_of(pane)
        style = styles.accent if selected else styles.warning if marked else styles.status(pane.shown) + DIM
        box = tuple(styles.glyphs.heavy if selected or marked else styles.glyphs.box)
        top_left, across, top_right, side, bottom_left, bottom_right = box
        if inside == 0:
            title = [(f" {pane.id} ", Style(bold=True)), *self._status_pieces(pane), (" ", Style())]
            used = sum(len(text) for text, _ in title)
            return [
                (top_left + across, style),
                *fit(title, min(used, width - 3)),
                (across * max(0, width - used - 3) + top_right, style),
            ]
        if inside == self._box_height - 1:
            rows = f" {pane.links} " if pane.links else ""
            used = min(cell_len(rows), width - 4)
            rest = across * (width - 3 - used) + bottom_right
            return [(bottom_left + across, style), *fit([(rows, styles.warning)], used), (rest, style)]
        content = self._content(pane, width - 4)[inside - 1]
        return [(f"{side} ", style), *fit(content, width - 4), (f" {side}", style)]

    def _content(self, pane: Pane, width: int) -> list[list[Piece]]:
        """Return exactly as many lines as the box holds."""
        inside = self._box_height - 2
        rows = [*self._rows(pane, width)[:inside]]
        return [*rows, *([] for _ in range(inside - len(rows)))]

    def _rows(self, pane: Pane, width: int) -> tuple[list[Piece], ...]:
        if pane.task is not None:
            return self._task_rows(pane, pane.task, width)
        if pane.process in STOPPED:
            return [], [(pane.waits, DIM)]
        peers = self._peer_pieces(pane)
        reserved = width_of(peers) + 2 if pane.procedure else 0
        leader = self._leader_pieces(pane, width - reserved)
        if not pane.procedure:
            return leader, peers, [(pane.waits, DIM)]
        if width - width_of(leader) >= _LEAST_PEERS:
            leader = [*leader, ("  ", Style()), *peers]
        return leader, self._procedure_pieces(pane, width), [(pane.waits, Style())]

    def _procedure_pieces(self, pane: Pane, width: int) -> list[Piece]:
        """Return the waiting procedure and its remaining time."""
        left = "" if pane.left_us is None else f" {pane.left_us / 1e6:.1f} of {pane.total_us / 1e6:.1f} s"
        room, where = width - len(left), f"{pane.procedure}, line {pane.line}"
        procedure = fit([(where if cell_len(where) <= room else pane.procedure, Style())], room)
        return [*procedure, (left, self._styles.leader)]

    def _task_rows(self, pane: Pane, task: NodeText, width: int) -> tuple[list[Piece], ...]:
        """Return up to five lines, or the three that matter most if there is no room."""
        state, work, log = task.state, task.work, log_pieces(task, width)
        waits: list[Piece] = [(pane.waits, Style() if pane.procedure else DIM)]
        if pane.process in STOPPED:
            return waits, log
        is_low = self._box_height < _HIGH
        first = [*state, *work] if is_low and not pane.procedure else state
        leader = [] if pane.facts else [*self._leader_pieces(pane), ("  ", Style())]
        if cell_len("".join(text for text, _ in (*leader, *first)).rstrip()) <= width:
            first = [*state, *leader, *first[len(state) :]]
        procedure = self._procedure_pieces(pane, width) if pane.procedure else []
        if is_low:
            return first, work if pane.procedure else log, waits
        return (first, *filter(None, (work, log, procedure)), waits)

    def _status_pieces(self, pane: Pane) -> list[Piece]:
        styles = self._styles
        shown: list[Piece] = [
            (
                f"{styles.glyph(pane.shown)} {process_text(pane.shown)}",
                styles.status(pane.shown) + Style(bold=True),
            )
        ]
        if pane.process == "paused":
            shown.append((f" in {pane.status}", styles.status(pane.status)))
        if pane.leads:
            shown.append((f" {styles.glyphs.leads} {pane.leads}", styles.leader))
        return shown

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

    def _list_line(self, pane: Pane) -> list[Piece]:
        styles = self._styles
        pieces: list[Piece] = [
            (styles.glyphs.play + " " if pane.id == self._selected else "  ", styles.accent),
            (f"{pane.id:>2} ", styles.warning if pane.id in self._marked else Style(bold=True)),
            *fit(self._status_pieces(pane), 24),
        ]
        if pane.process in STOPPED:
            pieces.append((pane.waits, DIM))
        else:
            left = "" if pane.left_us is None else f", {pane.left_us / 1e6:.1f} of {pane.total_us / 1e6:.1f} s"
            procedure = f"{pane.procedure}, line {pane.line}: {pane.waits}{left}" if pane.procedure else pane.waits
            if pane.task is not None:
                leader, peers = fit(pane.task.state, 25), fit(pane.task.work, 26)
            else:
                leader = fit(self._leader_pieces(pane), 19 if pane.facts else 15 if pane.group is None else 21)
                peers = fit(self._peer_pieces(pane), 20)
            pieces += [*leader, *peers, (f" {procedure}", Style())]
        if pane.links:
            pieces.append((f"  {pane.links}", styles.warning))
        return pieces


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
