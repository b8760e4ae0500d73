"""The history of a recording as far as a script can express it: the commands, and the events around them."""

from typing import Generic, TypeVar

from msgspec import Struct

from lab.analysis.elections import agreed_coordinator
from lab.kernel import Message, Received, Step
from lab.properties import Judge
from lab.recording.cluster_state import ClusterState
from lab.recording.reader import RecordStore
from lab.recording.records import Captioned, Commanded, End, Fault, Header, Process, Record
from lab.script import Caption, Statement, WorldCommand, parse
from lab.script.printing import unparse

__all__ = ["CommandHistory", "GivenCommand", "Observation", "happened_between", "read_history", "rounded_up"]

T = TypeVar("T")

_TENTH_US = 100_000
_AT_ONCE_US = 1_000
"""The effects of a command are recorded before the command itself, within this time."""
_LONG = 3
"""A multiple of the time that an agreement may take; later events are not effects of a command."""


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
    """A fold over a recording. ``cluster`` and ``judge`` have its final state and its verdicts.

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
        lasting = [fault for fault in self.cluster.faults.values() if fault.links or fault.kind == "slow"]
        return None if counts or lasting else over_us

    @property
    def _promised_us(self) -> int:
        return self.header.protocol.settles_within_us or 30 * self.header.timing.t_us

    def observe(self, record: Record | None) -> None:
        """Process the next record. Raises CommandError if it has a command that this version cannot parse."""
        self.judge.observe(record)
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
            line = Statement(caption, unparse(caption), None, unparse(caption), line=record.line)
            self.given.append(GivenCommand(number, number, record.at_us, line, ""))
        elif isinstance(record, End):
            self.ended = True
        elif record is None:
            self.gaps.append(number)
        if isinstance(record, Process):
            self.processes.add(number)
        if isinstance(record, Process) or (
            isinstance(record, Step) and ("status" in record.changed or "coordinator" in record.changed)
        ):
            self._observe_leaders(number, at_us)

    def _step(self, step: Step, number: int) -> None:
        self.elects |= "coordinator" in step.changed
        entered = step.changed.get("status")
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
        line = parse(record.text)
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


def read_history(lines: RecordStore) -> CommandHistory:
    """Return the history of a recording, up to the end of the commands' effects. Raises CommandError."""
    history = CommandHistory(lines.header)
    for record in lines.records():
        history.observe(record)
    return history if history.over_us is None else _until(history.over_us, history, lines)


def _until(end_us: int, whole: CommandHistory, lines: RecordStore) -> CommandHistory:
    """Return the history as if the run had ended at this time."""
    history = CommandHistory(lines.header)
    for record in lines.records():
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
