"""What the view of assertions says of each: its statement, the verdict, what it relies on, its witness. Pure."""

import textwrap
from bisect import bisect_right
from collections.abc import Iterator

from msgspec import Struct
from rich.style import Style

from lab.analysis.assumptions import ASSUMPTIONS
from lab.properties import ASSERTIONS, RAISES, Assertion, Broken, Judge, Verdict, Violation, verdict_of
from lab.recording.records import Header
from lab.text import sanitize
from lab.tui.terminal.fitting import Piece
from lab.tui.terminal.theme_styles import DIM, ThemeStyles
from lab.units import count_of

__all__ = ["Judged", "Row", "assertion_rows", "judged_at", "unpromised_row"]

Row = list[Piece]
_MARGIN = 10
_LONGEST = 300
_WORDS = {"holds": "holds", "outside": "outside the promise", "fails": "FAILS", "unknown": "judging …"}
_SIGNS = {"holds": "met", "fails": "unmet", "outside": "unmet"}


class Judged(Struct, frozen=True):
    """An assertion as of a record.

    ``word`` is that of its verdict, or *unknown* where the judge has not come so far. It ``relies`` on these
    assumptions; those of ``broken`` do not hold at this record. ``following`` is the first violation after it.
    """

    assertion: Assertion
    is_promised: bool
    word: str
    verdict: Verdict
    relies: tuple[int, ...]
    broken: tuple[Broken, ...]
    following: Violation | None


def judged_at(header: Header, judge: Judge, number: int, hides_future: bool = False) -> list[Judged]:
    """What the protocol promises, in the order of the assertions, and then what else is judged.

    ``hides_future``: none follows that is known.
    """
    count = bisect_right(judge.violations, number, key=lambda violation: violation.record)
    shown, later = judge.violations[:count], [] if hides_future else judge.violations[count:]
    promises = [name for name in ASSERTIONS if name in header.protocol.promises]
    broken = judge.broken_at(number)
    found = []
    for name in dict.fromkeys([*promises, RAISES.id]):
        verdict = verdict_of(name, shown)
        is_unknown = verdict.word == "holds" and judge.number < number
        relies = judge.relies_on.get(name, tuple(ASSUMPTIONS)) if name in promises else ()
        found.append(
            Judged(
                ASSERTIONS[name],
                name in promises,
                "unknown" if is_unknown else verdict.word,
                verdict,
                relies,
                tuple(broken[each] for each in sorted(broken) if each in relies),
                next((violation for violation in later if violation.assertion == name), None),
            )
        )
    return found


def assertion_rows(judged: Judged, theme_styles: ThemeStyles, width: int, is_chosen: bool) -> Iterator[Row]:
    """The rows of one assertion; the last of them is empty."""
    style = theme_styles.verdict(judged.word)
    sign = theme_styles.glyphs.marks[_SIGNS[judged.word]] if judged.word in _SIGNS else theme_styles.glyphs.dot
    name = (f"{judged.assertion.id:{_MARGIN - 4}}", theme_styles.accent if is_chosen else Style(bold=True))
    yield [
        (f" {theme_styles.glyphs.play if is_chosen else ' '} ", theme_styles.accent),
        name,
        (f" {sign} {_WORDS[judged.word]}", style),
        (f"  {judged.assertion.short}", DIM),
        ("" if judged.is_promised else "  of every protocol", DIM),
    ]
    yield from _set_in(judged.assertion.statement, Style(), width)
    if judged.is_promised:
        yield from _set_in(_relied(judged), DIM, width)
    for broken in judged.broken:
        said = f"{broken.assumption} is broken here: {ASSUMPTIONS[broken.assumption]} ({broken.why})"
        yield from _set_in(said, theme_styles.status("Election"), width)
    if judged.verdict.first is not None:
        counts = (
            (judged.verdict.failures, "failure"),
            (judged.verdict.outside, "time", " outside the promise"),
        )
        said = ", ".join(count_of(count, noun) + "".join(more) for count, noun, *more in counts if count)
        yield from _witness(f"{said} so far, first by", judged.verdict.first, style, width)
    if judged.following is not None:
        yield from _witness("after the cursor: violated by", judged.following, DIM, width)
    yield []


def unpromised_row(header: Header, width: int) -> Iterator[Row]:
    """What is not promised is not judged."""
    left = [each for each in ASSERTIONS.values() if each.id not in (*header.protocol.promises, RAISES.id)]
    if left:
        said = ", ".join(f"{each.id} ({each.short})" for each in left)
        title = sanitize(header.protocol.title, 40)
        for row in textwrap.wrap(f"{title} does not promise {said}; that is not judged", max(20, width - 4)):
            yield [(f"   {row}", DIM)]


def _relied(judged: Judged) -> str:
    if judged.relies == tuple(ASSUMPTIONS):
        return "while all nine assumptions hold"
    said = ", ".join(f"{each} {ASSUMPTIONS[each]}" for each in judged.relies if each in ASSUMPTIONS)
    return f"while these assumptions hold: {said}" if said else "whatever may happen"


def _witness(what: str, violation: Violation, style: Style, width: int) -> Iterator[Row]:
    """When it was, what was broken then, and the states that offend."""
    why = "; ".join(f"{broken.assumption} broken: {broken.why}" for broken in violation.broken)
    beyond = why or "what it relies on was whole"
    yield from _set_in(f"{what} record {violation.record}, {violation.at_us / 1e6:.3f} s ({beyond})", style, width)
    for state in violation.states:
        said = f"node {state.node}: {state.text} (record {state.record}, {state.at_us / 1e6:.3f} s)"
        yield from _set_in(said, Style(), width, 2)
    if not violation.states:
        yield from _set_in(violation.text, Style(), width, 2)


def _set_in(text: str, style: Style, width: int, more: int = 0) -> Iterator[Row]:
    blank = " " * (_MARGIN + more)
    for row in textwrap.wrap(sanitize(text, _LONGEST), max(20, width - len(blank) - 1), break_on_hyphens=False):
        yield [(blank, Style()), (row, style)]
