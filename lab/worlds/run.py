"""A run under way: what commands find in every world, and what the world offers them."""

from random import Random
from typing import Literal

from msgspec import Struct

from lab.kernel import CommandInput, Message, Protocol
from lab.network import Network
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header, Record
from lab.recording.writer import RecordLog
from lab.replay.roster import Roster
from lab.script.commands import WorldCommand
from lab.script.director import Director
from lab.script.scope import CommandError
from lab.script.statements import Statement

WATCHED = ("freeze", "go", "speed")
"""The verbs that change only how a run is watched; the run itself does not depend on them."""


MessageEvent = Literal["before send", "send", "before deliver", "deliver", "drop"]
"""The moments of a message: it is about to leave, has left, is about to be handed over, was taken in, or lost."""


class CommandOutcome(Struct, frozen=True):
    """The outcome of a command: whether anything changed, and a description. ``refused``: it was invalid.

    ``command_inputs`` maps nodes to the inputs still to be delivered to them. ``affected``: the nodes whose
    processes have changed.
    """

    changed: bool
    text: str
    refused: bool = False
    command_inputs: dict[int, CommandInput] = {}
    affected: tuple[int, ...] = ()


class ActiveRun:
    """A run of ``protocol_class``, recorded in ``log``, which begins with the header.

    ``roster`` makes its nodes; ``ids`` are all of them. ``network`` has the messages in flight, ``director`` the
    lines of the script that wait for their triggers. ``fault_count`` is the number of faults so far.

    Recording is re-entrant: every ``record`` may fire triggers, and so execute further commands, before it
    returns. Update state before recording, and re-read it afterwards.
    """

    def __init__(self, protocol: type[Protocol], log: RecordLog) -> None:
        self.protocol_class = protocol
        self.log = log
        self.header: Header = log.header
        self.roster = Roster.of(self.header, protocol)
        self.ids = self.roster.ids
        self.network = _network_of(self.header)
        self.director = Director(self)
        self.fault_count = 0

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

    def trigger(self, event: MessageEvent, message: Message) -> None:
        """Execute the commands that this event of a message triggers."""
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
        raise NotImplementedError

    # Operations on nodes. Those that return a bool return False where they would change nothing.

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

    def unwrite(self, node: int, count: int) -> bool:
        """Undo the last writes to the stable storage of a node that is down."""
        raise NotImplementedError

    def tear(self, node: int) -> bool:
        """Tear the last write to the stable storage of a node that is down."""
        raise NotImplementedError

    def flip(self, node: int) -> bool:
        """Flip a bit in the stable storage of a node that is down."""
        raise NotImplementedError

    def slow_disk(self, node: int, us: int) -> None:
        """Let each step of a node that writes stable storage take this much longer from now on; 0: no longer."""
        raise NotImplementedError

    def process_state(self, node: int) -> Literal["running", "paused", "down"]:
        """Return the state of the node's process. A paused node takes its inputs when it continues."""
        raise NotImplementedError

    def give_command(self, node: int, command: CommandInput) -> None:
        """Give a protocol command to a node; if it is in a step or paused, it takes the command later."""
        raise NotImplementedError

    def forge(self, message: Message) -> None:
        """Deliver a message now, bypassing the links; if its target is down, it is lost."""
        raise NotImplementedError

    def steer(self, command: WorldCommand, in_script: bool) -> tuple[bool, str]:
        """Change the course of time; return (whether anything changed, a description). Raises CommandError.

        Real time cannot be steered: a script's commands that change only the pace are skipped.
        """
        if in_script and command.verb in WATCHED:
            return True, "skipped: this run is in real time"
        raise CommandError(f"{command.verb}: only in a simulated run: lab run bully --sim")


def _network_of(header: Header) -> Network:
    """Return the network that the header describes; its seed determines each link's random draws."""
    link = header.link
    return Network(
        lambda source, target: Random(f"{header.seed}/link/{source}->{target}"), link.latency_us, link.jitter_us
    )
