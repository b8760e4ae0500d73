"""What became of messages: a page of the log, with the fate of each message as far as it is known."""

from msgspec import Struct

from lab.journal.loglines import LogLine, lines_of
from lab.journal.records import Header, Record, Routed
from lab.kernel import Received, Step

__all__ = ["FATES", "Ending", "LogPage", "fate_in"]

FATES = ("in flight", "held", "delivered", "too late", "forged", "lost", "cut", "receiver down", "not sent")
"""Every fate there is. The first two are not final."""

_DROPPED = {"lost": "lost", "cut": "cut", "down": "receiver down", "killed": "receiver down", "unsent": "not sent"}


class Ending(Struct, frozen=True, gc=False):
    """A message's fate, settled by the record with this number, at this time."""

    fate: str
    record: int
    at_us: int


class LogPage:
    """The log's lines of the records ``[start, end)``; ``end`` None: no end yet.

    ``feed`` it the records from ``start`` on, in order. Records past the end add no lines, but settle fates;
    ``settled`` says when there is nothing left to settle.
    """

    def __init__(self, start: int, end: int | None) -> None:
        self.start = start
        self.end = end
        self.fed_to = start
        self.lines: list[LogLine] = []
        self.endings: dict[tuple[int, int], Ending] = {}
        self._open: set[tuple[int, int]] = set()

    @property
    def settled(self) -> bool:
        """Whether all lines are there and every message in them has met its fate."""
        return self.end is not None and self.fed_to >= self.end and not self._open

    def feed(self, record: Record | None) -> None:
        """Take the next record; None stands for one that could not be read."""
        number = self.fed_to
        self.fed_to += 1
        if record is None or isinstance(record, Header):
            return
        if self.end is None or number < self.end:
            lines = lines_of(number, record)
            self.lines += lines
            self._open.update(line.message for line in lines if line.what == "message")
        ended = fate_in(record)
        if ended is not None:
            self._settle(*ended, number, record.at_us)
        elif isinstance(record, Routed) and record.fate == "held":
            key = (record.source, record.serial)
            if key in self._open:
                self.endings[key] = Ending("held", number, record.at_us)

    def ending(self, line: LogLine, at_record: int) -> Ending | None:
        """The fate of a message as known at that record; None while it is in flight, and for other lines."""
        if line.what != "message":
            return None
        found = self.endings.get(line.message)
        return found if found is not None and found.record <= at_record else None

    def _settle(self, key: tuple[int, int], fate: str, number: int, at_us: int) -> None:
        if key in self._open:
            self._open.discard(key)
            self.endings[key] = Ending(fate, number, at_us)


def fate_in(record: Record) -> tuple[tuple[int, int], str] | None:
    """Which message met its fate with the record, by source and serial, and which; None: none did."""
    if isinstance(record, Step) and isinstance(record.input, Received):
        given = record.input
        fate = "forged" if given.serial < 0 else "too late" if record.late else "delivered"
        return (given.source, given.serial), fate
    if isinstance(record, Routed) and record.fate == "dropped":
        return (record.source, record.serial), _DROPPED.get(record.why, "lost")
    return None
