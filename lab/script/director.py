"""The director reads records as they come, and says what is to be done now.

It stands below the worlds: each world shows it every record and every message before it acts on them, so a
fault that is due on a message strikes between two messages of one step.
"""

from lab.journal import Log, Process, Record, agreed_coordinator
from lab.kernel import Message, Step
from lab.script.commands import At, OnMessage, Scripted, WhenNormal

__all__ = ["Director"]


class Director:
    """Holds commands that wait for their trigger. Each fires once, in the order in which they were added."""

    def __init__(self) -> None:
        self.waiting: list[Scripted] = []
        self._on_message = 0

    def add(self, scripted: Scripted) -> None:
        """Keep a command until its trigger comes."""
        self.waiting.append(scripted)
        self._on_message += isinstance(scripted.trigger, OnMessage)

    def next_due_us(self) -> int | None:
        """When the next ``at`` is due."""
        return min((s.trigger.us for s in self.waiting if isinstance(s.trigger, At)), default=None)

    def due(self, now_us: int) -> list[Scripted]:
        """The commands whose time has come, in the order of their times."""
        ready = [s for s in self.waiting if isinstance(s.trigger, At) and s.trigger.us <= now_us]
        ready.sort(key=lambda s: s.trigger.us if isinstance(s.trigger, At) else 0)
        return self._take(ready)

    def after(self, record: Record | None, log: Log) -> list[Scripted]:
        """The commands that are due after this record, the last in ``log``; ``None``: whatever came before."""
        if not self.waiting:
            return []
        if isinstance(record, Step) and "status" not in record.changed and "coordinator" not in record.changed:
            return []
        if record is not None and not isinstance(record, Step | Process):
            return []
        ready = [s for s in self.waiting if isinstance(s.trigger, WhenNormal)]
        if not ready or agreed_coordinator(log.cluster) is None:
            return []
        return self._take(ready)

    def on(self, moment: str, message: Message) -> list[Scripted]:
        """The commands that are due as this message leaves (``send``) or arrives (``deliver``)."""
        if not self._on_message:
            return []
        return self._take([s for s in self.waiting if _matches(s.trigger, moment, message)])

    def _take(self, ready: list[Scripted]) -> list[Scripted]:
        for scripted in ready:
            self.waiting.remove(scripted)
            self._on_message -= isinstance(scripted.trigger, OnMessage)
        return ready


def _matches(trigger: object, moment: str, message: Message) -> bool:
    return (
        isinstance(trigger, OnMessage)
        and trigger.moment == moment
        and trigger.kind == message.kind
        and trigger.source in (None, message.source)
        and trigger.target in (None, message.target)
    )
