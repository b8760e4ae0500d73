"""The field view: a map for each group, side by side, as large as fits."""

from itertools import product
from math import ceil, isqrt

from msgspec import Struct
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from lab.analysis.field_map import Cell, FieldMap, idle_nodes, maps_of
from lab.analysis.group_history import GroupLog
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header
from lab.text import sanitize
from lab.tui.player import Cursor
from lab.tui.terminal.styles import DIM, Piece, ThemeStyles, fit

_GAP = 3
_NO_MAP = "no group surveys the field"


class _Layout(Struct, frozen=True):
    """The layout of a map: lines of text above it, cells in a row, and the size of a cell."""

    head: int
    across: int
    wide: int
    tall: int

    def height(self, cells: int) -> int:
        """Return the height of a map."""
        return self.head + ceil(cells / self.across) * self.tall


class FieldView(Widget, can_focus=True):
    """The field as of a record. A region has the colour and the number of its surveyor.

    Above a map stands the identifier of its group, in the group's colour, if the election has groups.
    """

    DEFAULT_CSS = "FieldView { height: 1fr; padding: 0 1; }"

    def __init__(self, styles: ThemeStyles, header: Header, groups: GroupLog) -> None:
        super().__init__(id="map")
        self._styles = styles
        self._groups = groups
        self._hues = {node: place for place, node in enumerate(header.nodes)}
        self._digits = max(len(str(node)) for node in header.nodes)
        self._maps: tuple[tuple[FieldMap, tuple[str, int] | None], ...] = ()
        """Each map with the name of its group and the number of that group's colour."""
        self._idle: tuple[tuple[int, str], ...] = ()

    def show(self, cursor: Cursor) -> None:
        cluster = cursor.cluster
        maps = tuple((field, self._group_of(field, cluster)) for field in maps_of(cluster.nodes))
        shown = maps, idle_nodes(cluster.nodes)
        if shown != (self._maps, self._idle):
            self._maps, self._idle = shown
            self.refresh()

    def _group_of(self, field: FieldMap, cluster: ClusterState) -> tuple[str, int] | None:
        """Return the group that the coordinator is in, or that the members are in once it leads no more."""
        node = field.coordinator if field.leads else field.others[0]
        group = self._groups.group_of(cluster.nodes[node], cluster.record)
        return None if group is None else (group.name, group.hue)

    def activate(self) -> None:
        """Do nothing."""

    def render_line(self, y: int) -> Strip:
        """Return a line of all maps. The last line of the widget names the nodes that survey nothing."""
        width, base = self.size.width, self.rich_style
        pieces: list[Piece]
        if y == self.size.height - 1 and self._idle:
            pieces = self._idle_line()
        elif not self._maps:
            pieces = [] if y else [(_NO_MAP, DIM)]
        else:
            layout, each = self._layout(), self._width_of_one()
            pieces = []
            for field, group in self._maps:
                line = [*([] if y else self._group_badge(group)), *self._line(field, y, layout)]
                pieces += [*fit(line, each), (" " * _GAP, Style())]
        return Strip([Segment(text, base + style) for text, style in fit(pieces, width)], width)

    # layout

    def _width_of_one(self) -> int:
        return max(1, (self.size.width + _GAP) // len(self._maps) - _GAP)

    def _layout(self) -> _Layout:
        """Return the first layout that fits: large cells before many lines of text, squares before strips."""
        cells = max((len(field.cells) for field, _ in self._maps), default=0)
        root = max(1, isqrt(max(0, cells - 1)) + 1)
        sizes = ((7, 3), (5, 2), (4, 2), (3, 1), (2, 1))
        for head, across, (wide, tall) in product((3, 2, 1), (root, root * 3 // 2, root * 2, root * 4), sizes):
            layout = _Layout(head, across, self._digits - 1 + wide, tall)
            fits = layout.height(cells) <= self.size.height - bool(self._idle)
            if fits and layout.across * layout.wide <= self._width_of_one():
                return layout
        return _Layout(1, root * 2, self._digits + 1, 1)

    # contents of a line

    def _line(self, field: FieldMap, y: int, layout: _Layout) -> list[Piece]:
        if y < layout.head:
            return self._head(field, layout.head)[y]
        row, inside = divmod(y - layout.head, layout.tall)
        cells = field.cells[row * layout.across : (row + 1) * layout.across]
        return [self._cell(cell, layout, named=inside == layout.tall // 2) for cell in cells]

    def _cell(self, cell: Cell, layout: _Layout, named: bool) -> Piece:
        node, how = cell
        styles, hue = self._styles, self._hues.get(node, 0)
        lead = {"done": styles.glyphs.done, "surveying": styles.glyphs.play}.get(how, " ") if named else " "
        text = f"{lead}{node:>{self._digits}}" if named else ""
        left = (layout.wide - len(text)) // 2
        style = styles.badge(hue) if how == "done" else styles.group(hue) + (DIM if how == "pending" else _BOLD)
        return (" " * left + text).ljust(layout.wide), style

    def _group_badge(self, group: tuple[str, int] | None) -> list[Piece]:
        return [] if group is None else [(f" {group[0]} ", self._styles.badge(group[1])), (" ", Style())]

    def _head(self, field: FieldMap, lines: int) -> list[list[Piece]]:
        styles, dot = self._styles, f" {self._styles.glyphs.dot} "
        leads: list[Piece] = [(f"{styles.glyphs.leads} {field.coordinator} leads ", styles.leader)]
        if not field.leads:
            leads = [(f"{field.coordinator} no longer leads, unnoticed by ", styles.warning)]
        for node in field.others:
            leads.append((f"{node} ", styles.group(self._hues.get(node, 0)) + _BOLD))
        if not field.others:
            leads.append(("nobody else ", DIM))
        so_far = f"survey {field.number}: {field.done} of {len(field.cells)}"
        twice: Piece = (f"{dot}{field.duplicates} done twice", styles.warning if field.duplicates else DIM)
        if lines == 3:
            return [leads, [(so_far, Style()), twice], self._published(field)]
        short = f"survey {field.number} {field.done}/{len(field.cells)}"
        least: list[Piece] = [
            (f"{styles.glyphs.leads} {field.coordinator} ", styles.leader),
            (short, Style()),
            twice,
        ]
        return [least, self._published(field)][:lines]

    def _published(self, field: FieldMap) -> list[Piece]:
        """Return the outcome of the last attempt to publish, unless the newest edition shows it already."""
        styles = self._styles
        edition = f"edition {field.edition} is published" if field.edition else "nothing published"
        if field.outcome in ("", edition):
            return [(edition, styles.accent if field.edition else DIM)]
        return [(sanitize(field.outcome, 200), styles.warning), (f" {styles.glyphs.dot} {edition}", DIM)]

    def _idle_line(self) -> list[Piece]:
        styles = self._styles
        pieces: list[Piece] = [("not surveying: ", DIM)]
        for node, status in self._idle:
            instead = sanitize(status, 16)
            pieces.append((f"{styles.glyph(instead)} {node} {instead}   ", styles.status(instead)))
        return pieces


_BOLD = Style(bold=True)
