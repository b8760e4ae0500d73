"""The history of a recording as far as a script can express it: the commands, and triggers that give them again.

The triggers of a command are found by the events around it, so that a script gives it at the corresponding time:

    then when all normal        by what has become true since the previous command
    on status 4 Election        by a step of the protocol, just before the command
    after 1.5s                  by the time since the previous command
    at 3.214s                   by the clock

The first is the most robust: it also fits other runs, machines and delays. The last is the most exact, at least in
simulation. Which of them is needed is found by trial.
"""

from typing import Generic, TypeVar

from msgspec import Struct

from lab.analysis.client_history import ClientHistory
from lab.analysis.elections import agreed_coordinator
from lab.kernel import Message, Received, Step
from lab.properties.judge import Judge
from lab.protocols import Status
from lab.recording.cluster_state import ClusterState
from lab.recording.reader import RecordStore
from lab.recording.records import SLOW_DISK, Captioned, Commanded, End, Fault, Header, Process, Record
from lab.script.commands import Caption, WorldCommand
from lab.script.parse import parse
from lab.script.predicates import And, Is, Not, Predicate
from lab.script.scope import NodeNames
from lab.script.statements import After, At, Every, OnMessage, OnStatus, Statement, Trigger, When

T = TypeVar("T")

_TENTH_US = 100_000
_LASTING = ("slow", SLOW_DISK)
"""The kinds of faults of nodes that go on to have effects."""
_AT_ONCE_US = 1_000
"""The effects of a command are recorded before the command itself, within this time."""
_LONG = 3
"""A multiple of the time that an agreement may take; later events are not effects of a command."""
_BY_HAND_US = 20_000
"""Shorter than the time between two commands given by hand."""
_ALL_NORMAL = Is("all", "normal")
_STATUSES = tuple(status.value for status in Status)


class GivenCommand(Struct, frozen=True):
    """A command that was executed: the line as it was given, and its outcome as recorded.

    ``record`` is its record; ``began`` the first record of its effects, which is not later.
    """

    began: int
    record: int
    at_us: int
    line: Statement
    outcome: str

    @property
    def command(self) -> str:
        """Return the text of the command without its triggers."""
        return self.line.text


class Observation(Struct, Generic[T], frozen=True):
    """A fact: an event at a record, or a condition that holds from this record on."""

    record: int
    at_us: int
    what: T


