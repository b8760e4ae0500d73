"""What happened in a recording, as far as a script can tell of it: what was given, and what went on around it."""

from typing import Generic, TypeVar

from msgspec import Struct

from lab.analysis.elections import agreed_coordinator
from lab.kernel import Message, Received, Step
from lab.properties import Judge
from lab.recording.cluster_state import ClusterState
from lab.recording.reader import RecordStore
from lab.recording.records import Captioned, Commanded, End, Fault, Header, Process, Record
from lab.script import Caption, Scripted, WorldCommand, parse
from lab.script.printing import said

__all__ = ["Given", "Happened", "Story", "happened_between", "rounded_up", "story_of"]

T = TypeVar("T")

_TENTH_US = 100_000
_AT_ONCE_US = 1_000
"""What a command does is recorded within this time before it."""
_LONG = 3
"""So many times what all may take to agree is long after a command."""


class Given(Struct, frozen=True):
    """A command that was carried out: the line as it was given, and what came of it, in the record's words.

    ``record`` tells of it; ``began``: the first that shows what it did, which comes before that, or the same.
    """

    began: int
    record: int
    at_us: int
    line: Scripted
    outcome: str

    @property
    def command(self) -> str:
        """The command without its triggers."""
        return self.line.text


class Happened(Struct, Generic[T], frozen=True):
    """What is so from this record on, or was so at it."""

    record: int
    at_us: int
    what: T


