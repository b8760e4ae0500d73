"""The state of the network at a record, computed from records alone.

A fault's record holds its amount (delay, loss) only as the text of the command, so that is parsed again.
"""

from functools import lru_cache

from msgspec import Struct

from lab.analysis.connectivity import Connections, Pair, connected
from lab.analysis.group_history import GroupLog
from lab.recording.cluster_state import ClusterState
from lab.recording.snapshot import ActiveFault, InFlightMessage, NodeState
from lab.script.commands import LinkFault, Slow
from lab.script.parse import parse
from lab.script.scope import CommandError

STOPPED = ("killed", "failed", "absent")
"""The states of a process that neither sends nor receives."""
_EFFECT_NAMES = {
    "cut": "cut",
    "partition": "cut",
    "hold": "hold",
    "lose": "lose",
    "delay": "delay",
    "slow": "delay",
    "reorder": "reorder",
    "duplicate": "duplicate",
}
"""The effect of each kind of link fault; the most important first."""
_RANK = {name: place for place, name in enumerate(_EFFECT_NAMES.values())}


class LinkEffect(Struct, frozen=True):
    """The effect of a fault on its links. ``amount`` is as in the command, or empty.

    ``kinds``: only messages of these kinds are affected; empty: all. ``closes``: nothing passes.
    """

    fault: ActiveFault
    name: str
    amount: str = ""
    kinds: tuple[str, ...] = ()
    closes: bool = False

    @property
    def is_inert(self) -> bool:
        """True if the fault has touched no message so far, on any of its links."""
        return not self.fault.touched


class NetworkNode(Struct, frozen=True):
    """A node of the network. ``group`` is the name of its group and the number of the group's colour, if any."""

    id: int
    process: str
    leads: bool
    group: tuple[str, int] | None = None


class NetworkNow(Struct, frozen=True):
    """The network at a record. ``effects`` and ``in_flight`` list only links between known nodes that have any."""

    nodes: dict[int, NetworkNode]
    effects: dict[Pair, tuple[LinkEffect, ...]]
    in_flight: dict[Pair, tuple[InFlightMessage, ...]]
    connections: Connections

    def stopped(self) -> list[NetworkNode]:
        """Return the nodes on no side, because they do not run."""
        return [member for member in self.nodes.values() if member.process != "running"]


def network_now(cluster: ClusterState, groups: GroupLog) -> NetworkNow:
    """Return the state of the network in a cluster state."""
    views = [cluster.nodes[node] for node in sorted(cluster.nodes)]
    effects: dict[Pair, list[LinkEffect]] = {}
    for effect in sorted(map(effect_of, cluster.faults.values()), key=lambda each: _RANK.get(each.name, 99)):
        for source, target in dict.fromkeys(effect.fault.links):
            if source != target and source in cluster.nodes and target in cluster.nodes:
                effects.setdefault((source, target), []).append(effect)
    in_flight: dict[Pair, list[InFlightMessage]] = {}
    for flight in cluster.in_flight.values():
        if flight.source in cluster.nodes and flight.target in cluster.nodes:
            in_flight.setdefault((flight.source, flight.target), []).append(flight)
    closed = [link for link, here in effects.items() if any(effect.closes for effect in here)]
    return NetworkNow(
        {view.id: _network_node(view, groups, cluster.record) for view in views},
        {link: tuple(here) for link, here in effects.items()},
        {link: tuple(here) for link, here in in_flight.items()},
        connected((view.id for view in views if view.process == "running"), closed),
    )


def _network_node(view: NodeState, groups: GroupLog, record: int) -> NetworkNode:
    group = groups.group_of(view, record)
    leads = view.leads and view.process not in STOPPED
    return NetworkNode(view.id, view.process, leads, None if group is None else (group.name, group.hue))


def effect_of(fault: ActiveFault) -> LinkEffect:
    """Return the effect of a fault on its links."""
    name = _EFFECT_NAMES.get(fault.kind, "other")
    if name == "cut":
        return LinkEffect(fault, name, closes=True)
    command = _command(fault.text) if fault.links else None
    if not isinstance(command, LinkFault | Slow) or fault.text.split()[0] != fault.kind:
        return LinkEffect(fault, name)  # a foreign recording may have any text there
    kinds = () if isinstance(command, Slow) else command.kinds
    stops = name == "hold" or (isinstance(command, LinkFault) and name == "lose" and command.probability == 1)
    return LinkEffect(fault, name, command.amount, kinds, stops and not kinds)


@lru_cache(maxsize=256)
def _command(text: str) -> object:
    try:
        return parse(text).command
    except CommandError:
        return None
