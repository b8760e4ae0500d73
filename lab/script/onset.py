"""Match the records at which a predicate becomes true."""

from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header, Record
from lab.script.predicate_fold import PredicateFold
from lab.script.predicates import Predicate

__all__ = ["OnsetMatcher"]


class OnsetMatcher:
    """A matcher for ``RecordSearch``. A predicate that holds at the start must first become false."""

    def __init__(self, predicate: Predicate, header: Header) -> None:
        self._predicate = predicate
        self._header = header
        self._fold = PredicateFold(predicate, header)
        self.needs_all = self._fold.needs_all

    @property
    def holds(self) -> bool:
        """True if the predicate holds after the last record."""
        return self._fold.holds

    def begin(self, cluster: ClusterState) -> None:
        """Start over from this state of the cluster."""
        self._fold = PredicateFold(self._predicate, self._header, cluster)

    def match(self, record: Record | None) -> bool:
        """Process the next record and return whether the predicate becomes true at it."""
        held = self._fold.holds
        return self._fold.observe(record) and not held
