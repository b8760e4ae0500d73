"""The director reads the records of a run and decides which lines of its script are due.

It belongs to a layer below the worlds. Each world shows it every record and every message before acting on them,
so a fault that a message triggers takes effect between two messages of the same step.

A line waits for its triggers, one after the other; then it is due, and the world executes it. Then the line after
it starts to wait. An expectation is a line like any other: once it is known whether it is met, it is due as an
``ExpectationResult``. The line after it waits for that, and never runs if the expectation is not met.

The pending lines are kept by what they wait for: a time (``Agenda``), an event (``EventTriggers``), a predicate
(``PredicateWaits``), or the line before them (``Sequencer``).
"""

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain
from typing import Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from lab.kernel import Message, Started, Step
from lab.recording.records import Event, Process, Record
from lab.script.predicate_fold import ObservedRun, PredicateWait, PredicateWaits
from lab.script.predicates import Predicate
from lab.script.scope import CommandError
from lab.script.statements import (
    After,
    At,
    Every,
    Expect,
    Expectation,
    ExpectationResult,
    ExpectThroughout,
    ExpectViolation,
    OnMessage,
    OnStatus,
    OnStore,
    Statement,
    When,
    predecessors,
)

TIMED_OUT = "timed out"
"""``ExpectationResult.why`` of an expectation that was not met in time."""


