"""Evaluate a predicate after each record of a recording, or of a run in progress."""

from lab.kernel import Step
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header, Record
from lab.script.evaluation import Suspicions, depends_on_messages, holds, parts_of
from lab.script.predicates import Predicate, Suspects

__all__ = ["PredicateFold"]


class PredicateFold:
    """A fold over records: ``holds`` is True if the predicate holds after the last of them.

    As in a script, no predicate holds before all nodes have been started. The fold can begin at a later record,
    from the state of the cluster there (``start``), unless the predicate is about suspicions (``needs_all``).
    """

    def __init__(self, predicate: Predicate, header: Header, start: ClusterState | None = None) -> None:
        self._predicate = predicate
        self._cluster = ClusterState.of(header) if start is None else start
        self._suspicions = Suspicions(start)
        self._tracks_suspicions = any(isinstance(part, Suspects) for part in parts_of(predicate))
        self._at_every_record = depends_on_messages(predicate)
        self._all_started = False
        self.holds = self._evaluate()

    def observe(self, record: Record | None) -> bool:
        """Process the next record, None for an unreadable one. Return whether the predicate holds now."""
        self._cluster.apply(record)
        if self._tracks_suspicions:
            self._suspicions.observe(record)
        stateless = isinstance(record, Step) and not record.changes_state and not self._at_every_record
        if not (self._all_started and stateless):
            self.holds = self._evaluate()
        return self.holds

    @property
    def needs_all(self) -> bool:
        """True if the fold needs every record from the start of the run."""
        return self._tracks_suspicions

    def _evaluate(self) -> bool:
        if not self._all_started:
            self._all_started = all(view.process != "absent" for view in self._cluster.nodes.values())
        return self._all_started and holds(self._predicate, self._cluster, self._suspicions)
