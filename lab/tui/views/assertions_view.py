"""The assertions at the cursor in time: each with its statement, verdict, assumptions and witness."""

import textwrap
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from msgspec import Struct
from rich.style import Style
from textual import events
from textual.message import Message

from lab.properties.assertions import ASSUMPTION_NUMBERS, ASSUMPTIONS, BUILT_IN, RAISES
from lab.properties.declarations import Assertion
from lab.properties.judge import Judge
from lab.properties.verdicts import Broken, Verdict, Violation, verdict_of
from lab.recording.records import Header
from lab.styles import DIM, Line, ThemeStyles
from lab.text import sanitize
from lab.tui.player import Cursor
from lab.tui.source import Source
from lab.tui.verdict_text import next_violation
from lab.tui.views.lines_view import Copied, Row, RowsView
from lab.units import format_count

_MARGIN = 10
_LONGEST = 300
_VERDICT_WORDS = {
    "holds": "holds so far",
    "not judged": "not judged yet",
    "excused": "violated, excused",
    "fails": "VIOLATED",
    "unknown": "judging …",
}
_SIGNS = {"holds": "met", "fails": "unmet", "excused": "unmet"}


class Judgement(Struct, frozen=True):
    """The verdict on an assertion as of a record.

    ``word`` is the verdict, or *unknown* while the judge is behind the record. ``relies_on`` are the assertion's
    assumptions; those in ``broken`` do not hold at this record. ``next_violation`` is the first one after it.
    """

    assertion: Assertion
    is_promised: bool
    word: str
    verdict: Verdict
    relies_on: tuple[int | str, ...]
    broken: tuple[Broken, ...]
    next_violation: Violation | None


def judgements_at(judge: Judge, number: int, hides_future: bool = False) -> list[Judgement]:
    """Return the judgements of the promised assertions, then of those judged for every protocol.

    ``hides_future`` leaves out the next violations.
    """
    count = bisect_right(judge.violations, number, key=lambda violation: violation.record)
    shown, later = judge.violations[:count], [] if hides_future else judge.violations[count:]
    broken = judge.broken_at(number)
    found = []
    for name, assertion in judge.assertions.items():
        is_promised = assertion is not RAISES
        verdict = verdict_of(name, shown, judge.evidence_at(name, number))
        is_unknown = verdict.first is None and judge.number < number
        relies_on = judge.relies_on.get(name, ASSUMPTION_NUMBERS) if is_promised else ()
        found.append(
            Judgement(
                assertion,
                is_promised,
                "unknown" if is_unknown else verdict.word,
                verdict,
                relies_on,
                tuple(broken[each] for each in relies_on if each in broken),
                next((violation for violation in later if violation.assertion == name), None),
            )
        )
    return found


def assertion_rows(judgement: Judgement, styles: ThemeStyles, width: int, is_chosen: bool) -> Iterator[Line]:
    """Yield the rows of one assertion; the last one is empty."""
    style = styles.verdict(judgement.word)
    sign = styles.glyphs.marks[_SIGNS[judgement.word]] if judgement.word in _SIGNS else styles.glyphs.dot
    name = (
        f"{sanitize(judgement.assertion.id, _LONGEST):{_MARGIN - 4}}",
        styles.accent if is_chosen else Style(bold=True),
    )
    yield [
        (f" {styles.glyphs.play if is_chosen else ' '} ", styles.accent),
        name,
        (f" {sign} {_VERDICT_WORDS[judgement.word]}", style),
        (f"  {sanitize(judgement.assertion.short, _LONGEST)}", DIM),
        ("" if judgement.is_promised else "  for every protocol", DIM),
    ]
    yield from _indented(judgement.assertion.statement, Style(), width)
    if judgement.is_promised:
        yield from _indented(_assumptions_text(judgement), DIM, width)
    for broken in judgement.broken:
        statement = ASSUMPTIONS.get(broken.assumption, "")
        text = f"assumption {broken.assumption} is broken here: {statement} ({broken.why})"
        yield from _indented(text, styles.status("Election"), width)
    evidence = judgement.verdict.evidence
    if evidence.text and judgement.is_promised:
        what = "not judged" if evidence.since is None else "so far"
        yield from _indented(f"{what}: {evidence.text}", DIM, width)
    if judgement.verdict.first is not None:
        counts = ((judgement.verdict.failures, "violation"), (judgement.verdict.excused, "excused violation"))
        text = ", ".join(format_count(count, noun) for count, noun in counts if count)
        yield from _witness_rows(f"{text} so far, first by", judgement.verdict.first, style, width)
    if judgement.next_violation is not None:
        yield from _witness_rows("after the cursor: violated by", judgement.next_violation, DIM, width)
    yield []


