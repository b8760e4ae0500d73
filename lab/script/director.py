"""The director reads records as they come, and says what is to be done now.

It stands below the worlds: each world shows it every record and every message before it acts on them, so a
fault that is due on a message strikes between two messages of one step.

A line of a script waits for its triggers, one after the other; then it is due, and the world carries it out. Then
the line behind it begins to wait. An expectation takes its turn like a command: it is due, as ``Settled``, once
it is known whether it is met, and what is behind it waits for that, in vain if it is not met.
"""

import heapq
from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from lab.journal import Log, Process, ProcessState, Record
from lab.kernel import Message, Step
from lab.script.expectations import Expect, Expectation, ExpectThroughout, ExpectViolation, Settled
from lab.script.holding import Suspicions, holds, is_seen_in_messages, names_suspicion
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

    ``met``: whether an expectation is met by that; None: it is a trigger that has come. ``otherwise``: whether one
    is met that has not come to that when the run ends.
    """

    line: Scripted
    predicate: Predicate
    wanted: bool = True
    met: bool | None = None
    otherwise: bool = False
    at_every_record: bool = False


class _Behind(Struct, eq=False):
    """A line that begins to wait once these nodes' processes are seen to do this."""

    line: Scripted
    until: Mapping[int, ProcessState]


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
        self._unseen = False
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
        """Keep a line until its trigger comes; without one, it is due when ``after`` is next called."""
        self._wait(line)
        self._update()

    def add_script(self, lines: Iterable[Scripted]) -> None:
        """Keep the lines of a script, each with its number; a first one that would follow is due at once."""
        before = None
        for line in lines:
            predicates = [each.predicate for each in (line.trigger, *line.then) if isinstance(each, When)]
            if isinstance(line.command, Expect | ExpectThroughout):
                predicates.append(line.command.predicate)
            self._suspicious |= any(map(names_suspicion, predicates))
            if line.follows and before is not None:
                self._following[before] = line
            else:
                self._wait(line if line.trigger or _is_expectation(line) else replace(line, trigger=At(0)))
            if line.follows or line.trigger:
                before = line.line
        self._update()

    def done(self, line: Scripted, until: Mapping[int, ProcessState]) -> list[Scripted]:
        """A line was carried out; what is due by that, once these nodes' processes are seen to do this."""
        following = self._following.pop(line.line, None) if line.line else None
        if following is None:
            return []
        if until:
            self._behind.append(_Behind(following, until))
        else:
            self._wait(following)
        self._update()
        return self._taken()

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
            self._look_at(_Look(line, command.predicate, not command.always, False, True))
            self._ready += self.done(line, {})
        elif isinstance(command, Expect) and command.within_us is not None:
            look = _Look(line, command.predicate, met=True)
            self._look_at(look)
            self._put(self._now_us() + command.within_us, look)
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
                if isinstance(waited.trigger, Every):
                    self._put(at_us + waited.trigger.us, waited)
                self._go_on(waited)
            elif waited in self._looks:
                self._looks.remove(waited)
                met = self._holds(waited.predicate)
                self._ready.append(_settled(waited.line, met, "" if met else "its time is up"))
        self._update()
        return self._taken()

    def after(self, record: Record | None) -> list[Scripted]:
        """The lines that are due after this record, the last in the log; ``None``: whatever came before."""
        if self._suspicious:
            self._suspicions.observe(record)
        if self._behind and isinstance(record, Process):
            self._follow()
        if self._on_status:
            self._enter(record)
        if self._looks:
            self._look(record)
        self._update()
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
        self._update()
        return self._taken()

    def finish(self) -> list[Scripted]:
        """The run ends: what is known of the expectations by that. Nothing waits any more."""
        found = [
            _settled(look.line, look.otherwise, "" if look.otherwise else "the run ended")
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

    def _follow(self) -> None:
        nodes = self._log.cluster.nodes
        seen = [
            each for each in self._behind if all(nodes[node].process == does for node, does in each.until.items())
        ]
        self._behind = [each for each in self._behind if each not in seen]
        for each in seen:
            self._wait(each.line)

    def _enter(self, record: Record | None) -> None:
        entered = _entered(record)
        if entered is None:
            return
        node, status = entered
        come = []
        for line in self._on_status:
            trigger = line.trigger
            assert isinstance(trigger, OnStatus)
            if trigger.status == status and trigger.who in (node, "all", "any"):
                come.append(line)
        self._on_status = [line for line in self._on_status if line not in come]
        for line in come:
            self._go_on(line)

    def _look(self, record: Record | None) -> None:
        unseen, self._unseen = self._unseen or record is None, False
        stateless = isinstance(record, Step) and not record.changed
        for look in list(self._looks):
            if (unseen or look.at_every_record or not stateless) and self._holds(look.predicate) == look.wanted:
                self._looks.remove(look)
                if look.met is None:
                    self._go_on(look.line)
                else:
                    self._ready.append(_settled(look.line, look.met))

    # keeping

    def _look_at(self, look: _Look) -> None:
        look.at_every_record = is_seen_in_messages(look.predicate)
        self._looks.append(look)
        self._unseen = True

    def _holds(self, predicate: Predicate) -> bool:
        return holds(predicate, self._log.cluster, self._suspicions)

    def _put(self, at_us: int, waited: Scripted | _Look) -> None:
        self._added += 1
        heapq.heappush(self._at, (at_us, self._added, waited))

    def _taken(self) -> list[Scripted]:
        ready, self._ready = self._ready, []
        return ready

    def _update(self) -> None:
        self.next_due_us = self._at[0][0] if self._at else None
        self.attends = bool(
            self._on_message or self._on_status or self._looks or self._behind or self._ready or self._suspicious
        )


def _is_expectation(line: Scripted) -> bool:
    return isinstance(line.command, Expectation)


def _settled(line: Scripted, met: bool, why: str = "") -> Scripted:
    return replace(line, command=Settled(met, why))


def _entered(record: Record | None) -> tuple[int, str] | None:
    """The node and the status that it has entered in this record, if one has."""
    if isinstance(record, Step) and isinstance(record.changed.get("status"), str):
        return record.node, record.changed["status"]
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
