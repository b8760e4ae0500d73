"""The director reads records as they come, and says what is to be done now.

It stands below the worlds: each world shows it every record and every message before it acts on them, so a
fault that is due on a message strikes between two messages of one step.
"""

import heapq
from collections.abc import Callable

from msgspec.structs import replace

from lab.journal import Log, Process, Record, agreed_coordinator
from lab.kernel import Message, Step
from lab.script.commands import After, At, OnMessage, Scripted, WhenNormal

__all__ = ["Director"]


class Director:
    """Holds commands that wait for their triggers. Each fires once, in the order in which they were added.

    ``now_us`` is the run's clock, for triggers that are so long *after* another. ``next_due_us``: when the next
    *at* is due, or None. ``attends``: whether it has to be shown records and messages at present.
    """

    def __init__(self, now_us: Callable[[], int]) -> None:
        self.next_due_us: int | None = None
        self.attends = False
        self._now_us = now_us
        self._added = 0
        self._at: list[tuple[int, int, Scripted]] = []
        self._on_message: list[Scripted] = []
        self._when_normal: list[Scripted] = []
        self._unseen = False

    @property
    def waiting(self) -> list[Scripted]:
        """The commands that still wait."""
        return [*(scripted for _, _, scripted in sorted(self._at)), *self._on_message, *self._when_normal]

    def add(self, scripted: Scripted) -> None:
        """Keep a command until its trigger comes."""
        trigger = scripted.trigger
        if isinstance(trigger, At | After):
            at_us = trigger.us if isinstance(trigger, At) else self._now_us() + trigger.us
            self._added += 1
            heapq.heappush(self._at, (at_us, self._added, scripted))
        elif isinstance(trigger, OnMessage):
            self._on_message.append(scripted)
        elif isinstance(trigger, WhenNormal):
            self._when_normal.append(scripted)
        self._look()

    def forget(self) -> None:
        """Nothing waits any more."""
        self._at, self._on_message, self._when_normal = [], [], []
        self._look()

    def due(self, now_us: int) -> list[Scripted]:
        """The commands whose time has come, in the order of their times."""
        ready = []
        while self._at and self._at[0][0] <= now_us:
            ready.append(heapq.heappop(self._at)[2])
        return self._next(ready)

    def after(self, record: Record | None, log: Log) -> list[Scripted]:
        """The commands that are due after this record, the last in ``log``; ``None``: whatever came before."""
        if not self._when_normal or not (self._unseen or record is None or _may_settle(record)):
            return []
        self._unseen = False
        if agreed_coordinator(log.cluster.nodes) is None:
            return []
        ready, self._when_normal = self._when_normal, []
        return self._next(ready)

    def on(self, moment: str, message: Message) -> list[Scripted]:
        """The commands that are due as this message leaves (``send``) or arrives (``deliver``)."""
        ready = [scripted for scripted in self._on_message if _matches(scripted.trigger, moment, message)]
        if ready:
            self._on_message = [scripted for scripted in self._on_message if scripted not in ready]
        return self._next(ready)

    def _next(self, ready: list[Scripted]) -> list[Scripted]:
        """Those that are due; the others have a further trigger, and wait for that."""
        if not ready:
            return ready
        for scripted in ready:
            if scripted.then:
                self.add(replace(scripted, trigger=scripted.then[0], then=scripted.then[1:]))
                self._unseen |= isinstance(scripted.then[0], WhenNormal)  # it may be so already
        self._look()
        return [scripted for scripted in ready if not scripted.then]

    def _look(self) -> None:
        self.next_due_us = self._at[0][0] if self._at else None
        self.attends = bool(self._on_message or self._when_normal)


def _may_settle(record: Record) -> bool:
    """Whether the nodes may agree after this record that did not before."""
    if isinstance(record, Step):
        return "status" in record.changed or "coordinator" in record.changed
    return isinstance(record, Process)


def _matches(trigger: object, moment: str, message: Message) -> bool:
    return (
        isinstance(trigger, OnMessage)
        and trigger.moment == moment
        and trigger.kind == message.kind
        and trigger.source in (None, message.source)
        and trigger.target in (None, message.target)
    )
