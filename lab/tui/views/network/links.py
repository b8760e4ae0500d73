"""From a cluster to what there is to draw of its network: pure, and from the records alone.

What the records do not have in a field, by how much a fault delays, or how many it loses, is read from its command
by the parser of the language.
"""

from functools import lru_cache

from msgspec import Struct

from lab.analysis.connectivity import Connections, Pair, connected
from lab.analysis.group_history import GroupLog
from lab.recording.cluster_state import ClusterState
from lab.recording.snapshot import ActiveFault, InFlightMessage, NodeState
from lab.script import CommandError, LinkFault, parse
from lab.script.commands import Slow
from lab.script.printing import amount_said

__all__ = ["GONE", "NetworkNow", "Stand", "Trouble", "network_now", "trouble_of"]

GONE = ("killed", "failed", "absent")
"""What a process is that neither sends nor gets anything."""
_SORTS = {
    "cut": "cut",
    "partition": "cut",
    "hold": "hold",
    "lose": "lose",
    "delay": "delay",
    "slow": "delay",
    "reorder": "reorder",
    "duplicate": "duplicate",
}
"""The kinds of faults of links, and what each is to a link; what comes first matters most."""
_RANK = {sort: place for place, sort in enumerate(_SORTS.values())}


class Trouble(Struct, frozen=True):
    """What a fault is to its links. ``amount`` is as people write it, and empty where there is none.

    ``kinds``: only messages of these kinds; empty: all. ``closes``: nothing at all passes.
    """

    fault: ActiveFault
    sort: str
    amount: str = ""
    kinds: tuple[str, ...] = ()
    closes: bool = False

    @property
    def is_inert(self) -> bool:
        """Whether it has touched no message so far, on none of its links."""
        return not self.fault.touched


class Stand(Struct, frozen=True):
    """How a node stands. ``group`` is the name of its group and the number of that one's colour, if it has one."""

    id: int
    process: str
    leads: bool
    group: tuple[str, int] | None = None


class NetworkNow(Struct, frozen=True):
    """The network at a record: ``troubles`` and ``in_flight`` only of links that have some, between known nodes."""

    nodes: dict[int, Stand]
    troubles: dict[Pair, tuple[Trouble, ...]]
    in_flight: dict[Pair, tuple[InFlightMessage, ...]]
    connections: Connections

    def apart(self) -> list[Stand]:
        """The nodes that are on no side, for they do not run."""
        return [stand for stand in self.nodes.values() if stand.process != "running"]


def network_now(cluster: ClusterState, groups: GroupLog) -> NetworkNow:
    """The network of that cluster."""
    views = [cluster.nodes[node] for node in sorted(cluster.nodes)]
    troubles: dict[Pair, list[Trouble]] = {}
    for trouble in sorted(map(trouble_of, cluster.faults.values()), key=lambda each: _RANK.get(each.sort, 99)):
        for source, target in dict.fromkeys(trouble.fault.links):
            if source != target and source in cluster.nodes and target in cluster.nodes:
                troubles.setdefault((source, target), []).append(trouble)
    in_flight: dict[Pair, list[InFlightMessage]] = {}
    for flight in cluster.in_flight.values():
        if flight.source in cluster.nodes and flight.target in cluster.nodes:
            in_flight.setdefault((flight.source, flight.target), []).append(flight)
    closed = [link for link, here in troubles.items() if any(trouble.closes for trouble in here)]
    return NetworkNow(
        {view.id: _stand(view, groups, cluster.record) for view in views},
        {link: tuple(here) for link, here in troubles.items()},
        {link: tuple(here) for link, here in in_flight.items()},
        connected((view.id for view in views if view.process == "running"), closed),
    )


def _stand(view: NodeState, groups: GroupLog, record: int) -> Stand:
    group = groups.group_of(view, record)
    leads = view.leads and view.process not in GONE
    return Stand(view.id, view.process, leads, None if group is None else (group.name, group.hue))


def trouble_of(fault: ActiveFault) -> Trouble:
    """What that fault is to the links that it is on."""
    sort = _SORTS.get(fault.kind, "other")
    if sort == "cut":
        return Trouble(fault, sort, closes=True)
    command = _command(fault.text) if fault.links else None
    if not isinstance(command, LinkFault | Slow) or fault.text.split()[0] != fault.kind:
        return Trouble(fault, sort)  # a foreign recording may have any text there
    kinds = () if isinstance(command, Slow) else command.kinds
    stops = sort == "hold" or (isinstance(command, LinkFault) and sort == "lose" and command.probability == 1)
    return Trouble(fault, sort, amount_said(command), kinds, stops and not kinds)


@lru_cache(maxsize=256)
def _command(text: str) -> object:
    try:
        return parse(text).command
    except CommandError:
        return None
