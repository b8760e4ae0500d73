"""From what the user named to nodes, links and rules, as the cluster is now."""

from lab.kernel import Protocol
from lab.network import Cut, Delay, Duplicate, Hold, Links, Lose, Reorder, Rule, links_among
from lab.network import Slow as SlowRule
from lab.protocols import Election
from lab.recording.cluster_state import ClusterState
from lab.recording.snapshot import NodeState
from lab.script.commands import CommandError, LinkFault, LinkSet, Nodes, Partition, Slow, Tell

__all__ = [
    "coordinator_of",
    "coordinators_of",
    "fault_rule",
    "link_rule",
    "nodes_told",
    "partition_rule",
    "resolve_links",
    "resolve_nodes",
    "rule_over",
]


def coordinator_of(cluster: ClusterState) -> int:
    """The node that leads; of several the highest. CommandError if none."""
    return max(coordinators_of(cluster))


def coordinators_of(cluster: ClusterState) -> list[int]:
    """The nodes that lead: Normal, and their own coordinators. CommandError if none."""
    alive = _alive(cluster)
    if _elect_nobody(alive):
        raise CommandError("this protocol elects nobody, so there is no coordinator; name a node by its number")
    leaders = [view.id for view in alive if view.leads]
    if not leaders:
        raise CommandError("nobody is coordinator at present; name a node by its number")
    return leaders


def _alive(cluster: ClusterState) -> list[NodeState]:
    return [view for view in cluster.nodes.values() if view.process in ("running", "paused")]


def _elect_nobody(alive: list[NodeState]) -> bool:
    """Whether what is known of their state has no coordinator in it."""
    known = [view.state for view in alive if view.state]
    return bool(known) and not any("coordinator" in state for state in known)


def resolve_nodes(named: Nodes, cluster: ClusterState) -> tuple[int, ...]:
    """The ids meant, ascending. CommandError for a node that does not exist."""
    known = cluster.nodes.keys()
    for node in named.ids:
        if node not in known:
            raise CommandError(f"there is no node {node}; there are {' '.join(map(str, sorted(known)))}")
    ids = set(named.ids)
    if "all" in named.words:
        ids |= known
    if "coordinator" in named.words:
        ids.add(coordinator_of(cluster))
    if "coordinators" in named.words:
        ids.update(coordinators_of(cluster))
    return tuple(sorted(ids))


def nodes_told(command: Tell, cluster: ClusterState, protocol: type[Protocol]) -> tuple[int, ...]:
    """The ids that a command of the protocol's own is for, ascending. CommandError if there are none.

    Where one node is meant, and none named, one that runs comes before one that stands still.
    """
    if command.nodes is not None:
        return resolve_nodes(command.nodes, cluster)
    elects = issubclass(protocol, Election)
    meant = [view.id for view in _alive(cluster) if view.leads or not elects]
    if not meant and elects:
        said = " ".join((command.command, *command.words))
        raise CommandError(f"nobody is coordinator at present; wait for the election: when all normal: {said}")
    if not meant:
        raise CommandError("no node is up at present; restart one")
    if protocol.commands[command.command].to != "one":
        return tuple(sorted(meant))
    running = [node for node in meant if cluster.nodes[node].process == "running"]
    return (max(running or meant),)


def resolve_links(named: LinkSet, cluster: ClusterState) -> Links:
    """The directed links meant. CommandError where they are none."""
    sources = frozenset(resolve_nodes(named.sources, cluster))
    everyone = frozenset(cluster.nodes)
    if named.targets is None:
        links = links_among(sources, everyone) | links_among(everyone, sources)
    else:
        targets = frozenset(resolve_nodes(named.targets, cluster))
        links = links_among(sources, targets)
        if named.both:
            links |= links_among(targets, sources)
    if not links:
        raise CommandError("a node has no link to itself; name two nodes: 2->3")
    return links


def partition_rule(command: Partition, cluster: ClusterState) -> Rule:
    """The cut between the sides. CommandError where a node is on no side, or on two."""
    sides = [frozenset(resolve_nodes(side, cluster)) for side in command.sides]
    everyone = frozenset(cluster.nodes)
    if len(sides) == 1:
        sides.append(everyone - sides[0])
    if not all(sides):
        raise CommandError("all nodes are on one side, so nothing would be parted: partition 1 2 | 3 4 5")
    placed: set[int] = set()
    for side in sides:
        if placed & side:
            raise CommandError(f"{_list(placed & side)} on two sides; a node is on one")
        placed |= side
    if everyone - placed:
        raise CommandError(f"{_list(everyone - placed)} on no side; say on which")
    return Cut(links=frozenset((a, b) for one in sides for a in one for b in everyone - one))


def link_rule(command: LinkFault, cluster: ClusterState) -> Rule:
    """The rule that a fault of links puts into the network."""
    return rule_over(command, resolve_links(command.links, cluster))


def fault_rule(command: LinkFault | Slow | Partition, cluster: ClusterState) -> Rule:
    """The rule that any fault of the network puts into it; a slow node's is on all that it gets."""
    if isinstance(command, LinkFault):
        return link_rule(command, cluster)
    if isinstance(command, Partition):
        return partition_rule(command, cluster)
    slow = frozenset(resolve_nodes(command.nodes, cluster))
    return rule_over(command, links_among(frozenset(cluster.nodes), slow))


def rule_over(command: LinkFault | Slow | Partition, links: Links) -> Rule:
    """The rule of the command, on these links and no others."""
    if isinstance(command, Partition):
        return Cut(links=links)
    if isinstance(command, Slow):
        return SlowRule(links=links, delay_us=command.us, jitter_us=command.jitter_us)
    kinds, probability = frozenset(command.kinds), command.probability
    rule: Rule
    match command.verb:
        case "delay":
            rule = Delay(links=links, kinds=kinds, delay_us=command.us, jitter_us=command.jitter_us)
        case "lose":
            rule = Lose(links=links, kinds=kinds, probability=probability)
        case "duplicate":
            rule = Duplicate(links=links, kinds=kinds, probability=probability)
        case "reorder":
            rule = Reorder(links=links, kinds=kinds, probability=probability, spread_us=max(1, command.us))
        case "hold":
            rule = Hold(links=links, kinds=kinds)
        case "cut":
            rule = Cut(links=links)
    return rule


def _list(nodes: set[int] | frozenset[int]) -> str:
    ids = sorted(nodes)
    return f"node {ids[0]} is" if len(ids) == 1 else f"nodes {' '.join(map(str, ids))} are"
