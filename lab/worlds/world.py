"""The base of all worlds: the way of every message from node to node, and with it the order of records.

A step is recorded and shown to the director, and only then are its messages sent, one by one: a fault that one of
them triggers strikes before it leaves, or before the next. A message in flight outlives its sender; messages that
wait for a node die with it. So the records of any world are a linear extension of happens-before, in the same
order for the same events. A world only decides when a message arrives, and what its nodes run in.
"""

from collections.abc import Sequence
from random import Random
from typing import Generic, Literal, TypeVar

from lab.kernel import CommandInput, Message, Protocol, Step
from lab.kernel.storage import AlteredStorage
from lab.network import SendResult
from lab.recording.records import Event, Process, Record, Routed
from lab.recording.writer import RecordLog
from lab.script.statements import Statement
from lab.worlds.control import Control
from lab.worlds.run import ActiveRun, CommandOutcome


class Incarnation:
    """One incarnation of a node, while it is up.

    While it is ``paused``, its inputs wait, and the rest of its last step's messages in ``unsent``. ``leaving``:
    how many messages of its step have still to leave, while commands are executed that the step or one of them
    triggers. ``announced`` is the last message that was about to leave.
    """

    def __init__(self, node: int, number: int) -> None:
        self.id = node
        self.number = number
        self.paused = False
        self.unsent: list[Message] = []
        self.leaving = 0
        self.announced: Message | None = None

    def remove_waiting(self) -> list[Message]:
        """Remove and return the messages that have arrived, and that no step has taken in."""
        raise NotImplementedError


AnIncarnation = TypeVar("AnIncarnation", bound=Incarnation)


