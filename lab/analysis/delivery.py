"""Track the delivery outcomes of messages, and trace one message from its cause to its effects.

A trace says why the message was sent, the faults on its way, its effects, and the trace of the reply. It begins
with the record that sent the message, and covers a limited number of records. Each entry names its record.
"""

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from lab.analysis.inspection import message_in, message_received, sending_of
from lab.kernel import CommandInput, Fired, Message, Received, Started, Step, Wrote
from lab.recording.log_lines import LogLine, lines_of
from lab.recording.reader import RecordStore
from lab.recording.records import Fault, Header, Injected, Process, Record, Routed
from lab.recording.timeline import Timeline
from lab.units import format_us

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


_FARTHEST = 20_000
_DEEPEST = 8
_MOVED = {
    "delayed": "delayed until {due}",
    "held": "held",
    "released": "released",
    "duplicated": "duplicated: it arrives twice",
    "copied": "duplicated: the copy arrives at {due}",
    "reordered": "reordered: later messages may overtake it",
}
_LOST = {
    "lost": "lost in flight",
    "cut": "lost: the link was cut",
    "receiver down": "lost: {target} was down",
    "not sent": "not sent: its sender was gone",
}
_STRUCK = {
    **{"started": "was started", "resumed": "resumed", "wiped": "lost its stable storage", "failed": "failed"},
    **{"unwritten": "lost writes", "torn": "has a torn write", "flipped": "has damaged storage"},
}

Key = tuple[int, int]
"""The key of a message: (source, serial)."""


class TraceEntry(Struct, frozen=True):
    """An event of the trace, with its record. ``depth`` is 0 for the message, 1 for the reply to it, and so on."""

    record: int
    at_us: int
    what: Literal["sent", "routed", "meanwhile", "taken", "did", "lost", "open"]
    text: str
    depth: int = 0


def message_at(store: RecordStore, number: int) -> tuple[int, Key] | None:
    """Return (sending record, key) of the last message that the record sent, else of the one it received."""
    record = store.record(number)
    if isinstance(record, Injected):
        return number, (record.message.source, record.message.serial)
    if not isinstance(record, Step):
        return None
    if record.sent:
        return number, (record.node, record.sent[-1].serial)
    if isinstance(record.input, Received):
        key = record.input.source, record.input.serial
        found = sending_of(store, number, key)
        return None if found is None else (found[0], key)
    return None


def message_trace(store: RecordStore, key: Key, sent: int) -> Iterator[TraceEntry]:
    """Yield the trace of the message that this record sent."""
    return _Tracer(store, sent).of(key, sent, 0)


class _Tracer:
    def __init__(self, store: RecordStore, start: int) -> None:
        self._store = store
        self._faults = {fault.id: fault.text for fault in Timeline(store).at(start).faults.values()}

    def of(self, key: Key, sent: int, depth: int) -> Iterator[TraceEntry]:
        first = self._store.record(sent)
        message = message_in(first, key)
        if message is None or not isinstance(first, Step | Injected):
            return
        way = f"{message.kind} {message.source}->{message.target}"
        why = self._why(first, sent) if isinstance(first, Step) else "forged: its source never sent it"
        yield TraceEntry(sent, first.at_us, "sent", f"{way}, {why}", depth)
        copies, at_us = 1, first.at_us
        for number in range(sent + 1, min(sent + 1 + _FARTHEST, len(self._store))):
            record = self._store.record(number)
            at_us = getattr(record, "at_us", at_us)
            yield from self._in_flight(record, number, message, depth)
            copies += isinstance(record, Routed) and record.fate == "duplicated" and _of(record) == key
            ended = None if record is None else delivery_outcome(record)
            if ended is None or ended[0] != key:
                continue
            copies -= 1
            if isinstance(record, Step):
                took = format_us(max(0, record.at_us - first.at_us))
                late = "; its request no longer waited" if record.late else ""
                yield TraceEntry(number, at_us, "taken", f"{message.target} received it after {took}{late}", depth)
                yield from self._effects(record, number, message, depth)
            else:
                yield TraceEntry(number, at_us, "lost", _LOST[ended[1]].format(target=message.target), depth)
            if not copies:
                return
        if copies:
            yield TraceEntry(sent, at_us, "open", "still in flight at the end of the search", depth)

    def _why(self, step: Step, number: int) -> str:
        match step.input:
            case Received() as given:
                found = message_received(self._store, number, given)
                return f"sent because {'a message' if found is None else found.kind} from {given.source} came"
            case Fired(procedure):
                return f"sent because a timer of {procedure} fired"
            case CommandInput(command, words):
                return f"sent because of the command {' '.join((command, *words))}"
            case Wrote():
                return "sent by the program"
            case Started():
                return "sent because the node started"

    def _in_flight(self, record: Record | None, number: int, message: Message, depth: int) -> Iterator[TraceEntry]:
        """Yield what the record does to the message while it is in flight."""
        if isinstance(record, Fault) and not record.lifted:
            self._faults[record.id] = record.text or self._faults.get(record.id, record.kind)
        elif isinstance(record, Routed) and _of(record) == (message.source, message.serial):
            if record.fate in _MOVED:
                fate = "copied" if record.fate == "duplicated" and record.due_us is not None else record.fate
                text = _MOVED[fate].format(due=f"{(record.due_us or 0) / 1e6:.3f} s")
                by = [self._faults.get(fault, f"fault {fault}") for fault in record.by]
                yield TraceEntry(
                    number, record.at_us, "routed", f"{text}{' by ' if by else ''}{', '.join(by)}", depth
                )
        elif isinstance(record, Process) and record.node == message.target:
            text = _STRUCK.get(record.event, f"was {record.event}")
            yield TraceEntry(number, record.at_us, "meanwhile", f"{record.node} {text}", depth)

    def _effects(self, step: Step, number: int, message: Message, depth: int) -> Iterator[TraceEntry]:
        """Yield the effects of the step that received it: the trace of a reply, other messages only by kind."""
        for line in lines_of(number, step):
            if line.what != "message":
                yield TraceEntry(number, step.at_us, "did", f"{line.source}: {line.text}", depth)
        targets: dict[str, list[int]] = {}
        for sent in step.sent:
            if sent.reply_to == message.serial and sent.target == message.source and depth < _DEEPEST:
                yield from self.of((sent.source, sent.serial), number, depth + 1)
            else:
                targets.setdefault(sent.kind, []).append(sent.target)
        for kind, nodes in targets.items():
            text = f"{step.node} sent {kind} to {' '.join(map(str, nodes))}"
            yield TraceEntry(number, step.at_us, "did", text, depth)


def _of(record: Routed) -> Key:
    return record.source, record.serial
