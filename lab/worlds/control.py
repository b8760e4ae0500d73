"""Execute commands in any world and record their outcomes.

Recording is re-entrant: every ``_record`` may fire triggers, and so execute further commands, before it returns.
Update state before recording, and re-read it afterwards.
"""

from collections import deque
from collections.abc import Callable

from lab.kernel import Protocol, Timing
from lab.network import Network, Rule
from lab.recording.cluster_state import ClusterState
from lab.recording.memory import RecordLog
from lab.recording.records import Captioned, Commanded, Event, Expected, Record
from lab.script import (
    Answer,
    Caption,
    Command,
    CommandError,
    Director,
    Expectation,
    ExpectationResult,
    Heal,
    Hint,
    Inject,
    LinkFault,
    NodeCommand,
    Partition,
    ProtocolCommandLine,
    Slow,
    Statement,
    WorldCommand,
    fault_rule,
    resolve_nodes,
)
from lab.worlds.link_faults import LinkFaults
from lab.worlds.node_commands import NodeCommands, confirming_events
from lab.worlds.operations import NodeOperations
from lab.worlds.outcome import CommandOutcome

__all__ = ["Control"]


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
            return resolve_nodes(command.nodes, self._log.cluster), events
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
        for node, command_input in outcome.command_inputs.items():
            self._nodes.give_command(node, command_input)
        return outcome

    def _execute(self, command: Command, scripted: Statement, cluster: ClusterState) -> CommandOutcome:
        text, line = scripted.text, scripted.line
        match command:
            case NodeCommand():
                return self._node_commands.execute(command, line, cluster)
            case LinkFault() | Slow() | Partition():
                return self._link_faults.add_rule(text.partition(" ")[0], text, line, fault_rule(command, cluster))
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
