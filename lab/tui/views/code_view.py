"""The protocol's source, with the lines where nodes wait and the lines that the last step executed."""

import asyncio
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache

from msgspec import Struct
from rich.cells import cell_len
from rich.style import Style
from rich.text import Text

from lab.analysis.inspection import LastStep, message_received
from lab.kernel import Received
from lab.palette import Palette
from lab.properties.registry import runs_programs
from lab.protocols import Algorithm, UnknownProtocolError, find_protocol
from lab.protocols.departures import Quotation
from lab.protocols.texts import transcriptions_of
from lab.recording.records import ProtocolInfo
from lab.recording.snapshot import NodeState
from lab.recording.timeline import Timeline
from lab.replay.line_trace import TraceUnavailableError, approximate_lines, installed_protocol, trace_lines
from lab.replay.source_listing import Listing
from lab.styles import DIM, Line, Piece, ThemeStyles, fit, highlight, pieces_of, width_of
from lab.text import sanitize
from lab.tui.player import Cursor, Picked
from lab.tui.source import Source
from lab.tui.views.lines_view import Row, RowsView
from lab.tui.widgets.pane import STOPPED, process_text, wait_text
from lab.units import format_count, format_ranges
from lab.worlds.watchdog import stop_watching, watch_steps

# the source text, coloured by syntax and wrapped to a width

_MOST_LINES = 20_000
_LONGEST_LINE = 1_000
_MOST_COLOURED = 200_000
"""Characters beyond this number stay uncoloured."""
_LEAST_WIDTH = 16
_HANGING = 8
_TAB = 4


class CodeRow(Row, frozen=True):
    """One row on the screen. Line ``line`` has ``parts`` rows; this is number ``part`` of them, from 0."""

    part: int = 0
    parts: int = 1

    @property
    def line(self) -> int:
        return self.item or 0


def colour_lines(lines: Sequence[str], styles: ThemeStyles) -> list[Line]:
    """Return the coloured pieces of every line, sanitized."""
    return [*_coloured(tuple(lines), styles.dark)]


@lru_cache(maxsize=4)  # a view colours its lines again for each new size
def _coloured(lines: tuple[str, ...], dark: bool) -> tuple[Line, ...]:
    from rich.syntax import ANSISyntaxTheme, Syntax  # noqa: PLC0415 - slow, and not needed before the first screen

    safe = [sanitize(line[:_LONGEST_LINE].expandtabs(_TAB), _LONGEST_LINE) for line in lines[:_MOST_LINES]]
    text = "\n".join(safe)
    syntax = Syntax("", "python", theme=ANSISyntaxTheme(_styles(Palette(dark))))
    head = syntax.highlight(text[:_MOST_COLOURED]).split("\n", allow_blank=True)
    coloured = [pieces_of(line) for line in head[: len(safe)]]
    for place, line in enumerate(safe):  # from the line on at which the colour ends, lines are plain
        if place >= len(coloured) or "".join(each for each, _ in coloured[place]) != line:
            coloured[place : place + 1] = [[(line, Style())]]
    return tuple(coloured)


@lru_cache(maxsize=4)  # also when it shows another node's source, and the first one again
def _rows_of(lines: tuple[str, ...], dark: bool, width: int) -> tuple[CodeRow, ...]:
    """Return the rows of a source, with room beside each line at which a node may wait."""
    await_lines = frozenset(number for number, line in enumerate(lines, 1) if "await " in line)
    return tuple(wrap_lines(_coloured(lines, dark), width, _ROOM_FOR_WAITS, await_lines))


def wrap_lines(lines: Sequence[Line], width: int, room_left: int, reserved: frozenset[int]) -> list[CodeRow]:
    """Wrap the lines into rows.

    The last row of each line in ``reserved``, counted from 1, leaves ``room_left`` columns free.
    """
    rows = []
    for number, pieces in enumerate(lines, 1):
        parts = list(_wrap(pieces, max(_LEAST_WIDTH, width), room_left if number in reserved else 0))
        rows += [CodeRow(part, number, place, len(parts)) for place, part in enumerate(parts)]
    return rows


def _styles(palette: Palette) -> dict[tuple[str, ...], Style]:
    purple, green, sky = (Style(color=palette.named(each)) for each in ("purple", "green", "sky"))
    return {
        ("Comment",): DIM,
        ("Keyword",): purple,
        ("Operator", "Word"): purple,
        ("Literal", "String"): green,
        ("Literal", "String", "Doc"): DIM,
        ("Literal", "Number"): green,
        ("Name", "Decorator"): sky,
        ("Name", "Function"): sky + Style(bold=True),
        ("Name", "Class"): sky + Style(bold=True),
        ("Name", "Builtin", "Pseudo"): Style(italic=True),
    }


