"""The nodes, as one widget drawn line by line: boxes where there is room, one line each where there is not."""

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

from lab.tui.nodes.bank import BankPane, bank_pieces
from lab.tui.nodes.pane import Pane
from lab.tui.terminal.fitting import Piece, fit
from lab.tui.terminal.theme_styles import DIM, ThemeStyles

__all__ = ["NodePanes"]

_LOW, _HIGH = 5, 7
"""The height of a box; of those of a bank, where there is room."""
_LEAST_WIDTH = 26
_BEST_WIDTH = 40
_LEAST_UP = 8
"""With fewer columns than this beside the coordinator, nothing can be said of the members."""


class NodePanes(Widget, can_focus=True):
    """``show(panes, selected)`` sets what is drawn; it redraws only what differs."""

    DEFAULT_CSS = "NodePanes { height: auto; }"

    class Selected(Message):
        """A node was clicked, or the arrows went to it."""

        def __init__(self, node: int) -> None:
            super().__init__()
            self.node = node

    BINDINGS: ClassVar[list[BindingType]] = [
        ("left", "move(-1, 0)"),
        ("right", "move(1, 0)"),
        ("up", "move(0, -1)"),
        ("down", "move(0, 1)"),
    ]

    def __init__(self, theme_styles: ThemeStyles) -> None:
        super().__init__()
        self._look = theme_styles
        self._panes: tuple[Pane, ...] = ()
        self._selected: int | None = None
        self._marked: frozenset[int] = frozenset()
        self.most_height = 10

    def show(self, panes: tuple[Pane, ...], selected: int | None, marked: frozenset[int] = frozenset()) -> None:
        """Draw these panes; ``marked`` are the nodes of a witness."""
        if (panes, selected, marked) == (self._panes, self._selected, self._marked):
            return
        before = {pane: self._frame_of(pane) for pane in self._panes}
        resized = len(panes) != len(self._panes) or _tells_of_bank(panes) != _tells_of_bank(self._panes)
        self._panes, self._selected, self._marked = panes, selected, marked
        if resized or not self._boxed:
            self.refresh(layout=resized)
            return
        changed = [place for place, pane in enumerate(panes) if before.get(pane) != self._frame_of(pane)]
        self.refresh(*map(self._region_of, changed))

    def _frame_of(self, pane: Pane) -> tuple[bool, bool]:
        return pane.id == self._selected, pane.id in self._marked

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many lines as the boxes take, or one line a node where they would take too much."""
        columns = self._columns(width)
        rows = -(-len(self._panes) // columns) if self._panes else 1
        highest = _HIGH if _tells_of_bank(self._panes) else _LOW
        box = highest if rows * highest <= self.most_height else _LOW
        return rows * box if rows * box <= self.most_height else min(len(self._panes), self.most_height)

    def action_move(self, right: int, down: int) -> None:
        """Select the node beside the selected one."""
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
        """Select the node under the mouse."""
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
        """One line of the widget."""
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
        """As high as the room of a row, but no higher than there is something to say; less than ``_LOW``: none."""
        rows = -(-len(self._panes) // self._columns(self.size.width)) or 1
        return min(self.size.height // rows, _HIGH if _tells_of_bank(self._panes) else _LOW)

    @property
    def _first(self) -> int:
        """The first node of the list, so that the selected one can be seen."""
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
        theme_styles = self._look
        selected, marked = self._frame_of(pane)
        style = (
            theme_styles.accent
            if selected
            else theme_styles.warning
            if marked
            else theme_styles.status(pane.shown) + DIM
        )
        box = tuple(theme_styles.glyphs.heavy if selected or marked else theme_styles.glyphs.box)
        top_left, across, top_right, side, bottom_left, bottom_right = box
        if inside == 0:
            title = [(f" {pane.id} ", Style(bold=True)), *self._status(pane), (" ", Style())]
            used = sum(len(text) for text, _ in title)
            return [
                (top_left + across, style),
                *fit(title, min(used, width - 3)),
                (across * max(0, width - used - 3) + top_right, style),
            ]
        if inside == self._box_height - 1:
            told = f" {pane.links} " if pane.links else ""
            used = min(cell_len(told), width - 4)
            rest = across * (width - 3 - used) + bottom_right
            return [(bottom_left + across, style), *fit([(told, theme_styles.warning)], used), (rest, style)]
        content = self._content(pane, width - 4)[inside - 1]
        return [(f"{side} ", style), *fit(content, width - 4), (f" {side}", style)]

    def _content(self, pane: Pane, width: int) -> list[list[Piece]]:
        """As many lines as are in the box, however many there are to say."""
        inside = self._box_height - 2
        told = [*self._told(pane, width)[:inside]]
        return [*told, *([] for _ in range(inside - len(told)))]

    def _told(self, pane: Pane, width: int) -> tuple[list[Piece], ...]:
        if pane.bank is not None:
            return self._bank_told(pane, pane.bank, width)
        if pane.process in ("killed", "failed", "absent"):
            return [], [(pane.waits, DIM)]
        up = self._up(pane)
        beside = sum(cell_len(text) for text, _ in up) + 2 if pane.doing else 0
        led = self._led(pane, width - beside)
        if not pane.doing:
            return led, up, [(pane.waits, DIM)]
        if width - sum(cell_len(text) for text, _ in led) >= _LEAST_UP:
            led = [*led, ("  ", Style()), *up]
        return led, self._doing(pane, width), [(pane.waits, Style())]

    def _doing(self, pane: Pane, width: int) -> list[Piece]:
        """The procedure that waits, and how long it still will."""
        left = "" if pane.left_us is None else f" {pane.left_us / 1e6:.1f} of {pane.total_us / 1e6:.1f} s"
        room, where = width - len(left), f"{pane.doing}, line {pane.line}"
        doing = fit([(where if cell_len(where) <= room else pane.doing, Style())], room)
        return [*doing, (left, self._look.leader)]

    def _bank_told(self, pane: Pane, bank: BankPane, width: int) -> tuple[list[Piece], ...]:
        """Up to five lines; the three that matter most, where there is room for no more."""
        balances, opened, log = bank_pieces(bank, self._look, width)
        waits: list[Piece] = [(pane.waits, Style() if pane.doing else DIM)]
        if pane.process in ("killed", "failed", "absent"):
            return waits, log
        is_low = self._box_height < _HIGH
        first = [*balances, *opened] if is_low and not pane.doing else balances
        led = [] if pane.facts else [*self._led(pane), ("  ", Style())]
        if cell_len("".join(text for text, _ in (*led, *first)).rstrip()) <= width:
            first = [*balances, *led, *first[len(balances) :]]
        doing = self._doing(pane, width) if pane.doing else []
        if is_low:
            return first, opened if pane.doing else log, waits
        return (first, opened, log, doing, waits) if pane.doing else (first, opened, log, waits)

    def _status(self, pane: Pane) -> list[Piece]:
        theme_styles = self._look
        shown: list[Piece] = [
            (f"{theme_styles.glyph(pane.shown)} {pane.shown}", theme_styles.status(pane.shown) + Style(bold=True))
        ]
        if pane.process == "paused":
            shown.append((f" in {pane.status}", theme_styles.status(pane.status)))
        if pane.leads:
            shown.append((f" {theme_styles.glyphs.leads} {pane.leads}", theme_styles.leader))
        return shown

    def _led(self, pane: Pane, room: int = 0) -> list[Piece]:
        """Whom it follows, and in which group: with that word, where there is room for it."""
        if pane.facts:
            return [("  ".join(pane.facts[:2]), Style())]
        led = "no coordinator" if pane.coordinator is None else f"coordinator {pane.coordinator}"
        if pane.hue is not None:
            named = f" group {pane.group} "
            plate = named if cell_len(f"{named} {led}") <= room else f" {pane.group} "
            return [(plate, self._look.plate(pane.hue)), (f" {led}", Style())]
        group = "" if pane.group is None else f", group {pane.group}"
        return [(led + group, Style())]

    def _up(self, pane: Pane) -> list[Piece]:
        if pane.facts:
            return [("  ".join(pane.facts[2:]), DIM)]
        return [(f"up {' '.join(map(str, pane.up))}" if pane.up else "", DIM)]

    def _list_line(self, pane: Pane) -> list[Piece]:
        theme_styles = self._look
        pieces: list[Piece] = [
            (theme_styles.glyphs.play + " " if pane.id == self._selected else "  ", theme_styles.accent),
            (f"{pane.id:>2} ", theme_styles.warning if pane.id in self._marked else Style(bold=True)),
            *fit(self._status(pane), 24),
        ]
        if pane.process in ("killed", "failed", "absent"):
            pieces.append((pane.waits, DIM))
        else:
            left = "" if pane.left_us is None else f", {pane.left_us / 1e6:.1f} of {pane.total_us / 1e6:.1f} s"
            doing = f"{pane.doing}, line {pane.line}: {pane.waits}{left}" if pane.doing else pane.waits
            if pane.bank is not None:
                balances, opened, _ = bank_pieces(pane.bank, theme_styles, 0)
                led, up = fit(balances, 25), fit(opened, 26)
            else:
                led = fit(self._led(pane), 19 if pane.facts else 15 if pane.group is None else 21)
                up = fit(self._up(pane), 20)
            pieces += [*led, *up, (f" {doing}", Style())]
        if pane.links:
            pieces.append((f"  {pane.links}", theme_styles.warning))
        return pieces


def _tells_of_bank(panes: tuple[Pane, ...]) -> bool:
    return any(pane.bank is not None for pane in panes)