class CommandHistory:
    """A fold over a recording. ``cluster``, ``judge`` and ``clients`` have its final state and its verdicts.

    ``given``: the commands that changed something, in order; ``idle``: the others. ``faults``: the faults.
    ``steered``: the commands by which the user chose the next event. ``agreed``: the coordinators on which all
    agreed, and since when; ``leaders``: who led. ``statuses``: the statuses that nodes entered. ``messages``: the
    messages that were sent or delivered. ``elects``: whether the nodes have coordinators. ``processes``: the
    records of processes. ``ended``: whether the recording has an end. ``gaps``: records that are unreadable, or
    that a missing record precedes. ``is_cut``: whether the records long after the last command are left out.
    """

    def __init__(self, header: Header) -> None:
        self.header = header
        self.cluster = ClusterState.of(header)
        self.judge = Judge(header)
        self.clients = ClientHistory(header)
        self.given: list[GivenCommand] = []
        self.faults: list[Fault] = []
        self.steered: list[str] = []
        self.idle: list[str] = []
        self.ended = False
        self.gaps: list[int] = []
        self.is_cut = False
        self.elects = False
        self.processes: set[int] = set()
        self.agreed: list[Observation[int | None]] = [Observation(0, 0, None)]
        self.leaders: list[Observation[tuple[int, ...]]] = [Observation(0, 0, ())]
        self.statuses: list[Observation[tuple[int, str]]] = []
        self.messages: list[Observation[tuple[str, str, int, int]]] = []
        self._names = NodeNames.of(header)
        self._sent: dict[tuple[int, int], Message] = {}
        self._effect = (0, -_AT_ONCE_US)

    @property
    def within_us(self) -> int:
        """The time limit for an agreement after the last command: the promised one, or twice the time it took."""
        took_us = self.agreed[-1].at_us - self.last_us
        return rounded_up(max(self._promised_us, 2 * took_us))

    @property
    def last_us(self) -> int:
        """The time of the last command; 0 if there is none."""
        return self.given[-1].at_us if self.given else 0

    @property
    def long_us(self) -> int:
        """The time after a command from which on events are not its effects."""
        return _LONG * self._promised_us

    @property
    def over_us(self) -> int | None:
        """The time when the effects of the commands are over; None if the recording ends before that.

        They are not over while a fault affects messages, nor before the last violation. An excused violation so
        late in a live run does not count: its cause is a slow machine.
        """
        over_us = self.last_us + self.long_us
        if not self.elects or self.steered or self.cluster.at_us <= over_us:
            return None
        late = [each for each in self.judge.violations if each.at_us > over_us]
        counts = [each for each in late if each.is_failure or self.header.world == "simulated"]
        lasting = [fault for fault in self.cluster.faults.values() if fault.links or fault.kind in _LASTING]
        return None if counts or lasting else over_us

    @property
    def _promised_us(self) -> int:
        return self.header.protocol.settles_within_us or 30 * self.header.timing.t_us

    def observe(self, record: Record | None) -> None:
        """Process the next record. Raises CommandError if it has a command that this version cannot parse."""
        self.judge.observe(record)
        self.clients.observe(record)
        self.cluster.apply(record)
        number, at_us = self.cluster.record, self.cluster.at_us
        if isinstance(record, Fault | Process) and self._is_new_at(record.at_us):
            self._effect = (number, record.at_us)
        if isinstance(record, Step):
            self._step(record, number)
        elif isinstance(record, Process) and record.event in ("killed", "failed"):
            self.statuses.append(Observation(number, at_us, (record.node, "Down")))
        elif isinstance(record, Commanded):
            self._commanded(record, number)
            self._effect = (number, -_AT_ONCE_US)
        elif isinstance(record, Fault) and not record.lifted:
            self.faults.append(record)
        elif isinstance(record, Captioned):
            caption = Caption("mark" if record.mark else "say", record.text.replace('"', "'"))
            line = Statement(caption, str(caption), str(caption), line=record.line)
            self.given.append(GivenCommand(number, number, record.at_us, line, ""))
        elif isinstance(record, End):
            self.ended = True
        elif record is None:
            self.gaps.append(number)
        if isinstance(record, Process):
            self.processes.add(number)
        if isinstance(record, Process) or (
            isinstance(record, Step) and ("status" in record.updates or "coordinator" in record.updates)
        ):
            self._observe_leaders(number, at_us)

    def _step(self, step: Step, number: int) -> None:
        self.elects |= "coordinator" in step.updates
        entered = step.updates.get("status")
        if isinstance(entered, str):
            self.statuses.append(Observation(number, step.at_us, (step.node, entered)))
        if isinstance(step.input, Received):
            key = (step.input.source, step.input.serial)
            message = self._sent.get(key)
            if message is not None:
                self._note("deliver", message, number, step.at_us)
            elif step.input.serial >= 0:  # forged messages have negative serials
                self.gaps.append(number)
        for message in step.sent:
            self._sent[message.source, message.serial] = message
            self._note("send", message, number, step.at_us)

    def _note(self, moment: str, message: Message, number: int, at_us: int) -> None:
        self.messages.append(Observation(number, at_us, (moment, message.kind, message.source, message.target)))

    def _commanded(self, record: Commanded, number: int) -> None:
        line = parse(record.text, names=self._names)
        if record.refused or not record.changed:
            if not isinstance(line.command, WorldCommand):
                self.idle.append(line.text)
        elif not isinstance(line.command, WorldCommand):
            began = number if self._is_new_at(record.at_us) else self._effect[0]
            self.given.append(GivenCommand(began, number, record.at_us, line, record.outcome))
        elif line.command.verb in ("deliver", "fire", "choose"):
            self.steered.append(line.text)

    def _is_new_at(self, at_us: int) -> bool:
        """Return whether an event at this time does not belong to the effects that began last."""
        return at_us - self._effect[1] >= _AT_ONCE_US

    def _observe_leaders(self, number: int, at_us: int) -> None:
        nodes = self.cluster.nodes
        agreed = agreed_coordinator(nodes)
        if agreed != self.agreed[-1].what:
            self.agreed.append(Observation(number, at_us, agreed))
        leaders = tuple(node for node, view in nodes.items() if view.leads and view.process == "running")
        if leaders != self.leaders[-1].what:
            self.leaders.append(Observation(number, at_us, leaders))


