"""Execute commands in any world and record their outcomes.

A process fault is recorded before it is applied, so its consequences come after it in the recording. Recording is
re-entrant: every ``record`` may fire triggers, and so execute further commands, before it returns. Update state
before recording, and re-read it afterwards.
"""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Literal

from msgspec import Struct

from lab.kernel import CommandInput, Message, Protocol, Timing, encode
from lab.network import Links, Network, Rule
from lab.protocols import Election
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Captioned, Commanded, Event, Expected, Fault, Injected, Record, Routed
from lab.recording.writer import RecordLog
from lab.script.commands import (
    Answer,
    Caption,
    Command,
    Heal,
    Hint,
    Inject,
    LinkFault,
    NodeCommand,
    Partition,
    ProtocolCommandLine,
    Slow,
    WorldCommand,
)
from lab.script.director import Director
from lab.script.scope import CommandError, Scope
from lab.script.statements import CAUSES, Expectation, ExpectationResult, Statement
from lab.units import format_count


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


def format_ids(nodes: tuple[int, ...]) -> str:
    """Return node ids as a command line lists them, with blanks between them."""
    return " ".join(map(str, nodes))


WATCHED = ("freeze", "go", "speed")
"""The verbs that change only how a run is watched; the run itself does not depend on them."""


class NodeOperations:
    """Operations on nodes. Those that return a bool return False where they would change nothing."""

    def kill(self, node: int) -> bool:
        """Crash a node, now: nothing that it does counts from here on."""
        raise NotImplementedError

    def pause(self, node: int) -> bool:
        """Pause a node."""
        raise NotImplementedError

    def resume(self, node: int) -> bool:
        """Let a paused node continue."""
        raise NotImplementedError

    def restart(self, node: int) -> bool:
        """Start a new incarnation."""
        raise NotImplementedError

    def wipe(self, node: int) -> bool:
        """Empty the stable storage of a node that is down."""
        raise NotImplementedError

    def process_state(self, node: int) -> Literal["running", "paused", "down"]:
        """Return the state of the node's process. A paused node takes its inputs when it continues."""
        raise NotImplementedError

    def give_command(self, node: int, command: CommandInput) -> None:
        """Give a protocol command to a node that is not down."""
        raise NotImplementedError

    def forge(self, message: Message) -> None:
        """Deliver a message now, bypassing the links; if its target is down, it is lost."""
        raise NotImplementedError

    def steer(self, command: WorldCommand, in_script: bool) -> tuple[bool, str]:
        """Change the course of time; return (whether anything changed, a description). Raises CommandError.

        The base class has real time, which cannot be steered. It skips a script's commands that change only the
        pace.
        """
        if in_script and command.verb in WATCHED:
            return True, "skipped: this run is in real time"
        raise CommandError(f"{command.verb}: only in a simulated run: lab run bully --sim")


# link faults: set as rules of the network, and lifted as a whole or on some of their links

_ENDS = {
    "heal": ((), "no link fault is in force", "no fault is in force"),
    "release": (("hold",), "nothing is held", "nothing is held"),
    "join": (("cut", "partition"), "nothing is cut", "nothing is cut"),
}
"""For each verb: the kinds of faults that it ends (none: all), and two replies when there is nothing to end.

The first reply: there are no such faults at all; the second: none on the links named.
"""


