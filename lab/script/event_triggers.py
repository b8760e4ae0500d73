"""Lines that wait for an event: a message, or a node that enters a status."""

from msgspec import Struct

from lab.kernel import Message, Started, Step
from lab.recording.records import Process, Record
from lab.script.triggers import OnMessage, OnStatus, Statement

__all__ = ["EventTriggers"]


class _MessageWait(Struct, eq=False):
    """A line that waits for a message; ``remaining``: how many matching messages are still to come."""

    line: Statement
    trigger: OnMessage
    remaining: int


class _StatusWait(Struct, eq=False):
    """A line that waits for a node to enter a status."""

    line: Statement
    trigger: OnStatus


class EventTriggers:
    """The lines that wait for events. Each is returned once, when its event happens."""

    def __init__(self) -> None:
        self._on_message: list[_MessageWait] = []
        self._on_status: list[_StatusWait] = []

    @property
    def is_active(self) -> bool:
        """True if a line waits."""
        return bool(self._on_message or self._on_status)

    def add(self, line: Statement, trigger: OnMessage | OnStatus) -> None:
        """Add a line that waits for this trigger."""
        if isinstance(trigger, OnMessage):
            self._on_message.append(_MessageWait(line, trigger, trigger.nth))
        else:
            self._on_status.append(_StatusWait(line, trigger))

    def on_message(self, event: str, message: Message) -> list[Statement]:
        """Remove and return the lines that waited for this message to be sent, delivered or dropped."""
        found = []
        for waiting in self._on_message:
            if _matches(waiting.trigger, event, message):
                waiting.remaining -= 1
                if not waiting.remaining:
                    found.append(waiting)
        if not found:
            return []
        self._on_message = [each for each in self._on_message if each.remaining]
        return [each.line for each in found]

    def on_record(self, record: Record) -> list[Statement]:
        """Remove and return the lines that waited for the status that a node enters in this record."""
        entered = _entered(record) if self._on_status else None
        if entered is None:
            return []
        node, status = entered
        found = [
            each for each in self._on_status if each.trigger.status == status and each.trigger.who in (node, "any")
        ]
        self._on_status = [each for each in self._on_status if each not in found]
        return [each.line for each in found]


def _entered(record: Record) -> tuple[int, str] | None:
    """Return the node and the status that it enters in this record, or None. A starting node was already Down."""
    if isinstance(record, Step) and isinstance(record.changed.get("status"), str):
        status = record.changed["status"]
        return None if isinstance(record.input, Started) and status == "Down" else (record.node, status)
    if isinstance(record, Process) and record.event in ("killed", "failed"):
        return record.node, "Down"
    return None


def _matches(trigger: OnMessage, event: str, message: Message) -> bool:
    return (
        trigger.event == event
        and trigger.kind == message.kind
        and trigger.source in (None, message.source)
        and trigger.target in (None, message.target)
    )
