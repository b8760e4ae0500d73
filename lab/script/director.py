"""The director reads records as they come, and says what is to be done now.

It stands below the worlds: each world shows it every record and every message before it acts on them, so a
fault that is due on a message strikes between two messages of one step.

A line of a script waits for its triggers, one after the other; then it is due, and the world carries it out. Then
the line behind it begins to wait. An expectation takes its turn like a command: it is due, as ``Settled``, once
it is known whether it is met, and what is behind it waits for that, in vain if it is not met.

A predicate is looked at when a line begins to wait for it, and then after each record that may change it; never
before all nodes have been started, as until then ``4 down`` or ``live < 3`` would say nothing of the run.
"""

import heapq
from collections.abc import Callable, Collection, Iterable

from msgspec import Struct
from msgspec.structs import replace

from lab.journal import Event, Log, Process, Record
from lab.kernel import Message, Started, Step
from lab.script.expectations import Expect, Expectation, ExpectThroughout, ExpectViolation, Settled
from lab.script.holding import Suspicions, holds, is_seen_in_messages, names_suspicion
from lab.script.lines import predecessors
from lab.script.predicates import Predicate
from lab.script.triggers import After, At, Every, OnMessage, OnStatus, Scripted, When

__all__ = ["Director"]


class _OnMessage(Struct, eq=False):
    """A line that waits for a message, and for how many of them still."""

    line: Scripted
    trigger: OnMessage
    left: int


class _Look(Struct, eq=False):
    """A predicate that is looked at after each record. ``wanted``: with which of its values something happens.

    ``met``: whether an expectation is met by that, and not met where it never came to that before the run
    ended, or the other way round. None: it is a trigger that has come.
    """

    line: Scripted
    predicate: Predicate
    wanted: bool = True
    met: bool | None = None
    at_every_record: bool = False


