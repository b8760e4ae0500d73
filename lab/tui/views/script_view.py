"""The script of a run: the lines that were executed, the one that waits, and the expectations that failed."""

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.strip import Strip

from lab.analysis.script_log import LineResult
from lab.properties.verdicts import Violation
from lab.scenario.head import read_head, split_scenario
from lab.scenario.report import matches_violation
from lab.script.commands import CommandError
from lab.script.parse import numbered_lines, parse, predecessors
from lab.script.statements import Expect, Expectation, ExpectThroughout, ExpectViolation, Statement
from lab.text import sanitize
from lab.tui.player import Cursor
from lab.tui.source import Source
from lab.tui.terminal.styles import DIM, Piece, ThemeStyles, fit, highlight
from lab.tui.views.following_view import FollowingView

_HEAD = ("title", "shows", "source")


class ScriptLine(Struct, frozen=True):
    """A line of the file. ``is_statement``: it holds more than a comment.

    ``behind`` is the number of the line that it follows, if any. ``of_run``: it has no turn, but is expected of
    the whole run or of its end; ``verdict`` is the expected violation, if it is about verdicts. ``watches``: it is
    watched to the end of the run, from its turn or from its trigger on, and the lines after it do not wait for
    that.
    """

    number: int
    text: str
    is_statement: bool = False
    behind: int | None = None
    of_run: Literal["", "watched", "at the end"] = ""
    verdict: ExpectViolation | None = None
    watches: Literal["", "at once", "once triggered"] = ""


class Script(Struct, frozen=True):
    """The head, a paragraph each, and the lines of a script."""

    paragraphs: tuple[str, ...]
    lines: tuple[ScriptLine, ...]


class LineState(Struct, frozen=True):
    """The state of a line as a ``word``. ``record``, at ``at_us``, is where it was settled; ``why`` explains it.

    ``status``: as expected, not as expected, due now, or not known yet.
    """

    status: Literal["met", "unmet", "waits", "later"]
    word: str = ""
    record: int | None = None
    at_us: int = 0
    why: str = ""


def parse_script(text: str) -> Script:
    """Return the script of a scenario's text, or of a text that is only a script."""
    head, script, first = split_scenario(text)
    scripted = dict(_scripted(script, first))
    behind = predecessors(each for each in scripted.values() if each is not None)
    lines = [
        _line(number, text.rstrip(), number in scripted, scripted.get(number), behind.get(number))
        for number, text in enumerate(script.removesuffix("\n").split("\n"), first)
    ]
    return Script(_head_paragraphs(head), tuple(lines))


def _scripted(script: str, first: int) -> Iterator[tuple[int, Statement | None]]:
    """Yield each statement by line; None if this version of the language does not know it."""
    for number, line in numbered_lines(script, first):
        try:
            yield number, replace(parse(line), line=number)
        except CommandError:
            yield number, None


def _line(
    number: int, text: str, is_statement: bool, scripted: Statement | None, behind: int | None
) -> ScriptLine:
    line = ScriptLine(number, text, is_statement, behind)
    if scripted is None or not isinstance(scripted.command, Expectation):
        return line
    command, triggered = scripted.command, scripted.trigger is not None
    if not triggered and not scripted.follows:
        verdict = command if isinstance(command, ExpectViolation) else None
        return replace(line, of_run="at the end" if isinstance(command, Expect) else "watched", verdict=verdict)
    if isinstance(command, ExpectThroughout):
        return replace(line, watches="once triggered" if triggered else "at once")
    return line


def _head_paragraphs(head: str) -> tuple[str, ...]:
    values = read_head(head).values
    paragraphs = {name: " ".join(values[name].split()) for name in _HEAD if name in values}
    if "source" in paragraphs:
        paragraphs["source"] = f"source: {paragraphs['source']}"
    return tuple(paragraphs.values())


def line_states(
    script: Script, results: Sequence[LineResult], violations: Sequence[Violation], over: bool, is_judged: bool
) -> dict[int, LineState]:
    """Return the state of each statement by line number.

    ``over``: no line will be reached any more. ``is_judged``: nor will another violation be found.
    """
    times = Counter(result.line for result in results)
    states = {result.line: _state_after(result, times[result.line]) for result in results}
    lines = {line.number: line for line in script.lines}
    for line in script.lines:
        if line.verdict is not None:
            states[line.number] = _state_judged(line.verdict, violations, is_judged)
        elif line.is_statement and line.number not in states:
            states[line.number] = _state_without(line, lines, states, over)
    return states


