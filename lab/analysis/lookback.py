"""Search backwards from a record: a node's last step, the step that began a wait, the sending of a message.

The distance is limited. Most lines are skipped without being decoded.
"""

from collections.abc import Iterator

from msgspec import Struct

from lab.kernel import Message, Received, Step, Wait
from lab.recording.reader import RecordStore
from lab.recording.records import Injected, Process, Record

__all__ = ["LastStep", "LastSteps", "first_of_wait", "message_in", "message_received", "sending_of"]

_FARTHEST = 50_000
"""The limit of the search, in records."""


class LastStep(Struct, frozen=True):
    """A step and the number of its record; ``wiped``: the stable storage of the node was wiped after it."""

    number: int
    step: Step
    wiped: bool = False


class LastSteps:
    """Find the last step at or before a record. For a later record, only the records in between are searched."""

    def __init__(self, store: RecordStore) -> None:
        self._store = store
        self._found: dict[int | None, tuple[int, LastStep | None]] = {}

    def at(self, number: int, node: int | None) -> LastStep | None:
        """Return the last step of the node (None: of any node), or None if there is none within the limit."""
        known, found = self._found.get(node, (-1, None))
        if number != known:
            goes_on = number > known
            found = self._search(number, node, known if goes_on else -1, found if goes_on else None)
            self._found[node] = number, found
        return found

    def _search(self, number: int, node: int | None, seen: int, before: LastStep | None) -> LastStep | None:
        wiped = False
        for earlier, record in _back(self._store, number, seen, b"" if node is None else b"%d" % node):
            if isinstance(record, Step) and node in (None, record.node):
                return LastStep(earlier, record, wiped)
            wiped |= isinstance(record, Process) and record.node == node and record.event == "wiped"
        return None if before is None else LastStep(before.number, before.step, before.wiped or wiped)


def first_of_wait(store: RecordStore, number: int, node: int, wait: Wait) -> Step | None:
    """Return the step that began a wait which is pending at that record, or None beyond the limit."""
    found = None
    for _, record in _back(store, number, -1, b"%d" % node):
        if isinstance(record, Step) and record.node == node:
            if not any(_is_same(each, wait) for each in record.waits):
                break
            found = record
    return found


def message_received(store: RecordStore, number: int, given: Received) -> Message | None:
    """Return the message that the step with that number received, or None beyond the limit."""
    found = sending_of(store, number, (given.source, given.serial))
    return None if found is None else found[1]


def sending_of(store: RecordStore, number: int, key: tuple[int, int]) -> tuple[int, Message] | None:
    """Return (record that sent the message, message), or None beyond the limit."""
    for earlier, record in _back(store, number, -1, b"%d" % key[1]):
        if (message := message_in(record, key)) is not None:
            return earlier, message
    return None


def message_in(record: Record | None, key: tuple[int, int]) -> Message | None:
    """Return the message of that source and serial if the record sent or forged it, else None."""
    sent = record.sent if isinstance(record, Step) else ()
    messages = (record.message,) if isinstance(record, Injected) else sent
    return next((message for message in messages if (message.source, message.serial) == key), None)


def _is_same(one: Wait, other: Wait) -> bool:
    # the peers may differ: some may have answered in between
    return (one.procedure, one.line, one.since_us) == (other.procedure, other.line, other.since_us)


def _back(store: RecordStore, number: int, seen: int, needle: bytes) -> Iterator[tuple[int, Record | None]]:
    """Yield the records that contain the needle, backwards from ``number`` to just after ``seen``."""
    for earlier in range(number, max(seen, number - _FARTHEST, -1), -1):
        if needle in store.raw(earlier):
            yield earlier, store.record(earlier)
