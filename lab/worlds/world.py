"""What all worlds have in common: the way of every message from node to node, and with it the order of records.

A step is recorded and shown to the director, and only then are its messages sent, one by one: a fault that one of
them triggers strikes before the next. A message in flight outlives its sender; messages that wait for a node die
with it. So the records of any world are a linear extension of happens-before, in the same order for the same
events. A world only decides when a message arrives, and what its nodes run in.
"""

from collections.abc import Iterable
from typing import Generic, Literal, TypeVar

from lab.kernel import CommandInput, Message, Protocol, Step
from lab.network import SendResult
from lab.recording.records import Process, Record, Routed
from lab.recording.writer import RecordLog
from lab.script.statements import Statement
from lab.worlds.control import Control
from lab.worlds.run import ActiveRun, CommandOutcome


class Incarnation:
    """One incarnation of a node, while it is up.

    While it is ``paused``, its inputs wait, and the rest of its last step's messages in ``unsent``.
    """

    def __init__(self, node: int, number: int) -> None:
        self.id = node
        self.number = number
        self.paused = False
        self.unsent: list[Message] = []

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

    def take_step(self, incarnation: AnIncarnation, step: Step, received: Message | None = None) -> None:
        """Record a step of a node, and send its messages. ``received``: the message that it took in."""
        sent = step.sent
        if sent:
            self.serials[incarnation.id] = sent[-1].serial + 1
        self.record(step)
        if received is not None and self.director.needs_records:
            self.trigger("deliver", received)
        if sent:
            self.send(incarnation, sent)

    def send(self, incarnation: AnIncarnation, messages: Iterable[Message]) -> None:
        """Put messages of a node on their links, as long as it is up and not paused."""
        for message in messages:
            if self.incarnations.get(incarnation.id) is not incarnation:
                self.drop(message, "unsent")
            elif incarnation.paused:
                incarnation.unsent.append(message)
            else:
                now_us = self.now_us
                result = self.network.send(message, now_us)
                if result is not None:
                    for record in _routing_records(message, result, now_us):
                        self.record(record)
                if self.director.needs_records:
                    self.trigger("send", message)
                    if result is not None and result.fate == "dropped":
                        self.trigger("drop", message)

    def arrive(self, message: Message, cut: int | None = None) -> None:
        """Give a message to its target, unless a cut stops it or the target is down."""
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

    def send_rest(self, incarnation: AnIncarnation) -> None:
        """Send the rest of the messages of the step that a pause interrupted."""
        unsent, incarnation.unsent = incarnation.unsent, []
        self.send(incarnation, unsent)


def _routing_records(message: Message, result: SendResult, now_us: int) -> list[Routed]:
    """Return the records of a message that was not simply delivered; each fault counts it once."""
    source, serial, by = message.source, message.serial, result.by
    records = []
    for _ in result.extra:
        records.append(Routed(now_us, source, serial, "duplicated", by=by))
        by = ()
    if result.reordered:
        records.append(Routed(now_us, source, serial, "reordered", by=by, due_us=result.due_us))
    elif result.fate:
        records.append(Routed(now_us, source, serial, result.fate, result.why, by, result.due_us))
    return records