class LinkFaults:
    """Set and lift link faults. ``number_next`` returns the number of a new fault.

    ``spare`` is the unused part of Tm and Tp: a longer delay breaks assumption 8 or 9.
    """

    def __init__(
        self,
        network: Network,
        spare: Timing,
        record: Callable[[Record], None],
        now_us: Callable[[], int],
        number_next: Callable[[], int],
    ) -> None:
        self._network = network
        self._spare = spare
        self._record = record
        self._now_us = now_us
        self._number_next = number_next
        self._kinds: dict[int, str] = {}

    def resume(self, rules: dict[int, tuple[str, Rule]]) -> None:
        """Continue a run in which these rules were in force, each with its kind."""
        for number, (kind, rule) in rules.items():
            self._network.add_rule(number, rule)
            self._kinds[number] = kind

    def add_rule(self, verb: str, text: str, line: int, rule: Rule) -> CommandOutcome:
        """Begin a fault. It replaces an older one of this verb for the same links and kinds of messages.

        A partition replaces any older partition.
        """
        rules, partitions = self._network.rules, verb == "partition"
        same = [
            number
            for number, kind in self._kinds.items()
            if kind == verb
            and (partitions or (rules[number].links, rules[number].kinds) == (rule.links, rule.kinds))
        ]
        for number in same:
            self._lift(number)
        number = self._number_next()
        self._network.add_rule(number, rule)
        self._kinds[number] = verb
        broken, links = rule.broken_assumptions(self._spare), tuple(sorted(rule.links))
        self._record(Fault(self._now_us(), number, verb, text, (), broken, links, line=line))
        return CommandOutcome(True, format_count(len(rule.links), "link"))

    def heal(self, command: Heal, cluster: ClusterState) -> CommandOutcome:
        """End the faults of the verb's kinds, on the links named."""
        kinds, none, none_there = _ENDS[command.verb]
        selected = [number for number, kind in self._kinds.items() if not kinds or kind in kinds]
        if not selected:
            return CommandOutcome(False, f"{none}, nothing changed")
        healed = None if command.links is None else command.links.resolve(cluster)
        touching = [n for n in selected if healed is None or self._network.rules[n].links & healed]
        if not touching:
            return CommandOutcome(False, f"{none_there} on these links, nothing changed")
        for number in touching:
            self._lift(number, healed)
        over = sum(number not in self._kinds for number in touching)
        parts = [f"{format_count(over, 'fault')} ended"] if over else []
        if len(touching) > over:
            parts.append(f"{format_count(len(touching) - over, 'fault')} narrowed")
        return CommandOutcome(True, ", ".join(parts))

    def _lift(self, number: int, healed: Links | None = None) -> None:
        """End a fault on these links (None: on all); do nothing if it has ended already."""
        rule = self._network.rules.get(number)
        if rule is None:
            return
        now_us, kind = self._now_us(), self._kinds[number]
        released = self._network.remove_links(number, rule.links if healed is None else healed, now_us)
        lifted = number not in self._network.rules
        if lifted:
            del self._kinds[number]
        for message in released:
            self._record(Routed(now_us, message.source, message.serial, "released", by=(number,)))
        if lifted:
            self._record(Fault(now_us, number, kind, lifted=True))
        elif number in self._kinds:
            self._record(Fault(now_us, number, kind, links=tuple(sorted(self._network.rules[number].links))))


# commands on nodes: crashes and other process faults, protocol commands, forged messages


class _NodeAction(Struct, frozen=True):
    """Reply texts for affected and unaffected nodes, and the process events that confirm the effect."""

    done: str
    refused: str
    confirmed_by: tuple[Event, ...] = ()
    is_fault: bool = False


_ACTIONS = {
    "kill": _NodeAction("killed", "already down", ("killed", "failed"), is_fault=True),
    "restart": _NodeAction("restarted", "already up", ("started",)),
    "pause": _NodeAction("paused", "not running", ("paused",), is_fault=True),
    "resume": _NodeAction("resumed", "not paused", ("resumed",)),
    "wipe": _NodeAction("wiped", "up, or has nothing stored; wipe a node that is down", is_fault=True),
}
_GIVEN = {"running": "told", "paused": "told when it resumes", "down": "down"}


def confirming_events(command: NodeCommand) -> tuple[Event, ...]:
    """Return the process events that confirm the command's effect; none if there is nothing to see."""
    return _ACTIONS[command.verb].confirmed_by


