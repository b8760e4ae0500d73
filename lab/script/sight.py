"""At which records a predicate holds: of a recording, or of a run as it goes on."""

from lab.kernel import Step
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header, Record
from lab.script.holding import Suspicions, holds, is_seen_in_messages, parts_of
from lab.script.predicates import Predicate, Suspects

__all__ = ["Sight"]


class Sight:
    """Tells of one record after another, from the first on, whether the predicate holds after it.

    As in a script it never does before all nodes have been started. ``holds`` says whether it does now. It may
    begin later, with the cluster as of its ``start``, unless it is about who suspects whom (``needs_all``).
    """

    def __init__(self, predicate: Predicate, header: Header, start: ClusterState | None = None) -> None:
        self._predicate = predicate
        self._cluster = ClusterState.of(header) if start is None else start
        self._suspicions = Suspicions(start)
        self._suspicious = any(isinstance(part, Suspects) for part in parts_of(predicate))
        self._at_every_record = is_seen_in_messages(predicate)
        self._all_started = False
        self.holds = self._look()

    def observe(self, record: Record | None) -> bool:
        """Take the next record; None stands for one that could not be read."""
        self._cluster.apply(record)
        if self._suspicious:
            self._suspicions.observe(record)
        stateless = isinstance(record, Step) and not record.changes_state and not self._at_every_record
        if not (self._all_started and stateless):
            self.holds = self._look()
        return self.holds

    @property
    def needs_all(self) -> bool:
        """Whether it has to be shown a run from its first record on."""
        return self._suspicious

    def _look(self) -> bool:
        if not self._all_started:
            self._all_started = all(view.process != "absent" for view in self._cluster.nodes.values())
        return self._all_started and holds(self._predicate, self._cluster, self._suspicions)
