"""Execute commands in any world and record their outcomes.

A process fault is recorded before it is applied, so its consequences come after it in the recording. Every record
may fire triggers, and so execute further commands: see ``ActiveRun``.
"""

from collections import deque

from msgspec import Struct
from msgspec.structs import replace

from lab.kernel import Message, Timing
from lab.network import Links, Rule, broken_together
from lab.protocols import Election
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Captioned, Commanded, Event, Expected, Fault, Injected, Routed
from lab.script.commands import (
    Answer,
    Cancel,
    Caption,
    Command,
    Heal,
    Hint,
    Inject,
    LinkFault,
    NodeCommand,
    Nodes,
    Partition,
    ProtocolCommandLine,
    Slow,
    SlowDisk,
    WorldCommand,
)
from lab.script.scope import CommandError, NodeNames, Scope
from lab.script.statements import CAUSES, Expectation, ExpectationResult, Statement
from lab.units import format_count
from lab.worlds.run import ActiveRun, CommandOutcome


class _NodeAction(Struct, frozen=True):
    """Reply texts for affected and unaffected nodes, and the process events that confirm the effect.

    ``refused`` has braces for the nodes. ``needs_down``: only a node that is down can be affected.
    """

    done: str
    refused: str
    confirmed_by: tuple[Event, ...] = ()
    is_fault: bool = False
    needs_down: bool = False


_ACTIONS = {
    "kill": _NodeAction("killed", "{}: already down", ("killed", "failed"), is_fault=True),
    "restart": _NodeAction("restarted", "{}: already up", ("started",)),
    "pause": _NodeAction("paused", "{}: not running", ("paused",), is_fault=True),
    "resume": _NodeAction("resumed", "{}: not paused", ("resumed",)),
    "wipe": _NodeAction("wiped", "nothing is stored on {}", is_fault=True, needs_down=True),
    "unwrite": _NodeAction("lost writes", "nothing is stored on {}", is_fault=True, needs_down=True),
    "tear": _NodeAction("torn", "no whole last write is stored on {}", is_fault=True, needs_down=True),
    "flip": _NodeAction("flipped", "nothing is stored on {}", is_fault=True, needs_down=True),
}
"""By verb, which is also the name of the operation in ``ActiveRun``."""

_GIVEN = {"running": "told", "paused": "told when it resumes", "down": "down"}


