"""Shrinking the script of a recording: the commands and the nodes that the outcome needs, and no others."""

from collections.abc import Iterator

from msgspec.structs import replace

from lab.journal import agreed_coordinator
from lab.scenario.outcome import outcome_of
from lab.scenario.recorded import Draft, Found, Recorded
from lab.scenario.trial import faults_of
from lab.worlds.campaign.schedule import Strike
from lab.worlds.campaign.shrink import fewer, shrink

__all__ = ["shrunk"]

_LEAST_NODES = 2


def shrunk(recorded: Recorded, found: Found) -> Found:
    """The least draft that comes to the same; its outcome, of fewer nodes perhaps, is ``recorded``'s from now on."""
    return _Shrinking(recorded, found).run()


class _Shrinking:
    def __init__(self, recorded: Recorded, found: Found) -> None:
        self._recorded = recorded
        self._least = found

    def run(self) -> Found:
        """Leave out lines, then nodes, until nothing more can go."""
        shrink(lambda: self._least.draft, (self._lines,), self._keep)
        while any(self._keep_without(node) for node in self._spare_nodes()):
            pass
        return self._least

    def _keep(self, draft: Draft) -> bool:
        found = self._recorded.attempt(draft)
        kept = found.rank <= self._least.rank
        if kept:
            self._least = found
        return kept

    def _lines(self, draft: Draft) -> Iterator[Draft]:
        """Without some; those behind them wait as they did, or as they would if those had never been."""
        for lines in fewer(draft.lines):
            yield replace(draft, lines=lines)
            yield replace(draft, lines=self._recorded.robust(tuple(line.given for line in lines)))

    def _spare_nodes(self) -> list[int]:
        """Those that no line names, that run, and do not lead; the lowest first."""
        draft, trial = self._least.draft, self._least.trial
        assert trial is not None
        nodes = trial.cluster.nodes
        leader = agreed_coordinator(nodes)
        if leader is None or len(draft.nodes) <= _LEAST_NODES:
            return []
        named = {leader}.union(*(Strike(0, "", str(line)).names() for line in draft.lines))
        return [node for node in draft.nodes if node not in named and nodes[node].process == "running"]

    def _keep_without(self, node: int) -> bool:
        """Try it without the node: the same has to be said of agreement, and of all assertions."""
        recorded, draft = self._recorded, self._least.draft
        before = recorded.outcome
        found = recorded.attempt(replace(draft, nodes=tuple(each for each in draft.nodes if each != node)))
        if found.trial is None:
            return False
        outcome = outcome_of(found.trial.cluster, found.trial.judge, faults_of(found.trial.records))
        fewer_now = replace(found, missed=())
        if (outcome.agreed, outcome.verdicts) != (
            before.agreed,
            before.verdicts,
        ) or fewer_now.rank > self._least.rank:
            return False
        recorded.outcome, self._least = outcome, fewer_now
        return True
