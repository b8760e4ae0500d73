"""The nodes of a run: those of the cluster, and those that have a role outside it, as clients or services.

The nodes of the cluster execute one protocol, or some of them another. The cluster elects, commits and is judged;
the nodes of a role outside it are no members of it, and no peers of its nodes. They are nodes of the kernel all
the same: deterministic, recorded, and executed again like every other. Messages to and from them travel on links,
which faults strike.
"""

from typing import Self, TypeVar

import msgspec
from msgspec import Struct

from lab.kernel import Node, Protocol, Timing
from lab.kernel.node import SteppedNode, new_node
from lab.protocols import Program, installed, source_of
from lab.protocols.clients import CLIENTS
from lab.protocols.services import SERVICES
from lab.recording.records import Header, MemberRole, Role
from lab.units import format_ranges

N = TypeVar("N", bound=Node)

ROLES: dict[str, type[Protocol]] = {**SERVICES, **CLIENTS, Program.name: Program}
"""The protocols of roles by name."""


def has_other_sources(header: Header, source: str) -> bool:
    """Return whether a protocol of the run has another source here; ``source`` is that of the first."""
    if source != header.protocol.source:
        return True
    here = ((role.protocol, installed(role.protocol.name, role.protocol.parameters)) for role in header.members)
    return any(found is not None and source_of(found)[1] != info.source for info, found in here)


class Roster:
    """Makes the nodes of a run. ``ids`` are all of them, those of the cluster first."""

    def __init__(
        self,
        protocol: type[Protocol],
        parameters: Struct,
        nodes: tuple[int, ...],
        timing: Timing,
        seed: int,
        roles: tuple[Role, ...] = (),
        members: tuple[MemberRole, ...] = (),
    ) -> None:
        """Raise msgspec.ValidationError for a role that does not exist here, or has wrong parameters."""
        self.ids = nodes
        self._nodes, self._timing, self._seed = nodes, timing, seed
        self._protocols = dict.fromkeys(nodes, protocol)
        self._parameters = dict.fromkeys(nodes, parameters)
        for member in members:
            info = member.protocol
            found = installed(info.name, info.parameters)
            if found is None:
                raise msgspec.ValidationError(
                    f"nodes {format_ranges(member.nodes)} execute {info.name}, which is not loaded"
                )
            self._protocols |= dict.fromkeys(member.nodes, found)
            self._parameters |= dict.fromkeys(member.nodes, msgspec.convert(info.parameters, found.Parameters))
        self._is_mixed = bool(members)
        self._others: dict[int, str] = {}
        for role in roles:
            own = ROLES.get(role.protocol)
            if own is None:
                raise msgspec.ValidationError(f"the role {role.name} has the unknown protocol {role.protocol}")
            self.ids += tuple(role.nodes)
            self._others |= role.nodes
            self._protocols |= dict.fromkeys(role.nodes, own)
            self._parameters |= dict.fromkeys(role.nodes, msgspec.convert(role.parameters, own.Parameters))

    @classmethod
    def of(cls, header: Header, protocol: type[Protocol]) -> Self:
        """Return the roster of a recorded run. Raises msgspec.ValidationError as for the constructor."""
        parameters = msgspec.convert(header.protocol.parameters, protocol.Parameters)
        return cls(protocol, parameters, header.nodes, header.timing, header.seed, header.roles, header.members)

    @property
    def member_protocols(self) -> tuple[type[Protocol], ...]:
        """The protocols of the nodes of the cluster, each once."""
        return tuple(dict.fromkeys(self._protocols[node] for node in self._nodes))

    def protocol_of(self, node: int) -> type[Protocol]:
        """Return the protocol that the node executes."""
        return self._protocols[node]

    def parameters_of(self, node: int) -> Struct:
        """Return the parameters of its protocol."""
        return self._parameters[node]

    def new_node(self, node: int, run: object) -> SteppedNode:
        """Return a new incarnation; ``run`` is any object that all nodes of the run share, and no others."""
        protocol, (ids, others) = self._protocols[node], self._known_to(node)
        parameters, strangers = self._parameters[node], self._strangers_of(node)
        return new_node(protocol, node, ids, self._timing, parameters, self._seed, run, others, strangers)

    def new_kernel_node(self, node: int) -> Node:
        """Return a new incarnation that is executed in this process."""
        return self.new_node_of(Node, node)

    def new_node_of(self, kind: type[N], node: int) -> N:
        """Return a new incarnation of this class of nodes."""
        protocol, (ids, others) = self._protocols[node], self._known_to(node)
        parameters, strangers = self._parameters[node], self._strangers_of(node)
        return kind(protocol, node, ids, self._timing, parameters, self._seed, others, strangers)

    def _strangers_of(self, node: int) -> frozenset[int]:
        """Return the nodes whose messages this node need not be able to read."""
        if node in self._others:
            return frozenset(self._protocols)  # nobody is hurt by what it is answered
        services = {each for each in self._others if self._protocols[each].is_program}
        if not (self._is_mixed or services):
            return frozenset()
        own = self._protocols[node]
        return frozenset(each for each in self._nodes if self._protocols[each] is not own) | services

    def _known_to(self, node: int) -> tuple[tuple[int, ...], dict[int, str]]:
        """Return the node with its peers, and the names of the others that it can reach."""
        kernel: dict[int, str] = {}
        if self._protocols[node].is_program:  # it speaks with nodes of the kernel as with clients
            kernel = {each: f"n{each}" for each in self._nodes if not self._protocols[each].is_program}
        if node not in self._others:
            return self._nodes, {**kernel, **self._others}
        own = {node: self._others[node]} if self._protocols[node].is_program else {}
        return (node, *self._nodes), {**kernel, **own}
