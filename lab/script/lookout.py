"""Predicates that are looked at when a line begins to wait for them, and after each record that may change them.

Never before all nodes have been started, as until then ``4 down`` or ``live < 3`` would say nothing of the run.
"""

from msgspec import Struct

from lab.kernel import Step
from lab.recording.memory import Log
from lab.recording.records import Record
from lab.script.holding import Suspicions, holds, is_seen_in_messages, names_suspicion
from lab.script.predicates import Predicate
from lab.script.triggers import Scripted

__all__ = ["Look", "Lookout"]


class Look(Struct, eq=False):
    """A line that waits for a predicate. ``wanted``: for which of its values.

    ``met``: whether an expectation is met by that, and not met where it never came to that before the run
    ended, or the other way round. None: it is a trigger that has come.
    """

    line: Scripted
    predicate: Predicate
    wanted: bool = True
    met: bool | None = None
    at_every_record: bool = False


class Lookout:
    """Keeps looks until their predicates have the values that are wanted. ``log`` is the recording of the run."""

    def __init__(self, log: Log) -> None:
        self.looks: list[Look] = []
        self._log = log
        self._all_started = False
        self._suspicious = False
        self._suspicions = Suspicions()

    @property
    def attends(self) -> bool:
        """Whether it has to be shown records."""
        return bool(self.looks) or self._suspicious

    def heed(self, line: Scripted) -> None:
        """Who suspects whom is only known to those who have watched, so begin with it where a line asks."""
        if not self._suspicious and names_suspicion(line):
            self._suspicious = True
            self._suspicions = Suspicions(self._log.cluster)

    def holds(self, predicate: Predicate) -> bool:
        """Whether it holds now."""
        return holds(predicate, self._log.cluster, self._suspicions)

    def begin(self, look: Look) -> bool:
        """Whether it has come already; if not, it is kept."""
        if self._has_come(look):
            return True
        look.at_every_record = is_seen_in_messages(look.predicate)
        self.looks.append(look)
        return False

    def give_up(self, look: Look) -> bool:
        """Whether it was still kept; now it is not."""
        kept = look in self.looks
        if kept:
            self.looks.remove(look)
        return kept

    def withdraw(self, line: Scripted) -> bool:
        """Whether such a line was kept, from one of its triggers to the next; now one of them less is."""
        look = next((each for each in self.looks if _is_of(each, line)), None)
        return look is not None and self.give_up(look)

    def observe(self, record: Record) -> None:
        """See who suspects whom by this record."""
        if self._suspicious:
            self._suspicions.observe(record)

    def after(self, record: Record) -> list[Look]:
        """Those that have come by this record, the last in the log; they are kept no longer."""
        stateless = isinstance(record, Step) and not record.changes_state
        come = []
        for look in self.looks:
            if (look.at_every_record or not stateless) and self._has_come(look):
                come.append(look)
        if come:
            self.looks = [look for look in self.looks if look not in come]
        return come

    def _has_come(self, look: Look) -> bool:
        """Whether the predicate has the value that is waited for."""
        if not self._all_started:
            self._all_started = all(view.process != "absent" for view in self._log.cluster.nodes.values())
        return self._all_started and holds(look.predicate, self._log.cluster, self._suspicions) == look.wanted


def _is_of(look: Look, line: Scripted) -> bool:
    """By its words, as a line that has come to a later trigger of its own is another one."""
    return (look.line.source, look.line.line) == (line.source, line.line)
