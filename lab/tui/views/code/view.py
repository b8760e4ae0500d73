"""The protocol's own source, with the line where each node waits, and what ran in the last step."""

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
from lab.tui.run.cursor import Cursor
from lab.tui.run.source import Source
from lab.tui.terminal.fitting import Piece, fit, lit
from lab.tui.terminal.theme_styles import DIM, ThemeStyles
from lab.tui.views.code.ran import Ran, RanLines
from lab.tui.views.code.text import CodeRow, coloured, rows_of, shade_of
from lab.tui.views.following import FollowingView
from lab.units import count_of, listed

__all__ = ["CodeView"]

_HEAD = 2
"""So many rows at the top stay."""
_WIDEST_NODES = 5
_NUMBER = 4
_ROOM_FOR_WAITS = 14
_STILL = 2
"""What ran is looked for once so many frames have shown one and the same step."""


class _Waiter(Struct, frozen=True):
    """A node that waits at a line; ``left`` says how long it still will."""

    node: int
    status: str
    left: str
    is_selected: bool


class CodeView(FollowingView):
    """Follows the line where a node waits, or the lines that it ran, unless it was scrolled away from them.

    The node is the selected one, or that whose step was the last one. ``Enter`` goes from the one to the other.
    """

    def __init__(self, theme_styles: ThemeStyles, source: Source) -> None:
        super().__init__("code")
        self._look = theme_styles
        self._source = source
        self._steps = LastSteps(source.lines)
        self._nodes_width = min(_WIDEST_NODES, len(" ".join(map(str, source.lines.header.nodes))))
        self._drawn: tuple[object, ...] = ()
        self._rows: list[CodeRow] = []
        self._place_of: dict[int, int] = {}
        self._waiting: dict[int, tuple[_Waiter, ...]] = {}
        self._ran: Ran | None = None
        self._still: tuple[int, int] = (-1, 0)
        self._selected: int | None = None
        self._sees_ran = False
        self._head: tuple[list[Piece], ...] = ([], [])
        self._lit = ""

    def show(self, moment: Cursor) -> None:
        """Draw the source as of that moment."""
        self._lay_out()
        found = self._steps.at(moment.record, moment.selected)
        node = found.step.node if moment.selected is None and found is not None else moment.selected
        waiting = self._waiters(moment, node)
        ran = self._ran_in(found)
        changed = {line for line in {*waiting, *self._waiting} if waiting.get(line) != self._waiting.get(line)}
        if ran != self._ran:
            changed.update(ran.lines if ran is not None else (), self._ran.lines if self._ran is not None else ())
        self._waiting, self._ran = waiting, ran
        if moment.selected != self._selected:
            self._selected, self._follow, self._sees_ran = moment.selected, True, False
        view = None if node is None else moment.cluster.nodes.get(node)
        target = self._target(node)
        head = (self._where(view, target, moment.now_us), self._what_ran(found))
        if head != self._head:
            self._head = head
            self.refresh(Region(0, 0, self.size.width, _HEAD))
        self._refresh_lines(changed)
        if self._follow and target is not None:
            self._bring_into_sight(target)

    def texts(self) -> list[str]:
        """Its rows, from the top."""
        return ["".join(text for text, _ in row.pieces) for row in self._rows]

    def put_cursor(self, place: int) -> None:
        """See that row, and follow nothing."""
        self._follow = False
        self.scroll_to(y=place - (self.size.height - _HEAD) // 2, animate=False, immediate=True)

    def light_text(self, text: str) -> None:
        """Light this text up wherever it is."""
        self._lit = text
        self.refresh()

    def open_cursor(self) -> None:
        """From the line where the node waits to the lines that it ran, and back."""
        self._sees_ran = not (self._follow and self._sees_ran)
        self._follow = True

    def action_cursor(self, by: int) -> None:
        """Scroll by so many rows, and follow nothing."""
        self._follow = False
        self.scroll_to(y=self.scroll_offset.y + by, animate=False, immediate=True)

    def action_cursor_page(self, pages: int) -> None:
        """Scroll by about what fits on the screen."""
        self.action_cursor(pages * max(1, self.size.height - _HEAD - 2))

    def on_mouse_scroll_down(self) -> None:
        """Scrolled away from what it followed."""
        self._follow = False

    def render_line(self, y: int) -> Strip:
        """A row of the head, or one of the source."""
        width, place = self.size.width, self.scroll_offset.y + y - _HEAD
        base = self.rich_style
        if y < _HEAD:
            pieces = fit(self._head[y], width)
        elif place < len(self._rows):
            row = self._rows[place]
            pieces = fit(self._row(row), width)
            if self._ran is not None and row.line in self._ran.lines:
                base += shade_of(self._look)
        else:
            return Strip.blank(width, base)
        return Strip([Segment(text, base + style) for text, style in pieces], width)

    # where everything is

    @cached_property
    def _listing(self) -> Listing:
        """Read when it is looked at for the first time."""
        return Listing(self._source.lines.header.protocol)

    @cached_property
    def _ran_lines(self) -> RanLines:
        return RanLines(self._source.lines, self._listing)

    def _lay_out(self) -> None:
        to_draw = (self.scrollable_content_region.width, self._look.dark)
        if to_draw == self._drawn:
            return
        self._drawn = to_draw
        width = to_draw[0]
        room = width - self._nodes_width - _NUMBER - 3
        waited = frozenset(n for n, line in enumerate(self._listing.lines, 1) if "await " in line)
        self._rows = rows_of(coloured(self._listing.lines, self._look), room, _ROOM_FOR_WAITS, waited)
        self._place_of = {row.line: place for place, row in reversed([*enumerate(self._rows)])}
        self.virtual_size = Size(width, len(self._rows) + _HEAD)
        self.refresh()

    def _waiters(self, moment: Cursor, selected: int | None) -> dict[int, tuple[_Waiter, ...]]:
        found: dict[int, list[_Waiter]] = {}
        for node, view in sorted(moment.cluster.nodes.items(), key=lambda item: item[0] != selected):
            for wait in view.waits:
                line = self._listing.line_of(wait)
                if line is not None:
                    left = "" if wait.until_us is None else _seconds(wait.until_us - moment.now_us)
                    shown = view.process if view.process == "paused" else view.status
                    found.setdefault(line, []).append(_Waiter(node, shown, left, node == selected))
        return {line: tuple(waiters) for line, waiters in found.items()}

    def _ran_in(self, found: LastStep | None) -> Ran | None:
        """What ran in that step; while steps follow upon each other, nothing is looked for."""
        if found is None:
            return None
        number, shown = self._still
        self._still = (found.number, shown + 1 if found.number == number else 0)
        if self._still[1] < _STILL:
            return None
        if self._still[1] == _STILL:
            self.run_worker(self._ran_lines.find(found), exclusive=True)
        return self._ran_lines.about(found)

    def _target(self, node: int | None) -> int | None:
        """The line that is to be seen."""
        waits = [line for line, waiters in self._waiting.items() if any(each.node == node for each in waiters)]
        ran = self._ran.lines if self._ran is not None else ()
        first, second = (ran, waits) if self._sees_ran else (waits, ran)
        return next(iter((*first, *second)), None)

    def _bring_into_sight(self, line: int) -> None:
        """Together with the head of its function, where both fit; nothing moves that is in sight already."""
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

    # what is in the rows

    def _row(self, row: CodeRow) -> list[Piece]:
        theme_styles = self._look
        waiters = self._waiting.get(row.line, ())
        has_run = self._ran is not None and row.line in self._ran.lines
        file, number = self._listing.place_of(row.line)
        bar: Piece = (theme_styles.glyphs.whole if has_run else " ", theme_styles.accent)
        if row.part:
            before: list[Piece] = [(" " * (self._nodes_width + 1 + _NUMBER), Style())]
        else:
            before = [*self._numbers(waiters), (f"{number or '':>{_NUMBER + 1}}", DIM)]
        code = row.pieces if file else [(text, theme_styles.accent) for text, _ in row.pieces]
        pieces = [*before, bar, (" ", Style()), *lit(code, [self._lit], theme_styles.lit)]
        if not (waiters and row.is_last):
            return pieces
        room = self.size.width - cell_len("".join(text for text, _ in pieces)) - 1
        told = self._told(waiters)
        used = min(room - 1, sum(cell_len(text) for text, _ in told))
        return [*pieces, (" " * (room - used), Style()), *fit(told, used)]

    def _numbers(self, waiters: tuple[_Waiter, ...]) -> list[Piece]:
        """The numbers of the nodes that wait here, as far as there is room for them."""
        width = self._nodes_width
        pieces: list[Piece] = []
        for waiter in sorted(waiters, key=lambda each: each.node):
            style = self._look.status(waiter.status) + Style(bold=True, reverse=waiter.is_selected or None)
            pieces += [(f"{waiter.node}", style), (" ", Style())]
        if sum(len(text) for text, _ in pieces) > width + 1:
            pieces = [(listed(sorted(waiter.node for waiter in waiters)), self._look.accent)]
        used = min(width, len("".join(text for text, _ in pieces).rstrip()))
        return [(" " * (width - used), Style()), *fit(pieces, used)]

    def _told(self, waiters: tuple[_Waiter, ...]) -> list[Piece]:
        """How long each still waits; those that wait equally long are told together."""
        nodes: dict[str, list[int]] = {}
        for waiter in waiters:
            nodes.setdefault(waiter.left, []).append(waiter.node)
        said = ", ".join(f"{listed(sorted(each))}: {left or 'waits'}" for left, each in nodes.items())
        return [(f" {said} ", self._look.leader)]

    def _where(self, view: NodeState | None, target: int | None, now_us: int) -> list[Piece]:
        """Which file and function, by which rules; who waits there for what."""
        name = self._source.lines.header.protocol.file if target is None else self._listing.place_of(target)[0]
        pieces: list[Piece] = [(f" {sanitize(name, 40)}", self._look.accent)]
        function = None if target is None else self._listing.function_at(target)
        if function is not None:
            pieces.append((f"  {sanitize(function.name, 40)}", Style(bold=True)))
            if function.rules:
                pieces.append((f" {' '.join(function.rules)}", self._look.mark("caption")))
        if view is not None:
            pieces.append((f"  {_waits_said(view, now_us)}", Style()))
        return pieces

    def _what_ran(self, found: LastStep | None) -> list[Piece]:
        ran, bar = self._ran, (f" {self._look.glyphs.whole} ", self._look.accent)
        if found is None:
            return [(" no step so far", DIM)]
        if ran is None:
            return [bar, ("what ran is shown where time stands still", DIM)]
        said = f"node {ran.node} ran in record {ran.number}"
        if ran.is_exact and not ran.lines:
            nothing = f"node {ran.node} ran nothing of this in record {ran.number}: it keeps an answer"
            return [bar, (f"{nothing} until there are enough", Style())]
        if ran.is_exact:
            return [bar, (f"what {said}: {count_of(len(ran.lines), 'line')}", Style())]
        return [bar, (f"about what {said}" + (f": {ran.why}" if ran.why else " …"), Style() if ran.why else DIM)]


def _waits_said(view: NodeState, now_us: int) -> str:
    if view.process in ("killed", "failed", "absent"):
        return f"node {view.id} is {view.process}"
    if not view.waits:
        return f"node {view.id} waits in no procedure"
    wait = view.waits[0]
    peers = f" of {' '.join(map(str, wait.peers))}" if wait.peers else ""
    left = "" if wait.until_us is None else f", {_seconds(wait.until_us - now_us)}"
    return sanitize(f"node {view.id} waits for {wait.what}{peers}{left}", 200)


def _seconds(left_us: int) -> str:
    return f"{max(0, left_us) / 1e6:.1f} s"