class Director:
    """The lines that wait for their triggers. Each runs once; of lines due together, those added first run first.

    ``next_due_us``: when the next line is due by the clock, or None. ``needs_records``: True while the world has
    to show it records and messages.
    """

    def __init__(self, run: ObservedRun) -> None:
        self.next_due_us: int | None = None
        self.needs_records = False
        self._run = run
        self._reset()

    def _reset(self) -> None:
        self._agenda = Agenda()
        self._event_triggers = EventTriggers()
        self._predicates = PredicateWaits(self._run)
        self._sequencer = Sequencer()
        self._at_end: list[tuple[Statement, Predicate]] = []
        self._ready: list[Statement] = []

    # adding lines

    def add(self, line: Statement) -> None:
        """Add a line. A command without a trigger is due at once, by the clock."""
        self._predicates.track_suspicions_for(line)
        self._begin(line)
        self._update()

    def add_script(self, lines: Iterable[Statement]) -> None:
        """Add the lines of the run's script; lines that follow others start to wait when those are done."""
        script = list(lines)
        for line in script:
            self._predicates.track_suspicions_for(line)
        for line in self._sequencer.hold_back(script):
            self._begin(line)
        self._update()

    def given_by_hand(self) -> Iterator[str]:
        """Yield the lines that wait and belong to no script, as they were written."""
        waits = (wait.line for wait in self._predicates.waits)
        at_end = (line for line, _ in self._at_end)
        for line in chain(self._agenda.lines, self._event_triggers.lines, waits, at_end):
            if not line.line:
                yield line.source

    def withdraw(self, line: Statement) -> bool:
        """Remove an equal line if it still waits for a predicate. Return whether there was one."""
        found = self._predicates.withdraw(line)
        self._update()
        return found

    def cancel(self) -> int:
        """Remove the lines that repeat, and the commands given by hand that wait; return how many there were."""
        found = self._agenda.remove(_is_cancelled) + self._event_triggers.remove(_is_cancelled)
        for wait in [each for each in self._predicates.waits if _is_cancelled(each.line)]:
            found += self._predicates.remove(wait)
        self._update()
        return found

    def line_started(self, line: Statement, nodes: Collection[int], events: Collection[Event]) -> None:
        """Note that the world starts to execute a line, which is done once each node has had one of the events."""
        self._start_all(self._sequencer.line_started(line, nodes, events))
        self._update()

    def line_done(self, line: Statement, affected: Collection[int] = ()) -> list[Statement]:
        """Note that a line was executed and affected only these nodes. Return the lines that are due now."""
        self._start_all(self._sequencer.line_done(line, affected))
        return self._pop_ready()

    # events

    def due(self, now_us: int) -> list[Statement]:
        """Return the lines that are due by the clock, in the order of their times."""
        for waiting in self._agenda.due(now_us):
            if isinstance(waiting, Statement):
                self._next_trigger(waiting)
            elif self._predicates.remove(waiting):
                self._add_result(waiting.line, False, TIMED_OUT)
        return self._pop_ready()

    def on_record(self, record: Record | None) -> list[Statement]:
        """Return the lines that are due after this record, the last in the log; ``None``: those already due."""
        if record is not None:
            self._predicates.observe(record)
            if isinstance(record, Process):
                self._start_all(self._sequencer.on_process(record))
            for line in self._event_triggers.on_record(record):
                self._next_trigger(line)
            for wait in self._predicates.on_record(record):
                self._on_predicate(wait)
        return self._pop_ready()

    def on_message(self, event: str, message: Message) -> list[Statement]:
        """Return the lines that are due at this event of a message: see ``ActiveRun.trigger``."""
        found = self._event_triggers.on_message(event, message)
        for line in found:
            self._next_trigger(line)
        return self._pop_ready() if found else []

    def finish(self) -> list[Statement]:
        """Return the results of the expectations that the end of the run decides, and drop all waiting lines."""
        self._ready.clear()
        for wait in self._predicates.waits:
            if wait.met is not None:
                self._add_result(wait.line, not wait.met, "the run ended" if wait.met else "")
        for line, predicate in self._at_end:
            self._judge(line, predicate)
        found = self._ready
        self._reset()
        self._update()
        return found

    # the life cycle of a line

    def _begin(self, line: Statement) -> None:
        if line.triggers or isinstance(line.command, Expectation):
            self._start(line)
        else:
            self._agenda.put(0, line)

    def _start_all(self, lines: Iterable[Statement]) -> None:
        for line in lines:
            self._start(line)

    def _start(self, line: Statement) -> None:
        match line.trigger:
            case At(us):
                self._agenda.put(us, line)
            case After(us) | Every(us):
                self._agenda.put(self._run.now_us + us, line)
            case OnMessage() | OnStatus() | OnStore() as happening:
                self._event_triggers.add(line, happening)
            case When(predicate):
                self._watch(PredicateWait(line, predicate))
            case None:
                self._on_triggered(line)

    def _next_trigger(self, line: Statement) -> None:
        """Start to wait for the line's next trigger; without one, the line is triggered."""
        if len(line.triggers) > 1:
            self._start(replace(line, triggers=line.triggers[1:]))
        else:
            self._on_triggered(line)

    def _watch(self, wait: PredicateWait) -> None:
        if self._predicates.add(wait):
            self._on_predicate(wait)

    def _on_predicate(self, wait: PredicateWait) -> None:
        if wait.error:
            self._add_result(wait.line, False, wait.error)
        elif wait.met is None:
            self._next_trigger(wait.line)
        else:
            self._add_result(wait.line, wait.met)

    def _on_triggered(self, line: Statement) -> None:
        """Make the line due, or start its expectation, after its last trigger."""
        match line.command:
            case ExpectThroughout(predicate, always):
                self._watch(PredicateWait(line, predicate, target=not always, met=False))
                self._start_all(self._sequencer.release_successor(line))
            case Expect(predicate, None) if line.triggers or line.follows:
                self._judge(line, predicate)
            case Expect(predicate, None):
                self._at_end.append((line, predicate))
            case Expect(predicate, int(within_us)):
                wait = PredicateWait(line, predicate, met=True)
                self._agenda.put(self._run.now_us + within_us, wait)
                self._watch(wait)
            case ExpectViolation():
                pass  # verdicts are known after the run, and checked by its report
            case _:
                self._ready.append(line)

    def _judge(self, line: Statement, predicate: Predicate) -> None:
        """Add the result of an expectation that is decided now."""
        try:
            self._add_result(line, self._predicates.holds(predicate))
        except CommandError as error:
            self._add_result(line, False, str(error))

    def _add_result(self, line: Statement, met: bool, why: str = "") -> None:
        self._ready.append(replace(line, command=ExpectationResult(met, why)))

    def _pop_ready(self) -> list[Statement]:
        ready, self._ready = self._ready, []
        self._update()
        return ready

    def _update(self) -> None:
        self.next_due_us = self._agenda.next_us
        self.needs_records = bool(
            self._ready
            or self._event_triggers.is_active
            or self._predicates.needs_records
            or self._sequencer.needs_records
        )


# lines that wait


