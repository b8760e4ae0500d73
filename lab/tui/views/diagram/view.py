"""The space-time view: draws the picture where the cursor in time is, and takes keys and clicks."""

import sys
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import BindingType
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from lab.analysis.spacetime import MessageEdge
from lab.recording.log_lines import LogLine
from lab.text import sanitize
from lab.tui.run.cursor import Cursor
from lab.tui.run.source import Source
from lab.tui.terminal.fitting import Piece, fit
from lab.tui.terminal.theme_styles import DIM, ThemeStyles
from lab.tui.views.diagram.canvas import Canvas
from lab.tui.views.diagram.focus import Focus
from lab.tui.views.diagram.picking import (
    Cone,
    Picked,
    arrow_of,
    next_message,
    next_step,
    point_of,
    said_of,
)
from lab.tui.views.diagram.picture import drawn
from lab.tui.views.diagram.plane import Plane, plane_of
from lab.tui.views.diagram.scene import Scene
from lab.tui.views.diagram.signs import signs_for
from lab.tui.views.diagram.window import Window
from lab.tui.views.following import FollowingView
from lab.tui.views.log.rows import LogRows
from lab.tui.views.log.view import MessageLog
from lab.units import count_of, listed

__all__ = ["DiagramView"]

_WHEEL = 3
_SEEN_AT_MOST = 200
"""So many violations are looked at, the last ones."""


