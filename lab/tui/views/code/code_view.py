"""The protocol's source, with the lines where nodes wait and the lines that the last step executed."""

from functools import cached_property

from msgspec import Struct
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.strip import Strip

from lab.analysis.lookback import LastStep, LastSteps
from lab.recording.snapshot import NodeState
from lab.replay.source_listing import Listing
from lab.text import sanitize
from lab.tui.nodes.pane import process_text
from lab.tui.run.cursor import Cursor
from lab.tui.run.source import Source
from lab.tui.terminal.fitting import Piece, fit, highlight
from lab.tui.terminal.theme_styles import DIM, ThemeStyles
from lab.tui.views.code.code_text import CodeRow, colour_lines, shade_style, wrap_lines
from lab.tui.views.code.executed_lines import ExecutedLines, ExecutionTracer
from lab.tui.views.following_view import FollowingView
from lab.units import format_count, format_ranges

__all__ = ["CodeView"]

_HEAD = 2
"""Rows at the top that do not scroll."""
_WIDEST_NODES = 5
_NUMBER = 4
_ROOM_FOR_WAITS = 14
_FRAMES_BEFORE_TRACE = 2
"""A step is traced once it has been shown for this many frames."""


class _Waiter(Struct, frozen=True):
    """A node that waits at a line; ``left`` is the remaining time."""

    node: int
    status: str
    left: str
    is_selected: bool