class Control:
    """Execute the commands of a run, and record what they did."""

    def __init__(self, run: ActiveRun) -> None:
        self._run = run
        self._link_faults = LinkFaults(run)
        self._slow_disks = SlowDisks(run)
        self._ids_alone = ClusterState.of(run.header)
        self._names = NodeNames.of(run.header)

    def resume(self, rules: dict[int, tuple[str, Rule]], slow_disks: dict[int, tuple[int, int]]) -> None:
        """Continue a run in which these faults were in force.

        ``rules`` has the link faults, each with its kind, ``slow_disks`` (fault, time) by node.
        """
        self._link_faults.resume(rules)
        self._slow_disks.resume(slow_disks)

    def execute(self, statement: Statement) -> CommandOutcome:
        """Execute a line, and then the lines of its script that become due."""
        director = self._run.director
        if isinstance(statement.command, Expectation):
            director.add(statement)
            for line in director.on_record(None):  # the expectation may be met already
                self.execute(line)
            return CommandOutcome(True, f"waits: {statement.source}")
        outcome = self._perform(statement)
        due = deque([(statement, outcome)])
        while due:
            line, came = due.popleft()
            if isinstance(line.command, ExpectationResult) and not line.command.met:
                continue
            due.extend((each, self._perform(each)) for each in director.line_done(line, came.affected))
        return outcome

    def _perform(self, line: Statement) -> CommandOutcome:
        run, command, at_us = self._run, line.command, self._run.now_us
        follows_nothing = isinstance(command, ExpectationResult) and not command.met
        if line.line and not follows_nothing:
            run.director.line_started(line, *self._expected_events(command))
        if isinstance(command, ExpectationResult):
            run.record(Expected(at_us, line.source, command.met, command.why, line.line))
            return CommandOutcome(True, "")
        if isinstance(command, Caption):
            run.record(Captioned(at_us, command.text, command.verb == "mark", line.line))
            return CommandOutcome(True, command.text)
        assert not isinstance(command, Expectation)  # a due expectation comes as an ExpectationResult
        return self._carry_out(line, command)

    def _expected_events(
        self, command: Command | ExpectationResult | Expectation
    ) -> tuple[tuple[int, ...], tuple[Event, ...]]:
        """Return the nodes a line will affect and the events that confirm it; both empty if it will be refused."""
        if not isinstance(command, NodeCommand) or not (events := _ACTIONS[command.verb].confirmed_by):
            return (), ()
        try:
            return command.nodes.resolve(self._run.cluster), events
        except CommandError:
            return (), ()

    def _carry_out(self, statement: Statement, command: Command) -> CommandOutcome:
        """Execute a command and record the outcome, even if it was refused."""
        run = self._run
        # the state of the cluster may be costly to compute, and most commands name nodes by their ids
        by_role = "coordinator" in statement.text or isinstance(command, ProtocolCommandLine)
        cluster = run.cluster if by_role else self._ids_alone
        try:
            outcome = self._execute(command, statement, cluster)
        except CommandError as error:
            outcome = CommandOutcome(False, str(error), refused=True)
        run.record(
            Commanded(
                run.now_us,
                statement.source,
                outcome.text,
                outcome.changed,
                outcome.refused,
                tuple(outcome.command_inputs),
                statement.line,
            )
        )
        for node, given in outcome.command_inputs.items():
            run.give_command(node, given)
        return outcome

    def _execute(self, command: Command, statement: Statement, cluster: ClusterState) -> CommandOutcome:
        command.check_storage(Scope(self._run.protocol_class, ()))
        match command:
            case NodeCommand():
                outcome = self._act_on_nodes(command, statement, cluster)
            case LinkFault() | Slow() | SlowDisk() | Partition() | Heal():
                outcome = self._change_faults(command, statement, cluster)
            case Inject():
                outcome = self._inject(command, statement, cluster)
            case ProtocolCommandLine():
                outcome = self._give_command(command, cluster)
            case Cancel():
                outcome = self._cancel()
            case WorldCommand():
                outcome = CommandOutcome(*self._run.steer(command, in_script=bool(statement.line)))
            case Answer() | Hint() | Caption():  # only recorded
                if self._run.header.exercise is None:
                    raise CommandError("this run belongs to no exercise; lab exercise list shows the exercises")
                outcome = CommandOutcome(True, "noted")
        return outcome

    def _cancel(self) -> CommandOutcome:
        count = self._run.director.cancel()
        if not count:
            return CommandOutcome(False, "no line repeats, and none given by hand waits; nothing changed")
        return CommandOutcome(True, f"{format_count(count, 'line')} cancelled")

    # commands on nodes

    def _act_on_nodes(self, command: NodeCommand, statement: Statement, cluster: ClusterState) -> CommandOutcome:
        """Apply the verb to the nodes' processes; lift a fault at once if it affected none."""
        run, verb, action = self._run, command.verb, _ACTIONS[command.verb]
        named = command.nodes.resolve(cluster)
        operation = getattr(run, verb)
        fault = None
        if action.is_fault:
            fault = run.next_fault()
            broken = (CAUSES[verb],) if verb in CAUSES else ()
            text = str(replace(command, nodes=Nodes(tuple(map(self._names.name_of, named)))))
            run.record(Fault(run.now_us, fault, verb, text, named, broken, line=statement.line))
        amount = (command.count,) if verb == "unwrite" else ()
        affected = tuple(node for node in named if operation(node, *amount))
        left = tuple(node for node in named if node not in affected)
        if fault is not None and not affected:
            run.record(Fault(run.now_us, fault, verb, lifted=True))
        parts = []
        if affected:
            parts.append(f"{self._names.join(affected)} {action.done}")
        if left and not (affected and command.nodes.words):
            not_down = tuple(node for node in left if action.needs_down and run.process_state(node) != "down")
            others = tuple(node for node in left if node not in not_down)
            for nodes, why in ((not_down, "{} must be down for that"), (others, action.refused)):
                if nodes:
                    parts.append(why.format(self._names.join(nodes)))
            if not affected:
                parts[-1] += ", nothing changed"
        return CommandOutcome(bool(affected), "; ".join(parts), affected=affected)

    def _change_faults(
        self, command: LinkFault | Slow | SlowDisk | Partition | Heal, statement: Statement, cluster: ClusterState
    ) -> CommandOutcome:
        """Begin a fault of links or of disks, or end some; only ``heal`` without links ends both."""
        if isinstance(command, SlowDisk):
            return self._slow_disks.execute(command, statement, cluster)
        if isinstance(command, LinkFault) and command.kinds:
            members = self._run.roster.member_protocols
            Scope(self._run.protocol_class, cluster.nodes, members=members).require_kinds(command.kinds)
        ends_all = isinstance(command, Heal) and command.verb == "heal" and command.links is None
        ended = self._slow_disks.end_all() if ends_all else 0
        outcome = self._link_faults.execute(command, statement, cluster)
        if not ended:
            return outcome
        text = f"{format_count(ended, 'slow disk')} ended"
        return CommandOutcome(True, f"{text}, {outcome.text}" if outcome.changed else text)

    def _inject(self, command: Inject, statement: Statement, cluster: ClusterState) -> CommandOutcome:
        """Forge a message."""
        run, source, target = self._run, int(command.source), int(command.target)
        body = command.encoded(Scope(run.protocol_class, cluster.nodes, others=run.header.names))
        fault = run.next_fault()
        message = Message(source, target, -fault, command.kind, body)
        broken = (CAUSES["inject"],)
        run.record(Fault(run.now_us, fault, "inject", statement.text, (), broken, line=statement.line))
        run.record(Injected(run.now_us, message))
        process_state = run.process_state(target)
        run.forge(message)
        if process_state == "down":
            return CommandOutcome(False, f"{command.target} is down, nothing changed")
        later = f"; {command.target} takes it when it resumes" if process_state == "paused" else ""
        return CommandOutcome(True, f"{command.kind} {command.source}->{command.target} forged{later}")

    def _give_command(self, command: ProtocolCommandLine, cluster: ClusterState) -> CommandOutcome:
        """Return the outcome with each node's command input, to be delivered once it is recorded."""
        run, header = self._run, self._run.header
        members = run.roster.member_protocols
        scope = Scope(run.protocol_class, cluster.nodes, header.protocol.parameters, members=members)
        protocol, given = scope.protocol_with(command.command), command.input(scope)
        named = command.targets(cluster, protocol)
        for node in named:
            if given.command not in run.roster.protocol_of(node).commands:
                own = run.roster.protocol_of(node).name
                raise CommandError(f"node {node} executes {own}, which has no command {given.command}")
        how = {node: run.process_state(node) for node in named}
        reached = {node: given for node in named if how[node] != "down"}
        for_leader = protocol.commands[given.command].to == "one" and issubclass(protocol, Election)
        parts = [
            f"{self._names.join(nodes)} {became}"
            for state, became in _GIVEN.items()
            if (nodes := [node for node in named if how[node] == state])
        ]
        if not reached:
            parts[-1] += ", nothing changed"
        elif for_leader and not all(cluster.nodes[node].leads for node in reached):
            parts.append("this is for the elected coordinator; the log says whether it was refused")
        return CommandOutcome(bool(reached), "; ".join(parts), command_inputs=reached)


