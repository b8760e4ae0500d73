"""All that is known of one node as of a record: its last step, what that changed, its waits and its storage."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from lab.analysis.lookback import LastStep, first_of_wait, message_received
from lab.analysis.stored_fields import SafeFields
from lab.kernel import Message, Received, Started, Wait
from lab.recording.reader import RecordStore
from lab.recording.timeline import Timeline

__all__ = ["Change", "Inspection", "Inspector", "Pending"]


class Change(Struct, frozen=True):
    """A field that the step changed. ``is_new``: nothing was known of it before."""

    name: str
    before: Any
    after: Any
    is_safe: bool
    is_new: bool = False


class Pending(Struct, frozen=True):
    """A wait, and who has answered of those who were asked; not ``is_known``: who that was is too far back."""

    wait: Wait
    answered: tuple[int, ...] = ()
    is_known: bool = True


class Inspection(Struct, frozen=True):
    """A node's last step, the message that this received, if it did, what it changed, and what there is after it.

    ``stored`` is what safe storage holds; of its ``logs``, all entries.
    """

    last: LastStep
    received: Message | None
    changes: tuple[Change, ...]
    waits: tuple[Pending, ...]
    state: dict[str, Any]
    stored: dict[str, Any]
    logs: tuple[str, ...]


class Inspector:
    """Looks at nodes, one after the other, and keeps what it found of the last one."""

    def __init__(self, lines: RecordStore, safe: SafeFields) -> None:
        self._lines = lines
        self._safe = safe
        self._timeline = Timeline(lines)
        self._found: tuple[tuple[int, int, int], Inspection] | None = None

    def of(self, last: LastStep) -> Inspection:
        """The node of that step, after it."""
        key = last.number, last.wiped, len(self._safe.names)
        if self._found is None or self._found[0] != key:
            self._found = key, self._look(last)
        return self._found[1]

    def _look(self, last: LastStep) -> Inspection:
        step, given = last.step, last.step.input
        earlier = self._timeline.at(last.number - 1).nodes.get(step.node)
        before = {} if earlier is None or isinstance(given, Started) else earlier.state
        state = self._timeline.at(last.number).nodes[step.node].state
        received = message_received(self._lines, last.number, given) if isinstance(given, Received) else None
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

    def _changes(self, last: LastStep, before: dict[str, Any]) -> Iterator[Change]:
        step = last.step
        for name, after in {**step.changed, **step.stored}.items():
            yield Change(name, before.get(name), after, name in step.stored, name not in before)

    def _pending(self, last: LastStep, wait: Wait) -> Pending:
        began = first_of_wait(self._lines, last.number, last.step.node, wait) if wait.peers else None
        if began is None:
            return Pending(wait, is_known=not wait.peers)
        asked = next(
            each.peers for each in began.waits if (each.procedure, each.line) == (wait.procedure, wait.line)
        )
        return Pending(wait, tuple(peer for peer in asked if peer not in wait.peers))
