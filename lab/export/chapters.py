"""The chapters of a run: faults, elections, captions and marks of the script, and verdicts."""

from collections.abc import Iterator
from itertools import groupby

from msgspec import Struct

from lab.analysis.elections import agreed_coordinator
from lab.analysis.spacetime import StatusInterval
from lab.export.annotations import describe_fault
from lab.export.excerpt import Excerpt
from lab.recording.snapshot import NodeState
from lab.text import sanitize

__all__ = ["Chapter", "chapters_of"]

_LONGEST = 100
_CAPTIONS = ("caption", "mark")


class Chapter(Struct, frozen=True, order=True):
    """A chapter: the record and time at which it begins, and its title."""

    record: int
    at_us: int
    title: str


def chapters_of(excerpt: Excerpt) -> list[Chapter]:
    """Return the chapters in the window, in the order of the records."""
    every = [*_faults(excerpt), *_elections(excerpt), *_script_chapters(excerpt), *_verdicts(excerpt)]
    inside = sorted(each for each in every if excerpt.first <= each.record <= excerpt.last)
    return [Chapter(each.record, excerpt.clip(each.at_us), sanitize(each.title, _LONGEST)) for each in inside]


def _faults(excerpt: Excerpt) -> Iterator[Chapter]:
    for fault_interval in excerpt.fault_intervals:
        text = describe_fault(fault_interval.fault)
        yield Chapter(fault_interval.since.record, fault_interval.since.at_us, text)
        if fault_interval.until is not None:
            yield Chapter(fault_interval.until.record, fault_interval.until.at_us, f"end of {text}")


def _elections(excerpt: Excerpt) -> Iterator[Chapter]:
    """Yield where a first node calls an election, and where all nodes of the run agree again."""
    views = {node: NodeState(node) for node in excerpt.header.nodes}
    agreed, is_called = None, False
    for _, those in groupby(excerpt.space.status_intervals, key=lambda interval: interval.since.record):
        for interval in those:
            views[interval.node] = _node_state(interval)
            if interval.shown == "Election" and not is_called:
                is_called = True
                yield Chapter(
                    interval.since.record, interval.since.at_us, f"node {interval.node} calls an election"
                )
        before, agreed = agreed, agreed_coordinator(views)
        if agreed is not None and before is None and is_called:
            is_called = False
            yield Chapter(interval.since.record, interval.since.at_us, f"all agree on node {agreed}")


def _node_state(interval: StatusInterval) -> NodeState:
    state = {"status": interval.status, "coordinator": interval.coordinator}
    return NodeState(interval.node, interval.process, state=state)


def _script_chapters(excerpt: Excerpt) -> Iterator[Chapter]:
    for line in excerpt.events:
        if line.what in _CAPTIONS or (line.what, line.kind) == ("expectation", "unmet"):
            yield Chapter(line.record, line.at_us, line.text)


def _verdicts(excerpt: Excerpt) -> Iterator[Chapter]:
    """Yield, for each assertion, the first failure and the first violation that is not a failure."""
    known = set()
    for violation in excerpt.violations:
        kind = violation.assertion, violation.is_failure
        if kind not in known:
            known.add(kind)
            yield Chapter(violation.record, violation.at_us, f"{violation}")
