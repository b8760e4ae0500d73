"""The cluster for a hall: who leads in large letters, and a block for each node. All but the widget is pure."""

from collections.abc import Sequence
from functools import cache

from pyfiglet import Figlet
from rich.cells import cell_len, set_cell_size
from rich.style import Style
from rich.text import Text

from lab.analysis.elections import CALM
from lab.styles import DIM, Line, Piece, ThemeStyles, fit
from lab.tui.widgets.node_rows import visible
from lab.tui.widgets.pane import STOPPED, Leaders, Pane, process_text
from lab.tui.widgets.status_lines import Line as TextLine

_SOLID, _PLAIN = ("ansi_regular", "future"), ("banner", "straight")
"""Fonts from the largest on: of blocks and lines, and of ASCII alone."""
_LEAST_BLOCK, _GAP = 16, 1
_ROWS_FOR_OTHERS = 10
"""The rows for a few lines of the log, faults, verdicts, the scrub bar and the footer."""
_HIGH_BLOCK, _LOW_BLOCK = 9, 3
"""The rows of a block whose number is drawn large, and of another, with the blank one after it."""


def _fonts(is_ascii: bool) -> tuple[str, ...]:
    return _PLAIN if is_ascii else _SOLID


@cache
def large(text: str, font: str) -> tuple[str, ...]:
    """Return the rows of the text in this font, all equally long."""
    rows = [row for row in Figlet(font=font, width=1000).renderText(text).split("\n") if row.strip()]
    longest = max(map(cell_len, rows), default=0)
    return tuple(row + " " * (longest - cell_len(row)) for row in rows)


def largest(text: str, width: int, is_ascii: bool) -> tuple[str, ...]:
    """Return the text in the largest font in which it fits into so many cells."""
    for font in _fonts(is_ascii):
        rows = large(text, font)
        if rows and cell_len(rows[0]) <= width:
            return rows
    return (text,)


def headline_lines(leaders: Leaders, is_alarm: bool, width: int, styles: ThemeStyles) -> list[Line]:
    """Return the large headline, with a blank row before and after it, on the ground of its state."""
    colour = "vermilion" if is_alarm else "orange" if leaders.is_pending else ""
    style = styles.ground(colour) if colour else styles.leader
    rows = largest(leaders.brief.upper(), width - 4, styles.glyphs.box.isascii())
    return [[(set_cell_size(f"  {row}", width), style)] for row in ("", *rows, "")]


def block_lines(panes: Sequence[Pane], width: int, most_rows: int, styles: ThemeStyles) -> list[Line]:
    """Return the blocks of the nodes, as many beside each other as have room, in at most so many rows."""
    across = max(1, min(len(panes), width // _LEAST_BLOCK))
    is_high = -(-len(panes) // across) * _HIGH_BLOCK <= most_rows
    room = across * max(1, (most_rows - 1) // (_HIGH_BLOCK if is_high else _LOW_BLOCK))
    shown, hidden = visible(panes, None, room + 1) if len(panes) > room else (tuple(panes), "")
    numbers = _numbers(shown, width // across - 2, styles) if is_high else {}
    lines: list[Line] = []
    for first in range(0, len(shown), across):
        blocks = [
            _block(
                pane,
                (place + 1) * width // across - place * width // across - _GAP,
                numbers.get(pane.id, ()),
                styles,
            )
            for place, pane in enumerate(shown[first : first + across])
        ]
        for parts in zip(*blocks, strict=True):
            lines.append([piece for part in parts for piece in (part, (" " * _GAP, Style()))])
        lines.append([])
    return [*lines, [(f"  … {hidden}", DIM)]] if hidden else lines


def _numbers(panes: Sequence[Pane], width: int, styles: ThemeStyles) -> dict[int, tuple[str, ...]]:
    """Return the numbers of the nodes in the largest font in which all of them fit."""
    for font in _fonts(styles.glyphs.box.isascii()):
        numbers = {pane.id: large(str(pane.id), font) for pane in panes}
        if all(cell_len(rows[0]) <= width for rows in numbers.values()):
            return numbers
    return {pane.id: (str(pane.id),) for pane in panes}


def _block(pane: Pane, width: int, number: tuple[str, ...], styles: ThemeStyles) -> list[Piece]:
    """Return the rows of a block: number, status, and coordinator, on the ground of the status.

    ``number`` are the rows of its number in large; without them, it is in the row of the status.
    """
    style = styles.status_ground(pane.shown) + Style(bold=True)
    if pane.shown in CALM and not pane.leads:
        style = styles.status(pane.shown)
    leads = f" {styles.glyphs.leads}" if pane.leads else ""
    status = f"{styles.glyph(pane.shown)} {process_text(pane.shown)}{leads}"
    under = f"under {pane.coordinator}" if pane.coordinator is not None and pane.process not in STOPPED else ""
    group = f"group {pane.group}" if pane.group is not None and pane.process not in STOPPED else ""
    whole = "  ".join(filter(None, (under, group)))
    where = whole if cell_len(whole) <= width else under or group
    if not number:
        return [(centred(text, width), style) for text in (f"{pane.id}  {status}", where)]
    texts = ["", *number, *[""] * (5 - len(number)), status, where]
    return [(centred(text, width), style) for text in texts]


def centred(text: str, width: int) -> str:
    """Return the text in the middle of so many cells, cut if it is longer."""
    return set_cell_size(" " * max(0, (width - cell_len(text)) // 2) + text, width)


class Hall(TextLine):
    """The large headline and the blocks. It is shown in place of the headline and the nodes."""

    DEFAULT_CSS = "Hall { height: auto; display: none; }"

    def __init__(self) -> None:
        super().__init__("hall")

    def show(self, leaders: Leaders, panes: Sequence[Pane], is_alarm: bool, styles: ThemeStyles) -> None:
        """Draw the cluster."""
        width, height = self.app.size
        headline = headline_lines(leaders, is_alarm, width, styles)
        blocks = block_lines(panes, width, max(2, height - len(headline) - _ROWS_FOR_OTHERS), styles)
        lines = [fit(line, width) for line in (*headline, [], *blocks)]
        self.put(Text("\n").join(Text.assemble(*line) for line in lines))