class World(ActiveRun, Generic[AnIncarnation]):
    """A world. ``incarnations`` are the nodes that are up, ``serials`` the numbers of each node's next message."""

    def __init__(self, protocol: type[Protocol], log: RecordLog) -> None:
        super().__init__(protocol, log)
        self.incarnations: dict[int, AnIncarnation] = {}
        self.serials = dict.fromkeys(self.ids, 1)
        self.control = Control(self)
        self._disk_random: dict[int, Random] = {}

    def deliver(self, incarnation: AnIncarnation, node_input: Message | CommandInput) -> None:
        """Give a node an input; if it is in a step or paused, the input waits, after earlier ones."""
        raise NotImplementedError

    # operations; see ActiveRun

    def execute(self, statement: Statement) -> CommandOutcome:
        return self.control.execute(statement)

    def process_state(self, node: int) -> Literal["running", "paused", "down"]:
        incarnation = self.incarnations.get(node)
        return "down" if incarnation is None else "paused" if incarnation.paused else "running"

    def give_command(self, node: int, command: CommandInput) -> None:
        incarnation = self.incarnations.get(node)
        if incarnation is not None:  # else it has failed on an earlier input
            self.deliver(incarnation, command)

    def forge(self, message: Message) -> None:
        self.arrive(message)

    # the way of a message

    def take_step(self, incarnation: AnIncarnation, step: Step, received: Message | None) -> None:
        """Record a step of a node, and send its messages. ``received``: the message that it took in."""
        sent = step.sent
        if sent:
            self.serials[incarnation.id] = sent[-1].serial + 1
            incarnation.leaving = len(sent)
        self.record(step)
        if received is not None and self.director.needs_records:
            self.trigger("deliver", received)
        if sent:
            self.send(incarnation, sent)

    def send(self, incarnation: AnIncarnation, messages: Sequence[Message]) -> None:
        """Put messages of a node on their links, as long as it is up and not paused."""
        is_watched = self.director.needs_records
        is_running = self.incarnations.get(incarnation.id) is incarnation
        if is_running and not is_watched and not incarnation.paused:  # nothing strikes between two messages
            for message in messages:
                self._put_on_link(message)
            incarnation.leaving = 0
            return
        for place, message in enumerate(messages):
            if is_watched:
                self._announce(incarnation, message, len(messages) - place)
            if self.incarnations.get(incarnation.id) is not incarnation:
                self.drop(message, "unsent")
            elif incarnation.paused:
                incarnation.unsent.append(message)
            else:
                result = self._put_on_link(message)
                if is_watched:
                    incarnation.leaving = len(messages) - place - 1
                    self.trigger("send", message)
                    if result is not None and result.fate == "dropped":
                        self.trigger("drop", message)
        incarnation.leaving = 0

    def _put_on_link(self, message: Message) -> SendResult | None:
        now_us = self.now_us
        result = self.network.send(message, now_us)
        if result is not None:
            for record in _routing_records(message, result, now_us):
                self.record(record)
        return result

    def _announce(self, incarnation: AnIncarnation, message: Message, left: int) -> None:
        """Execute the commands that wait for the message to be about to leave, with ``left`` of its step, once."""
        lives = self.incarnations.get(incarnation.id) is incarnation
        if lives and not incarnation.paused and incarnation.announced is not message:
            incarnation.announced, incarnation.leaving = message, left
            self.trigger("before send", message)

    def arrive(self, message: Message, cut: int | None = None) -> None:
        """Give a message to its target, unless a cut stops it or the target is down."""
        if cut is None and self.director.needs_records and message.target in self.incarnations:
            self.trigger("before deliver", message)
            cut = None if message.serial < 0 else self.network.blocking_cut(message)
        incarnation = self.incarnations.get(message.target)
        if cut is not None:
            self.drop(message, "cut", (cut,))
        elif incarnation is None:
            self.drop(message, "down")
        else:
            self.deliver(incarnation, message)

    def drop(self, message: Message, why: str, by: tuple[int, ...] = ()) -> None:
        """Record that a message will not arrive."""
        self.record(Routed(self.now_us, message.source, message.serial, "dropped", why, by))
        if self.director.needs_records:
            self.trigger("drop", message)

    def take_down(
        self, incarnation: AnIncarnation, why: Literal["killed", "down"], end: Process | None = None
    ) -> None:
        """Remove a node that is no longer up, and the messages that wait for it or in it.

        Their loss is recorded, and then ``end``, before any trigger on a drop fires.
        """
        del self.incarnations[incarnation.id]
        lost: list[tuple[Message, str]] = [(message, why) for message in incarnation.remove_waiting()]
        lost += [(message, "unsent") for message in incarnation.unsent]
        incarnation.unsent = []
        records: list[Record] = [
            Routed(self.now_us, message.source, message.serial, "dropped", fate) for message, fate in lost
        ]
        records += [end] if end is not None else []
        for record in records[:-1]:
            self.log.append(record)
        for record in records[-1:]:
            self.record(record)
        for message, _ in lost:
            self.trigger("drop", message)

    def disk_random(self, node: int) -> Random:
        """Return the generator that decides which bits of a node's stable storage are flipped."""
        return self._disk_random.setdefault(node, Random(f"{self.header.seed}/disk/{node}"))

    def send_rest(self, incarnation: AnIncarnation) -> None:
        """Send the rest of the messages of the step that a pause interrupted."""
        unsent, incarnation.unsent = incarnation.unsent, []
        self.send(incarnation, unsent)


def storage_record(at_us: int, node: int, event: Event, incarnation: int, altered: AlteredStorage) -> Process:
    """Return the record of a fault of stable storage."""
    return Process(
        at_us,
        node,
        event,
        incarnation,
        lost=altered.lost,
        left=altered.left,
        write=altered.write,
        bit=altered.bit,
    )


def _routing_records(message: Message, result: SendResult, now_us: int) -> list[Routed]:
    """Return the records of a message that was not simply delivered; each fault counts it once."""
    source, serial, by = message.source, message.serial, result.by
    records = []
    for due_us in result.extra:
        later_us = None if due_us == result.due_us else due_us
        records.append(Routed(now_us, source, serial, "duplicated", by=by, due_us=later_us))
        by = ()
    if result.reordered:
        records.append(Routed(now_us, source, serial, "reordered", by=by, due_us=result.due_us))
    elif result.fate:
        records.append(Routed(now_us, source, serial, result.fate, result.why, by, result.due_us))
    return records