def unjudged_rows(header: Header, width: int) -> Iterator[Line]:
    """Yield the assertions that the protocol does not promise, which are not judged."""
    undeclared = [each for each in BUILT_IN if each.id not in (*header.protocol.promises, RAISES.id)]
    if undeclared:
        text = ", ".join(each.label for each in undeclared)
        title = sanitize(header.title, 40)
        for row in textwrap.wrap(f"{title} does not promise {text}; not judged", max(20, width - 4)):
            yield [(f"   {row}", DIM)]


def _assumptions_text(judgement: Judgement) -> str:
    if judgement.relies_on == ASSUMPTION_NUMBERS:
        return "while all nine assumptions hold"
    text = ", ".join(f"{each} {ASSUMPTIONS[each]}" for each in judgement.relies_on if each in ASSUMPTIONS)
    return f"while these assumptions hold: {text}" if text else "without any assumption"


def _witness_rows(what: str, violation: Violation, style: Style, width: int) -> Iterator[Line]:
    """Yield when the violation occurred, which assumptions were broken then, and the violating states."""
    why = "; ".join(f"assumption {broken.assumption} broken: {broken.why}" for broken in violation.broken)
    status = why or "all its assumptions intact"
    yield from _indented(
        f"{what} record {violation.record}, {violation.at_us / 1e6:.3f} s ({status})", style, width
    )
    for state in violation.states:
        text = f"node {state.node}: {state.text} (record {state.record}, {state.at_us / 1e6:.3f} s)"
        yield from _indented(text, Style(), width, 2)
    if not violation.states:
        yield from _indented(violation.text, Style(), width, 2)


def _indented(text: str, style: Style, width: int, more: int = 0) -> Iterator[Line]:
    blank = " " * (_MARGIN + more)
    for row in textwrap.wrap(sanitize(text, _LONGEST), max(20, width - len(blank) - 1), break_on_hyphens=False):
        yield [(blank, Style()), (row, style)]


# the widget


class AssertionsView(RowsView):
    """``cursor`` is the index of an assertion. ``Enter`` goes to its next violation, as ``v`` does to any."""

    @dataclass
    class Witnessed(Message):
        """Request to show this violation, or to report that there is none of ``assertion``."""

        assertion: str
        violation: Violation | None

    def __init__(self, styles: ThemeStyles, source: Source) -> None:
        super().__init__("assertions", styles)
        self._source = source
        self.cursor: int = 0
        self._record = 0
        self._last_violation: Violation | None = None
        self._judgements: list[Judgement] = []

    def show(self, cursor: Cursor) -> None:
        self._record = cursor.record
        header, judge = self._source.store.header, self._source.judge
        self._judgements = judgements_at(judge, cursor.record, cursor.hides_future)
        if not self._is_new(self._judgements, self.cursor):
            return
        width = self.scrollable_content_region.width
        rows = [
            Row(line, place)
            for place, each in enumerate(self._judgements)
            for line in assertion_rows(each, self._styles, width, place == self.cursor)
        ]
        self._put_rows([*rows, *map(Row, unjudged_rows(header, width))])

    def move_cursor(self, place: int) -> None:
        """Move to the assertion of a row and scroll it into view. Rows below them select the last one."""
        which = self._rows[place].item
        self.cursor = len(self._judgements) - 1 if which is None else which
        super().move_cursor(place)

    def copied(self) -> Copied | None:
        """Return the name and the text of the assertion under the cursor."""
        if not self._judgements:
            return None
        rows = [text for text, row in zip(self.texts(), self._rows, strict=True) if row.item == self.cursor]
        return self._judgements[self.cursor].assertion.id, "\n".join(row.rstrip() for row in rows).rstrip()

    def activate(self) -> None:
        """Go to the next violation of the assertion under the cursor, wrapping around."""
        if self._judgements:
            name = self._judgements[self.cursor].assertion.id
            own = [violation for violation in self._source.judge.violations if violation.assertion == name]
            self._last_violation = next_violation(own, self._record, self._last_violation)
            self.post_message(self.Witnessed(name, self._last_violation))

    def action_cursor(self, by: int) -> None:
        if self._judgements:
            self.cursor = max(0, min(self.cursor + by, len(self._judgements) - 1))
            self._scroll(self._top_for(self.cursor))

    def action_cursor_page(self, pages: int) -> None:
        self._scroll(self.scroll_offset.y + pages * max(1, self._page))

    def on_click(self, event: events.Click) -> None:
        which = self._item_at(event)
        if which is not None:
            self.cursor = which
            if event.chain > 1:
                self.activate()
