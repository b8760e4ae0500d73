"""Commands to nodes, carried out through what a world offers: processes are struck, nodes told, messages forged.

A fault of nodes is recorded before it strikes, so that what it brings about stands behind it.
"""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from lab.kernel import Message, Protocol, encode
from lab.protocols import Election
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Event, Fault, Injected, Record
from lab.script import CAUSES, Inject, NodeCommand, Tell, forged, nodes_told, resolve_nodes, told_by
from lab.worlds.handles import NodeHandles
from lab.worlds.outcome import Outcome, ids_of

__all__ = ["NodeCommands", "seen_as"]


class _Strike(Struct, frozen=True):
    """What is said of those that were struck, and of those that were not; and what is seen of the former."""

    done: str
    refused: str
    seen_as: tuple[Event, ...] = ()
    is_fault: bool = False


_STRIKES = {
    "kill": _Strike("killed", "down already", ("killed", "failed"), is_fault=True),
    "restart": _Strike("restarted", "up already", ("started",)),
    "pause": _Strike("paused", "not running", ("paused",), is_fault=True),
    "resume": _Strike("resumed", "not paused", ("resumed",)),
    "wipe": _Strike("wiped", "up, or has nothing stored; wipe a node that is down", is_fault=True),
}
_REACHED = {"reached": "told", "standing": "told once it goes on", "down": "down"}


def seen_as(command: NodeCommand) -> tuple[Event, ...]:
    """By which events it is seen of a process that it was struck; none: nothing is to be seen."""
    return _STRIKES[command.verb].seen_as


class NodeCommands:
    """Carries them out. ``number_next`` gives a new fault its number, ``parameters`` are what the run sets."""

    def __init__(
        self,
        protocol: type[Protocol],
        parameters: Mapping[str, Any],
        nodes: NodeHandles,
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

    def strike(self, command: NodeCommand, line: int, cluster: ClusterState) -> Outcome:
        """Do to the processes what the verb says; a fault that struck none of them is over at once."""
        verb, strike = command.verb, _STRIKES[command.verb]
        named = resolve_nodes(command.nodes, cluster)
        act = getattr(self._nodes, verb)
        fault = None
        if strike.is_fault:
            fault = self._number_next()
            broken = (CAUSES[verb],) if verb in CAUSES else ()
            self._record(Fault(self._now_us(), fault, verb, f"{verb} {ids_of(named)}", named, broken, line=line))
        struck = tuple(node for node in named if act(node))
        left = tuple(node for node in named if node not in struck)
        if fault is not None and not struck:
            self._record(Fault(self._now_us(), fault, verb, lifted=True))
        said = []
        if struck:
            said.append(f"{ids_of(struck)} {strike.done}")
        if left and not (struck and command.nodes.words):
            said.append(f"{ids_of(left)}: {strike.refused}" + ("" if struck else ", nothing changed"))
        return Outcome(bool(struck), "; ".join(said), struck=struck)

    def inject(self, command: Inject, text: str, line: int, cluster: ClusterState) -> Outcome:
        """Forge a message."""
        source, target = command.source, command.target
        payload = forged(command, self._protocol, tuple(cluster.nodes))
        fault = self._number_next()
        message = Message(source, target, -fault, command.kind, encode(payload))
        self._record(Fault(self._now_us(), fault, "inject", text, (), (CAUSES["inject"],), line=line))
        self._record(Injected(self._now_us(), message))
        reach = self._nodes.reach(target)
        self._nodes.forge(message)
        if reach == "down":
            return Outcome(False, f"{target} is down, nothing changed")
        later = f"; {target} takes it once it goes on" if reach == "standing" else ""
        return Outcome(True, f"{command.kind} {source}->{target} forged{later}")

    def tell(self, command: Tell, cluster: ClusterState) -> Outcome:
        """Say whom a command of the protocol's own reaches; they are given it once that is recorded."""
        told = told_by(command, self._protocol, tuple(cluster.nodes), self._parameters)
        named = nodes_told(command, cluster, self._protocol)
        how = {node: self._nodes.reach(node) for node in named}
        reached = {node: told for node in named if how[node] != "down"}
        for_leader = self._protocol.commands[told.command].to == "one" and issubclass(self._protocol, Election)
        said = [
            f"{ids_of(nodes)} {became}"
            for state, became in _REACHED.items()
            if (nodes := tuple(node for node in named if how[node] == state))
        ]
        if not reached:
            said[-1] += ", nothing changed"
        elif for_leader and not all(cluster.nodes[node].leads for node in reached):
            said.append("this is for the elected coordinator; the log says whether it was refused")
        return Outcome(bool(reached), "; ".join(said), told=reached)
