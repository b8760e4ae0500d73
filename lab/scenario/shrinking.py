"""Shrinking the script of a recording: the commands and the nodes that the outcome needs, and no others.

Beside what it comes to in the end, the outcome here is its course: on whom all agreed, one after the other.
"""

from collections.abc import Iterator
from itertools import groupby

from msgspec.structs import replace

from lab.analysis.elections import ElectionLog, agreed_coordinator
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header
from lab.scenario.outcome import outcome_of
from lab.scenario.searching import Draft, Found, Line, Search
from lab.scenario.trial import faults_of
from lab.worlds.campaign.schedule import ScheduledFault
from lab.worlds.campaign.shrink import fewer, shrink

__all__ = ["shrunk"]

_LEAST_NODES = 2


def shrunk(search: Search, found: Found) -> Found | None:
    """The least draft that comes to the same; its outcome, perhaps of fewer nodes, is ``search``'s then.

    None where no command would be left of it.
    """
    return _Shrinking(search, found).run()


def _course(found: Found) -> list[int]:
    """On whom all agreed, one after the other."""
    assert found.trial is not None
    header, *records = found.trial.records
    assert isinstance(header, Header)
    cluster, elections, agreed = ClusterState.of(header), ElectionLog(), []
    for record in records:
        cluster.apply(record)
        elections.observe(record, cluster)
        if elections.coordinator is not None:
            agreed.append(elections.coordinator)
    return [leader for leader, _ in groupby(agreed)]


def _without_a_line_before(lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """The first of them follows none any more."""
    first = tuple(replace(line, anchor=replace(line.anchor, follows=False)) for line in lines[:1])
    return (*first, *lines[1:])


class _Shrinking:
    def __init__(self, search: Search, found: Found) -> None:
        self._search = search
        self._least = found
        self._course = _course(found)

    def run(self) -> Found | None:
        """Leave out lines, then nodes, until nothing more can go."""
        had_lines = bool(self._least.draft.lines)
        shrink(lambda: self._least.draft, (self._lines,), self._keep)
        if had_lines and not self._least.draft.lines:
            return None
        while any(self._keep_without(node) for node in self._spare_nodes()):
            pass
        return self._least

    def _keep(self, draft: Draft) -> bool:
        found = self._search.cleaned(draft, _without_a_line_before)
        kept = found.rank <= self._least.rank and _course(found) == self._course
        if kept:
            self._least = found
        return kept

    def _lines(self, draft: Draft) -> Iterator[Draft]:
        """Without some; those behind them wait as they did, or as they would if those had never been."""
        for lines in fewer(draft.lines):
            yield replace(draft, lines=_without_a_line_before(lines))
            yield replace(draft, lines=self._search.robust(tuple(line.given for line in lines)))

    def _spare_nodes(self) -> list[int]:
        """Those that no line names, that run, and do not lead; the lowest first."""
        draft, trial = self._least.draft, self._least.trial
        assert trial is not None
        nodes = trial.cluster.nodes
        leader = agreed_coordinator(nodes)
        if leader is None or len(draft.nodes) <= _LEAST_NODES:
            return []
        named = {leader}.union(*(ScheduledFault(0, "", str(line)).names() for line in draft.lines))
        return [node for node in draft.nodes if node not in named and nodes[node].process == "running"]

    def _keep_without(self, node: int) -> bool:
        """Try it without the node: the same has to be said of agreement, and of all assertions."""
        search, draft = self._search, self._least.draft
        before = search.outcome
        found = search.attempt(replace(draft, nodes=tuple(each for each in draft.nodes if each != node)))
        if found.trial is None:
            return False
        outcome = outcome_of(found.trial.cluster, found.trial.judge, faults_of(found.trial.records))
        fewer_now = replace(found, missed=())
        is_same = (outcome.agreed, outcome.verdicts) == (before.agreed, before.verdicts)
        if not is_same or fewer_now.rank > self._least.rank or _course(found) != self._course:
            return False
        search.outcome, self._least = outcome, fewer_now
        return True
