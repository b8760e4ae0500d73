"""Workloads that add to a counter and read its sum: g-counter, which only grows, and pn-counter.

A final read, which the workload makes once it has let the system come to rest, must return the sum of all adds
that were acknowledged before it was called, and of any of those called before it returned that were acknowledged
later or not at all: each of these counts once, or not at all. So the acceptable sums are a set, in general with
gaps.

Any other read may miss adds, since these counters are consistent in the end only. But it cannot have counted what
was not called yet: it lies between the sums of all negative and of all positive adds called before it returned,
other than those that failed.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from lab.histories.operations import History, HistoryError, Operation
from lab.histories.results import CheckResult, Finding, Word
from lab.histories.values import format_value
from lab.units import format_count

_MOST_SUMS = 200_000
"""The number of acceptable sums beyond which only their least and their greatest are kept."""
_MOST_SPANS = 6
"""The number of ranges of sums that are written out."""


def check_g_counter(history: History) -> CheckResult:
    """Return whether the final reads have acceptable sums. Raises HistoryError for an add below 0."""
    for each in history.operations:
        if each.f == "add" and _delta(each) < 0:
            raise HistoryError(f"event {each.index}: {each}: expected 0 or more, since this counter only grows")
    return _check_counter("g-counter", history)


def check_pn_counter(history: History) -> CheckResult:
    """Return whether the final reads have acceptable sums. Raises HistoryError for an add of no integer."""
    return _check_counter("pn-counter", history)


def _delta(add: Operation) -> int:
    if not isinstance(add.value, int) or isinstance(add.value, bool):
        raise HistoryError(f"event {add.index}: {add}: expected an integer to add")
    return add.value


def _check_counter(checker: str, history: History) -> CheckResult:
    adds = [each for each in history.operations if each.f == "add"]
    reads = [each for each in history.operations if each.f == "read" and each.outcome == "ok"]
    final = [each for each in reads if each.is_final]
    perhaps = [_delta(each) for each in adds if each.outcome == "info"]
    acceptable = acceptable_sums(sum(_delta(each) for each in adds if each.outcome == "ok"), perhaps)
    findings = []
    sums_of = lru_cache(8)(acceptable_sums)
    for read in final:
        definite, perhaps_then = _due_in(adds, read)
        acceptable_then = sums_of(definite, perhaps_then)
        if not _is_sum(read.result) or not any(span.start <= read.result < span.stop for span in acceptable_then):
            text = (
                f"{read.process} reads {format_value(read.result)} in the end ({read.interval}); expected "
                f"{format_spans(acceptable_then)}: {definite} was acknowledged, and "
                f"{format_count(len(perhaps_then), 'add')} may have happened"
            )
            findings.append(Finding("wrong sum", text, (read,)))
    findings += _impossible(adds, reads)
    word: Word = "fails" if findings else "holds"
    evidence = f"{format_count(len(final), 'final read')} of {format_count(len(adds), 'add')}"
    if not final and not findings:
        word = "not judged"
        evidence = "there is no final read"
    statistics = {
        "adds": len(adds),
        "acknowledged": sum(each.outcome == "ok" for each in adds),
        "without a known outcome": len(perhaps),
        "reads": len(reads),
        "final reads": len(final),
        "least acceptable": acceptable[0].start,
        "greatest acceptable": acceptable[-1].stop - 1,
    }
    return CheckResult(checker, word, evidence, tuple(findings), statistics)


def _is_sum(result: Any) -> bool:
    return isinstance(result, int) and not isinstance(result, bool)


def _due_in(adds: Sequence[Operation], read: Operation) -> tuple[int, tuple[int, ...]]:
    """Return the sum of the adds that a final read must have, and the numbers that it may have."""
    definite, perhaps = 0, []
    for each in adds:
        if each.outcome == "ok" and each.precedes(read):
            definite += _delta(each)
        elif each.outcome != "fail" and not read.precedes(each):
            perhaps.append(_delta(each))
    return definite, tuple(perhaps)


def acceptable_sums(definite: int, perhaps: Sequence[int]) -> list[range]:
    """Return the sums of a number and of any of the others, as ranges in order.

    Where there are too many to list, the one range that holds them all.
    """
    sums = {definite}
    for delta in perhaps:
        sums |= {each + delta for each in sums}
        if len(sums) > _MOST_SUMS:
            least = definite + sum(each for each in perhaps if each < 0)
            return [range(least, definite + sum(each for each in perhaps if each > 0) + 1)]
    spans: list[range] = []
    for each in sorted(sums):
        if spans and each == spans[-1].stop:
            spans[-1] = range(spans[-1].start, each + 1)
        else:
            spans.append(range(each, each + 1))
    return spans


def format_spans(spans: Sequence[range]) -> str:
    """Return ranges as text: ``3 to 5 or 9``."""
    parts = [
        f"{each.start} to {each.stop - 1}" if each.stop - each.start > 1 else f"{each.start}"
        for each in spans[:_MOST_SPANS]
    ]
    return " or ".join(parts) + (f" or {len(spans) - _MOST_SPANS} more ranges" if len(spans) > _MOST_SPANS else "")


def _impossible(adds: Sequence[Operation], reads: Sequence[Operation]) -> list[Finding]:
    called = sorted([(each.index, _delta(each)) for each in adds if each.outcome != "fail"])
    findings = []
    least = greatest = place = 0
    for read in sorted(reads, key=lambda each: each.completed_index or 0):
        while place < len(called) and called[place][0] < (read.completed_index or 0):
            delta = called[place][1]
            least, greatest, place = least + min(delta, 0), greatest + max(delta, 0), place + 1
        result = read.result
        if not _is_sum(result) or not least <= result <= greatest:
            text = (
                f"{read.process} reads {format_value(result)} ({read.interval}); expected {least} to {greatest}, "
                f"with what was called before it returned"
            )
            findings.append(Finding("impossible sum", text, (read,)))
    return findings
