"""What there is to draw: the part of a run, where its places are, and what stands out in it."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from msgspec import Struct
from rich.style import Style

from lab.analysis.group_history import Point
from lab.analysis.spacetime import MessageEdge, SpaceTime, StatusInterval
from lab.properties import Violation
from lab.recording.log_lines import LogLine
from lab.tui.terminal.theme_styles import ThemeStyles
from lab.tui.views.diagram.plane import Plane
from lab.tui.views.diagram.scale import Scale
from lab.tui.views.diagram.signs import Signs

__all__ = ["QUIET", "Scene"]

QUIET = Style(color="#7f7f7f", dim=True)
"""What has nothing to do with what is selected."""


class Scene(Struct):
    """``top`` is the first place that is seen, ``last`` the last record that is known.

    ``hidden`` are the kinds of messages that are not drawn. ``picked`` is the arrow, or the record of a step, that
    is selected; ``cone`` the records that can have led to it or come of it, ``bounds`` where for each node those
    before it end, and those after it begin. ``cursor`` is the place of the cursor
    in time, ``follows`` whether that is where the run is. ``marked`` are the records of a witness.
    """

    space: SpaceTime
    scale: Scale
    plane: Plane
    theme_styles: ThemeStyles
    signs: Signs
    top: int
    start: int
    last: Point
    hidden: frozenset[str]
    cursor: Point
    follows: bool = False
    hides_future: bool = False
    picked: MessageEdge | int | None = None
    cone: AbstractSet[int] | None = None
    bounds: dict[int, tuple[Point | None, Point | None]] = {}
    selected: int | None = None
    marked: frozenset[int] = frozenset()
    violations: Sequence[Violation] = ()

    def place(self, point: Point) -> float:
        """Where along the picture that is."""
        return self.scale.place(point) - self.top

    @property
    def cursor_cell(self) -> int:
        """Where along the picture the cursor in time is."""
        return int(self.place(self.cursor) // 1)

    def is_seen(self, first: float, last: float) -> bool:
        """Whether any of what is from one place to another is in the picture."""
        return last >= 0 and first < self.plane.along

    def arrows(self) -> list[MessageEdge]:
        """The messages that are drawn, in the order sent."""
        first, last = self.scale.span(self.top, self.plane.along)
        by_records = self.scale.by_records
        return [
            each
            for each in self.space.arrows
            if (each.line.record if by_records else each.line.at_us) <= last
            and (each.end is None or _last(each, by_records) >= first)
            and each.line.kind not in self.hidden
        ]

    def stretches(self, node: int) -> list[StatusInterval]:
        """How the node stood, as far as it is seen."""
        return [
            each
            for each in self.space.stretches
            if each.node == node
            and self.is_seen(self.place(each.since), self.place(each.until or self.last) + self.scale.step)
        ]

    def events(self) -> list[LogLine]:
        """What else happened, as far as it is seen."""
        return [
            each
            for each in self.space.events
            if each.record >= self.start and self.is_seen(*[self.place(Point(each.record, each.at_us))] * 2)
        ]

    def ends(self, arrow: MessageEdge) -> list[Point]:
        """Where it ends: several times where it was duplicated, or what is known last where it has not."""
        return [arrow.end or self.last, *arrow.again]

    def is_apart(self, node: int, along: int) -> bool:
        """Whether something is selected that neither led to what the node did there nor came of it."""
        if self.cone is None:
            return False
        past, future = self.bounds.get(node, (None, None))
        before = past is not None and along <= int(self.place(past))
        return not before and (future is None or along < int(self.place(future)))

    def is_quiet(self, *records: int) -> bool:
        """Whether it is to stand back: something is selected, and these records have nothing to do with it."""
        return self.cone is not None and not all(record in self.cone for record in records)

    def style_of(self, arrow: MessageEdge) -> Style:
        """How a message is drawn."""
        if arrow is self.picked:
            return Style(bold=True, color="bright_white" if self.theme_styles.dark else "black")
        ends = [arrow.end.record] if arrow.arrived and arrow.end is not None else []
        if self.is_quiet(arrow.sent.record, *ends):
            return QUIET
        if not arrow.arrived and arrow.fate != "in flight":
            return self.theme_styles.fate(arrow.fate)
        return self.theme_styles.kind(arrow.line.kind)


def _last(arrow: MessageEdge, by_records: bool) -> int:
    end = arrow.again[-1] if arrow.again else arrow.end
    assert end is not None
    return end.record if by_records else end.at_us
