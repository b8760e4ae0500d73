"""Follow predicates through the records of a recording, or of a run in progress.

No predicate holds before all nodes have been started: until then ``4 down`` or ``live < 3`` would be true of every
run.
"""

from typing import Protocol

from msgspec import Struct

from lab.kernel import Step
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header, Record
from lab.script.predicates import Predicate, Suspicions
from lab.script.scope import CommandError
from lab.script.statements import Statement


class PredicateFold:
    """A fold over records: ``holds`` is True if the predicate holds after the last of them.

    The fold can begin at a later record, from the state of the cluster there (``start``), unless it ``needs_all``
    records from the start of the run, because the predicate is about suspicions.
    """

    def __init__(self, predicate: Predicate, header: Header, start: ClusterState | None = None) -> None:
        self.needs_all = predicate.depends_on_suspicions
        self._predicate = predicate
        self._cluster = ClusterState.of(header) if start is None else start
        self._suspicions = Suspicions(start)
        self._at_every_record = predicate.depends_on_messages
        self._all_started = False
        self.holds = self._evaluate()

    def observe(self, record: Record | None) -> bool:
        """Process the next record, None for an unreadable one. Return whether the predicate holds now."""
        self._cluster.apply(record)
        if self.needs_all:
            self._suspicions.observe(record)
        stateless = isinstance(record, Step) and not record.changes_state and not self._at_every_record
        if not (self._all_started and stateless):
            self.holds = self._evaluate()
        return self.holds

    def _evaluate(self) -> bool:
        if not self._all_started:
            self._all_started = all(view.process != "absent" for view in self._cluster.nodes.values())
        return self._all_started and self._predicate.holds(self._cluster, self._suspicions)


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


class PredicateWait(Struct, eq=False):
    """A line that waits until a predicate has the value ``target``.

    ``met``: the result of the line's expectation in that case; if the run ends or time runs out first, the result
    is the opposite. None: the line waits for a trigger, not for an expectation. ``error``: why the predicate could
    not be evaluated, which ends the wait.
    """

    line: Statement
    predicate: Predicate
    target: bool = True
    met: bool | None = None
    at_every_record: bool = False
    error: str = ""


class ObservedRun(Protocol):
    """A run: its clock, and the cluster after the last record."""

    @property
    def now_us(self) -> int:
        """The time of the run."""

    @property
    def cluster(self) -> ClusterState:
        """The cluster after the last record."""


class PredicateWaits:
    """The lines of a run that wait for predicates."""

    def __init__(self, run: ObservedRun) -> None:
        self.waits: list[PredicateWait] = []
        self._run = run
        self._all_started = False
        self._tracks_suspicions = False
        self._suspicions = Suspicions()

    @property
    def needs_records(self) -> bool:
        """True while records have to be passed to ``observe``."""
        return bool(self.waits) or self._tracks_suspicions

    def track_suspicions_for(self, line: Statement) -> None:
        """Start to track suspicions if the line is about them; they can only be observed from then on."""
        if not self._tracks_suspicions and any(each.depends_on_suspicions for each in line.predicates):
            self._tracks_suspicions = True
            self._suspicions = Suspicions(self._run.cluster)

    def holds(self, predicate: Predicate) -> bool:
        """Return whether the predicate holds now. Raises CommandError if what a protocol brings fails."""
        return predicate.holds(self._run.cluster, self._suspicions)

    def add(self, wait: PredicateWait) -> bool:
        """Add the wait, unless it is over already; return whether it is."""
        if self._has_value(wait):
            return True
        wait.at_every_record = wait.predicate.depends_on_messages
        self.waits.append(wait)
        return False

    def remove(self, wait: PredicateWait) -> bool:
        """Remove the wait. Return whether it was still there."""
        kept = wait in self.waits
        if kept:
            self.waits.remove(wait)
        return kept

    def withdraw(self, line: Statement) -> bool:
        """Remove one wait of such a line, if it has any. Return whether it had."""
        wait = next((each for each in self.waits if _is_for(each, line)), None)
        return wait is not None and self.remove(wait)

    def observe(self, record: Record) -> None:
        """Update the suspicions, if they are tracked."""
        if self._tracks_suspicions:
            self._suspicions.observe(record)

    def on_record(self, record: Record) -> list[PredicateWait]:
        """Remove and return the waits that are over after this record, the last in the log."""
        stateless = isinstance(record, Step) and not record.changes_state
        found = []
        for wait in self.waits:
            if (wait.at_every_record or not stateless) and self._has_value(wait):
                found.append(wait)
        if found:
            self.waits = [wait for wait in self.waits if wait not in found]
        return found

    def _has_value(self, wait: PredicateWait) -> bool:
        """Return whether the predicate has the target value, or cannot be evaluated."""
        if not self._all_started:
            self._all_started = all(view.process != "absent" for view in self._run.cluster.nodes.values())
        try:
            return self._all_started and self.holds(wait.predicate) == wait.target
        except CommandError as error:
            wait.error = str(error)
            return True


def _is_for(wait: PredicateWait, line: Statement) -> bool:
    # Not the whole statement: the director replaces a line by one without the triggers that have fired.
    return (wait.line.source, wait.line.line) == (line.source, line.line)
