"""The marks and the density of a run, for the scrub bar and for jumps in time.

Marks are faults, elections, new leaders, changes of status, and the captions of the script. The density is the
number of log lines, without heartbeats, in each interval of the run's time. Each record is counted once, as it is
read, so a query costs the same for a thousand records as for a million; for the part that has not been read yet,
the keyframes give a coarse count.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, KeysView
from typing import Literal

from lab.analysis.elections import NodeStatus, may_change_leader
from lab.analysis.script_log import ScriptLog
from lab.kernel import Step
from lab.recording.log_lines import count_lines
from lab.recording.reader import FileRecords, RecordStore
from lab.recording.records import Captioned, Commanded, Expected, Fault, Header, Process, Record

MarkKind = Literal["fault", "repair", "command", "election", "leader", "status", "caption", "mark", "unmet"]
"""The kinds of marks.

*repair*: a fault ends, or a node comes back; *command*: one that is neither of them; *election*: a node enters its
election while no other node is in one; *leader*: a node begins to lead; *status*: any other change of status;
*unmet*: an expectation that was not met.
"""

_TAGS = ("process", "fault", "command", "caption", "expected", "end")
_NEEDLES = (*(f'{{"record":"{tag}"'.encode() for tag in _TAGS), b'"status":"', b'"coordinator":')
_CHUNK = 4 << 20
_EFFECTS = frozenset({"fault", "repair", "command"})
_ONE_FAULT_US = 50_000
_LATEST_US = (1 << 63) - 1  # a recording may hold any number


class MarkFold:
    """Return the kind of mark that each record is, in order."""

    def __init__(self) -> None:
        self._nodes: dict[int, NodeStatus] = {}

    def observe(self, record: Record | None) -> MarkKind | None:
        """Process the next record; return the kind of mark that it is, or None."""
        match record:
            case Step() if may_change_leader(record):
                return self._observe_step(record)
            case Process():
                return self._observe_process(record)
            case Fault():
                return "repair" if record.lifted else "fault"
            case Commanded() if record.changed:
                return "command"
            case _:
                return _mark_of_script(record)

    def _observe_process(self, record: Process) -> MarkKind | None:
        self._nodes.setdefault(record.node, NodeStatus()).observe(record)
        if record.event == "started":
            return "repair" if record.incarnation > 1 else None
        return "repair" if record.event == "resumed" else "fault"

    def _observe_step(self, step: Step) -> MarkKind | None:
        node = self._nodes.setdefault(step.node, NodeStatus("running"))
        led, began = node.leads(step.node), any(each.shown == "Election" for each in self._nodes.values())
        node.observe(step)
        if node.leads(step.node) and not led:
            return "leader"
        status = step.updates.get("status")
        if status is None:
            return None
        return "election" if status == "Election" and not began else "status"


def _mark_of_script(record: Record | None) -> MarkKind | None:
    if isinstance(record, Captioned):
        return "mark" if record.mark else "caption"
    return "unmet" if isinstance(record, Expected) and not record.met else None


class Places:
    """Positions in a run: the numbers of records, and their times, both in ascending order."""

    def __init__(self) -> None:
        self.records = array("Q")
        self.times_us = array("q")

    def __len__(self) -> int:
        return len(self.records)

    def add(self, number: int, at_us: int) -> None:
        """Add the next position. If its time is before that of the last position, it gets that time instead."""
        self.records.append(number)
        self.times_us.append(max(self.times_us[-1] if self.times_us else 0, min(at_us, _LATEST_US)))

    def pop(self) -> None:
        """Remove the last position."""
        self.records.pop()
        self.times_us.pop()


class Marks:
    """Marks in the order of records: the numbers of their ``records``, their ``kinds``, and ``places`` by kind."""

    def __init__(self) -> None:
        self.places: dict[MarkKind, Places] = {}
        self.records = array("Q")
        self.kinds: list[MarkKind] = []
        self.first: dict[int, int] = {}
        """For marks of several records, the first of them, by the last, which is that of the mark."""
        self._fold = MarkFold()
        self._last_us = 0
        self._begun: int | None = None
        self._before_fault: tuple[int, MarkKind, int, int | None] | None = None

    def add(self, number: int, record: Record | None) -> None:
        """Add the next record. A command and its effects, or several in quick succession, are one mark.

        It is at the last of them, so that a jump there shows the effect. A fault that had none is no mark.
        """
        kind = self._fold.observe(record)
        if isinstance(record, Fault) and record.lifted and record.id == self._begun:
            self._remove_fault()
            return
        if kind is not None or isinstance(record, Commanded):
            self._begun = record.id if isinstance(record, Fault) and not record.lifted else None
            self._before_fault = None
        if kind is None or record is None or isinstance(record, Header):
            return
        before = self.kinds[-1] if self.kinds else "status"
        is_one = {kind, before} <= _EFFECTS and (kind == before or "command" in (kind, before))
        if is_one and record.at_us - self._last_us < _ONE_FAULT_US:
            earlier = self.first.pop(self.records[-1], None)
            if self._begun is not None:
                self._before_fault = self.records[-1], before, self.places[before].times_us[-1], earlier
            self.first[number] = self.records[-1] if earlier is None else earlier
            kind = before if kind == "command" else kind
            self._pop()
        else:
            self._last_us = record.at_us
        self.records.append(number)
        self.kinds.append(kind)
        self.places.setdefault(kind, Places()).add(number, record.at_us)

    def _pop(self) -> None:
        self.records.pop()
        kind = self.kinds.pop()
        self.places[kind].pop()
        if not self.places[kind]:
            del self.places[kind]

    def _remove_fault(self) -> None:
        """Remove the last mark, a fault that is lifted before anything followed from it."""
        self.first.pop(self.records[-1], None)
        self._pop()
        if self._before_fault is not None:
            number, kind, at_us, earlier = self._before_fault
            self.records.append(number)
            self.kinds.append(kind)
            self.places.setdefault(kind, Places()).add(number, at_us)
            if earlier is not None:
                self.first[number] = earlier
        self._begun = self._before_fault = None

    @property
    def found(self) -> KeysView[MarkKind]:
        """The kinds of marks present."""
        return self.places.keys()

    def near(self, number: int, forward: bool, wanted: Callable[[MarkKind], bool]) -> int | None:
        """Return the record of the nearest wanted mark after (or before) that record, or None."""
        if forward:
            places = range(bisect_right(self.records, number), len(self.records))
        else:
            places = range(bisect_left(self.records, number) - 1, -1, -1)
        return next((self.records[place] for place in places if wanted(self.kinds[place])), None)

    def find_in(self, store: RecordStore, also: ScriptLog | None = None) -> Iterator[float]:
        """Find all marks of a whole recording, a piece at a time; yield the share that is done.

        The same pass fills ``also`` with the results of the script.
        """
        if not isinstance(store, FileRecords):
            raise TypeError("marks of a feed are added as it comes")
        for done, numbers in store.find(_NEEDLES, _CHUNK):
            for number in numbers:
                record = store.record(number)
                self.add(number, record)
                if also is not None:
                    also.add(number, record)
            yield done


_BUCKETS = 2048
_FIRST_WIDTH_US = 1000


class Density:
    """The density of the records passed to ``observe``, in order.

    Time is divided into buckets of equal width. A record later than the last bucket doubles the width of all.
    """

    def __init__(self, store: RecordStore) -> None:
        self.observed = 0
        self._store = store
        self._heartbeats = frozenset(store.header.protocol.heartbeats)
        self._width_us = _FIRST_WIDTH_US
        self._buckets = array("Q", bytes(8 * _BUCKETS))
        self._us = 0

    def observe(self, record: Record | None) -> None:
        """Count the next record."""
        self.observed += 1
        if record is None or isinstance(record, Header):
            return
        self._us = max(self._us, record.at_us)
        while self._us >= self._width_us * _BUCKETS:
            self._widen()
        count = count_lines(record)
        if count and isinstance(record, Step):
            count -= sum(message.kind in self._heartbeats for message in record.sent)
        self._buckets[self._us // self._width_us] += count

    def cells(self, count: int, end_us: int) -> list[int]:
        """Return the number of lines in each of ``count`` cells, from the start of the run to ``end_us``."""
        found = [0] * count
        for place in range(min(_BUCKETS, self._us // self._width_us + 1)):
            found[_cell(place * self._width_us, count, end_us)] += self._buckets[place]
        for at_us, lines in self._ahead():
            found[_cell(at_us, count, end_us)] += lines
        return found

    def _ahead(self) -> list[tuple[int, int]]:
        """Return (time, lines since the previous keyframe) for each keyframe that was not read yet."""
        store = self._store
        log_lines = [one - other for one, other in zip(store.lines_at, store.heartbeats_at, strict=True)]
        since = zip(store.keyframes, store.times_us, [0, *log_lines], log_lines, strict=False)
        return [(at_us, max(0, now - before)) for number, at_us, before, now in since if number >= self.observed]

    def _widen(self) -> None:
        pairs = zip(self._buckets[::2], self._buckets[1::2], strict=True)
        self._buckets = array("Q", [one + other for one, other in pairs]) + array("Q", bytes(4 * _BUCKETS))
        self._width_us *= 2


def _cell(at_us: int, count: int, end_us: int) -> int:
    return max(0, min(count - 1, at_us * (count - 1) // max(1, end_us)))
