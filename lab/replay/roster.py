"""The nodes of a run: those of the cluster, and those that have a role outside it, as clients or services.

The cluster elects, commits and is judged; the nodes of a role are no members of it, and no peers of its nodes.
They are nodes of the kernel all the same: deterministic, recorded, and executed again like every other. Messages
to and from them travel on links, which faults strike.
"""

from typing import Self

import msgspec
from msgspec import Struct

from lab.kernel import Node, Protocol, Timing
from lab.kernel.node import SteppedNode, new_node
from lab.protocols.clients import CLIENTS
from lab.protocols.services import SERVICES
from lab.recording.records import Header, Role

ROLES: dict[str, type[Protocol]] = {**SERVICES, **CLIENTS}
"""The protocols of roles by name."""


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
    ) -> None:
        """Raise msgspec.ValidationError for a role that does not exist, or has wrong parameters."""
        self.ids = nodes
        self._nodes, self._timing, self._seed = nodes, timing, seed
        self._protocols = dict.fromkeys(nodes, protocol)
        self._parameters = dict.fromkeys(nodes, parameters)
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
        return cls(protocol, parameters, header.nodes, header.timing, header.seed, header.roles)

    def protocol_of(self, node: int) -> type[Protocol]:
        """Return the protocol that the node executes."""
        return self._protocols[node]

    def parameters_of(self, node: int) -> Struct:
        """Return the parameters of its protocol."""
        return self._parameters[node]

    def new_node(self, node: int, run: object) -> SteppedNode:
        """Return a new incarnation; ``run`` is any object that all nodes of the run share, and no others."""
        protocol, (ids, others) = self._protocols[node], self._known_to(node)
        return new_node(protocol, node, ids, self._timing, self._parameters[node], self._seed, run, others)

    def new_kernel_node(self, node: int) -> Node:
        """Return a new incarnation that is executed in this process."""
        protocol, (ids, others) = self._protocols[node], self._known_to(node)
        return Node(protocol, node, ids, self._timing, self._parameters[node], self._seed, others)

    def _known_to(self, node: int) -> tuple[tuple[int, ...], dict[int, str]]:
        """Return the node with its peers, and the names of the others that it can reach."""
        if node in self._others:
            return (node, *self._nodes), {}
        return self._nodes, self._others
