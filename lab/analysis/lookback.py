"""Looking back from a record: for a node's last step, the step in which a wait began, the sending of a message.

What is too far back is not found. Most lines are passed over without being decoded.
"""

from collections.abc import Iterator

from msgspec import Struct

from lab.kernel import Message, Received, Step, Wait
from lab.recording.reader import RecordStore
from lab.recording.records import Injected, Process, Record

__all__ = ["LastStep", "LastSteps", "first_of_wait", "message_in", "message_received", "sending_of"]

_FARTHEST = 50_000
"""So many records back it goes."""


class LastStep(Struct, frozen=True):
    """The record ``number`` is this ``step``; ``wiped``: since then the node's safe storage was emptied."""

    number: int
    step: Step
    wiped: bool = False


class LastSteps:
    """The last step at or before a record. From one record to a later one it looks only at what is between."""

    def __init__(self, lines: RecordStore) -> None:
        self._lines = lines
        self._found: dict[int | None, tuple[int, LastStep | None]] = {}

    def at(self, number: int, node: int | None) -> LastStep | None:
        """That of the node, or, without one, of any; None where none is near enough."""
        known, found = self._found.get(node, (-1, None))
        if number != known:
            goes_on = number > known
            found = self._look(number, node, known if goes_on else -1, found if goes_on else None)
            self._found[node] = number, found
        return found

    def _look(self, number: int, node: int | None, seen: int, before: LastStep | None) -> LastStep | None:
        wiped = False
        for earlier, record in _back(self._lines, number, seen, b"" if node is None else b"%d" % node):
            if isinstance(record, Step) and node in (None, record.node):
                return LastStep(earlier, record, wiped)
            wiped |= isinstance(record, Process) and record.node == node and record.event == "wiped"
        return None if before is None else LastStep(before.number, before.step, before.wiped or wiped)


def first_of_wait(lines: RecordStore, number: int, node: int, wait: Wait) -> Step | None:
    """The step in which this wait began, which lasts as of that record; None where none is near enough."""
    found = None
    for _, record in _back(lines, number, -1, b"%d" % node):
        if isinstance(record, Step) and record.node == node:
            if not any(_is_same(each, wait) for each in record.waits):
                break
            found = record
    return found


def message_received(lines: RecordStore, number: int, given: Received) -> Message | None:
    """The message that the step with that number received; None where it was not sent near enough before it."""
    found = sending_of(lines, number, (given.source, given.serial))
    return None if found is None else found[1]


def sending_of(lines: RecordStore, number: int, key: tuple[int, int]) -> tuple[int, Message] | None:
    """The record that sent the message of that source and serial, and the message; None as above."""
    for earlier, record in _back(lines, number, -1, b"%d" % key[1]):
        if (message := message_in(record, key)) is not None:
            return earlier, message
    return None


def message_in(record: Record | None, key: tuple[int, int]) -> Message | None:
    """The message of that source and serial, if the record sent it, or forged it."""
    sent = record.sent if isinstance(record, Step) else ()
    messages = (record.message,) if isinstance(record, Injected) else sent
    return next((message for message in messages if (message.source, message.serial) == key), None)


def _is_same(one: Wait, other: Wait) -> bool:
    """Apart from who has answered since."""
    return (one.procedure, one.line, one.since_us) == (other.procedure, other.line, other.since_us)


def _back(lines: RecordStore, number: int, seen: int, needle: bytes) -> Iterator[tuple[int, Record | None]]:
    """The records from that one back to, and without, ``seen``, as far as they have the needle in them."""
    for earlier in range(number, max(seen, number - _FARTHEST, -1), -1):
        if needle in lines.raw(earlier):
            yield earlier, lines.record(earlier)
