"""The script of a run: the lines that were executed, the one that waits, and the expectations that failed.

In a run that goes on, it also lists the commands given by hand, executed or waiting.
"""

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct
from rich.cells import cell_len
from rich.style import Style
from textual import events

from lab.analysis.script_log import LineResult, LoggedCommand
from lab.properties.verdicts import Violation
from lab.scenario.report import matches_violation
from lab.script.statements import Expect, Expectation, ExpectThroughout, ExpectViolation, Statement
from lab.styles import DIM, Line, Piece, ThemeStyles
from lab.text import sanitize
from lab.tui.player import Cursor
from lab.tui.source import RecordedScenario, Source
from lab.tui.views.lines_view import Row, RowsView

_HEAD = ("title", "shows", "source")


class LineState(Struct, frozen=True):
    """The state of a line as a ``word``. ``record``, at ``at_us``, is where it was settled; ``why`` explains it.

    ``status``: as expected, not as expected, due now, or not known yet.
    """

    status: Literal["met", "unmet", "waits", "later"]
    word: str = ""
    record: int | None = None
    at_us: int = 0
    why: str = ""


def head_paragraphs(scenario: RecordedScenario) -> list[str]:
    """Return the texts of the head, a paragraph each."""
    paragraphs = {name: " ".join(scenario.head[name].split()) for name in _HEAD if name in scenario.head}
    if "source" in paragraphs:
        paragraphs["source"] = f"source: {paragraphs['source']}"
    return list(paragraphs.values())


def line_states(
    scenario: RecordedScenario,
    results: Sequence[LineResult],
    violations: Sequence[Violation],
    over: bool,
    is_judged: bool,
) -> dict[int, LineState]:
    """Return the state of each statement by line number.

    ``over``: no line will be reached any more. ``is_judged``: nor will another violation be found.
    """
    times = Counter(result.line for result in results)
    states = {result.line: _state_after(result, times[result.line]) for result in results}
    for number, statement in scenario.statements.items():
        if statement is not None and isinstance(statement.command, ExpectViolation):
            states[number] = _state_judged(statement.command, violations, is_judged)
        elif number not in states:
            states[number] = _state_without(number, scenario, states, over)
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
    if expected.none:
        return LineState("met", "met")
    return LineState("unmet", "NOT MET", why="no such violation was found")


def _state_without(number: int, scenario: RecordedScenario, states: dict[int, LineState], over: bool) -> LineState:
    """Return the state of a line without a result."""
    statement, line_before = scenario.statements[number], scenario.predecessors.get(number)
    if not over and (expected := _expected_of_run(statement)):
        return LineState("later", expected)
    while line_before is not None and _is_watched(scenario.statements[line_before]):
        line_before = scenario.predecessors.get(line_before)
    before = None if line_before is None else states.get(line_before)
    if over or (before is not None and before.word in ("NOT MET", "NEVER")):
        return LineState("unmet", "NEVER", why="" if over else "the line before it failed")
    if before is not None and before.record is None:
        return LineState("later")
    if statement is not None and _is_watched(statement):
        # its trigger, if any, has fired if a line after it was reached; no record says so
        is_passed = any(scenario.predecessors.get(reached) == number for reached in states)
        if statement.trigger is None or is_passed:
            return LineState("later", "watched")
    return LineState("waits", "waits")


def _expected_of_run(statement: Statement | None) -> str:
    """Return the state of an expectation that has no turn, but is about the whole run or its end; else empty."""
    if statement is None or not isinstance(statement.command, Expectation) or _has_turn(statement):
        return ""
    return "at the end" if isinstance(statement.command, Expect) else "watched"


def _is_watched(statement: Statement | None) -> bool:
    """Return whether it is watched from its turn, or its trigger, to the end of the run: no line waits for it."""
    return statement is not None and isinstance(statement.command, ExpectThroughout) and _has_turn(statement)


def _has_turn(statement: Statement) -> bool:
    return statement.trigger is not None or statement.follows


# the widget

_MARGIN = 28
"""The columns before the text of a line: its number, its state, and its time."""
_LEAST_TEXT = 20
_LONGEST = 1000
_AFTER_ALL = -(1 << 60)
"""The number of the first waiting command, which has no record."""


