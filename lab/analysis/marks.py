"""Find the marks in a recording, to jump to: faults, elections, changes of status, captions of the script."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, KeysView
from typing import Literal

from lab.analysis.script_log import ScriptLog
from lab.kernel import Step
from lab.recording.reader import FileRecords, RecordStore
from lab.recording.records import Captioned, Commanded, Expected, Header, Process, Record

__all__ = ["MarkKind", "Marks", "Places", "mark_of"]

MarkKind = Literal["fault", "election", "status", "caption", "mark", "unmet"]
"""The kinds of marks; *unmet*: an expectation that was not met."""

_TAGS = ("process", "command", "caption", "expected", "end")
_NEEDLES = (*(f'{{"record":"{tag}"'.encode() for tag in _TAGS), b'"status":"')
_CHUNK = 4 << 20
_ONE_FAULT_US = 50_000
_LATEST_US = (1 << 63) - 1  # a recording may hold any number


def mark_of(record: Record | None) -> MarkKind | None:
    """Return the kind of mark that the record is, or None."""
    if isinstance(record, Step):
        status = record.changed.get("status")
        if status is None:
            return None
        return "election" if status == "Election" else "status"
    if isinstance(record, Process):
        return "fault" if record.event != "started" or record.incarnation > 1 else None
    if isinstance(record, Captioned):
        return "mark" if record.mark else "caption"
    if isinstance(record, Expected):
        return None if record.met else "unmet"
    return "fault" if isinstance(record, Commanded) and record.changed else None


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


class Marks:
    """Marks in the order of records: the numbers of their ``records``, their ``kinds``, and ``places`` by kind."""

    def __init__(self) -> None:
        self.places: dict[MarkKind, Places] = {}
        self.records = array("Q")
        self.kinds: list[MarkKind] = []
        self._last_us = 0

    def add(self, number: int, record: Record | None) -> None:
        """Add the next record. Faults in quick succession, such as a command and its effects, are one mark."""
        kind = mark_of(record)
        if kind is None or record is None or isinstance(record, Header):
            return
        same = kind == "fault" and self.kinds[-1:] == ["fault"]
        if same and record.at_us - self._last_us < _ONE_FAULT_US:
            return
        self._last_us = record.at_us
        self.records.append(number)
        self.kinds.append(kind)
        self.places.setdefault(kind, Places()).add(number, record.at_us)

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