class CodeView(FollowingView):
    """Follows the line where a node waits, or the lines that it executed, until it is scrolled away.

    The node is the selected one, or else the one that made the last step. ``Enter`` switches between the two.
    """

    def __init__(self, theme_styles: ThemeStyles, source: Source) -> None:
        super().__init__("code")
        self._theme_styles = theme_styles
        self._source = source
        self._steps = LastSteps(source.store)
        self._nodes_width = min(_WIDEST_NODES, len(" ".join(map(str, source.store.header.nodes))))
        self._drawn: tuple[object, ...] = ()
        self._rows: list[CodeRow] = []
        self._place_of: dict[int, int] = {}
        self._waiting: dict[int, tuple[_Waiter, ...]] = {}
        self._ran: ExecutedLines | None = None
        self._repeated: tuple[int, int] = (-1, 0)
        self._selected: int | None = None
        self._shows_ran = False
        self._head: tuple[list[Piece], ...] = ([], [])
        self._highlighted = ""

    def show(self, cursor: Cursor) -> None:
        self._layout_source()
        found = self._steps.at(cursor.record, cursor.selected)
        node = found.step.node if cursor.selected is None and found is not None else cursor.selected
        waiting = self._waiters(cursor, node)
        ran = self._ran_in(found)
        changed = {line for line in {*waiting, *self._waiting} if waiting.get(line) != self._waiting.get(line)}
        if ran != self._ran:
            changed.update(ran.lines if ran is not None else (), self._ran.lines if self._ran is not None else ())
        self._waiting, self._ran = waiting, ran
        if cursor.selected != self._selected:
            self._selected, self._follow, self._shows_ran = cursor.selected, True, False
        view = None if node is None else cursor.cluster.nodes.get(node)
        target = self._target(node)
        head = (self._location_pieces(view, target, cursor.now_us), self._ran_pieces(found))
        if head != self._head:
            self._head = head
            self.refresh(Region(0, 0, self.size.width, _HEAD))
        self._refresh_lines(changed)
        if self._follow and target is not None:
            self._scroll_into_view(target)

    def texts(self) -> list[str]:
        """Return its rows, from the top."""
        return ["".join(text for text, _ in row.pieces) for row in self._rows]

    def move_cursor(self, place: int) -> None:
        """Scroll to a row, and stop following."""
        self._follow = False
        self.scroll_to(y=place - (self.size.height - _HEAD) // 2, animate=False, immediate=True)

    def highlight_text(self, text: str) -> None:
        """Highlight every occurrence of a text."""
        self._highlighted = text
        self.refresh()

    def activate(self) -> None:
        """Switch between the line where the node waits and the lines that it executed."""
        self._shows_ran = not (self._follow and self._shows_ran)
        self._follow = True

    def action_cursor(self, by: int) -> None:
        """Scroll, and stop following."""
        self._follow = False
        self.scroll_to(y=self.scroll_offset.y + by, animate=False, immediate=True)

    def action_cursor_page(self, pages: int) -> None:
        self.action_cursor(pages * max(1, self.size.height - _HEAD - 2))

    def on_mouse_scroll_down(self) -> None:
        """Stop following."""
        self._follow = False

    def render_line(self, y: int) -> Strip:
        width, place = self.size.width, self.scroll_offset.y + y - _HEAD
        base = self.rich_style
        if y < _HEAD:
            pieces = fit(self._head[y], width)
        elif place < len(self._rows):
            row = self._rows[place]
            pieces = fit(self._row_pieces(row), width)
            if self._ran is not None and row.line in self._ran.lines:
                base += shade_style(self._theme_styles)
        else:
            return Strip.blank(width, base)
        return Strip([Segment(text, base + style) for text, style in pieces], width)

    # layout

    @cached_property
    def _listing(self) -> Listing:
        """The listing, read on first use."""
        return Listing(self._source.store.header.protocol)

    @cached_property
    def _tracer(self) -> ExecutionTracer:
        return ExecutionTracer(self._source.store, self._listing)

    def _layout_source(self) -> None:
        to_draw = (self.scrollable_content_region.width, self._theme_styles.dark)
        if to_draw == self._drawn:
            return
        self._drawn = to_draw
        width = to_draw[0]
        room = width - self._nodes_width - _NUMBER - 3
        await_lines = frozenset(n for n, line in enumerate(self._listing.lines, 1) if "await " in line)
        self._rows = wrap_lines(
            colour_lines(self._listing.lines, self._theme_styles), room, _ROOM_FOR_WAITS, await_lines
        )
        self._place_of = {row.line: place for place, row in reversed([*enumerate(self._rows)])}
        self.virtual_size = Size(width, len(self._rows) + _HEAD)
        self.refresh()

    def _waiters(self, cursor: Cursor, selected: int | None) -> dict[int, tuple[_Waiter, ...]]:
        found: dict[int, list[_Waiter]] = {}
        for node, view in sorted(cursor.cluster.nodes.items(), key=lambda item: item[0] != selected):
            for wait in view.waits:
                line = self._listing.line_of(wait)
                if line is not None:
                    left = "" if wait.until_us is None else _seconds(wait.until_us - cursor.now_us)
                    shown = view.process if view.process == "paused" else view.status
                    found.setdefault(line, []).append(_Waiter(node, shown, left, node == selected))
        return {line: tuple(waiters) for line, waiters in found.items()}

    def _ran_in(self, found: LastStep | None) -> ExecutedLines | None:
        """Return what is known of a step's executed lines. Steps that pass quickly are not traced."""
        if found is None:
            return None
        number, shown = self._repeated
        self._repeated = (found.number, shown + 1 if found.number == number else 0)
        if self._repeated[1] < _FRAMES_BEFORE_TRACE:
            return None
        if self._repeated[1] == _FRAMES_BEFORE_TRACE:
            self.run_worker(self._tracer.find(found), exclusive=True)
        return self._tracer.so_far(found)

    def _target(self, node: int | None) -> int | None:
        """Return the line to scroll into view."""
        waits = [line for line, waiters in self._waiting.items() if any(each.node == node for each in waiters)]
        ran = self._ran.lines if self._ran is not None else ()
        first, second = (ran, waits) if self._shows_ran else (waits, ran)
        return next(iter((*first, *second)), None)

    def _scroll_into_view(self, line: int) -> None:
        """Scroll to a line, with the head of its function if both fit. A visible line stays where it is."""
        place = self._place_of.get(line)
        if place is None:
            return
        height = max(1, self.size.height - _HEAD)
        top = self.scroll_offset.y
        if top <= place < top + height - min(3, height - 1):
            return
        function = self._listing.function_at(line)
        begins = place if function is None else self._place_of.get(function.first, place)
        top = begins if place - begins < height - 3 else place - height // 2
        self.scroll_to(y=max(0, top), animate=False, immediate=True)

    def _refresh_lines(self, lines: set[int]) -> None:
        for line in lines:
            place = self._place_of.get(line)
            while place is not None and place < len(self._rows) and self._rows[place].line == line:
                y = place + _HEAD - self.scroll_offset.y
                if _HEAD <= y < self.size.height:
                    self.refresh(Region(0, y, self.size.width, 1))
                place += 1

    # contents of the rows

    def _row_pieces(self, row: CodeRow) -> list[Piece]:
        theme_styles = self._theme_styles
        waiters = self._waiting.get(row.line, ())
        has_run = self._ran is not None and row.line in self._ran.lines
        file, number = self._listing.place_of(row.line)
        bar: Piece = (theme_styles.glyphs.whole if has_run else " ", theme_styles.accent)
        if row.part:
            before: list[Piece] = [(" " * (self._nodes_width + 1 + _NUMBER), Style())]
        else:
            before = [*self._node_numbers(waiters), (f"{number or '':>{_NUMBER + 1}}", DIM)]
        code = row.pieces if file else [(text, theme_styles.accent) for text, _ in row.pieces]
        pieces = [*before, bar, (" ", Style()), *highlight(code, [self._highlighted], theme_styles.highlight)]
        if not (waiters and row.is_last):
            return pieces
        room = self.size.width - cell_len("".join(text for text, _ in pieces)) - 1
        times = self._wait_times(waiters)
        used = min(room - 1, sum(cell_len(text) for text, _ in times))
        return [*pieces, (" " * (room - used), Style()), *fit(times, used)]

    def _node_numbers(self, waiters: tuple[_Waiter, ...]) -> list[Piece]:
        """Return the numbers of the nodes that wait here, as many as fit."""
        width = self._nodes_width
        pieces: list[Piece] = []
        for waiter in sorted(waiters, key=lambda each: each.node):
            style = self._theme_styles.status(waiter.status) + Style(bold=True, reverse=waiter.is_selected or None)
            pieces += [(f"{waiter.node}", style), (" ", Style())]
        if sum(len(text) for text, _ in pieces) > width + 1:
            pieces = [(format_ranges(sorted(waiter.node for waiter in waiters)), self._theme_styles.accent)]
        used = min(width, len("".join(text for text, _ in pieces).rstrip()))
        return [(" " * (width - used), Style()), *fit(pieces, used)]

    def _wait_times(self, waiters: tuple[_Waiter, ...]) -> list[Piece]:
        """Return the remaining waiting times; nodes with equal times share an entry."""
        nodes: dict[str, list[int]] = {}
        for waiter in waiters:
            nodes.setdefault(waiter.left, []).append(waiter.node)
        text = ", ".join(f"{format_ranges(sorted(each))}: {left or 'waits'}" for left, each in nodes.items())
        return [(f" {text} ", self._theme_styles.leader)]

    def _location_pieces(self, view: NodeState | None, target: int | None, now_us: int) -> list[Piece]:
        """Return the file, the function and its rules, and what the node waits for."""
        name = self._source.store.header.protocol.file if target is None else self._listing.place_of(target)[0]
        pieces: list[Piece] = [(f" {sanitize(name, 40)}", self._theme_styles.accent)]
        function = None if target is None else self._listing.function_at(target)
        if function is not None:
            pieces.append((f"  {sanitize(function.name, 40)}", Style(bold=True)))
            if function.rules:
                pieces.append((f" {' '.join(function.rules)}", self._theme_styles.mark("caption")))
        if view is not None:
            pieces.append((f"  {_describe_wait(view, now_us)}", Style()))
        return pieces

    def _ran_pieces(self, found: LastStep | None) -> list[Piece]:
        ran, bar = self._ran, (f" {self._theme_styles.glyphs.whole} ", self._theme_styles.accent)
        if found is None:
            return [(" no step so far", DIM)]
        if ran is None:
            return [bar, ("the executed lines appear when time stops", DIM)]
        if ran.is_exact and not ran.lines:
            nothing = f"node {ran.node} executed none of this in record {ran.number}: it keeps an answer"
            return [bar, (f"{nothing} until it has enough", Style())]
        text = f"node {ran.node} executed in record {ran.number}"
        if ran.is_exact:
            return [bar, (f"{text}: {format_count(len(ran.lines), 'line')}", Style())]
        return [
            bar,
            (f"{text}, approximately" + (f": {ran.why}" if ran.why else " …"), Style() if ran.why else DIM),
        ]


def _describe_wait(view: NodeState, now_us: int) -> str:
    if view.process in ("killed", "failed", "absent"):
        return f"node {view.id} is {process_text(view.process)}"
    if not view.waits:
        return f"node {view.id} is idle"
    wait = view.waits[0]
    peers = f" from {' '.join(map(str, wait.peers))}" if wait.peers else ""
    left = "" if wait.until_us is None else f", {_seconds(wait.until_us - now_us)}"
    return sanitize(f"node {view.id} waits for {wait.what}{peers}{left}", 200)


def _seconds(left_us: int) -> str:
    return f"{max(0, left_us) / 1e6:.1f} s"
