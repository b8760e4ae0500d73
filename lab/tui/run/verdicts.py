"""What the judge says at the cursor in time, in a line; and the way to each violation's witness."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from lab.properties import A2, A4, ASSERTIONS, BOOKED, RAISES, Verdict, Violation, verdict_of
from lab.text import sanitize
from lab.tui.run.source import Source

__all__ = ["Said", "next_violation", "verdicts_said", "witness_said"]

Said = tuple[str, str]
"""(text, word): the word is *holds*, *outside*, *fails*, or *unknown* where the judge has not come so far."""


_LONGEST_WHY = 40


def verdicts_said(source: Source, number: int) -> Iterator[tuple[Said, ...]]:
    """What is to be said of each promise at the record with that number; those that are alike go together.

    The same is told several times, each time shorter.
    """
    judge, promises = source.judge, source.lines.header.protocol.promises
    shown = judge.violations[: bisect_right(judge.violations, number, key=lambda violation: violation.record)]
    names = dict.fromkeys([*(name for name in promises if name in ASSERTIONS), *(v.assertion for v in shown)])
    verdicts = [verdict_of(name, shown) for name in names]
    for longest_why in (_LONGEST_WHY, _LONGEST_WHY // 2, 0):
        said: dict[Said, list[str]] = {}
        for verdict in verdicts:
            said.setdefault(_said(verdict, longest_why), []).append(verdict.assertion)
        told = [
            (f"{', '.join(names)} {text if len(names) > 1 or word != 'holds' else text + 's'}", word)
            for (text, word), names in said.items()
        ]
        yield (*told, *([("judging …", "unknown")] if judge.number < number else []))


def _said(verdict: Verdict, longest_why: int) -> Said:
    if verdict.first is None:
        return "hold", "holds"
    if verdict.word == "fails":
        return f"FAILED with {_intact(verdict.first)}", "fails"
    why = ", ".join(
        f"{broken.assumption} ({sanitize(broken.why, longest_why)})" if longest_why else f"{broken.assumption}"
        for broken in verdict.first.broken
    )
    return f"outside the promise: {why}", "outside"


def next_violation(violations: Sequence[Violation], number: int, last: Violation | None) -> Violation | None:
    """The next one from that record on, or, with the cursor at ``last``, after that; past the end, the first."""
    if not violations:
        return None
    place = bisect_right(violations, number, key=lambda violation: violation.record)
    if last is not None and last.record == number and last in violations:
        place = violations.index(last) + 1
    return violations[place % len(violations)]


def witness_said(violation: Violation) -> str:
    """A violation in words, each state with the record that it began with: short enough for three lines."""
    return f"{_promised(violation)}: {_witnessed(violation)}"


def _promised(violation: Violation) -> str:
    broken = violation.broken
    if violation.is_failure:
        return f"{violation.assertion} fails with {_intact(violation)}"
    numbers = " and ".join(f"{each.assumption}" for each in broken)
    whys = dict.fromkeys(sanitize(each.why, _LONGEST_WHY // len(broken)) for each in broken)
    return f"{violation.assertion} outside the promise, {numbers} broken ({'; '.join(whys)})"


def _intact(violation: Violation) -> str:
    """Of a failure, which assumptions did hold; those that did not do not matter to it."""
    but = " and ".join(f"{each.assumption}" for each in violation.beside)
    return f"all assumptions intact{f' but {but}, on which it does not rely' if but else ''}"


def _witnessed(violation: Violation) -> str:
    if violation.assertion in BOOKED:
        return f"{violation.text} (record {', '.join(str(state.record) for state in violation.states)})"
    said = [(state.node, f"{state.text} (record {state.record})") for state in violation.states]
    if violation.assertion in (A2.id, A4.id):
        since, _, _ = violation.text.partition(":")
        return f"{since}: {'; '.join(f'{node} {text}' for node, text in said)}"
    verb = "" if violation.assertion == RAISES.id else "is "
    return " while ".join(f"node {node} {verb}{text}" for node, text in said)