class NodeCommands:
    """Execute commands on nodes. ``number_next`` returns the number of a new fault."""

    def __init__(
        self,
        protocol: type[Protocol],
        parameters: Mapping[str, Any],
        nodes: NodeOperations,
        record: Callable[[Record], None],
        now_us: Callable[[], int],
        number_next: Callable[[], int],
    ) -> None:
        self._protocol = protocol
        self._parameters = parameters
        self._nodes = nodes
        self._record = record
        self._now_us = now_us
        self._number_next = number_next

    def execute(self, command: NodeCommand, line: int, cluster: ClusterState) -> CommandOutcome:
        """Apply the verb to the nodes' processes; lift a fault at once if it affected none."""
        verb, action = command.verb, _ACTIONS[command.verb]
        named = command.nodes.resolve(cluster)
        act = getattr(self._nodes, verb)
        fault = None
        if action.is_fault:
            fault = self._number_next()
            broken = (CAUSES[verb],) if verb in CAUSES else ()
            self._record(
                Fault(self._now_us(), fault, verb, f"{verb} {format_ids(named)}", named, broken, line=line)
            )
        affected = tuple(node for node in named if act(node))
        left = tuple(node for node in named if node not in affected)
        if fault is not None and not affected:
            self._record(Fault(self._now_us(), fault, verb, lifted=True))
        parts = []
        if affected:
            parts.append(f"{format_ids(affected)} {action.done}")
        if left and not (affected and command.nodes.words):
            parts.append(f"{format_ids(left)}: {action.refused}" + ("" if affected else ", nothing changed"))
        return CommandOutcome(bool(affected), "; ".join(parts), affected=affected)

    def inject(self, command: Inject, text: str, line: int, cluster: ClusterState) -> CommandOutcome:
        """Forge a message."""
        source, target = command.source, command.target
        payload = command.payload(Scope(self._protocol, cluster.nodes))
        fault = self._number_next()
        message = Message(source, target, -fault, command.kind, encode(payload))
        self._record(Fault(self._now_us(), fault, "inject", text, (), (CAUSES["inject"],), line=line))
        self._record(Injected(self._now_us(), message))
        process_state = self._nodes.process_state(target)
        self._nodes.forge(message)
        if process_state == "down":
            return CommandOutcome(False, f"{target} is down, nothing changed")
        later = f"; {target} takes it when it resumes" if process_state == "paused" else ""
        return CommandOutcome(True, f"{command.kind} {source}->{target} forged{later}")

    def give_command(self, command: ProtocolCommandLine, cluster: ClusterState) -> CommandOutcome:
        """Return the outcome with each node's command input; ``Control`` delivers them after recording it."""
        given = command.input(Scope(self._protocol, cluster.nodes, self._parameters))
        named = command.targets(cluster, self._protocol)
        how = {node: self._nodes.process_state(node) for node in named}
        reached = {node: given for node in named if how[node] != "down"}
        for_leader = self._protocol.commands[given.command].to == "one" and issubclass(self._protocol, Election)
        parts = [
            f"{format_ids(nodes)} {became}"
            for state, became in _GIVEN.items()
            if (nodes := tuple(node for node in named if how[node] == state))
        ]
        if not reached:
            parts[-1] += ", nothing changed"
        elif for_leader and not all(cluster.nodes[node].leads for node in reached):
            parts.append("this is for the elected coordinator; the log says whether it was refused")
        return CommandOutcome(bool(reached), "; ".join(parts), command_inputs=reached)


# all commands