def _wrap(pieces: Line, width: int, room_left: int) -> Iterator[Line]:
    """Yield rows of the given width, broken at blanks if possible. Rows after the first are indented."""
    text = "".join(each for each, _ in pieces)
    if cell_len(text) <= width - room_left:  # as most lines do; a view wraps thousands when it is shown
        yield [*pieces]
        return
    whole = Text.assemble(*pieces)
    text = whole.plain
    indent = len(text) - len(text.lstrip())
    hanging = min(indent + _HANGING, width // 2)
    start, room, before = 0, width, Line()
    while (rest := cell_len(text[start:])) > room - room_left:
        end = _row_end(text, start, min(room, rest - 1))
        blank = text.rfind(" ", start + (0 if start else indent) + 1, end + 1)
        if blank <= start and rest <= room:
            break
        if blank > start:
            end = blank + 1
        yield before + pieces_of(whole[start:end])
        start, room, before = end, width - hanging, [(" " * hanging, Style())]
    yield before + (pieces_of(whole[start:]) if start else pieces)


def _row_end(text: str, start: int, room: int) -> int:
    """Return the end of a row of ``room`` cells that begins at ``start``."""
    if text.isascii():
        return min(len(text), start + max(0, room))
    end = start
    while end < len(text) and (room := room - cell_len(text[end])) >= 0:
        end += 1
    return end


# the lines that a step executed

_MOST_KNOWN = 1_000


class ExecutedLines(Struct, frozen=True):
    """The lines of the listing that ``node`` executed in the record ``number``, in order.

    If they are not exact, ``why`` is the reason, or empty while they are being traced.
    """

    number: int
    node: int
    lines: tuple[int, ...]
    is_exact: bool = False
    why: str = ""


class ExecutionTracer:
    """Finds the executed lines of steps: an estimate at once, and later the exact lines."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._store = source.store
        self._timeline = Timeline(source.store)
        self._known: dict[int, ExecutedLines] = {}

    def so_far(self, found: LastStep) -> ExecutedLines:
        """Return what is known of a step now: the exact lines or an estimate."""
        known = self._known.get(found.number)
        if known is None:
            step, node_input = found.step, found.step.input
            view = self._timeline.at(found.number - 1).nodes.get(step.node)
            received = None
            if isinstance(node_input, Received):
                received = message_received(self._store, found.number, node_input)
            before = () if view is None else view.waits
            listing = self._source.listing_of(step.node)
            lines = approximate_lines(listing, step, "" if received is None else received.kind, before)
            known = self._keep(ExecutedLines(found.number, step.node, lines))
        return known

    async def find(self, found: LastStep) -> None:
        """Trace the exact lines, in chunks, so that the interface stays responsive."""
        so_far = self.so_far(found)
        if so_far.is_exact or so_far.why:
            return
        watch_steps()
        try:
            protocol = installed_protocol(self._store.header.protocol_of(found.step.node))
            running = trace_lines(self._store, found.number, protocol)
            while True:
                next(running)
                await asyncio.sleep(0)
        except StopIteration as end:
            self._keep(ExecutedLines(found.number, found.step.node, end.value, is_exact=True))
        except TraceUnavailableError as error:
            self._keep(ExecutedLines(so_far.number, so_far.node, so_far.lines, why=str(error)))
        finally:
            stop_watching()

    def _keep(self, executed: ExecutedLines) -> ExecutedLines:
        if len(self._known) >= _MOST_KNOWN:
            del self._known[next(iter(self._known))]
        self._known[executed.number] = executed
        return executed


# the widget

_WIDEST_NODES = 5
_NUMBER = 4
_ROOM_FOR_WAITS = 14
_FRAMES_BEFORE_TRACE = 2
"""A step is traced once it has been shown for this many frames."""
_ROOM_FOR_WORDS = 20
"""The least room for the words of the text at the end of a line."""
_TALL = 12
"""The least height with a line of its own for those words in full."""


class _Waiter(Struct, frozen=True):
    """A node that waits at a line; ``left`` is the remaining time."""

    node: int
    status: str
    left: str
    is_selected: bool


class CodeView(RowsView):
    """Follows the line where a node waits, or the lines that it executed, until it is scrolled away.

    The node is the selected one, or else the one that made the last step. ``Enter`` switches between the two. The
    executed lines are those of its last step or, once a step or a message is selected in another view, of that
    step or of the one that sent the message.
    """

    def __init__(self, styles: ThemeStyles, source: Source) -> None:
        super().__init__("code", styles)
        self._source = source
        self._nodes_width = min(_WIDEST_NODES, len(" ".join(map(str, source.store.header.nodes))))
        self._node: int | None = None
        self._rows: tuple[CodeRow, ...] = ()
        self._place_of: dict[int, int] = {}
        self._waiting: dict[int, tuple[_Waiter, ...]] = {}
        self._known_words: dict[str, dict[int, tuple[Quotation, ...]]] = {}
        self._ran: ExecutedLines | None = None
        self._repeated: tuple[int, int] = (-1, 0)
        self._selected: int | None = None
        self._shows_ran = False

    def show(self, cursor: Cursor) -> None:
        found = self._step_shown(cursor)
        node = found.step.node if cursor.selected is None and found is not None else cursor.selected
        self._node = node
        if self._is_new(self._info.name):
            self._layout_source()
        self._waiting, self._ran = self._waiters(cursor, node), self._ran_in(found)
        if cursor.selected != self._selected:
            self._selected, self._follow, self._shows_ran = cursor.selected, True, False
        view = None if node is None else cursor.cluster.nodes.get(node)
        target = self._target(node)
        head = [self._location_pieces(view, target, cursor.now_us), self._ran_pieces(found)]
        self._put(len(self._rows), [*head, *self._quoted_lines(target), *self._departure_lines(target)])
        self._redraw()
        if self._follow and target is not None:
            self._scroll_into_view(target)

    def select(self, picked: Picked | None) -> None:
        """Show the lines that the step selected in another view has executed."""
        super().select(picked)
        self._follow, self._shows_ran = True, picked is not None

    def _step_shown(self, cursor: Cursor) -> LastStep | None:
        """Return the step whose lines are marked."""
        picked, steps = self._picked, self._source.last_steps
        if picked is not None and picked.node is not None and 0 <= picked.record <= cursor.record:
            found = steps.at(picked.record, picked.node)
            if found is not None and found.number == picked.record:
                return found
        return steps.at(cursor.record, cursor.selected)

    def line(self, place: int) -> Line:
        row = self._rows[place]
        pieces = self._row_pieces(row)
        has_run = self._ran is not None and row.line in self._ran.lines
        return self._in_style(pieces, self._styles.picked) if has_run else pieces

    def move_cursor(self, place: int) -> None:
        self._follow = False
        self._scroll(place - self._height // 2)

    def activate(self) -> None:
        """Switch between the line where the node waits and the lines that it executed."""
        self._shows_ran = not (self._follow and self._shows_ran)
        self._follow = True

    @property
    def _page(self) -> int:
        return self._height - 2

    def on_mouse_scroll_down(self) -> None:
        self._follow = False

    # layout

    @property
    def _listing(self) -> Listing:
        return self._source.listing_of(self._node)

    @property
    def _info(self) -> ProtocolInfo:
        """The protocol whose source is shown."""
        header = self._source.store.header
        return header.protocol if self._node is None else header.protocol_of(self._node)

    @cached_property
    def _tracer(self) -> ExecutionTracer:
        return ExecutionTracer(self._source)

    def _layout_source(self) -> None:
        room = self.scrollable_content_region.width - self._nodes_width - _NUMBER - 3
        self._rows = _rows_of(tuple(self._listing.lines), self._styles.dark, room)
        self._place_of = {row.line: place for place, row in reversed([*enumerate(self._rows)])}

    def _waiters(self, cursor: Cursor, selected: int | None) -> dict[int, tuple[_Waiter, ...]]:
        found: dict[int, list[_Waiter]] = {}
        for node, view in sorted(cursor.cluster.nodes.items(), key=lambda item: item[0] != selected):
            if self._source.listing_of(node) is not self._listing:
                continue  # it waits in another source
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
        height = max(1, self._height)
        top = self.scroll_offset.y
        if top <= place < top + height - min(3, height - 1):
            return
        function = self._listing.function_at(line)
        begins = place if function is None else self._place_of.get(function.first, place)
        top = begins if place - begins < height - 3 else place - height // 2
        self._scroll(top)

    # contents of the rows

    def _row_pieces(self, row: CodeRow) -> Line:
        styles = self._styles
        waiters = self._waiting.get(row.line, ())
        has_run = self._ran is not None and row.line in self._ran.lines
        file, number = self._listing.place_of(row.line)
        bar: Piece = (styles.glyphs.whole if has_run else " ", styles.accent)
        if row.part:
            before: Line = [(" " * (self._nodes_width + 1 + _NUMBER), Style())]
        else:
            before = [*self._node_numbers(waiters), (f"{number or '':>{_NUMBER + 1}}", DIM)]
        code = row.pieces if file else [(text, styles.accent) for text, _ in row.pieces]
        pieces = [*before, bar, (" ", Style()), *highlight(code, [self._highlighted], styles.highlight)]
        if row.part < row.parts - 1:
            return pieces
        room = self._width - width_of(pieces) - 1
        times = self._wait_times(waiters) if waiters else []
        used = min(room - 1, width_of(times))
        words = self._words_of(row.line) if room - used >= _ROOM_FOR_WORDS else []
        return [*pieces, *fit(words, room - used), *fit(times, used)]

    def _words_of(self, line: int) -> Line:
        """Return the words of the text that a line carries out."""
        words = " ".join(f"“{each.words}”" for each in self._words.get(line, ()))
        return [(f"  {words} ", DIM)] if words else []

    def _quoted_lines(self, target: int | None) -> list[Line]:
        """Return the words of the text that the line carries out, and their place in it, where all else fits."""
        quoted = () if target is None or self.size.height < _TALL else self._words.get(target, ())
        return [[(f" {each}", self._styles.mark("caption"))] for each in quoted]

    def _node_numbers(self, waiters: tuple[_Waiter, ...]) -> Line:
        """Return the numbers of the nodes that wait here, as many as fit."""
        width = self._nodes_width
        pieces: Line = []
        for waiter in sorted(waiters, key=lambda each: each.node):
            style = self._styles.status(waiter.status) + Style(bold=True, reverse=waiter.is_selected or None)
            pieces += [(f"{waiter.node}", style), (" ", Style())]
        if sum(len(text) for text, _ in pieces) > width + 1:
            pieces = [(format_ranges(sorted(waiter.node for waiter in waiters)), self._styles.accent)]
        used = min(width, len("".join(text for text, _ in pieces).rstrip()))
        return [(" " * (width - used), Style()), *fit(pieces, used)]

    def _wait_times(self, waiters: tuple[_Waiter, ...]) -> Line:
        """Return the remaining waiting times; nodes with equal times share an entry."""
        nodes: dict[str, list[int]] = {}
        for waiter in waiters:
            nodes.setdefault(waiter.left, []).append(waiter.node)
        text = ", ".join(f"{format_ranges(sorted(each))}: {left or 'waits'}" for left, each in nodes.items())
        return [(f" {text} ", self._styles.leader)]

    def _location_pieces(self, view: NodeState | None, target: int | None, now_us: int) -> Line:
        """Return the file, the function and its rules, and what the node waits for."""
        name = self._info.file if target is None else self._listing.place_of(target)[0]
        pieces: Line = [(f" {sanitize(name, 40)}", self._styles.accent)]
        function = None if target is None else self._listing.function_at(target)
        if function is not None:
            pieces.append((f"  {sanitize(function.name, 40)}", Style(bold=True)))
            if function.rules:
                pieces.append((f" {' '.join(function.rules)}", self._styles.mark("caption")))
        if view is not None:
            pieces.append((f"  {_describe_wait(view, now_us)}", Style()))
        return pieces

    def _departure_lines(self, target: int | None) -> list[Line]:
        """Return the words of the text where the function departs from it, or reads it in one of several ways."""
        function = None if target is None else self._listing.function_at(target)
        known = [] if function is None else [self._departures.get(name, "") for name in function.departures]
        return [[(f" {sanitize(text, 300)}", self._styles.mark("caption"))] for text in known if text]

    @property
    def _departures(self) -> dict[str, str]:
        return self._protocol.departures(self._info.parameters)

    @property
    def _words(self) -> dict[int, tuple[Quotation, ...]]:
        known = self._known_words.get(self._info.name)
        if known is None:
            known = self._known_words[self._info.name] = self._listing.words(transcriptions_of(self._protocol))
        return known

    @property
    def _protocol(self) -> type[Algorithm]:
        """The built-in protocol, which knows its texts; of others nothing is known."""
        try:
            return find_protocol(self._info.name, self._info.parameters)
        except UnknownProtocolError:
            return Algorithm

    @property
    def _is_program(self) -> bool:
        return runs_programs(self._info)

    def _ran_pieces(self, found: LastStep | None) -> Line:
        ran, bar = self._ran, (f" {self._styles.glyphs.whole} ", self._styles.accent)
        if found is None:
            return [(" no step so far", DIM)]
        if ran is None:
            return [bar, ("the executed lines appear when time stops", DIM)]
        if ran.is_exact and not ran.lines:
            if self._is_program:
                return [bar, (f"node {ran.node} is a program; this is the lens that reads its state", Style())]
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
    if view.process in STOPPED:
        return f"node {view.id} is {process_text(view.process)}"
    if not view.waits:
        return f"no procedure of node {view.id} runs"
    wait = view.waits[0]
    left = "" if wait.until_us is None else f", {_seconds(wait.until_us - now_us)}"
    return sanitize(f"node {view.id} {wait_text(wait)}{left}", 200)


def _seconds(left_us: int) -> str:
    return f"{max(0, left_us) / 1e6:.1f} s"