class Agenda:
    """A priority queue of entries by time; entries of the same time come out in the order of insertion."""

    def __init__(self) -> None:
        self._put = 0
        self._entries: list[tuple[int, int, Statement | PredicateWait]] = []

    @property
    def next_us(self) -> int | None:
        return self._entries[0][0] if self._entries else None

    @property
    def lines(self) -> list[Statement]:
        """The lines that wait, by their times; without the waits that expire."""
        entries = sorted(self._entries, key=lambda entry: entry[:2])
        return [entry for _, _, entry in entries if isinstance(entry, Statement)]

    def put(self, at_us: int, entry: Statement | PredicateWait) -> None:
        """Add a line that is due at this time, or a wait that expires then."""
        self._put += 1
        heapq.heappush(self._entries, (at_us, self._put, entry))

    def remove(self, matches: Callable[[Statement], bool]) -> int:
        """Remove the lines that match; return how many there were."""
        kept = [each for each in self._entries if not (isinstance(each[2], Statement) and matches(each[2]))]
        removed = len(self._entries) - len(kept)
        heapq.heapify(kept)
        self._entries = kept
        return removed

    def due(self, now_us: int) -> Iterator[Statement | PredicateWait]:
        """Yield the entries that are due by ``now_us``, including those added while the caller iterates."""
        while self._entries and self._entries[0][0] <= now_us:
            at_us, _, entry = heapq.heappop(self._entries)
            if isinstance(entry, Statement) and isinstance(entry.trigger, Every):
                # Late by several periods, the line still runs once; the next time stays on the original grid.
                late_us = (now_us - at_us) % entry.trigger.us
                self.put(now_us - late_us + entry.trigger.us, entry)
            yield entry


_ATrigger = TypeVar("_ATrigger", OnMessage, OnStore)


class _NthWait(Struct, Generic[_ATrigger], eq=False):
    """A line that waits for an event; ``remaining``: how many matching events are still to come."""

    line: Statement
    trigger: _ATrigger
    remaining: int


class _NthWaits(Generic[_ATrigger]):
    """The lines that wait for the nth event of a sort."""

    def __init__(self) -> None:
        self.waits: list[_NthWait[_ATrigger]] = []

    def add(self, line: Statement, trigger: _ATrigger) -> None:
        """Add a line that waits for this trigger."""
        self.waits.append(_NthWait(line, trigger, trigger.nth))

    def remove(self, matches: Callable[[Statement], bool]) -> int:
        """Remove the lines that match; return how many there were."""
        before = len(self.waits)
        self.waits = [each for each in self.waits if not matches(each.line)]
        return before - len(self.waits)

    def count(self, matches: Callable[[_ATrigger], bool]) -> list[Statement]:
        """Count an event that these triggers match; remove and return the lines that waited for it."""
        found = []
        for waiting in self.waits:
            if matches(waiting.trigger):
                waiting.remaining -= 1
                if not waiting.remaining:
                    found.append(waiting.line)
        if found:
            self.waits = [each for each in self.waits if each.remaining]
        return found


def _is_cancelled(line: Statement) -> bool:
    """Return whether ``cancel`` removes this line."""
    repeats = bool(line.triggers) and isinstance(line.triggers[-1], Every)
    return repeats or not (line.line or isinstance(line.command, Expectation))


