"""The records with which a predicate becomes true."""

from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header, Record
from lab.script.predicates import Predicate
from lab.script.sight import Sight

__all__ = ["Onset"]


class Onset:
    """As something to hunt for. What holds already has to stop holding before it can become true."""

    def __init__(self, predicate: Predicate, header: Header) -> None:
        self._predicate = predicate
        self._header = header
        self._sight = Sight(predicate, header)
        self.needs_all = self._sight.needs_all

    @property
    def holds(self) -> bool:
        """Whether it holds after the record that was taken last."""
        return self._sight.holds

    def begin(self, cluster: ClusterState) -> None:
        """The cluster before the records that come next."""
        self._sight = Sight(self._predicate, self._header, cluster)

    def take(self, record: Record | None) -> bool:
        """Whether it becomes true with this record."""
        held = self._sight.holds
        return self._sight.observe(record) and not held
