"""Inspect a node as of a record: its last step, the changes it made, its waits and its storage."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from lab.analysis.lookback import LastStep, first_of_wait, message_received
from lab.analysis.stored_fields import StoredFields
from lab.kernel import Message, Received, Started, Wait
from lab.recording.reader import RecordStore
from lab.recording.timeline import Timeline

__all__ = ["FieldChange", "Inspection", "Inspector", "PendingWait"]


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
        self._found: tuple[tuple[int, int, int], Inspection] | None = None

    def of(self, last: LastStep) -> Inspection:
        """Return the inspection of the node after that step."""
        key = last.number, last.wiped, len(self._safe.names)
        if self._found is None or self._found[0] != key:
            self._found = key, self._inspect(last)
        return self._found[1]

    def _inspect(self, last: LastStep) -> Inspection:
        step, given = last.step, last.step.input
        earlier = self._timeline.at(last.number - 1).nodes.get(step.node)
        before = {} if earlier is None or isinstance(given, Started) else earlier.state
        state = self._timeline.at(last.number).nodes[step.node].state
        received = message_received(self._store, last.number, given) if isinstance(given, Received) else None
        held = {} if last.wiped else {name: state[name] for name in self._safe.names if name in state}
        return Inspection(
            last,
            received,
            tuple(self._changes(last, before)),
            tuple(self._pending(last, wait) for wait in step.waits),
            state,
            held,
            tuple(self._safe.logs),
        )

    def _changes(self, last: LastStep, before: dict[str, Any]) -> Iterator[FieldChange]:
        step = last.step
        for name, after in {**step.changed, **step.stored}.items():
            yield FieldChange(name, before.get(name), after, name in step.stored, name not in before)

    def _pending(self, last: LastStep, wait: Wait) -> PendingWait:
        began = first_of_wait(self._store, last.number, last.step.node, wait) if wait.peers else None
        if began is None:
            return PendingWait(wait, is_known=not wait.peers)
        asked = next(
            each.peers for each in began.waits if (each.procedure, each.line) == (wait.procedure, wait.line)
        )
        return PendingWait(wait, tuple(peer for peer in asked if peer not in wait.peers))