class DiagramView(Widget, can_focus=True):
    """A line for each node, coloured by how it stood, and arrows for the messages between them.

    It follows the cursor in time, unless it was scrolled away from there.
    """

    DEFAULT_CSS = "DiagramView { height: 1fr; }"

    BINDINGS: ClassVar[list[BindingType]] = [
        ("up", "pick('up')"),
        ("down", "pick('down')"),
        ("left", "pick('left')"),
        ("right", "pick('right')"),
        ("pageup", "page(-1)"),
        ("pagedown", "page(1)"),
    ]

    def __init__(self, theme_styles: ThemeStyles, source: Source, rows: LogRows) -> None:
        super().__init__(id="diagram")
        self._look = theme_styles
        self._source = source
        self._rows = rows
        self._focus = Focus(source.lines)
        self._down = True
        self._picked: Picked | None = None
        self._cone: Cone | None = None
        self._marked: frozenset[int] = frozenset()
        self._moment: Cursor | None = None
        self._plane: Plane | None = None
        self._canvas: Canvas | None = None
        self._key: object = None
        self._lines: list[list[Piece]] = []

    def show(self, moment: Cursor) -> None:
        """Draw what is seen as of that moment; only the lines that are others than before."""
        self._moment = moment
        width, height = self.size
        if width < 20 or height < 4:
            return
        lines = self._source.lines
        nodes = sorted(lines.header.nodes)
        plane = self._plane = plane_of(nodes, moment.selected, width, height, self._down)
        focus = self._focus
        focus.theme_styles(moment, plane.along, self._rows.hidden_kinds, 1 if self._down else 3)
        violations = self._source.judge.violations
        key = (
            focus.window.version,
            focus.top,
            focus.scale.us,
            plane,
            moment.record,
            moment.following,
            moment.selected,
            moment.hides_future,
            self._picked,
            self._marked,
            self._look.dark,
            self._rows.hidden_kinds,
            len(violations),
        )
        if key == self._key:
            return
        self._key = key
        self._canvas = drawn(self._scene(moment, plane))
        rows = [self._canvas.row(y) for y in range(height - 1)]
        rows.append(self._foot(plane))
        before, self._lines = self._lines, rows
        changed = [y for y in range(height) if y >= len(before) or rows[y] != before[y]]
        if changed:
            self.refresh(*(Region(0, y, width, 1) for y in changed))

    def mark(self, records: frozenset[int]) -> None:
        """Mark what begins with these records, and nothing else."""
        self._marked = records

    def deselect(self) -> None:
        """Select no message and no step."""
        self._picked = None

    def zoom(self, by: int) -> str:
        """To a finer scale, or a coarser one; what there is to say of it."""
        if not self._focus.zoom(by):
            return "this is the finest scale: a step" if by < 0 else "this is the coarsest scale"
        return f"a {'row' if self._down else 'column'} is {self._focus.scale.said}"

    def turn(self) -> str:
        """Let time flow the other way; what there is to say of it."""
        self._down = not self._down
        self._focus.recentre()
        return f"time flows {'down' if self._down else 'to the right'}"

    def open_cursor(self) -> None:
        """Open the record of what is selected, or of where the cursor in time is."""
        if self._moment is None:
            return
        arrow = arrow_of(self._focus.window, self._picked)
        if arrow is not None:
            line: LogLine | None = arrow.line if arrow.sent.record >= 0 else None
        else:
            number = self._picked if isinstance(self._picked, int) else self._moment.record
            line = LogLine(number, 0, "note", "")
        if line is not None:
            self.post_message(MessageLog.Opened(line))

    def jump(self) -> str:
        """The cursor in time goes to what is selected; what there is to say where that cannot be."""
        if self._picked is None:
            return "select a message or a step first: with the arrow keys, or a click"
        point = point_of(self._focus.window, self._picked)
        if point is None or point.record < 0:
            return "what was selected is not seen here any more"
        self._focus.recentre()
        self.post_message(FollowingView.Sought(point.record))
        return ""

    def action_pick(self, way: str) -> None:
        """Along the flow of time from step to step; across it from message to message."""
        if self._moment is None:
            return
        by = 1 if way in ("down", "right") else -1
        window, node = self._focus.window, self._moment.selected
        point = point_of(window, self._picked) if self._picked is not None else None
        here = point.record if point is not None else self._moment.record + (by < 0)
        if (way in ("up", "down")) == self._down:
            found: Picked | None = next_step(window, node, here, by)
        else:
            serial = self._picked[1] if isinstance(self._picked, tuple) else 0
            found = next_message(window, self._rows.hidden_kinds, node, (here, serial), by)
        if found is not None and self._may_tell(found):
            self._pick(found)

    def action_page(self, pages: int) -> None:
        """Scroll by what fits on the screen."""
        if self._plane is not None:
            self._focus.pan(pages * max(1, self._plane.along - 2))

    def on_mouse_scroll_down(self) -> None:
        """Scroll on in time."""
        self._focus.pan(_WHEEL)

    def on_mouse_scroll_up(self) -> None:
        """Scroll back in time."""
        self._focus.pan(-_WHEEL)

    def on_click(self, event: events.Click) -> None:
        """Select what is under the mouse; a second click opens it."""
        offset = event.get_content_offset(self)
        if self._canvas is None or self._plane is None or offset is None:
            return
        found: Picked | None = None
        owner = self._canvas.owner(offset.x, offset.y)
        if isinstance(owner, MessageEdge):
            found = owner.line.message
        elif isinstance(owner, int):
            found = self._focus.step_at(owner, self._plane.along_at(offset.x, offset.y))
        if found is not None and found == self._picked:
            self.open_cursor()
        else:
            self._picked = found

    def on_resize(self) -> None:
        """Everything anew."""
        self._key, self._lines = None, []

    def render_line(self, y: int) -> Strip:
        """One line, as it was drawn last."""
        width, base = self.size.width, self.rich_style
        pieces = self._lines[y] if y < len(self._lines) else []
        return Strip([Segment(text, base + style) for text, style in fit(pieces, width)], width)

    @property
    def _upto(self) -> int:
        """The last record that may be told of."""
        moment = self._moment
        return moment.record if moment is not None and moment.hides_future else sys.maxsize

    def _may_tell(self, picked: Picked) -> bool:
        point = point_of(self._focus.window, picked)
        return point is None or point.record <= self._upto

    def _pick(self, picked: Picked) -> None:
        self._picked = picked
        point = point_of(self._focus.window, picked)
        if point is not None:
            self._focus.bring(point)

    def _scene(self, moment: Cursor, plane: Plane) -> Scene:
        focus = self._focus
        window = focus.window
        arrow = arrow_of(window, self._picked)
        cone = self._cone = self._cone_in(window)
        return Scene(
            window.space,
            focus.scale,
            plane,
            self._look,
            signs_for(self._look.glyphs),
            focus.top,
            window.start,
            window.space.last,
            self._rows.hidden_kinds,
            focus.cursor,
            moment.following,
            moment.hides_future,
            arrow if arrow is not None else self._picked if isinstance(self._picked, int) else None,
            None if cone is None else cone.records,
            {} if cone is None else cone.bounds,
            moment.selected,
            self._marked,
            self._source.judge.violations[-_SEEN_AT_MOST:],
        )

    def _cone_in(self, window: Window) -> Cone | None:
        """Of what is selected: the same one as long as it can be, which learns what is new."""
        cone, picked = self._cone, self._picked
        if picked is None:
            return None
        if cone is None or not cone.is_of(window, picked):
            cone = Cone(window, picked)
        cone.learn(window)
        return cone

    def _foot(self, plane: Plane) -> list[Piece]:
        """What is selected, or what there is to know of the picture."""
        window = self._focus.window
        if self._picked is not None and self._cone is not None and self._may_tell(self._picked):
            said = said_of(window, self._source.lines, self._picked, self._cone, self._upto)
            return [(" ", DIM), (sanitize(said, 300), self._look.accent)]
        row = "row" if self._down else "column"
        parts = [f"a {row} is {self._focus.scale.said} (+ -)", "arrows select", "| turns"]
        nodes = sorted(self._source.lines.header.nodes)
        if len(plane.lanes) < len(nodes):
            seen = listed(sorted(plane.lanes))
            parts.insert(0, f"nodes {seen} of {len(nodes)}: the number of another brings it here")
        if window.is_full():
            parts.insert(0, f"only {count_of(window.fed - window.start, 'record')} are looked at: + for all")
        return [(f" {' · '.join(parts)}", DIM)]
