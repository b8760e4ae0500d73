"""The live network: takes steps in, records them, and moves their messages from node to node."""

from collections.abc import Callable, Sequence

import msgspec

from lab.kernel import CommandInput, Message, Received, Step
from lab.network import Network
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Record, Routed
from lab.recording.writer import Writer
from lab.script.director import Director
from lab.script.statements import Statement
from lab.worlds.live.connection import Connection, Start
from lab.worlds.processes.json_lines import GARBAGE
from lab.worlds.routing import records_of

_encode = msgspec.json.Encoder().encode
_decode_step = msgspec.json.Decoder(Step).decode


class NotAStepError(Exception):
    """A node process sent something that is not a valid step of its node."""


class Router:
    """The router. ``connections`` are the nodes that are up; ``execute`` runs a command that has become due.

    ``unflushed`` are the connections with something to write. The caller flushes them after the recording, so that
    everything is recorded before anyone can see it.
    """

    def __init__(
        self,
        writer: Writer,
        director: Director,
        network: Network,
        now_us: Callable[[], int],
    ) -> None:
        self.connections: dict[int, Connection] = {}
        self.unflushed: dict[int, Connection] = {}
        self.serials: dict[int, int] = {}
        self.execute: Callable[[Statement], object] = lambda scripted: None
        self.network = network
        self._writer = writer
        self._director = director
        self._now_us = now_us

    @property
    def cluster(self) -> ClusterState:
        """The state of the cluster after the last record."""
        return self._writer.cluster

    def record(self, record: Record, line: bytes | None = None) -> None:
        """Append a record, and execute the commands that it triggers."""
        self._writer.append(record, line)
        for scripted in self._director.on_record(record):
            self.execute(scripted)

    def receive(self, connection: Connection, line: bytes) -> None:
        """Take in a line from a node; if the node is paused, keep it in the backlog. Raises NotAStepError."""
        if connection.paused:
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
        """Return (the step, the message that it took in). Raises NotAStepError for an impossible one."""
        try:
            step = _decode_step(line)
        except GARBAGE as error:
            raise NotAStepError(str(error)) from None
        if step.node != connection.node or step.incarnation != connection.incarnation:
            raise NotAStepError(f"a step of node {step.node}, incarnation {step.incarnation}")
        if isinstance(step.input, CommandInput) and (
            not connection.commands or connection.commands.pop(0) != step.input
        ):
            raise NotAStepError(f"command {step.input.command}, which it was not given")
        if not isinstance(step.input, Received):
            return step, None
        received = connection.consumed(step.input.source, step.input.serial)
        if received is None:
            message = f"message {step.input.serial} of node {step.input.source}"
            raise NotAStepError(f"{message}, which was not delivered to it")
        return step, received

    def send(self, connection: Connection, messages: Sequence[Message]) -> None:
        """Route messages of one node; a fault triggered by one of them strikes before the next."""
        for index, message in enumerate(messages):
            if self.connections.get(connection.node) is not connection:
                for unsent in messages[index:]:
                    self.drop(unsent, "unsent")
                break
            if connection.paused:
                connection.unsent += messages[index:]
                break
            self._route(message)
        self.deliver_due()

    def start(self, connection: Connection, start: Start) -> None:
        """Let a node begin."""
        connection.put(_encode(start))
        self.unflushed[connection.node] = connection

    def give_command(self, connection: Connection, command: CommandInput) -> None:
        """Queue a protocol command for a node, after earlier inputs."""
        if connection.put(_encode(command)):
            connection.commands.append(command)
            self.unflushed[connection.node] = connection

    def resume(self, connection: Connection) -> None:
        """Continue a paused node: send its unsent messages, then process its backlog."""
        unsent, connection.unsent = connection.unsent, []
        backlog, connection.backlog = connection.backlog, []
        self.send(connection, unsent)
        for line in backlog:
            if self.connections.get(connection.node) is connection:
                self.receive(connection, line)

    def deliver_due(self) -> None:
        """Deliver the messages that are due."""
        for message, cut in self.network.due(self._now_us()):
            if cut is not None:
                self.drop(message, "cut", by=(cut,))
            else:
                self.deliver(message)

    def deliver(self, message: Message) -> None:
        """Queue a message for its target, after earlier inputs; drop it if the target is down or not reading."""
        connection = self.connections.get(message.target)
        if connection is None:
            self.drop(message, "down")
        elif not connection.put(_encode(message)):
            self.drop(message, "overflow")
        else:
            connection.delivered.setdefault((message.source, message.serial), []).append(message)
            self.unflushed[connection.node] = connection

    def drop(self, message: Message, why: str, by: tuple[int, ...] = ()) -> None:
        """Record that a message will not arrive."""
        self.record(Routed(self._now_us(), message.source, message.serial, "dropped", why, by))
        self._due_on("drop", message)

    def disconnect(self, connection: Connection, why: str = "killed") -> None:
        """Remove a node that is gone, and drop the messages that it had not taken in or not sent."""
        self.connections.pop(connection.node, None)
        self.unflushed.pop(connection.node, None)
        for copies in connection.delivered.values():
            for message in copies:
                self.drop(message, why)
        for message in connection.unsent:
            self.drop(message, "unsent")
        connection.delivered.clear()
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
        for scripted in self._director.on_message(moment, message):
            self.execute(scripted)