class _Behind(Struct, eq=False):
    """A line, and the number of the one before it, which is being carried out, or has been (``is_over``).

    It begins to wait once one of these ``events`` has been seen of each of the processes in ``until``; with
    ``at_once`` then, even if the one before it is not over.
    """

    line: Scripted
    before: int
    until: set[int]
    events: Collection[Event]
    at_once: bool
    is_over: bool = False


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
        self._added = 0
        self._begun = False
        self._suspicions = Suspicions()
        self._suspicious = False
        self.forget()

    @property
    def waiting(self) -> list[Scripted]:
        """The lines that wait for a trigger."""
        at = [line for _, _, line in sorted(self._at, key=lambda entry: entry[:2]) if isinstance(line, Scripted)]
        when = [look.line for look in self._looks if look.met is None]
        return [*at, *(each.line for each in self._on_message), *self._on_status, *when]

    def forget(self) -> None:
        """Nothing waits any more."""
        self._at: list[tuple[int, int, Scripted | _Look]] = []
        self._on_message: list[_OnMessage] = []
        self._on_status: list[Scripted] = []
        self._looks: list[_Look] = []
        self._following: dict[int, Scripted] = {}
        self._behind: list[_Behind] = []
        self._at_end: list[tuple[Scripted, Predicate]] = []
        self._ready: list[Scripted] = []
        self._update()

    # what is to wait

    def add(self, line: Scripted) -> None:
        """Keep a line until its trigger comes; one whose trigger has come is due when ``after`` is next called."""
        self._heed_suspicions(line)
        self._wait(line)
        self._update()

    def add_script(self, lines: Iterable[Scripted]) -> None:
        """Keep the lines of the run's script; what in it follows nothing, and has no trigger, is due at once."""
        script = list(lines)
        before = predecessors(script)
        for line in script:
            self._heed_suspicions(line)
            if line.line in before:
                self._following[before[line.line]] = line
            elif line.trigger or isinstance(line.command, Expectation):
                self._wait(line)
            else:
                self._wait(replace(line, trigger=At(0)))
        self._update()

    def begun(self, line: Scripted, nodes: Collection[int], events: Collection[Event]) -> None:
        """A line is about to be carried out. It is done when one of these events is seen of each of these nodes.

        The line behind it sees what it brings about, where that waits for a message or for a status.
        """
        following = self._following.pop(line.line, None)
        if following is not None:
            at_once = isinstance(following.trigger, OnMessage | OnStatus)
            self._behind.append(_Behind(following, line.line, set(nodes), events, at_once))
            self._go_on_behind()

    def done(self, line: Scripted, struck: Collection[int] = ()) -> list[Scripted]:
        """A line was carried out, and struck these nodes alone; what is due by that."""
        for each in self._behind:
            if each.before == line.line:
                each.is_over = True
                each.until.intersection_update(struck)
        self._go_on_behind()
        return self._taken()

    def _go_on_behind(self) -> None:
        ready = [each for each in self._behind if not each.until and (each.is_over or each.at_once)]
        self._behind = [each for each in self._behind if each not in ready]
        for each in ready:
            self._wait(each.line)
        self._update()

    def _wait(self, line: Scripted) -> None:
        trigger = line.trigger
        if isinstance(trigger, At | After | Every):
            self._put(trigger.us if isinstance(trigger, At) else self._now_us() + trigger.us, line)
        elif isinstance(trigger, OnMessage):
            self._on_message.append(_OnMessage(line, trigger, trigger.nth))
        elif isinstance(trigger, OnStatus):
            self._on_status.append(line)
        elif isinstance(trigger, When):
            self._look_at(_Look(line, trigger.predicate))
        else:
            self._come(line)

    def _come(self, line: Scripted) -> None:
        """All its triggers have come: it is due, or its expectation begins."""
        command = line.command
        if isinstance(command, ExpectThroughout):
            self._look_at(_Look(line, command.predicate, wanted=not command.always, met=False))
            behind = self._following.pop(line.line, None)
            if behind is not None:
                self._wait(behind)
        elif isinstance(command, Expect) and command.within_us is not None:
            look = _Look(line, command.predicate, met=True)
            self._put(self._now_us() + command.within_us, look)
            self._look_at(look)
        elif isinstance(command, Expect) and (line.trigger or line.follows):
            self._ready.append(_settled(line, self._holds(command.predicate)))
        elif isinstance(command, Expect):
            self._at_end.append((line, command.predicate))
        elif not isinstance(command, ExpectViolation):
            self._ready.append(line)

    # what has come

    def due(self, now_us: int) -> list[Scripted]:
        """The lines whose time has come, in the order of their times."""
        while self._at and self._at[0][0] <= now_us:
            at_us, _, waited = heapq.heappop(self._at)
            if isinstance(waited, Scripted):
                if isinstance(waited.trigger, Every):  # once, however often it should have come meanwhile
                    late_us = (now_us - at_us) % waited.trigger.us
                    self._put(now_us - late_us + waited.trigger.us, waited)
                self._go_on(waited)
            elif waited in self._looks:
                self._looks.remove(waited)
                self._ready.append(_settled(waited.line, False, "its time is up"))
        return self._taken()

    def after(self, record: Record | None) -> list[Scripted]:
        """The lines that are due after this record, the last in the log; ``None``: those that are due already."""
        if record is None:
            return self._taken()
        if self._suspicious:
            self._suspicions.observe(record)
        if self._behind and isinstance(record, Process):
            self._see(record)
        if self._on_status:
            self._enter(record)
        if self._looks:
            self._look(record)
        return self._taken()

    def on(self, moment: str, message: Message) -> list[Scripted]:
        """The lines that are due as this message leaves (``send``), arrives (``deliver``) or is dropped."""
        come = []
        for waiting in self._on_message:
            if _matches(waiting.trigger, moment, message):
                waiting.left -= 1
                if not waiting.left:
                    come.append(waiting)
        if not come:
            return []
        self._on_message = [each for each in self._on_message if each not in come]
        for each in come:
            self._go_on(each.line)
        return self._taken()

    def finish(self) -> list[Scripted]:
        """The run ends: what is known of the expectations by that. Nothing waits any more."""
        found = [
            _settled(look.line, not look.met, "the run ended" if look.met else "")
            for look in self._looks
            if look.met is not None
        ]
        found += [_settled(line, self._holds(predicate)) for line, predicate in self._at_end]
        self.forget()
        return found

    def _go_on(self, line: Scripted) -> None:
        """A trigger has come; what is next for the line."""
        if line.then:
            self._wait(replace(line, trigger=line.then[0], then=line.then[1:]))
        else:
            self._come(line)

    def _see(self, record: Process) -> None:
        """Something has happened to a process, which lines may have been waiting for."""
        for each in self._behind:
            if record.event in each.events:
                each.until.discard(record.node)
        self._go_on_behind()

    def _enter(self, record: Record) -> None:
        entered = _entered(record)
        if entered is None:
            return
        node, status = entered
        come = []
        for line in self._on_status:
            trigger = line.trigger
            assert isinstance(trigger, OnStatus)
            if trigger.status == status and trigger.who in (node, "any"):
                come.append(line)
        self._on_status = [line for line in self._on_status if line not in come]
        for line in come:
            self._go_on(line)

    def _look(self, record: Record) -> None:
        stateless = isinstance(record, Step) and not record.changed and not record.stored
        for look in list(self._looks):
            if (look.at_every_record or not stateless) and self._is_there(look):
                self._looks.remove(look)
                self._come_to(look)

    def _come_to(self, look: _Look) -> None:
        if look.met is None:
            self._go_on(look.line)
        else:
            self._ready.append(_settled(look.line, look.met))

    # keeping

    def _look_at(self, look: _Look) -> None:
        if self._is_there(look):
            self._come_to(look)
        else:
            look.at_every_record = is_seen_in_messages(look.predicate)
            self._looks.append(look)

    def _is_there(self, look: _Look) -> bool:
        """Whether the predicate has the value that is waited for."""
        if not self._begun:
            self._begun = all(view.process != "absent" for view in self._log.cluster.nodes.values())
        return self._begun and self._holds(look.predicate) == look.wanted

    def _heed_suspicions(self, line: Scripted) -> None:
        """Who suspects whom is only known to those who have watched, so begin with it where a line asks."""
        if not self._suspicious and names_suspicion(line):
            self._suspicious = True
            self._suspicions = Suspicions(self._log.cluster)

    def _holds(self, predicate: Predicate) -> bool:
        return holds(predicate, self._log.cluster, self._suspicions)

    def _put(self, at_us: int, waited: Scripted | _Look) -> None:
        self._added += 1
        heapq.heappush(self._at, (at_us, self._added, waited))

    def _taken(self) -> list[Scripted]:
        ready, self._ready = self._ready, []
        self._update()
        return ready

    def _update(self) -> None:
        self.next_due_us = self._at[0][0] if self._at else None
        self.attends = bool(
            self._on_message or self._on_status or self._looks or self._behind or self._ready or self._suspicious
        )


def _settled(line: Scripted, met: bool, why: str = "") -> Scripted:
    return replace(line, command=Settled(met, why))


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
