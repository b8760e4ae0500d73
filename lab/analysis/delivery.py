"""What became of messages: the fold that knows it, and a page of the log with the fates of its messages."""

from msgspec import Struct

from lab.kernel import Received, Step
from lab.recording.log_lines import LogLine, lines_of
from lab.recording.records import Header, Record, Routed

__all__ = ["FATES", "Ending", "Fates", "LogPage", "Turn", "fate_in", "message_met"]

FATES = ("in flight", "held", "delivered", "too late", "forged", "lost", "cut", "receiver down", "not sent")
"""Every fate there is. The first two are not final."""

_DROPPED = {"lost": "lost", "cut": "cut", "down": "receiver down", "killed": "receiver down", "unsent": "not sent"}


_Key = tuple[int, int]


class Turn(Struct, frozen=True, gc=False):
    """What a record is to a message: it has this ``fate`` now. ``again``: no, it had arrived before that."""

    message: _Key
    fate: str
    is_final: bool
    again: bool = False


class Fates:
    """The messages of which copies are on their way, of those that it was told of with ``sent``.

    As long as one copy may arrive, the loss of another settles nothing; and what has arrived has, whatever becomes
    of the others.
    """

    def __init__(self) -> None:
        self._copies: dict[_Key, int] = {}
        self._arrived: set[_Key] = set()

    def __contains__(self, message: _Key) -> bool:
        return message in self._copies

    @property
    def settled(self) -> bool:
        """Whether every message has met its fate."""
        return len(self._arrived) == len(self._copies)

    def sent(self, message: _Key, copies: int = 1) -> None:
        """A message, by source and serial, of which so many copies may arrive."""
        self._copies[message] = copies

    def observe(self, record: Record) -> Turn | None:
        """Take the next record; None where it is nothing to a message, or changes no fate."""
        key = message_met(record)
        copies = None if key is None else self._copies.get(key)
        if key is None or copies is None:
            return None
        has_arrived = key in self._arrived
        ended = fate_in(record)
        if ended is not None:
            arrives = isinstance(record, Step)
            self._take_one(key, copies, arrives)
            is_told = arrives or (copies == 1 and not has_arrived)
            return Turn(key, ended[1], True, has_arrived) if is_told else None
        if isinstance(record, Routed) and record.fate == "duplicated":
            self._copies[key] = copies + 1
        elif isinstance(record, Routed) and record.fate in ("held", "released") and not has_arrived:
            return Turn(key, "held" if record.fate == "held" else "in flight", False)
        return None

    def _take_one(self, key: _Key, copies: int, arrives: bool) -> None:
        if copies == 1:
            del self._copies[key]
            self._arrived.discard(key)
        else:
            self._copies[key] = copies - 1
            if arrives:
                self._arrived.add(key)


class Ending(Struct, frozen=True, gc=False):
    """A message's fate, from the record with this number on, at this time."""

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
        self.endings: dict[_Key, list[Ending]] = {}
        self._fates = Fates()

    @property
    def settled(self) -> bool:
        """Whether all lines are there and every message in them has met its fate."""
        return self.end is not None and self.fed_to >= self.end and self._fates.settled

    def feed(self, record: Record | None) -> None:
        """Take the next record; None stands for one that could not be read."""
        number = self.fed_to
        self.fed_to += 1
        if record is None or isinstance(record, Header):
            return
        if self.end is None or number < self.end:
            lines = lines_of(number, record)
            self.lines += lines
            for line in lines:
                if line.what == "message":
                    self._fates.sent(line.message)
        turn = self._fates.observe(record)
        if turn is not None and not turn.again:
            self.endings.setdefault(turn.message, []).append(Ending(turn.fate, number, record.at_us))

    def ending(self, line: LogLine, at_record: int) -> Ending | None:
        """The fate of a message as known at that record; None while it is in flight, and for other lines."""
        if line.what != "message":
            return None
        known = reversed(self.endings.get(line.message, ()))
        found = next((ending for ending in known if ending.record <= at_record), None)
        return None if found is None or found.fate == "in flight" else found


def message_met(record: Record) -> _Key | None:
    """The message that something befell, or that arrived, by source and serial; None: the record is of none."""
    if isinstance(record, Routed):
        return record.source, record.serial
    if isinstance(record, Step) and isinstance(record.input, Received):
        return record.input.source, record.input.serial
    return None


def fate_in(record: Record) -> tuple[_Key, str] | None:
    """Which message met its fate with the record, or a copy of it did, and which fate; None: none did."""
    if isinstance(record, Step) and isinstance(record.input, Received):
        given = record.input
        fate = "forged" if given.serial < 0 else "too late" if record.late else "delivered"
        return (given.source, given.serial), fate
    if isinstance(record, Routed) and record.fate == "dropped":
        return (record.source, record.serial), _DROPPED.get(record.why, "lost")
    return None
