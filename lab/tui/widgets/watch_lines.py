"""The strip of watches below the nodes: each expression with what it shows at the cursor."""

from collections.abc import Sequence

from msgspec import Struct
from rich.cells import cell_len
from rich.style import Style
from rich.text import Text

from lab.script.watches import UNKNOWN_TEXT, Reading
from lab.styles import DIM, Piece, ThemeStyles, fit, width_of
from lab.tui.widgets.status_lines import Line

_GAP = 4
"""The columns between two watches in a row."""
_LEAST_VALUE = 8
"""The columns that a long expression leaves to its value."""


class WatchEntry(Struct, frozen=True):
    """An expression and its readings, those at the places in ``changed`` being new."""

    text: str
    readings: tuple[Reading, ...]
    changed: frozenset[int] = frozenset()


class WatchLines(Line):
    """The watches: one in a row, or several if they are more than ``best_rows``. Without any, it does not exist.

    ``rows`` is its height, at most ``most_rows``. The entries that do not fit are counted at its end.
    """

    DEFAULT_CSS = "WatchLines { height: auto; padding: 0 1; background: $boost; display: none; }"

    def __init__(self) -> None:
        super().__init__("watches")
        self.rows = 0
        self.best_rows = 1
        self.most_rows = 1
        self._widest: dict[str, int] = {}
        """The widest value of each expression so far, so that columns do not move back and forth."""

    def show(self, entries: Sequence[WatchEntry], styles: ThemeStyles) -> None:
        """Show these entries."""
        values = {each.text: _value_pieces(each, styles) for each in entries}
        self._widest = {text: max(width_of(value), self._widest.get(text, 0)) for text, value in values.items()}
        cells = [(text, values[text], self._widest[text]) for text in values]
        lines = watch_rows(cells, self.app.size.width - 2, self.best_rows, self.most_rows)
        self.rows = len(lines)
        self.display = bool(lines)
        self.put(Text("\n").join(Text.assemble(*line) for line in lines))


_Cell = tuple[str, list[Piece], int]
"""An expression, its value, and the width that the value may need."""


def watch_rows(cells: Sequence[_Cell], width: int, best_rows: int, most_rows: int) -> list[list[Piece]]:
    """Return the rows: one for each cell, or if that is more than ``best_rows``, as many cells in a row as fit."""
    if len(cells) <= best_rows:
        widest = max((cell_len(text) for text, _, _ in cells), default=0)
        return [_cell_pieces(cell, widest, width) for cell in cells]
    rows: list[list[list[Piece]]] = []
    for place, cell in enumerate(cells):
        pieces = _cell_pieces(cell, cell_len(cell[0]), width)
        if rows and width_of(_joined([*rows[-1], pieces])) <= width:
            rows[-1].append(pieces)
        elif len(rows) < most_rows:
            rows.append([pieces])
        else:
            return [*map(_joined, rows[:-1]), _counted(rows[-1], len(cells) - place, width)]
    return [*map(_joined, rows)]


def _joined(cells: Sequence[list[Piece]]) -> list[Piece]:
    """Return cells in one row."""
    gap: list[Piece] = [(" " * _GAP, Style())]
    return [*cells[0], *(piece for cell in cells[1:] for piece in (*gap, *cell))]


def _counted(cells: Sequence[list[Piece]], left_out: int, width: int) -> list[Piece]:
    """Return the last row with the number of the cells left out at its end, which is more if that needs space."""
    more = f"  +{left_out} more"
    if len(cells) > 1 and width_of(_joined(cells)) + cell_len(more) > width:
        return _counted(cells[:-1], left_out + 1, width)
    return [*fit(_joined(cells), width - cell_len(more)), (more, DIM)]


def _cell_pieces(cell: _Cell, name: int, width: int) -> list[Piece]:
    """Return an expression in ``name`` columns, fewer if its value has too little room, and the value."""
    text, pieces, value = cell
    name = min(name, width - 2 - min(value, max(_LEAST_VALUE, width // 2)))
    return [*fit([(text, DIM)], name), ("  ", Style()), *fit(pieces, min(value, width - 2 - name))]


def _value_pieces(entry: WatchEntry, styles: ThemeStyles) -> list[Piece]:
    pieces: list[Piece] = []
    for place, reading in enumerate(entry.readings):
        if reading.node is not None:
            pieces.append((f"{' ' if place else ''}{reading.node}:", DIM))
        is_unknown = reading.text == UNKNOWN_TEXT
        style = styles.accent if place in entry.changed else DIM if is_unknown else Style()
        pieces.append((reading.text, style))
    return pieces
