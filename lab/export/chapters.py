"""The chapters of a run: its faults, its elections, what its script says, and the verdicts."""

from collections.abc import Iterator
from itertools import groupby

from msgspec import Struct

from lab.analysis.elections import agreed_coordinator
from lab.analysis.spacetime import StatusInterval
from lab.export.excerpt import Excerpt
from lab.export.words import fault_said
from lab.recording.snapshot import NodeState
from lab.text import sanitize

__all__ = ["Chapter", "chapters_of"]

_LONGEST = 100
_SAID = ("caption", "mark")


class Chapter(Struct, frozen=True, order=True):
    """Where to go to: with which record it begins, when that was, and what it is called."""

    record: int
    at_us: int
    title: str


def chapters_of(excerpt: Excerpt) -> list[Chapter]:
    """Those of the window, in the order of the records."""
    every = [*_faults(excerpt), *_elections(excerpt), *_said(excerpt), *_verdicts(excerpt)]
    inside = sorted(each for each in every if excerpt.first <= each.record <= excerpt.last)
    return [Chapter(each.record, excerpt.clip(each.at_us), sanitize(each.title, _LONGEST)) for each in inside]


def _faults(excerpt: Excerpt) -> Iterator[Chapter]:
    for strike in excerpt.strikes:
        text = fault_said(strike.fault)
        yield Chapter(strike.since.record, strike.since.at_us, text)
        if strike.until is not None:
            yield Chapter(strike.until.record, strike.until.at_us, f"end of {text}")


def _elections(excerpt: Excerpt) -> Iterator[Chapter]:
    """The first node that calls one, and whom all agree on at its end; of all nodes, whichever are chosen."""
    views = {node: NodeState(node) for node in excerpt.header.nodes}
    agreed, is_called = None, False
    for _, those in groupby(excerpt.space.stretches, key=lambda stretch: stretch.since.record):
        for stretch in those:
            views[stretch.node] = _view(stretch)
            if stretch.shown == "Election" and not is_called:
                is_called = True
                yield Chapter(stretch.since.record, stretch.since.at_us, f"node {stretch.node} calls an election")
        before, agreed = agreed, agreed_coordinator(views)
        if agreed is not None and before is None and is_called:
            is_called = False
            yield Chapter(stretch.since.record, stretch.since.at_us, f"all agree on node {agreed}")


def _view(stretch: StatusInterval) -> NodeState:
    state = {"status": stretch.status, "coordinator": stretch.coordinator}
    return NodeState(stretch.node, stretch.process, state=state)


def _said(excerpt: Excerpt) -> Iterator[Chapter]:
    for line in excerpt.events:
        if line.what in _SAID or (line.what, line.kind) == ("expectation", "unmet"):
            yield Chapter(line.record, line.at_us, line.text)


def _verdicts(excerpt: Excerpt) -> Iterator[Chapter]:
    """The first violation of each assertion, and the first that is the protocol's own failure."""
    known = set()
    for violation in excerpt.violations:
        kind = violation.assertion, violation.is_failure
        if kind not in known:
            known.add(kind)
            yield Chapter(violation.record, violation.at_us, f"{violation}")
