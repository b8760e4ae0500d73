"""Track the delivery outcomes of messages, for single messages and for a page of the log."""

from msgspec import Struct

from lab.kernel import Received, Step
from lab.recording.log_lines import LogLine, lines_of
from lab.recording.records import Header, Record, Routed

__all__ = [
    "OUTCOMES",
    "DeliveryOutcome",
    "DeliveryTracker",
    "DeliveryTransition",
    "LogPage",
    "affected_message",
    "delivery_outcome",
]

OUTCOMES = ("in flight", "held", "delivered", "timed out", "forged", "lost", "cut", "receiver down", "not sent")
"""All delivery outcomes. The first two are not final."""

_DROPPED = {"lost": "lost", "cut": "cut", "down": "receiver down", "killed": "receiver down", "unsent": "not sent"}


_Key = tuple[int, int]


class DeliveryTransition(Struct, frozen=True, gc=False):
    """A transition of a message to the outcome ``fate``. ``again``: a further copy of it arrived."""

    message: _Key
    fate: str
    is_final: bool
    again: bool = False


class DeliveryTracker:
    """The messages passed to ``sent`` of which copies are still in flight.

    The loss of a copy decides nothing while another may arrive. Once a copy has arrived, the message is delivered,
    whatever happens to the others.
    """

    def __init__(self) -> None:
        self._copies: dict[_Key, int] = {}
        self._arrived: set[_Key] = set()

    def __contains__(self, message: _Key) -> bool:
        return message in self._copies

    @property
    def settled(self) -> bool:
        """True if every message has its final outcome."""
        return len(self._arrived) == len(self._copies)

    def sent(self, message: _Key, copies: int = 1) -> None:
        """Add a message, by source and serial, of which ``copies`` may arrive."""
        self._copies[message] = copies

    def observe(self, record: Record) -> DeliveryTransition | None:
        """Apply the next record; return the transition of a message that it causes, or None."""
        key = affected_message(record)
        copies = None if key is None else self._copies.get(key)
        if key is None or copies is None:
            return None
        has_arrived = key in self._arrived
        ended = delivery_outcome(record)
        if ended is not None:
            arrives = isinstance(record, Step)
            self._remove_copy(key, copies, arrives)
            is_transition = arrives or (copies == 1 and not has_arrived)
            return DeliveryTransition(key, ended[1], True, has_arrived) if is_transition else None
        if isinstance(record, Routed) and record.fate == "duplicated":
            self._copies[key] = copies + 1
        elif isinstance(record, Routed) and record.fate in ("held", "released") and not has_arrived:
            return DeliveryTransition(key, "held" if record.fate == "held" else "in flight", False)
        return None

    def _remove_copy(self, key: _Key, copies: int, arrives: bool) -> None:
        if copies == 1:
            del self._copies[key]
            self._arrived.discard(key)
        else:
            self._copies[key] = copies - 1
            if arrives:
                self._arrived.add(key)


class DeliveryOutcome(Struct, frozen=True, gc=False):
    """The outcome of a message, reached with this record, at this time."""

    fate: str
    record: int
    at_us: int


class LogPage:
    """The log lines of the records ``[start, end)``; ``end`` is None if it is not known yet.

    Call ``feed`` with the records from ``start`` on, in order. Records after the end add no lines, but outcomes;
    ``settled`` is True when all outcomes are final.
    """

    def __init__(self, start: int, end: int | None) -> None:
        self.start = start
        self.end = end
        self.fed_to = start
        self.lines: list[LogLine] = []
        self.outcomes: dict[_Key, list[DeliveryOutcome]] = {}
        self._deliveries = DeliveryTracker()

    @property
    def settled(self) -> bool:
        """True if all lines are present and every message in them has its final outcome."""
        return self.end is not None and self.fed_to >= self.end and self._deliveries.settled

    def feed(self, record: Record | None) -> None:
        """Add the next record; None stands for one that could not be read."""
        number = self.fed_to
        self.fed_to += 1
        if record is None or isinstance(record, Header):
            return
        if self.end is None or number < self.end:
            lines = lines_of(number, record)
            self.lines += lines
            for line in lines:
                if line.what == "message":
                    self._deliveries.sent(line.message)
        transition = self._deliveries.observe(record)
        if transition is not None and not transition.again:
            self.outcomes.setdefault(transition.message, []).append(
                DeliveryOutcome(transition.fate, number, record.at_us)
            )

    def outcome(self, line: LogLine, at_record: int) -> DeliveryOutcome | None:
        """Return the outcome of a message as known at that record; None while in flight, and for other lines."""
        if line.what != "message":
            return None
        known = reversed(self.outcomes.get(line.message, ()))
        found = next((outcome for outcome in known if outcome.record <= at_record), None)
        return None if found is None or found.fate == "in flight" else found


def affected_message(record: Record) -> _Key | None:
    """Return (source, serial) of the message that the record routes or delivers, or None."""
    if isinstance(record, Routed):
        return record.source, record.serial
    if isinstance(record, Step) and isinstance(record.input, Received):
        return record.input.source, record.input.serial
    return None


def delivery_outcome(record: Record) -> tuple[_Key, str] | None:
    """Return (message, outcome) if the record ends the way of a message or of a copy of it, else None."""
    if isinstance(record, Step) and isinstance(record.input, Received):
        given = record.input
        fate = "forged" if given.serial < 0 else "timed out" if record.late else "delivered"
        return (given.source, given.serial), fate
    if isinstance(record, Routed) and record.fate == "dropped":
        return (record.source, record.serial), _DROPPED.get(record.why, "lost")
    return None
