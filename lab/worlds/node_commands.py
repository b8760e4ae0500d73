"""Commands on nodes: crashes and other process faults, protocol commands, forged messages.

A process fault is recorded before it is applied, so its consequences come after it in the recording.
"""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from lab.kernel import Message, Protocol, encode
from lab.protocols import Election
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Event, Fault, Injected, Record
from lab.script import (
    CAUSES,
    Inject,
    NodeCommand,
    ProtocolCommandLine,
    command_input,
    forged_payload,
    resolve_nodes,
    target_nodes,
)
from lab.worlds.operations import NodeOperations
from lab.worlds.outcome import CommandOutcome, format_ids

__all__ = ["NodeCommands", "confirming_events"]


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
        named = resolve_nodes(command.nodes, cluster)
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
        payload = forged_payload(command, self._protocol, tuple(cluster.nodes))
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
        given = command_input(command, self._protocol, tuple(cluster.nodes), self._parameters)
        named = target_nodes(command, cluster, self._protocol)
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
