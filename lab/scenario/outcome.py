"""What a run came to, as the expectations that a script has of it: one account for writing and for comparing."""

from collections.abc import Iterator

from msgspec import Struct

from lab.analysis.elections import agreed_coordinator
from lab.properties import Judge, Violation
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Fault
from lab.recording.snapshot import NodeState
from lab.scenario.report import is_meant
from lab.script import Expect, Expectation, ExpectViolation
from lab.script.holding import Suspicions, holds
from lab.script.predicates import All, Attribute, Compare, Count, Is, Number, Predicate

__all__ = ["Outcome", "outcome_of"]

_STATUSES = {"Normal": "normal", "Election": "election", "Reorganization": "reorganization"}


class Outcome(Struct, frozen=True):
    """``agreed``: that all agree on somebody, or None; ``end`` holds at the end, ``verdicts`` are of it all."""

    agreed: Predicate | None
    end: tuple[Predicate, ...]
    verdicts: tuple[ExpectViolation, ...]

    def missed(self, cluster: ClusterState, judge: Judge) -> list[Expectation]:
        """Which of that another run, which has come to this, did not come to."""
        found: list[Expectation] = [
            Expect(each)
            for each in (self.agreed, *self.end)
            if each is not None and not holds(each, cluster, Suspicions())
        ]
        for verdict in self.verdicts:
            hit = any(is_meant(verdict, violation) for violation in judge.violations)
            if hit == verdict.none:
                found.append(verdict)
        return found


def outcome_of(cluster: ClusterState, judge: Judge, faults: list[Fault], live: bool = False) -> Outcome:
    """What a run came to in the end; ``faults`` are those that it had.

    What is violated in a ``live`` run because the machine was slow is nothing to expect.
    """
    leader = agreed_coordinator(cluster.nodes)
    views = list(cluster.nodes.values())
    end = [_processes(views)]
    if leader is None:
        end += list(_apart(cluster))
        agreed = None
    else:
        agreed = _following(leader, views)
        end.append(Is("all", "normal"))
    return Outcome(agreed, tuple(end), tuple(_verdicts(judge, faults, live)))


def _following(leader: int, views: list[NodeState]) -> Predicate:
    if any(view.process == "paused" for view in views):  # what those say does not count
        return All((Is("all", "normal"), Is(leader, "leads")))
    return Compare("==", Attribute("all", "coordinator"), Number(leader))


def _processes(views: list[NodeState]) -> Predicate:
    """Who is not running, if anybody; and that all others are up."""
    if all(view.process == "running" for view in views):
        return Is("all", "running")
    states = {"running": "running", "paused": "paused"}
    parts = tuple(Is(view.id, states.get(view.process, "down")) for view in views if view.process != "running")
    running = Compare("==", Count("live"), Number(sum(view.process in states for view in views)))
    return All((*parts, running))


def _apart(cluster: ClusterState) -> Iterator[Predicate]:
    """Whom each node follows, where they do not agree, and how many groups there are by that.

    Of a node that has just come up, and is in none of the statuses yet, nothing is to be expected.
    """
    elects = False
    for view in cluster.nodes.values():
        if view.process not in ("running", "paused") or "coordinator" not in view.state:
            continue
        elects = True
        if view.status not in _STATUSES:
            continue
        is_in: Predicate = Is(view.id, _STATUSES[view.status])
        if view.status == "Normal" and view.coordinator is not None:
            is_in = All((is_in, Compare("==", Attribute(view.id, "coordinator"), Number(view.coordinator))))
        yield is_in
    if elects:
        counts = (Compare("==", Count("groups"), Number(n)) for n in range(len(cluster.nodes) + 1))
        yield next(each for each in counts if holds(each, cluster, Suspicions()))


def _verdicts(judge: Judge, faults: list[Fault], live: bool) -> Iterator[ExpectViolation]:
    verdicts = judge.verdicts()
    if not any(verdict.first for verdict in verdicts):
        if verdicts:
            yield ExpectViolation(none=True)
        return
    for verdict in verdicts:
        if verdict.first is None:
            yield ExpectViolation(verdict.assertion, none=True)
            continue
        cause = _cause(verdict.first, faults)
        if cause or verdict.first.is_failure or not live:
            yield ExpectViolation(verdict.assertion, cause)


def _cause(violation: Violation, faults: list[Fault]) -> str:
    """The kind of fault that broke what was broken; empty where nothing was, or none of these faults did it."""
    made = {fault.kind for fault in faults}
    return next((kind for broken in violation.broken for kind in broken.kinds if kind in made), "")
