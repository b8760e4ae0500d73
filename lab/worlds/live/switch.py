"""The live network: takes steps in, records them, and moves their messages from node to node."""

from collections.abc import Callable, Sequence

import msgspec

from lab.kernel import CommandInput, Message, Received, Step
from lab.network import Network
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Record, Routed
from lab.recording.writer import Writer
from lab.script import Director, Scripted
from lab.worlds.host.lines import GARBAGE
from lab.worlds.live.connection import Connection
from lab.worlds.live.wire import Start
from lab.worlds.routing import records_of

__all__ = ["NotAStepError", "Switch"]

_encode = msgspec.json.Encoder().encode
_decode_step = msgspec.json.Decoder(Step).decode


class NotAStepError(Exception):
    """A node process said something that is no step of its node."""


class Switch:
    """``connections`` are the nodes that are up; ``execute`` carries out a command that has become due.

    ``touched`` are the connections with something to flush, which the caller does once the recording is
    flushed: what was done is written down before anybody can see it.
    """

    def __init__(
        self,
        writer: Writer,
        director: Director,
        network: Network,
        now_us: Callable[[], int],
    ) -> None:
        self.connections: dict[int, Connection] = {}
        self.touched: dict[int, Connection] = {}
        self.serials: dict[int, int] = {}
        self.execute: Callable[[Scripted], object] = lambda scripted: None
        self.network = network
        self._writer = writer
        self._director = director
        self._now_us = now_us

    @property
    def cluster(self) -> ClusterState:
        """The cluster after the last record."""
        return self._writer.cluster

    def record(self, record: Record, line: bytes | None = None) -> None:
        """Write a record down, and do what has become due by it."""
        self._writer.append(record, line)
        for scripted in self._director.after(record):
            self.execute(scripted)

    def take(self, connection: Connection, line: bytes) -> None:
        """Take in a line of a node; where the node stands still, the line waits. NotAStepError."""
        if connection.standing:
            connection.backlog.append(line)
            return
        step, received = self._read(connection, line)
        if step.sent:
            self.serials[connection.node] = step.sent[-1].serial + 1
        self.record(step, line)
        if received is not None:
            self._due_on("deliver", received)
        self.send(connection, step.sent)

    def _read(self, connection: Connection, line: bytes) -> tuple[Step, Message | None]:
        """(the step, the message that it took in); NotAStepError for what no node of ours would say."""
        try:
            step = _decode_step(line)
        except GARBAGE as error:
            raise NotAStepError(str(error)) from None
        if step.node != connection.node or step.incarnation != connection.incarnation:
            raise NotAStepError(f"a step of node {step.node}, life {step.incarnation}")
        if isinstance(step.input, CommandInput) and (not connection.told or connection.told.pop(0) != step.input):
            raise NotAStepError(f"{step.input.command}, which it was not told")
        if not isinstance(step.input, Received):
            return step, None
        received = connection.consumed(step.input.source, step.input.serial)
        if received is None:
            told = f"message {step.input.serial} of node {step.input.source}"
            raise NotAStepError(f"{told}, which it was not handed")
        return step, received

    def send(self, connection: Connection, messages: Sequence[Message]) -> None:
        """Route messages of one node; a fault that one of them triggers strikes before the next."""
        for index, message in enumerate(messages):
            if self.connections.get(connection.node) is not connection:
                for unsent in messages[index:]:
                    self.drop(unsent, "unsent")
                break
            if connection.standing:
                connection.unsent += messages[index:]
                break
            self._route(message)
        self.deliver_due()

    def start(self, connection: Connection, start: Start) -> None:
        """Let a node begin."""
        connection.put(_encode(start))
        self.touched[connection.node] = connection

    def tell(self, connection: Connection, told: CommandInput) -> None:
        """Give a node a command of its protocol's own, behind what it was handed before."""
        if connection.put(_encode(told)):
            connection.told.append(told)
            self.touched[connection.node] = connection

    def release(self, connection: Connection) -> None:
        """A node goes on: so does what it had on its way when it was paused."""
        unsent, connection.unsent = connection.unsent, []
        backlog, connection.backlog = connection.backlog, []
        self.send(connection, unsent)
        for line in backlog:
            if self.connections.get(connection.node) is connection:
                self.take(connection, line)

    def deliver_due(self) -> None:
        """Hand over what arrives by now."""
        for message, cut in self.network.due(self._now_us()):
            if cut is not None:
                self.drop(message, "cut", by=(cut,))
            else:
                self.hand_over(message)

    def hand_over(self, message: Message) -> None:
        """It arrives: the node takes it in behind what it was handed before."""
        connection = self.connections.get(message.target)
        if connection is None:
            self.drop(message, "down")
        elif not connection.put(_encode(message)):
            self.drop(message, "overflow")
        else:
            connection.handed.setdefault((message.source, message.serial), []).append(message)
            self.touched[connection.node] = connection

    def drop(self, message: Message, why: str, by: tuple[int, ...] = ()) -> None:
        """Record that a message will not arrive."""
        self.record(Routed(self._now_us(), message.source, message.serial, "dropped", why, by))
        self._due_on("drop", message)

    def forget(self, connection: Connection, why: str = "killed") -> None:
        """The node is gone: what was handed to it, and not taken in, is gone with it."""
        self.connections.pop(connection.node, None)
        self.touched.pop(connection.node, None)
        for copies in connection.handed.values():
            for message in copies:
                self.drop(message, why)
        for message in connection.unsent:
            self.drop(message, "unsent")
        connection.handed.clear()
        connection.unsent.clear()

    def _route(self, message: Message) -> None:
        now_us = self._now_us()
        sending = self.network.send(message, now_us)
        if sending is not None:
            for record in records_of(message, sending, now_us):
                self.record(record)
        self._due_on("send", message)
        if sending is not None and sending.fate == "dropped":
            self._due_on("drop", message)

    def _due_on(self, moment: str, message: Message) -> None:
        for scripted in self._director.on(moment, message):
            self.execute(scripted)
