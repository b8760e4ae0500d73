"""Verdicts as text: those at the cursor, a violation with its witness, and the outcome at the end of a run."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from lab.glyphs import Glyphs
from lab.properties.assertions import A2, A4, ASSERTIONS, HIGHEST, RAISES
from lab.properties.declarations import Agreement, Eventually
from lab.properties.history_verdict import HistoryViolation, workload_of
from lab.properties.verdicts import Broken, Verdict, Violation, WitnessState, verdict_of
from lab.scenario.report import ScenarioFinding
from lab.text import sanitize
from lab.tui.player import SCRIPT_MARKS, Player
from lab.tui.source import Source

VerdictText = tuple[str, str]
"""(text, verdict): *holds*, *excused*, *fails*, or *unknown* while the judge is behind the cursor."""


_LONGEST_WHY = 40
_HOLD, _NOT_JUDGED = "hold so far", "are not judged yet"
_SINGULAR = {_HOLD: "holds so far", _NOT_JUDGED: "is not judged yet"}
_BRIEF = {_HOLD: "hold", _NOT_JUDGED: "not judged"}


def verdicts_at(source: Source, number: int) -> list[Verdict]:
    """Return the verdicts at a record: on what is promised, on the history of clients, on all that is violated."""
    judge, promises = source.judge, source.store.header.protocol.promises
    shown = judge.violations[: bisect_right(judge.violations, number, key=lambda violation: violation.record)]
    names = dict.fromkeys([*(name for name in promises if name in ASSERTIONS), *(v.assertion for v in shown)])
    if workload := workload_of(source.store.header):
        names[workload] = None  # of a run that goes on, not judged yet
    return [verdict_of(name, shown, judge.evidence_at(name, number)) for name in names]


def format_verdicts(verdicts: Sequence[Verdict], is_behind: bool) -> Iterator[tuple[VerdictText, ...]]:
    """Yield the verdicts in ever shorter versions. ``is_behind``: the judge has not read up to the cursor.

    Assertions with equal verdicts share an entry. In the shortest version, those without a violation are counted.
    """
    versions = (
        (True, "violated, excused", _LONGEST_WHY, False),
        (False, "violated, excused", _LONGEST_WHY, False),
        (False, "excused", _LONGEST_WHY, False),
        (False, "excused", _LONGEST_WHY // 2, False),
        (False, "excused", 0, False),
        (False, "excused", 0, True),
    )
    for has_short_names, excused, longest_why, counts in versions:
        alike: dict[VerdictText, list[str]] = {}
        for verdict in verdicts:
            name = ASSERTIONS[verdict.assertion].label if has_short_names else verdict.assertion
            alike.setdefault(_format_verdict(verdict, excused, longest_why), []).append(name)
        parts = [
            (f"{len(labels)} {_BRIEF[text]}", word)
            if counts and text in _BRIEF
            else (f"{', '.join(labels)} {text if len(labels) > 1 else _SINGULAR.get(text, text)}", word)
            for (text, word), labels in alike.items()
        ]
        yield (*parts, *([("judging …", "unknown")] if is_behind else []))


def format_gravest(verdicts: Sequence[Verdict]) -> VerdictText:
    """Return the gravest of the verdicts in a few words."""
    by_word: dict[str, list[str]] = {}
    for verdict in verdicts:
        by_word.setdefault(verdict.word, []).append(verdict.assertion)
    for word, text in (("fails", "VIOLATED"), ("excused", "violated, excused")):
        if word in by_word:
            return f"{', '.join(by_word[word])} {text}", word
    holding = len(by_word.get("holds", ()))
    if not verdicts:
        return "", "not judged"
    if not holding:
        return "nothing judged yet", "not judged"
    rest = len(verdicts) - holding
    return f"{holding} hold so far, {rest} not judged" if rest else f"all {holding} hold so far", "holds"


def _format_verdict(verdict: Verdict, excused: str, longest_why: int) -> VerdictText:
    if verdict.first is None:
        return (_HOLD, "holds") if verdict.word == "holds" else (_NOT_JUDGED, "not judged")
    if verdict.word == "fails":
        return f"VIOLATED {_intact_text(verdict.first)}", "fails"
    broken = verdict.first.broken
    numbers = ", ".join(f"{each.assumption}" for each in broken)
    whys = dict.fromkeys(sanitize(each.why, longest_why) for each in broken) if longest_why else {}
    why = f" ({'; '.join(whys)})" if whys else ""
    return f"{excused}: {_noun(broken)} {numbers} broken{why}", "excused"


def next_violation(
    violations: Sequence[Violation], number: int, last: Violation | None, forward: bool = True
) -> Violation | None:
    """Return the next violation from a record on, or the previous one before it, wrapping around at the end.

    If the cursor is at ``last``, return the one after or before it.
    """
    if not violations:
        return None
    if last is not None and last.record == number and last in violations:
        place = violations.index(last) + (1 if forward else -1)
    elif forward:
        place = bisect_right(violations, number, key=lambda violation: violation.record)
    else:
        place = bisect_left(violations, number, key=lambda violation: violation.record) - 1
    return violations[place % len(violations)]


def format_witness(violation: Violation) -> str:
    """Return a violation with its states and the record at which each began, short enough for three lines."""
    return f"{_format_status(violation)}: {_format_states(violation)}"


def _format_status(violation: Violation) -> str:
    broken, name = violation.broken, ASSERTIONS[violation.assertion].label
    if violation.is_failure:
        return f"{name} violated {_intact_text(violation)}"
    numbers = " and ".join(f"{each.assumption}" for each in broken)
    whys = dict.fromkeys(sanitize(each.why, _LONGEST_WHY // len(broken)) for each in broken)
    return f"{name} violated, excused: {_noun(broken)} {numbers} broken ({'; '.join(whys)})"


def _noun(broken: Sequence[Broken]) -> str:
    return "assumption" if len(broken) == 1 else "assumptions"


def _intact_text(violation: Violation) -> str:
    """Return which assumptions were intact. The broken ones are those that the assertion does not rely on."""
    if isinstance(violation, HistoryViolation):
        return violation.intact
    but = " and ".join(f"{each.assumption}" for each in violation.other_broken)
    return f"with all assumptions intact{f' but {but}, on which it does not rely' if but else ''}"


def _format_states(violation: Violation) -> str:
    if (
        not isinstance(ASSERTIONS[violation.assertion], Agreement | Eventually)
        and violation.assertion != RAISES.id
    ):
        return f"{violation.text} (record {', '.join(str(state.record) for state in violation.states)})"
    if violation.assertion in (A2.id, HIGHEST.id, A4.id):
        since, _, _ = violation.text.partition(":")
        states = (f"{each.node} {each.text} (record {each.record})" for each in violation.states)
        return f"{since}: {'; '.join(states)}"
    return " while ".join(_format_state(state, violation) for state in violation.states)


def _format_state(state: WitnessState, violation: Violation) -> str:
    """Return a state with its record; in the past tense if it is older than the violation."""
    if violation.assertion == RAISES.id:
        return f"node {state.node} {state.text} (record {state.record})"
    if state.record < violation.record:
        return f"at record {state.record} node {state.node} was {state.text}"
    return f"node {state.node} is {state.text} (record {state.record})"


_LONGEST_FINDING = 150


class EndNotice:
    """Report the end of a live run once, and the end of a recording each time the cursor arrives there."""

    def __init__(self, source: Source, player: Player, glyphs: Glyphs) -> None:
        self._source = source
        self._player = player
        self._glyphs = glyphs
        self._is_reported = False

    def next_notice(self) -> tuple[str, bool] | None:
        """Return (message, whether it is a warning) if there is something new to report."""
        attempt = self._source.attempt
        progress = attempt.news() if attempt is not None and self._player.live else ""
        is_over = bool(self._source.ended) if self._player.live else self._player.is_at_end
        ending = self._end_text() if is_over and not self._is_reported else None
        self._is_reported = is_over and (self._is_reported or ending is not None)
        return ending or ((progress, False) if progress else None)

    def _end_text(self) -> tuple[str, bool] | None:
        source = self._source
        if source.attempt is not None and (source.ended or not source.is_live):
            return source.attempt.ending(), not source.attempt.last.is_solved
        findings = source.findings()
        if findings is None and not source.is_live and source.store.torn:
            return "the recording is truncated here, in the middle of a line", True
        if findings is None:
            return (
                (f"the run is over: {source.ended}; look around, or press {{quit}}", True)
                if source.ended
                else None
            )
        outcome = format_outcome(findings, self._glyphs)
        keys = "{script} shows the script, {quit} quits"
        if not source.marks.found.isdisjoint(SCRIPT_MARKS):
            keys = f"{{next-mark}} and {{previous-mark}} visit the captions and marks, {keys}"
        return f"the run is over: {outcome}; {keys}", bool(findings)


def format_outcome(findings: Sequence[ScenarioFinding], glyphs: Glyphs) -> str:
    """Return whether the scenario passed, and if not, the first line that failed and why."""
    if not findings:
        return f"{glyphs.marks['met']} passed"
    first, *others = findings
    where = f"line {first.line}" if first.line else f"expected: {first.expected}"
    more = f" (and {len(others)} more)" if others else ""
    return f"{glyphs.marks['unmet']} FAILED, {where}: {sanitize(first.was, _LONGEST_FINDING)}{more}"
