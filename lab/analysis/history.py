"""One pass over a run: each record is decoded once, and shown to everything that is computed from the records."""

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header, Record

_PROGRESS_EVERY = 1000


class Fold(Protocol):
    """Something that is computed from the records of a run, one after the other."""

    def observe(self, record: Record | None) -> object:
        """Process the next record; None stands for a line that could not be read."""


F = TypeVar("F", bound=Fold)


class History:
    """The cluster and the folds of a run, after the records observed so far.

    A fold that needs the state of the cluster is given ``cluster`` when it is made; that is the state after the
    record it observes.
    """

    def __init__(self, header: Header) -> None:
        self.cluster = ClusterState.of(header)
        self._folds: list[Fold] = []

    def add(self, fold: F) -> F:
        """Add a fold, and return it."""
        self._folds.append(fold)
        return fold

    def observe(self, record: Record | None) -> None:
        """Show the next record to the cluster, then to the folds in the order in which they were added."""
        self.cluster.apply(record)
        for fold in self._folds:
            fold.observe(record)

    def read(
        self, records: Iterable[Record | None], progress: Callable[[int], object] = lambda number: None
    ) -> None:
        """Observe all records; ``progress`` is called with their number so far, every thousand."""
        for number, record in enumerate(records):
            if number % _PROGRESS_EVERY == 0:
                progress(number)
            self.observe(record)
