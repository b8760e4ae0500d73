"""Carrying out lines of the language in any world, and recording what came of each.

To record something is to let happen what waits for it: every ``_record`` may carry out further lines before it
returns. So what is changed is changed before it is recorded, and what was read before is read again.
"""

from collections import deque
from collections.abc import Callable

from lab.kernel import Protocol, Timing
from lab.network import Network, Rule
from lab.recording.cluster_state import ClusterState
from lab.recording.memory import Log
from lab.recording.records import Captioned, Commanded, Event, Expected, Record
from lab.script import (
    Answer,
    Caption,
    Command,
    CommandError,
    Director,
    Expectation,
    Heal,
    Hint,
    Inject,
    LinkFault,
    NodeCommand,
    Partition,
    Scripted,
    Settled,
    Slow,
    Tell,
    WorldCommand,
    fault_rule,
    resolve_nodes,
)
from lab.worlds.handles import NodeHandles
from lab.worlds.link_faults import LinkFaults
from lab.worlds.node_commands import NodeCommands, seen_as
from lab.worlds.outcome import Outcome

__all__ = ["Control"]


class Control:
    """Carries out commands and records what they did. ``record`` appends to ``log``; ``now_us`` is the clock.

    ``director`` is told when a line of a script is done, and what follows it and is due is carried out, too.
    ``spare`` is what is left of Tm and Tp: a delay of more breaks assumption 8, or 9.
    """

    def __init__(
        self,
        protocol: type[Protocol],
        nodes: NodeHandles,
        network: Network,
        director: Director,
        log: Log,
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
        """Go on from a run that had so many faults; ``rules`` are those of links in force, each with its kind."""
        self._faults = faults
        self._link_faults.resume(rules)

    def _number_next(self) -> int:
        self._faults += 1
        return self._faults

    def execute(self, scripted: Scripted) -> Outcome:
        """Carry out a line of the language, and what follows it in its script and is due by that."""
        if isinstance(scripted.command, Expectation):
            self._director.add(scripted)
            for line in self._director.after(None):  # it may be met already
                self.execute(line)
            return Outcome(True, f"waits: {scripted.source}")
        outcome = self._perform(scripted)
        due = deque([(scripted, outcome)])
        while due:
            line, came = due.popleft()
            if isinstance(line.command, Settled) and not line.command.met:
                continue
            due.extend((each, self._perform(each)) for each in self._director.done(line, came.struck))
        return outcome

    def _perform(self, line: Scripted) -> Outcome:
        command, at_us = line.command, self._now_us()
        follows_nothing = isinstance(command, Settled) and not command.met
        if line.line and not follows_nothing:
            self._director.begun(line, *self._seen_of(command))
        if isinstance(command, Settled):
            self._record(Expected(at_us, line.source, command.met, command.why, line.line))
            return Outcome(True, "")
        if isinstance(command, Caption):
            self._record(Captioned(at_us, command.text, command.verb == "mark", line.line))
            return Outcome(True, command.text)
        assert not isinstance(command, Expectation)  # what is due of one is Settled
        return self._carry_out(line, command)

    def _seen_of(self, command: Command | Settled | Expectation) -> tuple[tuple[int, ...], tuple[Event, ...]]:
        """The nodes that a line is to strike, and what is to be seen of them; none where it will be refused."""
        if not isinstance(command, NodeCommand) or not (events := seen_as(command)):
            return (), ()
        try:
            return resolve_nodes(command.nodes, self._log.cluster), events
        except CommandError:
            return (), ()

    def _carry_out(self, scripted: Scripted, command: Command) -> Outcome:
        """Do it, and record what came of it, even if it could not be carried out."""
        # to know the state of the cluster may take a while, and most commands name nodes by their ids
        by_role = "coordinator" in scripted.text or isinstance(command, Tell)
        cluster = self._log.cluster if by_role else self._ids_alone
        try:
            outcome = self._execute(command, scripted, cluster)
        except CommandError as error:
            outcome = Outcome(False, str(error), refused=True)
        self._record(
            Commanded(
                self._now_us(),
                scripted.source,
                outcome.text,
                outcome.changed,
                outcome.refused,
                tuple(outcome.told),
                scripted.line,
            )
        )
        for node, told in outcome.told.items():
            self._nodes.tell(node, told)
        return outcome

    def _execute(self, command: Command, scripted: Scripted, cluster: ClusterState) -> Outcome:
        text, line = scripted.text, scripted.line
        match command:
            case NodeCommand():
                return self._node_commands.strike(command, line, cluster)
            case LinkFault() | Slow() | Partition():
                return self._link_faults.set_rule(text.partition(" ")[0], text, line, fault_rule(command, cluster))
            case Heal():
                return self._link_faults.heal(command, cluster)
            case Inject() | Tell():
                return self._speak(command, text, line, cluster)
            case WorldCommand():
                return Outcome(*self._nodes.steer(command, in_script=bool(line)))
            case Answer() | Hint() | Caption():  # a caption is said, not carried out: see _perform
                return self._note()

    def _speak(self, command: Inject | Tell, text: str, line: int, cluster: ClusterState) -> Outcome:
        if isinstance(command, Inject):
            return self._node_commands.inject(command, text, line, cluster)
        return self._node_commands.tell(command, cluster)

    def _note(self) -> Outcome:
        """What the command says is recorded, and nothing else comes of it."""
        if self._log.header.exercise is None:
            raise CommandError("this run is of no exercise; lab exercise list says which there are")
        return Outcome(True, "noted")