def _state_after(result: LineResult, times: int) -> LineState:
    if not result.succeeded:
        return LineState("unmet", result.how.upper(), result.record, result.at_us, result.why)
    return LineState("met", result.how, result.record, result.at_us, f"{times} times so far" if times > 1 else "")


def _state_judged(expected: ExpectViolation, violations: Sequence[Violation], over: bool) -> LineState:
    """Return the state of an expected violation, from those found so far: verdicts are not recorded."""
    found = next((each for each in violations if matches_violation(expected, each)), None)
    if found is not None:
        if expected.none:
            return LineState("unmet", "NOT MET", found.record, found.at_us, f"{found}")
        return LineState("met", "met", found.record, found.at_us)
    if not over:
        return LineState("later", "watched")
    return (
        LineState("met", "met")
        if expected.none
        else LineState("unmet", "NOT MET", why="no such violation was found")
    )


def _state_without(
    line: ScriptLine, lines: dict[int, ScriptLine], states: dict[int, LineState], over: bool
) -> LineState:
    if line.of_run and not over:
        return LineState("later", line.of_run)
    number = line.behind
    while number is not None and lines[number].watches:
        number = lines[number].behind
    before = None if number is None else states.get(number)
    if over or (before is not None and before.word in ("NOT MET", "NEVER")):
        return LineState("unmet", "NEVER", why="" if over else "the line before it failed")
    if before is not None and before.record is None:
        return LineState("later")
    if line.watches == "at once" or (line.watches and _is_passed(line, lines, states)):
        return LineState("later", "watched")
    return LineState("waits", "waits")


def _is_passed(line: ScriptLine, lines: dict[int, ScriptLine], states: dict[int, LineState]) -> bool:
    """Return whether a line after it was reached. Then its trigger has fired too, which no record says."""
    return any(lines[number].behind == line.number for number in states if number in lines)


# the widget

_MARGIN = 28
"""The columns before the text of a line: its number, its state, and its time."""
_LEAST_TEXT = 20
_LONGEST = 1000


class _Row(Struct, frozen=True):
    """One row on the screen: part of a line of the script, or of the text before the first line."""

    pieces: list[Piece]
    line: int | None = None


