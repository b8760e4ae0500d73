"""The director reads records as they come, and says what is to be done now.

It stands below the worlds: each world shows it every record and every message before it acts on them, so a
fault that is due on a message strikes between two messages of one step.

A line of a script waits for its triggers, one after the other; then it is due, and the world carries it out. Then
the line behind it begins to wait. An expectation takes its turn like a command: it is due, as ``Settled``, once
it is known whether it is met, and what is behind it waits for that, in vain if it is not met.

What a line waits for meanwhile is kept by the ``Agenda``, ``Happenings``, the ``Lookout``, or ``Following``.
"""

from collections.abc import Callable, Collection, Iterable

from msgspec.structs import replace

from lab.kernel import Message
from lab.recording.memory import Log
from lab.recording.records import Event, Process, Record
from lab.script.agenda import Agenda
from lab.script.expectations import Expect, Expectation, ExpectThroughout, ExpectViolation, Settled
from lab.script.following import Following
from lab.script.happenings import Happenings
from lab.script.lookout import Look, Lookout
from lab.script.predicates import Predicate
from lab.script.triggers import After, At, Every, OnMessage, OnStatus, Scripted, When

__all__ = ["Director"]


class Director:
    """Holds lines that wait for their triggers. Each fires once, in the order in which they were added.

    ``now_us`` is the run's clock, ``log`` what has been recorded of it. ``next_due_us``: when the next line is due
    by the clock, or None. ``attends``: whether it has to be shown records and messages at present.
    """

    def __init__(self, now_us: Callable[[], int], log: Log) -> None:
        self.next_due_us: int | None = None
        self.attends = False
        self._now_us = now_us
        self._log = log
        self._wait_for_nothing()

    def _wait_for_nothing(self) -> None:
        self._agenda = Agenda()
        self._happenings = Happenings()
        self._lookout = Lookout(self._log)
        self._following = Following()
        self._at_end: list[tuple[Scripted, Predicate]] = []
        self._ready: list[Scripted] = []

    # what is to wait

    def add(self, line: Scripted) -> None:
        """Keep a line until its trigger comes; a command without one is due at once, by the clock."""
        self._lookout.heed(line)
        self._begin(line)
        self._update()

    def add_script(self, lines: Iterable[Scripted]) -> None:
        """Keep the lines of the run's script; those that follow others wait for these first."""
        script = list(lines)
        for line in script:
            self._lookout.heed(line)
        for line in self._following.hold_back(script):
            self._begin(line)
        self._update()

    def withdraw(self, line: Scripted) -> bool:
        """Keep no longer a line like this one, if it still waits for a predicate; whether it did."""
        found = self._lookout.withdraw(line)
        self._update()
        return found

    def begun(self, line: Scripted, nodes: Collection[int], events: Collection[Event]) -> None:
        """A line is about to be carried out. It is done when one of these events is seen of each of the nodes."""
        self._let_wait(self._following.begun(line, nodes, events))
        self._update()

    def done(self, line: Scripted, struck: Collection[int] = ()) -> list[Scripted]:
        """A line was carried out, and struck these nodes alone; what is due by that."""
        self._let_wait(self._following.done(line, struck))
        return self._taken()

    # what has come

    def due(self, now_us: int) -> list[Scripted]:
        """The lines whose time has come, in the order of their times."""
        for waiting in self._agenda.due(now_us):
            if isinstance(waiting, Scripted):
                self._go_on(waiting)
            elif self._lookout.give_up(waiting):
                self._settle(waiting.line, False, "its time is up")
        return self._taken()

    def after(self, record: Record | None) -> list[Scripted]:
        """The lines that are due after this record, the last in the log; ``None``: those that are due already."""
        if record is not None:
            self._lookout.observe(record)
            if isinstance(record, Process):
                self._let_wait(self._following.saw(record))
            for line in self._happenings.after(record):
                self._go_on(line)
            for look in self._lookout.after(record):
                self._come_to(look)
        return self._taken()

    def on(self, moment: str, message: Message) -> list[Scripted]:
        """The lines that are due as this message leaves (``send``), arrives (``deliver``) or is dropped."""
        come = self._happenings.on(moment, message)
        for line in come:
            self._go_on(line)
        return self._taken() if come else []

    def finish(self) -> list[Scripted]:
        """The run ends: what is known of the expectations by that. Nothing waits any more."""
        self._ready.clear()
        for look in self._lookout.looks:
            if look.met is not None:
                self._settle(look.line, not look.met, "the run ended" if look.met else "")
        for line, predicate in self._at_end:
            self._settle(line, self._lookout.holds(predicate))
        found = self._ready
        self._wait_for_nothing()
        self._update()
        return found

    # from trigger to trigger, to its turn

    def _begin(self, line: Scripted) -> None:
        if line.trigger or isinstance(line.command, Expectation):
            self._wait(line)
        else:
            self._agenda.put(0, line)

    def _let_wait(self, lines: Iterable[Scripted]) -> None:
        for line in lines:
            self._wait(line)

    def _wait(self, line: Scripted) -> None:
        match line.trigger:
            case At(us):
                self._agenda.put(us, line)
            case After(us) | Every(us):
                self._agenda.put(self._now_us() + us, line)
            case OnMessage() | OnStatus() as happening:
                self._happenings.add(line, happening)
            case When(predicate):
                self._look_at(Look(line, predicate))
            case None:
                self._come(line)

    def _go_on(self, line: Scripted) -> None:
        """A trigger has come; what is next for the line."""
        if line.then:
            self._wait(replace(line, trigger=line.then[0], then=line.then[1:]))
        else:
            self._come(line)

    def _look_at(self, look: Look) -> None:
        if self._lookout.begin(look):
            self._come_to(look)

    def _come_to(self, look: Look) -> None:
        if look.met is None:
            self._go_on(look.line)
        else:
            self._settle(look.line, look.met)

    def _come(self, line: Scripted) -> None:
        """All its triggers have come: it is due, or its expectation begins."""
        match line.command:
            case ExpectThroughout(predicate, always):
                self._look_at(Look(line, predicate, wanted=not always, met=False))
                self._let_wait(self._following.behind(line))
            case Expect(predicate, None) if line.trigger or line.follows:
                self._settle(line, self._lookout.holds(predicate))
            case Expect(predicate, None):
                self._at_end.append((line, predicate))
            case Expect(predicate, int(within_us)):
                look = Look(line, predicate, met=True)
                self._agenda.put(self._now_us() + within_us, look)
                self._look_at(look)
            case ExpectViolation():
                pass  # a verdict is known when the run is over, and by others
            case _:
                self._ready.append(line)

    def _settle(self, line: Scripted, met: bool, why: str = "") -> None:
        self._ready.append(replace(line, command=Settled(met, why)))

    def _taken(self) -> list[Scripted]:
        ready, self._ready = self._ready, []
        self._update()
        return ready

    def _update(self) -> None:
        self.next_due_us = self._agenda.next_us
        self.attends = bool(
            self._ready or self._happenings.awaited or self._lookout.attends or self._following.attends
        )