_ENDS = {
    "heal": ((), "no link fault is in force", "no fault is in force"),
    "release": (("hold",), "nothing is held", "nothing is held"),
    "join": (("cut", "partition"), "nothing is cut", "nothing is cut"),
}
"""For each verb: the kinds of faults that it ends (none: all), and two replies when there is nothing to end.

The first reply: there are no such faults at all; the second: none on the links named.
"""


class LinkFaults:
    """The link faults in force: set as rules of the network, and lifted as a whole or on some of their links."""

    def __init__(self, run: ActiveRun) -> None:
        self._run = run
        self._network = run.network
        self._kinds: dict[int, str] = {}
        self._clients = run.header.clients
        timing, link = run.header.timing, run.header.link
        # the part of Tm that links leave unused, and Tp: a longer delay breaks assumption 8 or 9
        self._spare = Timing(timing.tm_us - link.latency_us - link.jitter_us, timing.tp_us)

    def resume(self, rules: dict[int, tuple[str, Rule]]) -> None:
        """Continue a run in which these rules were in force, each with its kind."""
        for number, (kind, rule) in rules.items():
            self._network.add_rule(number, rule)
            self._kinds[number] = kind

    def execute(
        self, command: LinkFault | Slow | Partition | Heal, statement: Statement, cluster: ClusterState
    ) -> CommandOutcome:
        """Begin a fault, or end some."""
        if isinstance(command, Heal):
            return self._heal(command, cluster)
        return self._begin(statement, command.rule(cluster))

    def _begin(self, statement: Statement, rule: Rule) -> CommandOutcome:
        """Begin a fault. It replaces an older one of this verb for the same links and kinds of messages.

        A partition replaces any older partition.
        """
        verb = statement.text.partition(" ")[0]
        rules, partitions = self._network.rules, verb == "partition"
        same = [
            number
            for number, kind in self._kinds.items()
            if kind == verb
            and (partitions or (rules[number].links, rules[number].kinds) == (rule.links, rule.kinds))
        ]
        for number in same:
            self._lift(number)
        number = self._run.next_fault()
        self._network.add_rule(number, rule)
        self._kinds[number] = verb
        links = tuple(sorted(rule.links))
        is_of_clients = all(not self._clients.isdisjoint(link) for link in links)  # no node relies on these
        broken = () if is_of_clients else broken_together(rule, rules.values(), self._spare)
        fault = Fault(self._run.now_us, number, verb, statement.text, (), broken, links, line=statement.line)
        self._run.record(fault)
        return CommandOutcome(True, format_count(len(rule.links), "link"))

    def _heal(self, command: Heal, cluster: ClusterState) -> CommandOutcome:
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
        now_us, kind = self._run.now_us, self._kinds[number]
        released = self._network.remove_links(number, rule.links if healed is None else healed, now_us)
        lifted = number not in self._network.rules
        if lifted:
            del self._kinds[number]
        for message in released:
            self._run.record(Routed(now_us, message.source, message.serial, "released", by=(number,)))
        if lifted:
            self._run.record(Fault(now_us, number, kind, lifted=True))
        elif number in self._kinds:
            self._run.record(Fault(now_us, number, kind, links=tuple(sorted(self._network.rules[number].links))))


