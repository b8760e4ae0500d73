"""Inspect a node as of a record: its last step, the changes it made, its waits, its storage, its failure.

Searches go backwards from a record, over a limited distance, and skip most lines without decoding them.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, TypeGuard

from msgspec import Struct

from lab.kernel import Message, Received, Started, Step, Wait
from lab.kernel.step import EVERY_WAIT
from lab.recording.log_lines import format_process_event
from lab.recording.reader import FileRecords, RecordStore
from lab.recording.records import PROCESS_AFTER, Injected, Process, Record
from lab.recording.timeline import Timeline

_FARTHEST = 50_000
"""The limit of the search, in records."""


class LastStep(Struct, frozen=True):
    """A step and the number of its record.

    ``wiped``: the stable storage of the node was wiped after it; ``altered`` says what else happened to that.
    """

    number: int
    step: Step
    wiped: bool = False
    altered: tuple[str, ...] = ()


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
        wiped, altered = False, tuple[str, ...]()
        for earlier, record in _back(self._store, number, seen, b"" if node is None else b"%d" % node):
            if isinstance(record, Step) and node in (None, record.node):
                return LastStep(earlier, record, wiped, altered)
            if isinstance(record, Process) and record.node == node and record.event not in PROCESS_AFTER:
                wiped |= record.event == "wiped"
                altered = () if wiped else (format_process_event(record), *altered)
        if before is None:
            return None
        earlier_altered = () if wiped else before.altered
        return LastStep(before.number, before.step, before.wiped or wiped, (*earlier_altered, *altered))


def first_of_wait(store: RecordStore, number: int, node: int, wait: Wait) -> Step | None:
    """Return the step that began a wait which is pending at that record, or None beyond the limit."""
    found = None
    for _, record in _back(store, number, -1, b"%d" % node):
        if isinstance(record, Step) and record.node == node:
            is_here = any(_is_same(each, wait) for each in record.began)
            found = record if is_here else found
            if is_here != (EVERY_WAIT in record.ended):  # in whole steps, a wait that began earlier is there too
                break
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


class StoredFields:
    """The ``names`` of the fields found so far, and those of them that are ``logs``, in the order found."""

    def __init__(self) -> None:
        self.names: dict[str, None] = {}
        self.logs: dict[str, None] = {}

    def observe(self, record: Record | None) -> None:
        """Add the fields that the next record stores."""
        if not isinstance(record, Step):
            return
        if record.logged:
            self.logs.update(dict.fromkeys(record.logged))
            self.names.update(dict.fromkeys(record.logged))
        if record.stores:
            self.names.update(dict.fromkeys((*record.stored, *record.stored_edits)))
        if isinstance(record.input, Started):
            self.names.update(dict.fromkeys(record.input.stored))


class FieldChange(Struct, frozen=True):
    """A field that the step changed. ``is_safe``: it was stored. ``is_new``: it had no known value before."""

    name: str
    before: Any
    after: Any
    is_safe: bool
    is_new: bool = False


class PendingWait(Struct, frozen=True):
    """A wait, and the peers that have answered; ``is_known`` is false if the wait began too far back to tell."""

    wait: Wait
    answered: tuple[int, ...] = ()
    is_known: bool = True


class Inspection(Struct, frozen=True):
    """A node's last step, the message it received, if any, its changes, and the state after it.

    ``stored`` is the content of stable storage; the fields in ``logs`` are logs, with all entries.
    """

    last: LastStep
    received: Message | None
    changes: tuple[FieldChange, ...]
    waits: tuple[PendingWait, ...]
    state: dict[str, Any]
    stored: dict[str, Any]
    logs: tuple[str, ...]


class Inspector:
    """Inspect nodes, one at a time; the last inspection is cached."""

    def __init__(self, store: RecordStore, safe: StoredFields) -> None:
        self._store = store
        self._safe = safe
        self._timeline = Timeline(store)
        self._found: tuple[tuple[int, bool, tuple[str, ...], int], Inspection] | None = None

    def of(self, last: LastStep) -> Inspection:
        """Return the inspection of the node after that step."""
        key = last.number, last.wiped, last.altered, len(self._safe.names)
        if self._found is None or self._found[0] != key:
            self._found = key, self._inspect(last)
        return self._found[1]

    def _inspect(self, last: LastStep) -> Inspection:
        step, given = last.step, last.step.input
        earlier = self._timeline.at(last.number - 1).nodes.get(step.node)
        before = {} if earlier is None or isinstance(given, Started) else earlier.state
        now = self._timeline.at(last.number).nodes[step.node]
        state = now.state
        received = message_received(self._store, last.number, given) if isinstance(given, Received) else None
        held = {} if last.wiped else {name: state[name] for name in self._safe.names if name in state}
        return Inspection(
            last,
            received,
            tuple(self._changes(last, before)),
            tuple(self._pending(last, wait) for wait in now.waits),
            state,
            held,
            tuple(self._safe.logs),
        )

    def _changes(self, last: LastStep, before: dict[str, Any]) -> Iterator[FieldChange]:
        step = last.step
        given = step.input
        for name, after in step.values_after(given.stored if isinstance(given, Started) else before).items():
            is_safe = name in step.stored or name in step.stored_edits
            yield FieldChange(name, before.get(name), after, is_safe, name not in before)

    def _pending(self, last: LastStep, wait: Wait) -> PendingWait:
        began = first_of_wait(self._store, last.number, last.step.node, wait) if wait.peers else None
        if began is None:
            return PendingWait(wait, is_known=not wait.peers)
        asked = next(
            each.peers for each in began.began if (each.procedure, each.line) == (wait.procedure, wait.line)
        )
        return PendingWait(wait, tuple(peer for peer in asked if peer not in wait.peers))


_MOST = 5
_CHUNK = 1 << 22
_FRAME = re.compile(r"(\S+):\d+ in \w+: ")


def has_erred(record: Record | None) -> TypeGuard[Step | Process]:
    """Return whether a node fails by an error of its own with this record."""
    return (isinstance(record, Step) and record.failed != "") or (isinstance(record, Process) and record.has_erred)


def failures_in(store: FileRecords) -> Iterator[Step | Process]:
    """Yield the records with which nodes fail by errors of their own, without decoding the whole recording."""
    for _, numbers in store.find((b'"failed":', b'"event":"failed"'), _CHUNK):
        for number in numbers:
            record = store.record(number)
            if has_erred(record):
                yield record


def failure_lines(failed: Iterable[Step | Process], file: str) -> list[str]:
    """Return a line for each of the first failures: the error, and the last place in ``file``."""
    records = list(failed)
    texts = [
        f"node {record.node} failed at {record.at_us / 1e6:.3f} s: {_describe_failure(record, file)}"
        for record in records[:_MOST]
    ]
    if len(records) > _MOST:
        texts.append(f"and {len(records) - _MOST} failures more")
    return texts


def _describe_failure(record: Step | Process, file: str) -> str:
    if isinstance(record, Process):
        return record.why
    lines = record.failed.splitlines()
    places = [number for number, line in enumerate(lines) if _FRAME.match(line)]
    error = " ".join(lines[places[-1] + 1 :] if places else lines)
    own = [lines[number] for number in places if lines[number].startswith(f"{file}:")]
    return f"{error} ({own[-1]})" if own else error
