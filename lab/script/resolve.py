"""Resolve what the user named to nodes, links and rules, in the present state of the cluster."""

from lab.kernel import Protocol
from lab.network import Cut, Delay, Duplicate, Hold, Links, Lose, Reorder, Rule, links_among
from lab.network import Slow as SlowRule
from lab.protocols import Election
from lab.recording.cluster_state import ClusterState
from lab.recording.snapshot import NodeState
from lab.script.commands import CommandError, LinkFault, LinkSet, Nodes, Partition, ProtocolCommandLine, Slow


def coordinator_of(cluster: ClusterState) -> int:
    """Return the highest node that leads. Raises CommandError if none does."""
    return max(coordinators_of(cluster))


def coordinators_of(cluster: ClusterState) -> list[int]:
    """Return the nodes that lead: Normal, and their own coordinators. Raises CommandError if none does."""
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
    """Return whether the known states of these nodes declare no coordinator."""
    known = [view.state for view in alive if view.state]
    return bool(known) and not any("coordinator" in state for state in known)


def resolve_nodes(named: Nodes, cluster: ClusterState) -> tuple[int, ...]:
    """Return the ids, ascending. Raises CommandError for a node that does not exist."""
    known = cluster.nodes.keys()
    for node in named.ids:
        if node not in known:
            raise CommandError(f"there is no node {node}; the nodes are {' '.join(map(str, sorted(known)))}")
    ids = set(named.ids)
    if "all" in named.words:
        ids |= known
    if "coordinator" in named.words:
        ids.add(coordinator_of(cluster))
    if "coordinators" in named.words:
        ids.update(coordinators_of(cluster))
    return tuple(sorted(ids))


def target_nodes(command: ProtocolCommandLine, cluster: ClusterState, protocol: type[Protocol]) -> tuple[int, ...]:
    """Return the ids of the nodes that run a protocol command, ascending. Raises CommandError if there are none.

    If one node is to run it and the user names none, a running node is preferred to a paused one.
    """
    if command.nodes is not None:
        return resolve_nodes(command.nodes, cluster)
    elects = issubclass(protocol, Election)
    chosen = [view.id for view in _alive(cluster) if view.leads or not elects]
    if not chosen and elects:
        text = " ".join((command.command, *command.words))
        raise CommandError(f"nobody is coordinator at present; wait for the election: when all normal: {text}")
    if not chosen:
        raise CommandError("no node is up at present; restart one")
    if protocol.commands[command.command].to != "one":
        return tuple(sorted(chosen))
    running = [node for node in chosen if cluster.nodes[node].process == "running"]
    return (max(running or chosen),)


def resolve_links(named: LinkSet, cluster: ClusterState) -> Links:
    """Return the directed links. Raises CommandError if there are none."""
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
    """Return the cut between the groups. Raises CommandError if a node is in no group, or in two."""
    sides = [frozenset(resolve_nodes(side, cluster)) for side in command.sides]
    everyone = frozenset(cluster.nodes)
    if len(sides) == 1:
        sides.append(everyone - sides[0])
    if not all(sides):
        raise CommandError("all nodes are in one group, so nothing is separated: partition 1 2 | 3 4 5")
    placed: set[int] = set()
    for side in sides:
        if placed & side:
            raise CommandError(f"{_list(placed & side)} in two groups")
        placed |= side
    if everyone - placed:
        raise CommandError(
            f"{_list(everyone - placed)} in no group; add {'it' if len(everyone - placed) == 1 else 'them'} to one"
        )
    return Cut(links=frozenset((a, b) for one in sides for a in one for b in everyone - one))


def link_rule(command: LinkFault, cluster: ClusterState) -> Rule:
    """Return the network rule of a link fault."""
    return rule_over(command, resolve_links(command.links, cluster))


def fault_rule(command: LinkFault | Slow | Partition, cluster: ClusterState) -> Rule:
    """Return the network rule of a fault; a slow node's applies to all messages that it receives."""
    if isinstance(command, LinkFault):
        return link_rule(command, cluster)
    if isinstance(command, Partition):
        return partition_rule(command, cluster)
    slow = frozenset(resolve_nodes(command.nodes, cluster))
    return rule_over(command, links_among(frozenset(cluster.nodes), slow))


def rule_over(command: LinkFault | Slow | Partition, links: Links) -> Rule:
    """Return the rule of the command, on these links instead of its own."""
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
    return f"node {ids[0]} appears" if len(ids) == 1 else f"nodes {' '.join(map(str, ids))} appear"
