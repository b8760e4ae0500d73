"""The life of one message: why it was sent, what befell it on its way, what came of it, and its answer's life.

All that is looked at are the records from the one that sent it on, and so many at most; what happened later is not
told. Each line of the life names its record.
"""

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from lab.analysis.delivery import fate_in
from lab.analysis.lookback import message_in, message_received, sending_of
from lab.kernel import CommandInput, Fired, Message, Received, Started, Step
from lab.recording.log_lines import lines_of
from lab.recording.reader import RecordStore
from lab.recording.records import Fault, Injected, Process, Record, Routed
from lab.recording.timeline import Timeline
from lab.units import format_us

__all__ = ["LifeLine", "life_of", "message_at"]

_FARTHEST = 20_000
_DEEPEST = 8
_MOVED = {
    "delayed": "delayed until {due}",
    "held": "held back",
    "released": "let go on",
    "duplicated": "duplicated: it arrives twice",
    "reordered": "let others overtake it",
}
_LOST = {
    "lost": "lost on its way",
    "cut": "lost: the link was cut",
    "receiver down": "lost: {target} was down",
    "not sent": "never left: its sender was gone",
}
_STRUCK = {"started": "was started", "resumed": "went on", "wiped": "lost its safe storage", "failed": "failed"}

Key = tuple[int, int]
"""Source and serial, which name a message."""


class LifeLine(Struct, frozen=True):
    """One thing of it, with the record. ``depth`` is 0 for the message, 1 for its answer, and so on."""

    record: int
    at_us: int
    what: Literal["sent", "routed", "meanwhile", "taken", "did", "lost", "open"]
    text: str
    depth: int = 0


def message_at(lines: RecordStore, number: int) -> tuple[int, Key] | None:
    """The last message that the record sent, else the one that it took, behind the record that sent it."""
    record = lines.record(number)
    if isinstance(record, Injected):
        return number, (record.message.source, record.message.serial)
    if not isinstance(record, Step):
        return None
    if record.sent:
        return number, (record.node, record.sent[-1].serial)
    if isinstance(record.input, Received):
        key = record.input.source, record.input.serial
        found = sending_of(lines, number, key)
        return None if found is None else (found[0], key)
    return None


def life_of(lines: RecordStore, key: Key, sent: int) -> Iterator[LifeLine]:
    """The life of the message that this record sent."""
    return _Life(lines, sent).of(key, sent, 0)


class _Life:
    def __init__(self, lines: RecordStore, start: int) -> None:
        self._lines = lines
        self._faults = {fault.id: fault.text for fault in Timeline(lines).at(start).faults.values()}

    def of(self, key: Key, sent: int, depth: int) -> Iterator[LifeLine]:
        first = self._lines.record(sent)
        message = message_in(first, key)
        if message is None or not isinstance(first, Step | Injected):
            return
        way = f"{message.kind} {message.source}->{message.target}"
        why = self._why(first, sent) if isinstance(first, Step) else "forged: its source never sent it"
        yield LifeLine(sent, first.at_us, "sent", f"{way}, {why}", depth)
        copies, at_us = 1, first.at_us
        for number in range(sent + 1, min(sent + 1 + _FARTHEST, len(self._lines))):
            record = self._lines.record(number)
            at_us = getattr(record, "at_us", at_us)
            yield from self._befell(record, number, message, depth)
            copies += isinstance(record, Routed) and record.fate == "duplicated" and _of(record) == key
            ended = None if record is None else fate_in(record)
            if ended is None or ended[0] != key:
                continue
            copies -= 1
            if isinstance(record, Step):
                took = format_us(max(0, record.at_us - first.at_us))
                late = "; too late: nothing waits for it any more" if record.late else ""
                yield LifeLine(number, at_us, "taken", f"{message.target} took it, {took} after{late}", depth)
                yield from self._did(record, number, message, depth)
            else:
                yield LifeLine(number, at_us, "lost", _LOST[ended[1]].format(target=message.target), depth)
            if not copies:
                return
        if copies:
            yield LifeLine(sent, at_us, "open", "on its way still, as far as was looked", depth)

    def _why(self, step: Step, number: int) -> str:
        """Because of which input."""
        match step.input:
            case Received() as given:
                found = message_received(self._lines, number, given)
                return f"sent because {'a message' if found is None else found.kind} of {given.source} came"
            case Fired(procedure):
                return f"sent because a timer of {procedure} fired"
            case CommandInput(command, words):
                return f"sent because it was told {' '.join((command, *words))}"
            case Started():
                return "sent because the node came up"

    def _befell(self, record: Record | None, number: int, message: Message, depth: int) -> Iterator[LifeLine]:
        """What the record is to the message while it is on its way."""
        if isinstance(record, Fault) and not record.lifted:
            self._faults[record.id] = record.text or self._faults.get(record.id, record.kind)
        elif isinstance(record, Routed) and _of(record) == (message.source, message.serial):
            if record.fate in _MOVED:
                said = _MOVED[record.fate].format(due=f"{(record.due_us or 0) / 1e6:.3f} s")
                by = [self._faults.get(fault, f"fault {fault}") for fault in record.by]
                yield LifeLine(
                    number, record.at_us, "routed", f"{said}{' by ' if by else ''}{', '.join(by)}", depth
                )
        elif isinstance(record, Process) and record.node == message.target:
            said = _STRUCK.get(record.event, f"was {record.event}")
            yield LifeLine(number, record.at_us, "meanwhile", f"{record.node} {said}", depth)

    def _did(self, step: Step, number: int, message: Message, depth: int) -> Iterator[LifeLine]:
        """What the step came to that took it; an answer's life is told, of other messages that they were sent."""
        for line in lines_of(number, step):
            if line.what != "message":
                yield LifeLine(number, step.at_us, "did", f"{line.source}: {line.text}", depth)
        targets: dict[str, list[int]] = {}
        for sent in step.sent:
            if sent.answers == message.serial and sent.target == message.source and depth < _DEEPEST:
                yield from self.of((sent.source, sent.serial), number, depth + 1)
            else:
                targets.setdefault(sent.kind, []).append(sent.target)
        for kind, nodes in targets.items():
            said = f"{step.node} sent {kind} to {' '.join(map(str, nodes))}"
            yield LifeLine(number, step.at_us, "did", said, depth)


def _of(record: Routed) -> Key:
    return record.source, record.serial
