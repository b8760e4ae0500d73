"""The names that a line may use in a run: nodes, links and kinds of messages; and how names are written."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Self

import msgspec
from msgspec import Struct

from lab.kernel import Protocol
from lab.properties.registry import installed_protocol
from lab.protocols import Election
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header
from lab.text import did_you_mean, sanitize


class CommandError(Exception):
    """A command that cannot be executed; the message is for the user."""


_SERVICE_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z][a-z0-9]*)+")
UNKNOWN_NODE = -1
"""The id of a named node while it is not known in which run the name is meant."""


class NamedNode(int):
    """A node's id that was written as a name: equal to the id, but its text is the name."""

    name: str

    def __new__(cls, node: int, name: str) -> Self:
        made = super().__new__(cls, node)
        made.name = name
        return made

    def __reduce__(self) -> tuple[type[Self], tuple[int, str]]:
        return type(self), (int(self), self.name)

    def __str__(self) -> str:
        return self.name


class NodeNames(Struct, frozen=True):
    """The names of the nodes of a run: ``n1`` in the cluster, and those of ``others``, each with its id."""

    cluster: tuple[int, ...]
    others: tuple[tuple[int, str], ...] = ()

    @classmethod
    def of(cls, header: Header) -> Self:
        """Return the names in a recorded run."""
        return cls.among(header.nodes, header.names)

    @classmethod
    def among(cls, cluster: tuple[int, ...], others: Mapping[int, str]) -> Self:
        """Return the names of the nodes of a cluster, and of the others."""
        return cls(cluster, tuple(others.items()))

    def node(self, name: str) -> NamedNode:
        """Return the node of this name. Raises CommandError if there is none."""
        found = {other: node for node, other in self.others} | {f"n{node}": node for node in self.cluster}
        if name not in found:
            raise CommandError(f"there is no node {name}; the nodes are {self}")
        return NamedNode(found[name], name)

    def name_of(self, node: int) -> int:
        """Return the id, with its name as its text if the node is outside the cluster."""
        name = dict(self.others).get(node)
        return node if name is None else NamedNode(node, name)

    def join(self, nodes: Iterable[int]) -> str:
        """Return nodes as a command lists them, with blanks between them."""
        return " ".join(str(self.name_of(node)) for node in nodes)

    def beyond(self, known: Collection[str]) -> tuple[str, ...]:
        """Return the names of services, but for the known ones. A recording may hold anything."""
        return tuple(name for _, name in self.others if name not in known and _SERVICE_NAME.fullmatch(name))

    def __str__(self) -> str:
        return sanitize(" ".join([*map(str, sorted(self.cluster)), *(name for _, name in sorted(self.others))]))


class Scope:
    """The names in a run of ``protocol`` with these nodes. ``cluster`` is the state of the run before its start.

    ``parameters`` are those that the run sets; the valid arguments of protocol commands may depend on them.
    ``others`` are the nodes beside the cluster, with their names, ``members`` the protocols of nodes in it that
    execute another one. The methods raise CommandError.
    """

    def __init__(
        self,
        protocol: type[Protocol],
        ids: Iterable[int],
        parameters: Mapping[str, Any] = MappingProxyType({}),
        others: Mapping[int, str] = MappingProxyType({}),
        members: Iterable[type[Protocol]] = (),
    ) -> None:
        self.protocol = protocol
        self.protocols = (protocol, *members)
        self.parameters = parameters
        self.cluster = ClusterState(tuple(ids), others=others)
        self.ids = tuple(self.cluster.nodes)
        self.names = NodeNames.among(self.ids, others)

    def protocol_with(self, command: str) -> type[Protocol]:
        """Return a protocol of the cluster that has this command; if none has it, that of most nodes."""
        return next((each for each in self.protocols if command in each.commands), self.protocol)

    def own_examples(self) -> Iterator[str]:
        """Yield an example of each command of the protocol, but for those that the parameters make invalid.

        If the parameters, which a recording may hold, are no such parameters, there are none.
        """
        try:
            parameters = msgspec.convert(self.parameters, self.protocol.Parameters)
        except msgspec.ValidationError:
            return
        for name, own in self.protocol.commands.items():
            if not own.words:
                yield f"{name} {self.ids[-1]}"
            elif own.example and not self.protocol.refusal(
                name, tuple(own.example.split()[1:]), self.ids, parameters
            ):
                yield own.example

    def require_nodes(self, named: Iterable[object]) -> None:
        """Check that these nodes exist; words such as ``all`` do."""
        for node in named:
            if isinstance(node, int):
                require_node(node, self.cluster.ids, self.names)

    def require_who(self, who: int | str) -> None:
        """Check that the node exists, and that the protocol elects a coordinator if it is that."""
        self.require_nodes([who])
        if who == "coordinator":
            self.require_election("there is no coordinator")

    def require_link(self, source: int | None, target: int | None) -> None:
        """Check that the link exists; an end that is None is any node."""
        self.require_nodes([source, target])
        if source is not None and source == target:
            raise CommandError(f"a node has no link to itself, so there is no {source}->{target}; name two nodes")

    def require_kinds(self, kinds: Iterable[str]) -> None:
        """Check that the protocol has these kinds of messages; an empty name is any kind."""
        if any(each.is_program for each in self.protocols):
            return  # what programs say is not known before
        known = sorted({kind for each in self.protocols for kind in each.payloads})
        for kind in filter(None, kinds):
            if kind not in known:
                name = self.protocol.name
                sent = f"{name} has {', '.join(known)}" if known else f"{name} has none"
                raise CommandError(f"unknown kind of message {kind}; {sent}{did_you_mean(kind, known)}")

    def require_storage(self, verb: str) -> None:
        """Check that the laboratory keeps the stable storage of the nodes: programs keep their own."""
        if self.protocol.is_program:
            raise CommandError(
                f"{verb}: programs keep their own files, which it cannot reach; kill and restart can be used"
            )

    def require_election(self, otherwise: str, instead: str = "name nodes by number, or write at 2s") -> None:
        """Check that the protocol elects a coordinator.

        ``otherwise`` is what follows if it does not, ``instead`` what the user can write.
        """
        if not issubclass(self.protocol, Election):
            raise CommandError(f"{self.protocol.name} elects nobody, so {otherwise}; {instead}")


def scope_of(header: Header) -> Scope | None:
    """Return the names in a recorded run; None if its protocol, a user's own, is not loaded here."""
    protocol = installed_protocol(header.protocol)
    if protocol is None:
        return None
    members = filter(None, (installed_protocol(role.protocol) for role in header.members))
    return Scope(protocol, header.nodes, header.protocol.parameters, header.names, members)


def require_node(node: int | Decimal, known: Collection[int], names: NodeNames | None = None) -> None:
    """Raise CommandError unless this node is one of the ``known``; the error lists the ``names`` if given."""
    if node not in known:
        nodes = " ".join(map(str, sorted(known))) if names is None else names
        raise CommandError(f"there is no node {node}; the nodes are {nodes}")


def format_link(source: int | None, target: int | None) -> str:
    """Return ``3->1``; an empty text if the ends are None, which means any."""
    return "" if source is None else f"{source}->{target}"


def join_words(*words: object) -> str:
    """Join the words that are not empty."""
    return " ".join(filter(None, map(str, words)))
