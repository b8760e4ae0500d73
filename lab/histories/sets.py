"""Workloads that add elements to a set and read all of it: broadcast and g-set, after the set-full of Jepsen.

An element is *known* once its add was acknowledged, or a read returned that has it. From then on a set that loses
nothing has it in every later read, at once or in the end. A read is *final* if the workload had let the system
come to rest before; if all that were called failed, what earlier ones lack is no evidence:

- **stable**: the last read called that has it was called after the last that has it not. Its *stable latency* is
  the time from known to the latter; if that is more than nothing, some reads were *stale*;
- **lost**: known, and the last read called lacks it; or a final read lacks it, even if another one has it;
- **never read**: no read was called late enough to decide. This is no error, and no evidence either.

A read may also have what nobody added, what was not added until later, what a failed add left, or one element
twice.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from msgspec import Struct

from lab.histories.operations import History, HistoryError, Operation
from lab.histories.results import CheckResult, Finding, Word
from lab.histories.values import format_value, freeze
from lab.units import format_count, format_rounded

MOST_FINDINGS = 20
"""The most findings of one kind; the statistics count all."""


class ElementHistory(Struct):
    """An element with its add; the events by which it was known; the last reads that have it, and have it not.

    ``final_missing`` is a final read, called when it was known, that has it not.
    """

    element: Any
    add: Operation
    known_index: int | None = None
    known_at_us: int = 0
    last_present: Operation | None = None
    last_missing: Operation | None = None
    final_missing: Operation | None = None

    @property
    def outcome(self) -> str:
        """One of ``stable``, ``lost``, ``never read``."""
        if self.final_missing is not None:
            return "lost"
        present, missing = self.last_present, self.last_missing
        if present is not None and (missing is None or missing.index < present.index):
            return "stable"
        return "lost" if self._is_missed else "never read"

    @property
    def stable_latency_us(self) -> int:
        """The time from known to the last read that has it not; 0 if there is none since."""
        missing = self.last_missing
        if missing is None or not self._is_missed:
            return 0
        return max(0, missing.invoked_at_us - self.known_at_us)

    @property
    def _is_missed(self) -> bool:
        """True if a read called after the element was known has it not."""
        return (
            self.known_index is not None
            and self.last_missing is not None
            and (self.known_index < self.last_missing.index)
        )


def check_broadcast(history: History) -> CheckResult:
    """Return whether every message acknowledged by ``broadcast`` is in all final reads, and in later ones.

    Raises HistoryError for a read of what is no list.
    """
    return _check_set("broadcast", history, "broadcast", must_be_fresh=False)


def check_g_set(history: History, linearizable: bool = False) -> CheckResult:
    """Return whether every element acknowledged by ``add`` is in all final reads, and in later ones in the end.

    ``linearizable``: in all later reads at once. Raises HistoryError for a read of what is no list.
    """
    return _check_set("g-set", history, "add", must_be_fresh=linearizable)


def _check_set(checker: str, history: History, add: str, must_be_fresh: bool) -> CheckResult:
    reads = [(each, _elements(each)) for each in history.operations if each.f == "read" and each.outcome == "ok"]
    elements = element_histories(history, add, reads)
    findings = _wrong_reads(elements, reads, history, add)
    if not history.lacks_final("read"):
        findings += _lost(elements.values())
    stale = [each for each in elements.values() if each.outcome == "stable" and each.stable_latency_us > 0]
    if must_be_fresh:
        findings += [_stale(each) for each in stale[:MOST_FINDINGS]]
    outcomes = Counter(each.outcome for each in elements.values())
    latencies = sorted(each.stable_latency_us for each in elements.values() if each.outcome == "stable")
    statistics = {
        "called": sum(each.f == add for each in history.operations),
        "acknowledged": sum(each.f == add and each.outcome == "ok" for each in history.operations),
        "reads": len(reads),
        "stable": outcomes["stable"],
        "lost": outcomes["lost"],
        "never read": outcomes["never read"],
        "stale": len(stale),
        **{
            f"stable_latency_p{share}_us": _percentile(latencies, share)
            for share in (50, 95, 99, 100)
            if latencies
        },
    }
    word: Word = "holds"
    decided = outcomes["stable"] + outcomes["lost"]
    evidence = f"{format_count(decided, 'element')} in {format_count(len(reads), 'read')}"
    if outcomes["never read"]:
        evidence += f"; {outcomes['never read']:,} never read"
    if findings:
        word = "fails"
    elif not decided:
        word = "not judged"
        evidence = "no read was called after an element was known" if elements else "no element was added"
    elif history.lacks_final("read"):
        word = "not judged"
        evidence = "no last read succeeded"
    return CheckResult(checker, word, evidence, tuple(findings), statistics)


def _elements(read: Operation) -> list[Hashable]:
    """Return what was read. Raises HistoryError if that is no list."""
    if not isinstance(read.result, list | tuple | AbstractSet):
        raise HistoryError(f"event {read.index}: {read}: expected a list of elements")
    return [freeze(each) for each in read.result]


def element_histories(
    history: History, add: str, reads: Sequence[tuple[Operation, Sequence[Hashable]]]
) -> dict[Hashable, ElementHistory]:
    """Return the history of each element that was added; ``reads`` are in the order of their calls."""
    found: dict[Hashable, ElementHistory] = {}
    for each in history.operations:
        if each.f == add:
            element = found.setdefault(freeze(each.value), ElementHistory(each.value, each))
            if each.outcome == "ok":
                _know(element, each)
    for read, elements in reads:
        for value in elements:
            if value in found:
                _know(found[value], read)
    undecided_present, undecided_missing = set(found), set(found)
    for read, elements in reversed(reads):
        has = set(elements)
        for value in undecided_present & has:
            found[value].last_present = read
        for value in undecided_missing - has:
            found[value].last_missing = read
        undecided_present -= has
        undecided_missing &= has
        if read.is_final:
            for value in found.keys() - has:
                element = found[value]
                if element.known_index is not None and element.known_index < read.index:
                    element.final_missing = read
    return found


def _know(element: ElementHistory, by: Operation) -> None:
    completed = by.completed_index
    if completed is not None and (element.known_index is None or completed < element.known_index):
        element.known_index = completed
        element.known_at_us = by.completed_at_us or 0


def _lost(elements: Iterable[ElementHistory]) -> Iterator[Finding]:
    lost = [each for each in elements if each.outcome == "lost"]
    for each in lost[:MOST_FINDINGS]:
        read = each.final_missing or each.last_missing
        assert read is not None
        value = format_value(each.element)
        so = "in the end" if each.final_missing is not None else "and nobody reads it later"
        text = (
            f"{value}, added by {each.add.process}, was known at {format_rounded(each.known_at_us)}; "
            f"{read.process} reads without it ({read.interval}), {so}"
        )
        yield Finding("lost", text, (each.add, read))


def _stale(each: ElementHistory) -> Finding:
    read = each.last_missing
    assert read is not None
    text = (
        f"{format_value(each.element)} was known at {format_rounded(each.known_at_us)}; {read.process} still "
        f"reads without it ({read.interval})"
    )
    return Finding("stale", text, (each.add, read))


def _wrong_reads(
    elements: dict[Hashable, ElementHistory],
    reads: Sequence[tuple[Operation, Sequence[Hashable]]],
    history: History,
    add: str,
) -> list[Finding]:
    failed = {freeze(each.value) for each in history.operations if each.f == add and each.outcome == "fail"}
    failed -= {freeze(each.value) for each in history.operations if each.f == add and each.outcome != "fail"}
    found: dict[tuple[str, Hashable], Finding] = {}
    for read, values in reads:
        for value, times in Counter(values).items():
            shown = f"{read.process} reads {format_value(value)} ({read.interval})"
            if times > 1:
                text = f"{shown} {times} times in one read"
                found.setdefault(("duplicate", value), Finding("duplicate element", text, (read,)))
            element = elements.get(value)
            if element is None:
                text = f"{shown}, which nobody added"
                found.setdefault(("garbage", value), Finding("garbage read", text, (read,)))
            elif value in failed:
                text = f"{shown}, the add of which by {element.add.process} failed"
                found.setdefault(("failed", value), Finding("failed add", text, (element.add, read)))
            elif read.precedes(element.add):
                text = f"{shown}, before {element.add.process} added it"
                found.setdefault(("early", value), Finding("garbage read", text, (read, element.add)))
    return list(found.values())[:MOST_FINDINGS]


def _percentile(values: Sequence[int], share: int) -> int:
    return values[min(len(values) - 1, len(values) * share // 100)]