class Control:
    """Execute commands and record what they did.

    ``record`` appends to ``log``; ``now_us`` is the clock. ``director`` learns when a line of a script is done;
    lines that follow it and are due then are executed too. ``spare`` is the unused part of Tm and Tp: a longer
    delay breaks assumption 8 or 9.
    """

    def __init__(
        self,
        protocol: type[Protocol],
        nodes: NodeOperations,
        network: Network,
        director: Director,
        log: RecordLog,
        spare: Timing,
        record: Callable[[Record], None],
        now_us: Callable[[], int],
    ) -> None:
        self.protocol = protocol
        self._nodes = nodes
        self._director = director
        self._log = log
        self._record = record
        self._now_us = now_us
        self._ids_alone = ClusterState.of(log.header)
        self._faults = 0
        parameters = log.header.protocol.parameters
        self._node_commands = NodeCommands(protocol, parameters, nodes, record, now_us, self._number_next)
        self._link_faults = LinkFaults(network, spare, record, now_us, self._number_next)

    def resume(self, faults: int, rules: dict[int, tuple[str, Rule]]) -> None:
        """Continue a run that had this many faults; ``rules``: the link faults in force, each with its kind."""
        self._faults = faults
        self._link_faults.resume(rules)

    def _number_next(self) -> int:
        self._faults += 1
        return self._faults

    def execute(self, scripted: Statement) -> CommandOutcome:
        """Execute a line, and then the lines of its script that become due."""
        if isinstance(scripted.command, Expectation):
            self._director.add(scripted)
            for line in self._director.on_record(None):  # the expectation may be met already
                self.execute(line)
            return CommandOutcome(True, f"waits: {scripted.source}")
        outcome = self._perform(scripted)
        due = deque([(scripted, outcome)])
        while due:
            line, came = due.popleft()
            if isinstance(line.command, ExpectationResult) and not line.command.met:
                continue
            due.extend((each, self._perform(each)) for each in self._director.line_done(line, came.affected))
        return outcome

    def _perform(self, line: Statement) -> CommandOutcome:
        command, at_us = line.command, self._now_us()
        follows_nothing = isinstance(command, ExpectationResult) and not command.met
        if line.line and not follows_nothing:
            self._director.line_started(line, *self._expected_events(command))
        if isinstance(command, ExpectationResult):
            self._record(Expected(at_us, line.source, command.met, command.why, line.line))
            return CommandOutcome(True, "")
        if isinstance(command, Caption):
            self._record(Captioned(at_us, command.text, command.verb == "mark", line.line))
            return CommandOutcome(True, command.text)
        assert not isinstance(command, Expectation)  # a due expectation comes as an ExpectationResult
        return self._carry_out(line, command)

    def _expected_events(
        self, command: Command | ExpectationResult | Expectation
    ) -> tuple[tuple[int, ...], tuple[Event, ...]]:
        """Return the nodes a line will affect and the events that confirm it; both empty if it will be refused."""
        if not isinstance(command, NodeCommand) or not (events := confirming_events(command)):
            return (), ()
        try:
            return command.nodes.resolve(self._log.cluster), events
        except CommandError:
            return (), ()

    def _carry_out(self, scripted: Statement, command: Command) -> CommandOutcome:
        """Execute a command and record the outcome, even if it was refused."""
        # the state of the cluster may be costly to compute, and most commands name nodes by their ids
        by_role = "coordinator" in scripted.text or isinstance(command, ProtocolCommandLine)
        cluster = self._log.cluster if by_role else self._ids_alone
        try:
            outcome = self._execute(command, scripted, cluster)
        except CommandError as error:
            outcome = CommandOutcome(False, str(error), refused=True)
        self._record(
            Commanded(
                self._now_us(),
                scripted.source,
                outcome.text,
                outcome.changed,
                outcome.refused,
                tuple(outcome.command_inputs),
                scripted.line,
            )
        )
        for node, given in outcome.command_inputs.items():
            self._nodes.give_command(node, given)
        return outcome

    def _execute(self, command: Command, scripted: Statement, cluster: ClusterState) -> CommandOutcome:
        text, line = scripted.text, scripted.line
        match command:
            case NodeCommand():
                return self._node_commands.execute(command, line, cluster)
            case LinkFault() | Slow() | Partition():
                return self._link_faults.add_rule(text.partition(" ")[0], text, line, command.rule(cluster))
            case Heal():
                return self._link_faults.heal(command, cluster)
            case Inject() | ProtocolCommandLine():
                return self._speak(command, text, line, cluster)
            case WorldCommand():
                return CommandOutcome(*self._nodes.steer(command, in_script=bool(line)))
            case Answer() | Hint() | Caption():  # captions are only recorded: see _perform
                return self._note()

    def _speak(
        self, command: Inject | ProtocolCommandLine, text: str, line: int, cluster: ClusterState
    ) -> CommandOutcome:
        if isinstance(command, Inject):
            return self._node_commands.inject(command, text, line, cluster)
        return self._node_commands.give_command(command, cluster)

    def _note(self) -> CommandOutcome:
        """Accept a command whose only effect is its record."""
        if self._log.header.exercise is None:
            raise CommandError("this run belongs to no exercise; lab exercise list shows the exercises")
        return CommandOutcome(True, "noted")
