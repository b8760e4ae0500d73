"""What all worlds have in common: the way of every message from node to node, and with it the order of records.

A step is recorded and shown to the director, and only then are its messages sent, one by one: a fault that one of
them triggers strikes before the next. A message in flight outlives its sender; messages that wait for a node die
with it. So the records of any world are a linear extension of happens-before, in the same order for the same
events. A world only decides when a message arrives, and what its nodes run in.
"""

from collections.abc import Iterable
from random import Random
from typing import Generic, Literal, TypeVar

from lab.kernel import CommandInput, Message, Protocol, Step
from lab.network import Network, SendResult
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header, Process, Record, Routed
from lab.recording.writer import RecordLog
from lab.script.commands import WorldCommand
from lab.script.director import Director
from lab.script.scope import CommandError
from lab.script.statements import Statement
from lab.worlds.control import WATCHED, CommandOutcome, Control


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


class World(Generic[AnIncarnation]):
    """A run of ``protocol_class`` under way, recorded in ``log``, which begins with the header.

    ``incarnations`` are the nodes that are up, ``serials`` the numbers of each node's next message. ``network``
    has the messages in flight, ``director`` the lines of the script that wait for their triggers. ``fault_count``
    is the number of faults so far.

    Recording is re-entrant: every ``record`` may fire triggers, and so execute further commands, before it
    returns. Update state before recording, and re-read it afterwards.
    """

    def __init__(self, protocol: type[Protocol], log: RecordLog) -> None:
        self.protocol_class = protocol
        self.log = log
        self.header: Header = log.header
        self.ids = self.header.nodes
        link, seed = self.header.link, self.header.seed
        self.network = Network(
            lambda source, target: Random(f"{seed}/link/{source}->{target}"), link.latency_us, link.jitter_us
        )
        self.director = Director(self)
        self.fault_count = 0
        self.incarnations: dict[int, AnIncarnation] = {}
        self.serials = dict.fromkeys(self.ids, 1)
        self.control = Control(self)

    @property
    def now_us(self) -> int:
        """The run's clock."""
        raise NotImplementedError

    @property
    def cluster(self) -> ClusterState:
        """The cluster after the last record."""
        return self.log.cluster

    def next_fault(self) -> int:
        """Return the number of a new fault."""
        self.fault_count += 1
        return self.fault_count

    def record(self, record: Record) -> None:
        """Append a record, and execute the commands that it triggers."""
        self.log.append(record)
        if self.director.needs_records:
            for statement in self.director.on_record(record):
                self.execute(statement)

    def trigger(self, event: Literal["send", "deliver", "drop"], message: Message) -> None:
        """Execute the commands that this event triggers."""
        for statement in self.director.on_message(event, message):
            self.execute(statement)

    def execute_due(self) -> None:
        """Execute the commands that are due by the clock."""
        for statement in self.director.due(self.now_us):
            self.execute(statement)

    def finish(self) -> None:
        """Record the outcomes of the expectations at the end of the run."""
        for statement in self.director.finish():
            self.execute(statement)

    def execute(self, statement: Statement) -> CommandOutcome:
        """Execute a line of a script, or a command given by hand, and record its outcome."""
        return self.control.execute(statement)

    # Operations on nodes, as each world does them. Those that return a bool return False where they would change
    # nothing.

    def kill(self, node: int) -> bool:
        """Crash a node, now: nothing that it does counts from here on."""
        raise NotImplementedError

    def pause(self, node: int) -> bool:
        """Pause a node: its inputs wait."""
        raise NotImplementedError

    def resume(self, node: int) -> bool:
        """Let a paused node continue: its inputs come first, then the timers that have expired."""
        raise NotImplementedError

    def restart(self, node: int) -> bool:
        """Start a new incarnation with the contents of stable storage."""
        raise NotImplementedError

    def wipe(self, node: int) -> bool:
        """Empty the stable storage of a node that is down."""
        raise NotImplementedError

    def deliver(self, incarnation: AnIncarnation, node_input: Message | CommandInput) -> None:
        """Give a node an input; if it is in a step or paused, the input waits, after earlier ones."""
        raise NotImplementedError

    def steer(self, command: WorldCommand, in_script: bool) -> tuple[bool, str]:
        """Change the course of time; return (whether anything changed, a description). Raises CommandError.

        Real time cannot be steered: a script's commands that change only the pace are skipped.
        """
        if in_script and command.verb in WATCHED:
            return True, "skipped: this run is in real time"
        raise CommandError(f"{command.verb}: only in a simulated run: lab run bully --sim")

    def process_state(self, node: int) -> Literal["running", "paused", "down"]:
        """Return the state of the node's process. A paused node takes its inputs when it continues."""
        incarnation = self.incarnations.get(node)
        return "down" if incarnation is None else "paused" if incarnation.paused else "running"

    def give_command(self, node: int, command: CommandInput) -> None:
        """Give a protocol command to a node; if it is in a step or paused, it takes the command later."""
        incarnation = self.incarnations.get(node)
        if incarnation is not None:  # else it has failed on an earlier input
            self.deliver(incarnation, command)

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