class ScriptView(FollowingView):
    """Follows the line that was reached last. ``cursor`` is the line to whose record ``Enter`` goes."""

    def __init__(self, styles: ThemeStyles, source: Source) -> None:
        super().__init__("script")
        self._styles = styles
        self._source = source
        self._script: Script | None = None
        self._drawn: tuple[object, ...] = ()
        self._states: dict[int, LineState] = {}
        self._reached: int | None = None
        self._rows: list[_Row] = []
        self._highlighted = ""

    def show(self, cursor: Cursor) -> None:
        cluster = cursor.cluster
        header, log = self._source.store.header, self._source.script_log
        results = log.results(cluster.record)
        in_branch = header.parent is not None and cluster.record > header.parent.record
        over = log.is_over(cluster.record) or in_branch
        width = self.scrollable_content_region.width
        judge = self._source.judge
        violations = [each for each in judge.violations if each.record <= cluster.record]
        is_judged = over and judge.number >= cluster.record
        to_draw = (len(results), len(violations), over, is_judged, width, self._styles.dark)
        if to_draw != self._drawn:
            self._drawn = to_draw
            if self._script is None:
                self._script = parse_script(header.scenario)
            self._states = line_states(self._script, results, violations, over, is_judged)
            self._reached = results[-1].line if results else None
            self._rows = list(self._all_rows(self._script, width))
            self.virtual_size = Size(width, len(self._rows))
            self.refresh()
        self._follow_reached()

    def texts(self) -> list[str]:
        """Return its rows, from the top."""
        return ["".join(text for text, _ in row.pieces) for row in self._rows]

    def move_cursor(self, place: int) -> None:
        """Move the cursor to the line of a row, and scroll it into view."""
        self._follow = False
        self.cursor = self._rows[place].line
        top = place if self.cursor is None else self._top_for(self.cursor, 0)
        self.scroll_to(y=top, animate=False, immediate=True)
        self.refresh()

    def highlight_text(self, text: str) -> None:
        """Highlight every occurrence of a text."""
        self._highlighted = text
        self.refresh()

    def activate(self) -> None:
        """Go to the record of the line under the cursor, or of the line reached last."""
        self._seek(self._reached if self.cursor is None else self.cursor)

    def action_cursor(self, by: int) -> None:
        """Move the cursor. Past the last line, follow the line that is reached."""
        lines = list(dict.fromkeys(row.line for row in self._rows if row.line in self._states))
        if not lines:
            return
        here = self._reached if self.cursor is None else self.cursor
        place = lines.index(here) + by if here in lines else 0
        self._follow = place >= len(lines)
        self.cursor = None if self._follow else lines[max(0, place)]
        if self.cursor is not None:
            # above the first line are the title and the purpose
            top = self._top_for(self.cursor, 0) if place >= 0 else max(0, self.scroll_offset.y + by)
            self.scroll_to(y=top, animate=False, immediate=True)
        self.refresh()

    def action_cursor_page(self, pages: int) -> None:
        """Move the cursor by half a screen."""
        self.action_cursor(pages * max(1, self.size.height // 2))

    def on_click(self, event: events.Click) -> None:
        """Go to the record of a line."""
        offset = event.get_content_offset(self)
        place = len(self._rows) if offset is None else self.scroll_offset.y + offset.y
        if place < len(self._rows):
            self._seek(self._rows[place].line)

    def render_line(self, y: int) -> Strip:
        width, place = self.size.width, self.scroll_offset.y + y
        base = self.rich_style
        if place >= len(self._rows):
            return Strip.blank(width, base)
        row = self._rows[place]
        if row.line is not None and row.line == self.cursor and self.has_focus:
            base += Style(reverse=True)
        pieces = highlight(row.pieces, [self._highlighted], self._styles.highlight)
        return Strip([Segment(text, base + style) for text, style in fit(pieces, width)], width)

    def _seek(self, line: int | None) -> None:
        state = None if line is None else self._states.get(line)
        if state is not None and state.record is not None:
            self.post_message(self.Sought(state.record))

    def _follow_reached(self) -> None:
        """Unless scrolled away, show the line reached last and some lines after it, or the top before that."""
        top = 0 if self._reached is None else self._top_for(self._reached, self.size.height // 3)
        self._follow |= self.cursor is None and top == self.scroll_offset.y
        if self._follow:
            self.scroll_to(y=top, animate=False, immediate=True)

    def _top_for(self, line: int | None, beyond: int) -> int:
        """Return the nearest scroll position that shows a line and ``beyond`` rows around it."""
        top = self.scroll_offset.y
        places = [place for place, row in enumerate(self._rows) if row.line == line]
        if line is None or not places:
            return top
        lowest = min(len(self._rows) - 1, places[-1] + beyond) - self.size.height + 1
        return min(places[0], max(lowest, min(top, places[0] - beyond), 0))

    # contents of the rows

    def _all_rows(self, script: Script, width: int) -> Iterator[_Row]:
        for place, paragraph in enumerate(script.paragraphs):
            style = Style(bold=True) if not place else DIM
            for text in textwrap.wrap(sanitize(paragraph, _LONGEST), max(_LEAST_TEXT, width - 2)):
                yield _Row([(f" {text}", style)])
        if script.paragraphs:
            yield _Row([])
        for line in script.lines:
            yield from self._line_rows(line, max(_LEAST_TEXT, width - _MARGIN))

    def _line_rows(self, line: ScriptLine, room: int) -> Iterator[_Row]:
        styles, state = self._styles, self._states.get(line.number)
        if state is None:
            yield _Row(
                [(f"{line.number:5}{'':{_MARGIN - 5}}", DIM), (sanitize(line.text, _LONGEST), DIM)], line.number
            )
            return
        reached = line.number == self._reached
        style = styles.accent if reached else DIM if state.status == "later" else Style()
        sign, signed = self._sign(state)
        clock = "" if state.record is None else f"{state.at_us / 1e6:.3f}"
        before: list[Piece] = [
            (styles.glyphs.play if reached else " ", styles.accent),
            (f"{line.number:4} ", DIM),
            (f"{sign} {state.word:10}", signed),
            (f"{clock:>8}  ", DIM),
        ]
        statement = sanitize(line.text, _LONGEST)
        statement = (
            statement if cell_len(statement) <= room else " ".join(statement.split())
        )  # drop the alignment in columns
        for text in textwrap.wrap(statement, room, subsequent_indent="    ", break_on_hyphens=False):
            yield _Row([*before, (text, style)], line.number)
            before = [(" " * _MARGIN, Style())]
        for text in textwrap.wrap(sanitize(state.why, _LONGEST), room - 2):
            yield _Row([(" " * (_MARGIN + 2), Style()), (text, signed)], line.number)

    def _sign(self, state: LineState) -> Piece:
        styles = self._styles
        if state.status == "waits":
            return styles.glyph("Waiting"), styles.status("Waiting")
        if state.status == "later":
            return " ", DIM
        return styles.glyphs.marks[state.status], styles.mark(state.status)