class Story:
    """A fold over a recording. ``cluster`` and ``judge`` are what it came to.

    ``given`` are the commands that changed something, in their order, ``idle`` those that did not, ``faults`` the
    faults that there were.
    ``steered`` are commands by which somebody chose what happens next. ``agreed`` is on whom all agreed, and since
    when; ``leaders`` who led. ``statuses`` are those that nodes entered, ``messages`` those that left or came,
    each with which of the two. ``elects``: whether nodes have coordinators at all. ``processes`` are the records
    of what was seen of processes. ``ended``: whether the recording has an end; ``gaps``: the records before which
    one is missing, or that cannot be read. ``is_cut``: what came long after the last command is left out.
    """

    def __init__(self, header: Header) -> None:
        self.header = header
        self.cluster = ClusterState.of(header)
        self.judge = Judge(header)
        self.given: list[Given] = []
        self.faults: list[Fault] = []
        self.steered: list[str] = []
        self.idle: list[str] = []
        self.ended = False
        self.gaps: list[int] = []
        self.is_cut = False
        self.elects = False
        self.processes: set[int] = set()
        self.agreed: list[Happened[int | None]] = [Happened(0, 0, None)]
        self.leaders: list[Happened[tuple[int, ...]]] = [Happened(0, 0, ())]
        self.statuses: list[Happened[tuple[int, str]]] = []
        self.messages: list[Happened[tuple[str, str, int, int]]] = []
        self._sent: dict[tuple[int, int], Message] = {}
        self._effect = (0, -_AT_ONCE_US)

    @property
    def within_us(self) -> int:
        """How long all may take to agree after the last command: what is promised, or longer than they took."""
        took_us = self.agreed[-1].at_us - self.last_us
        return rounded_up(max(self._promised_us, 2 * took_us))

    @property
    def last_us(self) -> int:
        """When the last command was given; 0 where none was."""
        return self.given[-1].at_us if self.given else 0

    @property
    def long_us(self) -> int:
        """What comes later than this after a command has other causes."""
        return _LONG * self._promised_us

    @property
    def over_us(self) -> int | None:
        """When what the commands brought about is over, if the recording goes on beyond that; None if it does not.

        Nothing is over while messages are lost or late by a fault, nor before what is violated has been seen. What
        a live run violates outside the promise so late, it does because the machine is slow.
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
        """Take the next record. CommandError where it has a command that this version cannot read."""
        self.judge.observe(record)
        self.cluster.apply(record)
        number, at_us = self.cluster.record, self.cluster.at_us
        if isinstance(record, Fault | Process) and self._is_new_at(record.at_us):
            self._effect = (number, record.at_us)
        if isinstance(record, Step):
            self._step(record, number)
        elif isinstance(record, Process) and record.event in ("killed", "failed"):
            self.statuses.append(Happened(number, at_us, (record.node, "Down")))
        elif isinstance(record, Commanded):
            self._commanded(record, number)
            self._effect = (number, -_AT_ONCE_US)
        elif isinstance(record, Fault) and not record.lifted:
            self.faults.append(record)
        elif isinstance(record, Captioned):
            caption = Caption("mark" if record.mark else "say", record.text.replace('"', "'"))
            line = Scripted(caption, said(caption), None, said(caption), line=record.line)
            self.given.append(Given(number, number, record.at_us, line, ""))
        elif isinstance(record, End):
            self.ended = True
        elif record is None:
            self.gaps.append(number)
        if isinstance(record, Process):
            self.processes.add(number)
        if isinstance(record, Process) or (
            isinstance(record, Step) and ("status" in record.changed or "coordinator" in record.changed)
        ):
            self._look(number, at_us)

    def _step(self, step: Step, number: int) -> None:
        self.elects |= "coordinator" in step.changed
        entered = step.changed.get("status")
        if isinstance(entered, str):
            self.statuses.append(Happened(number, step.at_us, (step.node, entered)))
        if isinstance(step.input, Received):
            key = (step.input.source, step.input.serial)
            message = self._sent.get(key)
            if message is not None:
                self._note("deliver", message, number, step.at_us)
            elif step.input.serial >= 0:  # those below are forged
                self.gaps.append(number)
        for message in step.sent:
            self._sent[message.source, message.serial] = message
            self._note("send", message, number, step.at_us)

    def _note(self, moment: str, message: Message, number: int, at_us: int) -> None:
        self.messages.append(Happened(number, at_us, (moment, message.kind, message.source, message.target)))

    def _commanded(self, record: Commanded, number: int) -> None:
        line = parse(record.text)
        if record.refused or not record.changed:
            if not isinstance(line.command, WorldCommand):
                self.idle.append(line.text)
        elif not isinstance(line.command, WorldCommand):
            began = number if self._is_new_at(record.at_us) else self._effect[0]
            self.given.append(Given(began, number, record.at_us, line, record.outcome))
        elif line.command.verb in ("deliver", "fire", "choose"):
            self.steered.append(line.text)

    def _is_new_at(self, at_us: int) -> bool:
        """Whether what happens then is no more of what began last."""
        return at_us - self._effect[1] >= _AT_ONCE_US

    def _look(self, number: int, at_us: int) -> None:
        nodes = self.cluster.nodes
        agreed = agreed_coordinator(nodes)
        if agreed != self.agreed[-1].what:
            self.agreed.append(Happened(number, at_us, agreed))
        leaders = tuple(node for node, view in nodes.items() if view.leads and view.process == "running")
        if leaders != self.leaders[-1].what:
            self.leaders.append(Happened(number, at_us, leaders))


def story_of(lines: RecordStore) -> Story:
    """The story of a recording, as long as what its commands brought about. CommandError."""
    story = Story(lines.header)
    for record in lines.records():
        story.observe(record)
    return story if story.over_us is None else _until(story.over_us, story, lines)


def _until(end_us: int, whole: Story, lines: RecordStore) -> Story:
    """The same, as if the run had ended then."""
    story = Story(lines.header)
    for record in lines.records():
        if record is not None and not isinstance(record, Header) and record.at_us > end_us:
            break
        story.observe(record)
    story.observe(End(end_us, "what comes later has other causes"))
    story.ended, story.gaps, story.idle, story.is_cut = whole.ended, whole.gaps, whole.idle, True
    return story


def rounded_up(us: int) -> int:
    """To tenths of seconds, one at least."""
    return max(1, -(-us // _TENTH_US)) * _TENTH_US


def happened_between(events: list[Happened[T]], after: int, before: int) -> list[Happened[T]]:
    """Those at records that come after the one and before the other."""
    return [event for event in events if after < event.record < before]