class SlowDisks:
    """The nodes whose disks are slow, each by a fault of its own: ``faults`` has its number."""

    def __init__(self, run: ActiveRun) -> None:
        self.faults: dict[int, int] = {}
        self._run = run
        self._names = NodeNames.of(run.header)

    def resume(self, slow: dict[int, tuple[int, int]]) -> None:
        """Continue a run in which these disks were slow: (fault, time) by node."""
        for node, (number, us) in slow.items():
            self.faults[node] = number
            self._run.slow_disk(node, us)

    def execute(self, command: SlowDisk, statement: Statement, cluster: ClusterState) -> CommandOutcome:
        """Make disks slow, or as fast as before if the time is 0."""
        run, named = self._run, command.nodes.resolve(cluster)
        ended = [node for node in named if self._end(node)]
        if not command.us:
            if not ended:
                return CommandOutcome(False, f"the disk of {self._names.join(named)} is not slow, nothing changed")
            return CommandOutcome(True, f"{format_count(len(ended), 'slow disk')} ended")
        # a request and its answer may both wait for a slow disk
        writes = 2 if len({*named, *self.faults}) > 1 else 1
        broken = (CAUSES["slow-disk"],) if command.us * writes > run.header.timing.tp_us else ()
        for node in named:
            number = self.faults[node] = run.next_fault()
            text = str(replace(command, nodes=Nodes((self._names.name_of(node),))))
            run.record(Fault(run.now_us, number, "slow-disk", text, (node,), broken, line=statement.line))
            run.slow_disk(node, command.us)
        return CommandOutcome(True, format_count(len(named), "disk"))

    def end_all(self) -> int:
        """Make all disks as fast as before; return how many were slow."""
        return sum(self._end(node) for node in sorted(self.faults))

    def _end(self, node: int) -> bool:
        number = self.faults.pop(node, None)
        if number is None:
            return False
        self._run.slow_disk(node, 0)
        self._run.record(Fault(self._run.now_us, number, "slow-disk", lifted=True))
        return True
