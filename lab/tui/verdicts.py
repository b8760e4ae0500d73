"""What the judge says at the cursor in time, in a line; and the way to each violation's witness."""

from bisect import bisect_right
from collections.abc import Sequence

from lab.properties import ASSERTIONS, Verdict, Violation, verdict_of
from lab.text import sanitize
from lab.tui.source import Source

__all__ = ["next_violation", "verdicts_said", "witness_said"]

Said = tuple[str, str]
"""(text, word): the word is *holds*, *outside*, *fails*, or *unknown* where the judge has not come so far."""


def verdicts_said(source: Source, number: int) -> tuple[Said, ...]:
    """What is to be said of each promise at the record with that number; those that are alike go together."""
    judge, promises = source.judge, source.lines.header.protocol.promises
    shown = judge.violations[: bisect_right(judge.violations, number, key=lambda violation: violation.record)]
    said: dict[Said, list[str]] = {}
    for name in dict.fromkeys([*(name for name in promises if name in ASSERTIONS), *(v.assertion for v in shown)]):
        said.setdefault(_said(verdict_of(name, shown)), []).append(name)
    told = [
        (f"{', '.join(names)} {text if len(names) > 1 or word != 'holds' else text + 's'}", word)
        for (text, word), names in said.items()
    ]
    if judge.number < number:
        told.append(("judging …", "unknown"))
    return tuple(told)


def _said(verdict: Verdict) -> Said:
    if verdict.first is None:
        return "hold", "holds"
    if verdict.word == "fails":
        return "FAILED with all assumptions intact", "fails"
    why = ", ".join(f"{broken.assumption} ({sanitize(broken.why, 40)})" for broken in verdict.first.broken)
    return f"violated outside the promise: {why}", "outside"


def next_violation(violations: Sequence[Violation], number: int, last: Violation | None) -> Violation | None:
    """The next one from that record on, or, with the cursor at ``last``, after that; past the end, the first."""
    if not violations:
        return None
    place = bisect_right(violations, number, key=lambda violation: violation.record)
    if last is not None and last.record == number and last in violations:
        place = violations.index(last) + 1
    return violations[place % len(violations)]


def witness_said(violation: Violation) -> str:
    """A violation in words, with where to look."""
    states = "; ".join(f"node {state.node} since record {state.record}" for state in violation.states)
    return f"{violation} [{states}]"
