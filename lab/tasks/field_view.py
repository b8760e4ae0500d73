"""The field view: a map for each group, side by side, as large as fits."""

from itertools import product
from math import ceil, isqrt
from typing import ClassVar

from msgspec import Struct
from rich.style import Style
from rich.text import Text

from lab.styles import DIM, Line, Piece, fit
from lab.tasks.extension import Extension, View
from lab.tasks.field_map import Cell, FieldMap, idle_nodes, maps_of
from lab.tasks.view_frame import ViewFrame
from lab.text import sanitize

_GAP = 3
_BOLD = Style(bold=True)
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


def draw_field(frame: ViewFrame) -> Text:
    """Draw a map for each group. A region has the colour and the number of its surveyor.

    Above a map stands the identifier of its group, in the group's colour, if the election has groups. The last
    line names the nodes that survey nothing.
    """
    return frame.text(_FieldPicture(frame).lines())


class _FieldPicture:
    def __init__(self, frame: ViewFrame) -> None:
        self._frame = frame
        self._styles = frame.styles
        self._hues = {node: place for place, node in enumerate(frame.header.nodes)}
        self._digits = max(len(str(node)) for node in frame.header.nodes)
        self._maps = maps_of(frame.cluster.nodes)
        self._idle = idle_nodes(frame.cluster.nodes)

    def lines(self) -> list[Line]:
        height = self._frame.height
        if self._maps:
            layout, each = self._layout(), self._width_of_one()
            lines = [self._across(y, layout, each) for y in range(height)]
        else:
            lines = [[(_NO_MAP, DIM)], *([] for _ in range(height - 1))]
        return [*lines[: height - 1], self._idle_line()] if self._idle else lines

    def _across(self, y: int, layout: _Layout, each: int) -> Line:
        """Return a line of all maps."""
        pieces: Line = []
        for field in self._maps:
            line = [*([] if y else self._group_badge(field)), *self._line(field, y, layout)]
            pieces += [*fit(line, each), (" " * _GAP, Style())]
        return pieces

    # layout

    def _width_of_one(self) -> int:
        return max(1, (self._frame.width + _GAP) // len(self._maps) - _GAP)

    def _layout(self) -> _Layout:
        """Return the first layout that fits: large cells before many lines of text, squares before strips."""
        cells = max((len(field.cells) for field in self._maps), default=0)
        root = max(1, isqrt(max(0, cells - 1)) + 1)
        sizes = ((7, 3), (5, 2), (4, 2), (3, 1), (2, 1))
        for head, across, (wide, tall) in product((3, 2, 1), (root, root * 3 // 2, root * 2, root * 4), sizes):
            layout = _Layout(head, across, self._digits - 1 + wide, tall)
            fits = layout.height(cells) <= self._frame.height - bool(self._idle)
            if fits and layout.across * layout.wide <= self._width_of_one():
                return layout
        return _Layout(1, root * 2, self._digits + 1, 1)

    # contents of a line

    def _line(self, field: FieldMap, y: int, layout: _Layout) -> Line:
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

    def _group_badge(self, field: FieldMap) -> Line:
        """Return the group that the coordinator is in, or that the members are in once it leads no more."""
        cluster = self._frame.cluster
        node = field.coordinator if field.leads else field.others[0]
        group = self._frame.groups.group_of(cluster.nodes[node], cluster.record)
        return [] if group is None else [(f" {group.name} ", self._styles.badge(group.hue)), (" ", Style())]

    def _head(self, field: FieldMap, lines: int) -> list[Line]:
        styles, dot = self._styles, f" {self._styles.glyphs.dot} "
        leads: Line = [(f"{styles.glyphs.leads} {field.coordinator} leads ", styles.leader)]
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
        least: Line = [
            (f"{styles.glyphs.leads} {field.coordinator} ", styles.leader),
            (short, Style()),
            twice,
        ]
        return [least, self._published(field)][:lines]

    def _published(self, field: FieldMap) -> Line:
        """Return the outcome of the last attempt to publish, unless the newest edition shows it already."""
        styles = self._styles
        edition = f"edition {field.edition} is published" if field.edition else "nothing published"
        if field.outcome in ("", edition):
            return [(edition, styles.accent if field.edition else DIM)]
        return [(sanitize(field.outcome, 200), styles.warning), (f" {styles.glyphs.dot} {edition}", DIM)]

    def _idle_line(self) -> Line:
        styles = self._styles
        pieces: Line = [("not surveying: ", DIM)]
        for node, status in self._idle:
            instead = sanitize(status, 16)
            pieces.append((f"{styles.glyph(instead)} {node} {instead}   ", styles.status(instead)))
        return pieces


class FieldExtension(Extension):
    """The field of sensors: its map."""

    views: ClassVar[tuple[View, ...]] = (
        View(
            "map",
            "the map of the field: filled is surveyed, ▶ is being surveyed, pale is not surveyed yet",
            draw_field,
            help="the map of the field",
            key="t",
            without="has no field; try lab run field",
        ),
    )
    comparison: ClassVar[str | type] = "lab.tasks.field_comparison:FieldComparison"
    opening_hint: ClassVar[str] = "{map} shows the map of the field"
