"""Shrink a script to the commands and nodes that its outcome needs.

The outcome here includes the sequence of coordinators on which all agreed, not only the final state.
"""

from collections.abc import Iterator
from itertools import groupby

from msgspec.structs import replace

from lab.analysis.elections import ElectionLog, agreed_coordinator
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header
from lab.scenario.expected_outcome import expected_outcome
from lab.scenario.script_search import Draft, DraftLine, ScriptSearch, TriedDraft
from lab.scenario.script_trial import faults_of
from lab.worlds.campaign.schedule import ScheduledFault
from lab.worlds.campaign.shrink import fewer, shrink

__all__ = ["shrink_script"]

_LEAST_NODES = 2


def shrink_script(search: ScriptSearch, found: TriedDraft) -> TriedDraft | None:
    """Return the smallest draft with the same outcome; None if it would have no commands.

    It may have fewer nodes; ``search.outcome`` is changed to match.
    """
    return _Shrinking(search, found).run()


def _leaders(found: TriedDraft) -> list[int]:
    """Return the sequence of coordinators on which all agreed."""
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


def _without_a_line_before(lines: tuple[DraftLine, ...]) -> tuple[DraftLine, ...]:
    """Clear ``follows`` of the first line."""
    first = tuple(replace(line, anchor=replace(line.anchor, follows=False)) for line in lines[:1])
    return (*first, *lines[1:])


class _Shrinking:
    def __init__(self, search: ScriptSearch, found: TriedDraft) -> None:
        self._search = search
        self._least = found
        self._leaders = _leaders(found)

    def run(self) -> TriedDraft | None:
        """Remove lines, then nodes, until none can be removed."""
        had_lines = bool(self._least.draft.lines)
        shrink(lambda: self._least.draft, (self._lines,), self._keep)
        if had_lines and not self._least.draft.lines:
            return None
        while any(self._keep_without(node) for node in self._spare_nodes()):
            pass
        return self._least

    def _keep(self, draft: Draft) -> bool:
        found = self._search.cleaned(draft, _without_a_line_before)
        kept = found.rank <= self._least.rank and _leaders(found) == self._leaders
        if kept:
            self._least = found
        return kept

    def _lines(self, draft: Draft) -> Iterator[Draft]:
        """Yield smaller drafts; the lines after removed ones keep their anchors, or get new robust ones."""
        for lines in fewer(draft.lines):
            yield replace(draft, lines=_without_a_line_before(lines))
            yield replace(draft, lines=self._search.robust(tuple(line.given for line in lines)))

    def _spare_nodes(self) -> list[int]:
        """Return the running nodes that no line names and that do not lead, the lowest first."""
        draft, trial = self._least.draft, self._least.trial
        assert trial is not None
        nodes = trial.cluster.nodes
        leader = agreed_coordinator(nodes)
        if leader is None or len(draft.nodes) <= _LEAST_NODES:
            return []
        named = {leader}.union(*(ScheduledFault(0, "", str(line)).named_nodes() for line in draft.lines))
        return [node for node in draft.nodes if node not in named and nodes[node].process == "running"]

    def _keep_without(self, node: int) -> bool:
        """Drop the node if agreement and all verdicts stay the same. Return whether it was dropped."""
        search, draft = self._search, self._least.draft
        before = search.outcome
        found = search.attempt(replace(draft, nodes=tuple(each for each in draft.nodes if each != node)))
        if found.trial is None:
            return False
        outcome = expected_outcome(found.trial.cluster, found.trial.judge, faults_of(found.trial.records))
        fewer_now = replace(found, missed=())
        is_same = (outcome.agreed, outcome.verdicts) == (before.agreed, before.verdicts)
        if not is_same or fewer_now.rank > self._least.rank or _leaders(found) != self._leaders:
            return False
        search.outcome, self._least = outcome, fewer_now
        return True