class ScriptView(RowsView):
    """Follows the line that was reached last. ``cursor`` is the line to whose record ``Enter`` goes."""

    def __init__(self, styles: ThemeStyles, source: Source) -> None:
        super().__init__("script", styles)
        self._source = source
        self._states: dict[int, LineState] = {}
        self._reached: int | None = None

    def show(self, cursor: Cursor) -> None:
        record, header, log = cursor.record, self._source.store.header, self._source.script_log
        results = log.results(record)
        in_branch = header.parent is not None and record > header.parent.record
        over = log.is_over(record) or in_branch
        judge = self._source.judge
        violations = [each for each in judge.violations if each.record <= record]
        is_judged = over and judge.number >= record
        given = log.given(record) if self._source.is_live else ()
        waiting = self._source.waiting
        if self._is_new(len(results), len(violations), over, is_judged, len(given), waiting):
            self._states = line_states(self._source.scenario, results, violations, over, is_judged)
            newest = -given[-1].result.record if given and not header.scenario else None
            self._reached = results[-1].line if results else newest
            width = self.scrollable_content_region.width
            script = self._script_rows(width) if header.scenario else ()
            self._put_rows([*script, *self._given_rows(given, waiting, width)])
        self._follow_reached()

    def line(self, place: int) -> Line:
        item, line = self._rows[place].item, super().line(place)
        is_marked = item is not None and item == self.cursor and self.has_focus
        return self._in_style(line, Style(reverse=True)) if is_marked else line

    def move_cursor(self, place: int) -> None:
        self._follow = False
        self.cursor = self._rows[place].item
        self._scroll(place if self.cursor is None else self._top_for(self.cursor))
        self.refresh()

    def activate(self) -> None:
        """Go to the record of the line under the cursor, or of the line reached last."""
        self._seek(self._reached if self.cursor is None else self.cursor)

    def action_cursor(self, by: int) -> None:
        """Move the cursor. Past the last line, follow the line that is reached."""
        lines = list(dict.fromkeys(row.item for row in self._rows if row.item in self._states))
        if not lines:
            return
        here = self._reached if self.cursor is None else self.cursor
        place = lines.index(here) + by if here in lines else 0
        self._follow = place >= len(lines)
        self.cursor = None if self._follow else lines[max(0, place)]
        if self.cursor is not None:
            # above the first line are the title and the purpose
            self._scroll(self._top_for(self.cursor) if place >= 0 else self.scroll_offset.y + by)
        self.refresh()

    @property
    def _page(self) -> int:
        return self.size.height // 2

    def on_click(self, event: events.Click) -> None:
        self._seek(self._item_at(event))

    def _seek(self, line: int | None) -> None:
        state = None if line is None else self._states.get(line)
        if state is not None and state.record is not None:
            self.post_message(self.Sought(state.record))

    def _follow_reached(self) -> None:
        """Unless scrolled away, show the line reached last and some lines after it, or the top before that."""
        top = 0 if self._reached is None else self._top_for(self._reached, self.size.height // 3)
        self._follow |= self.cursor is None and top == self.scroll_offset.y
        if self._follow:
            self._scroll(top)

    # contents of the rows

    def _script_rows(self, width: int) -> Iterator[Row]:
        scenario = self._source.scenario
        paragraphs = head_paragraphs(scenario)
        for place, paragraph in enumerate(paragraphs):
            style = Style(bold=True) if not place else DIM
            for text in textwrap.wrap(sanitize(paragraph, _LONGEST), max(_LEAST_TEXT, width - 2)):
                yield Row([(f" {text}", style)])
        if paragraphs:
            yield Row([])
        for number, line in scenario.lines:
            yield from self._line_rows(
                number, sanitize(line.rstrip(), _LONGEST), max(_LEAST_TEXT, width - _MARGIN)
            )

    def _given_rows(self, given: Sequence[LoggedCommand], waiting: Sequence[str], width: int) -> Iterator[Row]:
        """Yield a row for each command given by hand, the waiting ones last.

        As an item, it has the negative number of its record.
        """
        if not given and not waiting:
            return
        if self._source.store.header.scenario:
            yield Row([])
        yield Row([(" commands given by hand", Style(bold=True))])
        room = max(_LEAST_TEXT, width - _MARGIN)
        for each in given:
            number = -each.result.record
            self._states[number] = _state_after(each.result, 1)
            yield from self._line_rows(number, sanitize(each.text, _LONGEST), room)
        for place, text in enumerate(waiting):
            number = _AFTER_ALL - place
            self._states[number] = LineState("waits", "waits")
            yield from self._line_rows(number, sanitize(text, _LONGEST), room)

    def _line_rows(self, number: int, line: str, room: int) -> Iterator[Row]:
        styles, state = self._styles, self._states.get(number)
        if state is None:
            yield Row([(f"{number:5}{'':{_MARGIN - 5}}", DIM), (line, DIM)], number)
            return
        reached = number == self._reached
        style = styles.accent if reached else DIM if state.status == "later" else Style()
        sign, signed = self._sign(state)
        clock = "" if state.record is None else f"{state.at_us / 1e6:.3f}"
        before: Line = [
            (styles.glyphs.play if reached else " ", styles.accent),
            (f"{number if number > 0 else '':4} ", DIM),
            (f"{sign} {state.word:10}", signed),
            (f"{clock:>8}  ", DIM),
        ]
        # a line that must be wrapped loses its alignment in columns
        statement = line if cell_len(line) <= room else " ".join(line.split())
        for text in textwrap.wrap(statement, room, subsequent_indent="    ", break_on_hyphens=False):
            yield Row([*before, (text, style)], number)
            before = [(" " * _MARGIN, Style())]
        for text in textwrap.wrap(sanitize(state.why, _LONGEST), room - 2):
            yield Row([(" " * (_MARGIN + 2), Style()), (text, signed)], number)

    def _sign(self, state: LineState) -> Piece:
        styles = self._styles
        if state.status == "waits":
            return styles.glyph("Waiting"), styles.status("Waiting")
        if state.status == "later":
            return " ", DIM
        return styles.glyphs.marks[state.status], styles.mark(state.status)