def read_history(store: RecordStore) -> CommandHistory:
    """Return the history of a recording, up to the end of the commands' effects. Raises CommandError."""
    history = CommandHistory(store.header)
    for record in store.records():
        history.observe(record)
    return history if history.over_us is None else _until(history.over_us, history, store)


def _until(end_us: int, whole: CommandHistory, store: RecordStore) -> CommandHistory:
    """Return the history as if the run had ended at this time."""
    history = CommandHistory(store.header)
    for record in store.records():
        if record is not None and not isinstance(record, Header) and record.at_us > end_us:
            break
        history.observe(record)
    history.observe(End(end_us, "what comes later has other causes"))
    history.ended, history.gaps, history.idle, history.is_cut = whole.ended, whole.gaps, whole.idle, True
    return history


def rounded_up(us: int) -> int:
    """Round up to tenths of a second, to at least one."""
    return max(1, -(-us // _TENTH_US)) * _TENTH_US


def happened_between(events: list[Observation[T]], after: int, before: int) -> list[Observation[T]]:
    """Return the events between these two records, exclusive."""
    return [event for event in events if after < event.record < before]


# anchors


class Anchor(Struct, frozen=True):
    """The triggers of a line. ``follows``: it first waits for the line before it."""

    triggers: tuple[Trigger, ...] = ()
    follows: bool = True

    def __str__(self) -> str:
        words = [*map(str, self.triggers)]
        if self.follows and not (self.triggers and isinstance(self.triggers[0], After)):
            words.insert(0, "then")
        return " ".join(words)


def anchors(history: CommandHistory, before: GivenCommand | None, given: GivenCommand) -> list[Anchor]:
    """Return the anchors for a command that was given after the one ``before`` it, the most robust first."""
    return _Anchors(history, before, given).found()


def exact_anchors(history: CommandHistory, given: GivenCommand) -> list[Anchor]:
    """Return the anchors that give the command at exactly the same time in the same run.

    These are: as it was typed, which is exact if that was before the run; at the message that triggered it; by the
    clock.
    """
    triggers = given.line.triggers
    found = []
    if triggers and not isinstance(triggers[-1], Every) and not isinstance(triggers[0], After):
        found.append(Anchor(triggers, given.line.follows))
    if triggers and isinstance(triggers[-1], OnMessage):
        found += _at_message(history, given, triggers[-1])
    return [*found, Anchor((At(given.at_us),), follows=False)]


def _at_message(history: CommandHistory, given: GivenCommand, trigger: OnMessage) -> list[Anchor]:
    """Return the anchor at the message that triggered the command, counted from the start of the run."""
    earlier = [event for event in history.messages if event.record < given.began]
    hits = [event for event in earlier if event.at_us == given.at_us and trigger.matches(*event.what)]
    if not hits:
        return []
    _, kind, source, target = hits[-1].what
    nth = sum(event.what == hits[-1].what for event in earlier)
    return [Anchor((OnMessage(trigger.event, kind, source, target, nth),), follows=False)]


def rounded(us: int) -> int:
    """Round to a number that a person would write."""
    grain_us = next((grain for grain in (100_000, 10_000, 1_000) if us >= 10 * grain), 1)
    return round(us / grain_us) * grain_us


class _Anchors:
    def __init__(self, history: CommandHistory, before: GivenCommand | None, given: GivenCommand) -> None:
        self._history = history
        self._given = given
        self._after = 0 if before is None else before.record
        self._since_us = 0 if before is None else before.at_us
        self._follows = before is not None

    def found(self) -> list[Anchor]:
        given = self._given
        gap_us = given.at_us - self._since_us
        found = self._own()
        if self._follows and gap_us < _BY_HAND_US:
            found.append(Anchor())
        found += self._by_state()
        found += self._by_status()
        found.append(self._anchor(After(rounded(gap_us))))
        found += self._by_message()
        found += [self._anchor(After(gap_us)), Anchor((At(rounded(given.at_us)),), follows=False)]
        return list(dict.fromkeys([*found, *exact_anchors(self._history, given)]))

    def _anchor(self, *triggers: Trigger) -> Anchor:
        return Anchor(triggers, self._follows)

    def _own(self) -> list[Anchor]:
        """Return the anchors with the user's own triggers, except for the clock."""
        kept = tuple(trigger for trigger in self._given.line.triggers if not isinstance(trigger, At))
        if not kept or any(isinstance(trigger, Every | After) for trigger in kept):
            return []
        return list(dict.fromkeys([Anchor(kept, self._follows and self._given.line.follows), self._anchor(*kept)]))

    def _by_state(self) -> list[Anchor]:
        """Return anchors at the latest agreement of all, or, without one, at the latest change of who leads."""
        history, given = self._history, self._given
        agreed = happened_between(history.agreed, self._after, given.began)
        leaders = happened_between(history.leaders, self._after, given.began)
        if agreed and agreed[-1].what is not None:
            return self._once(_ALL_NORMAL, agreed[-1].at_us, self._disagreed_at_once(agreed))
        if leaders and leaders[-1].what and not (agreed and agreed[-1].what):
            parts = tuple(Is(node, "leads") for node in leaders[-1].what)
            return self._once(parts[0] if len(parts) == 1 else And(parts), leaders[-1].at_us, True)
        return []

    def _disagreed_at_once(self, agreed: list[Observation[int | None]]) -> bool:
        """Return whether the agreement cannot be confused with the one before the previous command."""
        at_first = [event for event in self._history.agreed if event.record <= self._after][-1].what
        is_by_command = agreed[0].what is None and agreed[0].record in self._history.processes
        return at_first is None or is_by_command

    def _once(self, predicate: Predicate, since_us: int, is_new: bool) -> list[Anchor]:
        triggers = (When(predicate),) if is_new else (When(Not(predicate)), When(predicate))
        late_us = self._given.at_us - since_us
        later = () if late_us < self._history.header.timing.t_us else (After(rounded(late_us)),)
        return list(dict.fromkeys([self._anchor(*triggers), self._anchor(*triggers, *later)]))

    def _by_status(self) -> list[Anchor]:
        """Return an anchor at the status that a node had just entered."""
        if not self._history.elects:
            return []
        entered = happened_between(self._history.statuses, self._after, self._given.began)
        last = entered[-1] if entered else None
        if last is None or last.what[1] not in _STATUSES or sum(event.what == last.what for event in entered) > 1:
            return []
        late_us = self._given.at_us - last.at_us
        if late_us > self._history.header.timing.t_us:
            return []
        return [self._anchor(OnStatus(*last.what), *self._later(late_us))]

    def _by_message(self) -> list[Anchor]:
        """Return an anchor at the message that had just been sent or delivered."""
        passed = happened_between(self._history.messages, self._after, self._given.began)
        last = passed[-1] if passed else None
        if last is None or self._given.at_us - last.at_us > self._history.header.timing.tm_us:
            return []
        event, kind, source, target = last.what
        nth = sum(event.what == last.what for event in passed)
        on = OnMessage(event, kind, source, target, nth)  # type: ignore[arg-type]
        return [self._anchor(on, *self._later(self._given.at_us - last.at_us))]

    @staticmethod
    def _later(us: int) -> tuple[Trigger, ...]:
        return (After(rounded(us)),) if us >= 1_000 else ()
