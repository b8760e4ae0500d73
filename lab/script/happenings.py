"""Lines that wait for something to happen: for a message, or for a node to enter a status."""

from msgspec import Struct

from lab.kernel import Message, Started, Step
from lab.recording.records import Process, Record
from lab.script.triggers import OnMessage, OnStatus, Scripted

__all__ = ["Happenings"]


class _OnMessage(Struct, eq=False):
    """A line that waits for a message, and for how many of them still."""

    line: Scripted
    trigger: OnMessage
    left: int


class _OnStatus(Struct, eq=False):
    """A line that waits for a status."""

    line: Scripted
    trigger: OnStatus


class Happenings:
    """Gives each line back once, when what it waits for has happened."""

    def __init__(self) -> None:
        self._on_message: list[_OnMessage] = []
        self._on_status: list[_OnStatus] = []

    @property
    def awaited(self) -> bool:
        """Whether a line waits."""
        return bool(self._on_message or self._on_status)

    def add(self, line: Scripted, trigger: OnMessage | OnStatus) -> None:
        """Keep a line until this trigger of it comes."""
        if isinstance(trigger, OnMessage):
            self._on_message.append(_OnMessage(line, trigger, trigger.nth))
        else:
            self._on_status.append(_OnStatus(line, trigger))

    def on(self, moment: str, message: Message) -> list[Scripted]:
        """The lines that waited for this message to leave (``send``), to arrive (``deliver``) or to be dropped."""
        come = []
        for waiting in self._on_message:
            if _matches(waiting.trigger, moment, message):
                waiting.left -= 1
                if not waiting.left:
                    come.append(waiting)
        if not come:
            return []
        self._on_message = [each for each in self._on_message if each.left]
        return [each.line for each in come]

    def after(self, record: Record) -> list[Scripted]:
        """The lines that waited for what a node's status has become in this record."""
        entered = _entered(record) if self._on_status else None
        if entered is None:
            return []
        node, status = entered
        come = [
            each for each in self._on_status if each.trigger.status == status and each.trigger.who in (node, "any")
        ]
        self._on_status = [each for each in self._on_status if each not in come]
        return [each.line for each in come]


def _entered(record: Record) -> tuple[int, str] | None:
    """The node and the status that it has entered in this record, if one has; who starts was Down before."""
    if isinstance(record, Step) and isinstance(record.changed.get("status"), str):
        status = record.changed["status"]
        return None if isinstance(record.input, Started) and status == "Down" else (record.node, status)
    if isinstance(record, Process) and record.event in ("killed", "failed"):
        return record.node, "Down"
    return None


def _matches(trigger: OnMessage, moment: str, message: Message) -> bool:
    return (
        trigger.moment == moment
        and trigger.kind == message.kind
        and trigger.source in (None, message.source)
        and trigger.target in (None, message.target)
    )