class EventTriggers:
    """The lines that wait for events: of a message, a write, or a status entered. Each is returned once."""

    def __init__(self) -> None:
        self._on_message: _NthWaits[OnMessage] = _NthWaits()
        self._on_store: _NthWaits[OnStore] = _NthWaits()
        self._on_status: list[tuple[Statement, OnStatus]] = []

    @property
    def is_active(self) -> bool:
        """True if a line waits."""
        return bool(self._on_message.waits or self._on_store.waits or self._on_status)

    def remove(self, matches: Callable[[Statement], bool]) -> int:
        """Remove the lines that match; return how many there were."""
        kept = [each for each in self._on_status if not matches(each[0])]
        removed = len(self._on_status) - len(kept)
        self._on_status = kept
        return removed + self._on_message.remove(matches) + self._on_store.remove(matches)

    @property
    def lines(self) -> Iterator[Statement]:
        """The lines that wait."""
        yield from (wait.line for wait in self._on_message.waits)
        yield from (wait.line for wait in self._on_store.waits)
        yield from (line for line, _ in self._on_status)

    def add(self, line: Statement, trigger: OnMessage | OnStatus | OnStore) -> None:
        """Add a line that waits for this trigger."""
        if isinstance(trigger, OnMessage):
            self._on_message.add(line, trigger)
        elif isinstance(trigger, OnStore):
            self._on_store.add(line, trigger)
        else:
            self._on_status.append((line, trigger))

    def on_message(self, event: str, message: Message) -> list[Statement]:
        """Remove and return the lines that waited for this event of the message."""
        if not self._on_message.waits:
            return []
        kind, source, target = message.kind, message.source, message.target
        return self._on_message.count(lambda trigger: trigger.matches(event, kind, source, target))

    def on_record(self, record: Record) -> list[Statement]:
        """Remove and return the lines that waited for the write or the status that the record shows."""
        found: list[Statement] = []
        if self._on_store.waits and isinstance(record, Step) and record.stores:
            node = record.node
            found += self._on_store.count(lambda trigger: trigger.matches(node))
        entered = _entered(record) if self._on_status else None
        if entered is not None:
            found += [line for line, trigger in self._on_status if trigger.matches(*entered)]
            self._on_status = [each for each in self._on_status if not each[1].matches(*entered)]
        return found


def _entered(record: Record) -> tuple[int, str] | None:
    """Return the node and the status that it enters in this record, or None. A starting node was already Down."""
    if isinstance(record, Step) and isinstance(status := record.updates.get("status"), str):
        return None if isinstance(record.input, Started) and status == "Down" else (record.node, status)
    if isinstance(record, Process) and record.event in ("killed", "failed"):
        return record.node, "Down"
    return None


class _Pending(Struct, eq=False):
    """A line whose predecessor is being executed, or has been (``is_done``).

    It starts to wait once each process in ``awaited`` has had one of the ``events``. With ``at_once`` it does not
    wait for them: the record of a crash may come later than the messages that are sent because of it.
    """

    line: Statement
    predecessor: int
    awaited: set[int]
    events: Collection[Event]
    at_once: bool
    is_done: bool = False


class Sequencer:
    """The lines that follow others. Its methods return those that start to wait because of an event.

    A signal takes time, so a line that kills or pauses processes is done once each of them has a record of that.
    """

    def __init__(self) -> None:
        self._successors: dict[int, Statement] = {}
        self._pending: list[_Pending] = []

    @property
    def needs_records(self) -> bool:
        """True while it has to be shown the records of processes."""
        return bool(self._pending)

    def hold_back(self, script: list[Statement]) -> list[Statement]:
        """Keep the lines that follow others, and return the rest."""
        before = predecessors(script)
        self._successors |= {before[line.line]: line for line in script if line.line in before}
        return [line for line in script if line.line not in before]

    def release_successor(self, line: Statement) -> list[Statement]:
        """Remove and return the line that follows this one, if any."""
        following = self._successors.pop(line.line, None)
        return [] if following is None else [following]

    def line_started(self, line: Statement, nodes: Collection[int], events: Collection[Event]) -> list[Statement]:
        """Note that a line starts to execute. It is done when each of these nodes has had one of these events.

        A successor that waits for a message or a status starts to wait at once, so as not to miss the effects.
        """
        for following in self.release_successor(line):
            at_once = isinstance(following.trigger, OnMessage | OnStatus | OnStore)
            self._pending.append(_Pending(following, line.line, set(nodes), events, at_once))
        return self._pop_ready()

    def line_done(self, line: Statement, affected: Collection[int]) -> list[Statement]:
        """Note that a line was executed, and affected only these nodes."""
        for each in self._pending:
            if each.predecessor == line.line:
                each.is_done = True
                each.awaited.intersection_update(affected)
        return self._pop_ready()

    def on_process(self, record: Process) -> list[Statement]:
        """Note what happened to a process."""
        for each in self._pending:
            if record.event in each.events:
                each.awaited.discard(record.node)
        return self._pop_ready()

    def _pop_ready(self) -> list[Statement]:
        ready = [each for each in self._pending if each.at_once or (each.is_done and not each.awaited)]
        self._pending = [each for each in self._pending if each not in ready]
        return [each.line for each in ready]
