"""Wait for predicates: evaluate each when a line starts to wait, and after every record that can change it.

No predicate is evaluated before all nodes have been started: until then ``4 down`` or ``live < 3`` would be true
of every run.
"""

from msgspec import Struct

from lab.kernel import Step
from lab.recording.memory import RecordLog
from lab.recording.records import Record
from lab.script.evaluation import Suspicions, depends_on_messages, depends_on_suspicion, holds
from lab.script.predicates import Predicate
from lab.script.triggers import Statement

__all__ = ["PredicateWait", "PredicateWatch"]


class PredicateWait(Struct, eq=False):
    """A line that waits until a predicate has the value ``target``.

    ``met``: the result of the line's expectation in that case; if the run ends or time runs out first, the result
    is the opposite. None: the line waits for a trigger, not for an expectation.
    """

    line: Statement
    predicate: Predicate
    target: bool = True
    met: bool | None = None
    at_every_record: bool = False


class PredicateWatch:
    """The lines that wait for predicates. ``log`` is the recording of the run."""

    def __init__(self, log: RecordLog) -> None:
        self.waits: list[PredicateWait] = []
        self._log = log
        self._all_started = False
        self._tracks_suspicions = False
        self._suspicions = Suspicions()

    @property
    def needs_records(self) -> bool:
        """True while the watch has to be shown records."""
        return bool(self.waits) or self._tracks_suspicions

    def track_suspicions_for(self, line: Statement) -> None:
        """Start to track suspicions if the line is about them; they can only be observed from then on."""
        if not self._tracks_suspicions and depends_on_suspicion(line):
            self._tracks_suspicions = True
            self._suspicions = Suspicions(self._log.cluster)

    def holds(self, predicate: Predicate) -> bool:
        """Return whether the predicate holds now."""
        return holds(predicate, self._log.cluster, self._suspicions)

    def add(self, wait: PredicateWait) -> bool:
        """Add the wait, unless it is over already; return whether it is."""
        if self._has_value(wait):
            return True
        wait.at_every_record = depends_on_messages(wait.predicate)
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
        """Return whether the predicate has the target value."""
        if not self._all_started:
            self._all_started = all(view.process != "absent" for view in self._log.cluster.nodes.values())
        return self._all_started and holds(wait.predicate, self._log.cluster, self._suspicions) == wait.target


def _is_for(wait: PredicateWait, line: Statement) -> bool:
    # Not the whole statement: the director replaces a line by one without the triggers that have fired.
    return (wait.line.source, wait.line.line) == (line.source, line.line)
