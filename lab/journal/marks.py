"""The places in a recording that people jump to: faults, elections, changes of status."""

from array import array
from collections.abc import Callable, Iterator
from typing import Literal

from lab.journal.reader import Lines, RecordedLines
from lab.journal.records import Commanded, Process, Record
from lab.kernel import Step

__all__ = ["MarkKind", "Marks", "mark_of"]

MarkKind = Literal["fault", "election", "status"]
_KINDS: tuple[MarkKind, ...] = ("fault", "election", "status")
_NEEDLES = (b'{"record":"process"', b'{"record":"command"', b'"status":"')
_CHUNK = 4 << 20


def mark_of(record: Record | None) -> MarkKind | None:
    """What kind of mark the record is, if any."""
    if isinstance(record, Step):
        status = record.changed.get("status")
        if status is None:
            return None
        return "election" if status == "Election" else "status"
    if isinstance(record, Process):
        return "fault" if record.event != "started" or record.life > 1 else None
    return "fault" if isinstance(record, Commanded) and record.changed else None


class Marks:
    """Marks in the order of records. ``records`` their numbers, ``times_us`` when, ``kinds`` which."""

    def __init__(self) -> None:
        self.records = array("Q")
        self.times_us = array("q")
        self.kinds: list[MarkKind] = []

    def add(self, number: int, record: Record | None) -> None:
        """Look at the next record."""
        kind = mark_of(record)
        if kind is not None:
            self.records.append(number)
            self.times_us.append(record.at_us)  # type: ignore[union-attr]
            self.kinds.append(kind)

    def near(self, number: int, forward: bool, wanted: Callable[[MarkKind], bool]) -> int | None:
        """The number of the next wanted mark after that record, or before it."""
        places = range(len(self.records)) if forward else range(len(self.records) - 1, -1, -1)
        start = self._after(number) if forward else self._after(number - 1) - 1
        for place in places[start:] if forward else range(start, -1, -1):
            if wanted(self.kinds[place]):
                return self.records[place]
        return None

    def _after(self, number: int) -> int:
        low, high = 0, len(self.records)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self.records[middle] <= number else (low, middle)
        return low

    def find_in(self, lines: Lines) -> Iterator[float]:
        """Find all marks of a whole recording, a piece at a time; yields the share that is done."""
        if not isinstance(lines, RecordedLines):
            raise TypeError("marks of a feed are added as it comes")
        for done, numbers in lines.find(_NEEDLES, _CHUNK):
            for number in numbers:
                self.add(number, lines.record(number))
            yield done
