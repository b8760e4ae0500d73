"""The peer of exploration: the bully as plain functions on tuples, searched breadth first.

It is what one writes without a laboratory: a handler for messages and one for the timer, which take a node and
return the node after it and what it sends. As with ``lab explore``, links are FIFO, a timer may fire at any
moment, and one node may be killed at any moment, also between two messages of one step. Two leaders are looked for
in every state, and each state's predecessor is kept.
"""

from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Searched", "search"]

Message = tuple[str, int]
"""Its kind, and the version of the election that it belongs to."""
Sends = list[tuple[int, Message]]
Node = tuple[str, int, int, str, int, int]
"""Status, coordinator, version; the request asked, and as bits the peers silent so far, and those that replied."""
Links = tuple[tuple[Message, ...], ...]
"""The messages from each node to each, by source and then by target."""
State = tuple[tuple[Node, ...], Links, int]
"""The nodes, the links, the number of kills left."""
Stepped = tuple[Node, Sends]

DOWN: Node = ("Down", 0, 0, "", 0, 0)


def ask(status: str, coordinator: int, version: int, kind: str, peers: int) -> Stepped:
    """Send a request to peers, and wait for their replies."""
    sends = [(peer, (kind, version)) for peer in range(peers.bit_length()) if peers >> peer & 1]
    return (status, coordinator, version, kind, peers, 0), sends


def begin_election(me: int, count: int, node: Node) -> Stepped:
    """Ask the nodes above whether they are up."""
    higher = (1 << count) - (2 << me)
    if higher:
        return ask("Election", node[1], node[2] + 1, "AreYouUp", higher)
    return halt_lower(me, node[2] + 1)


def halt_lower(me: int, version: int) -> Stepped:
    """Halt the nodes below."""
    if me:
        return ask("Election", me, version, "EnterElection", (1 << me) - 1)
    return lead(me, version)


def lead(me: int, version: int) -> Stepped:
    """End the election as the coordinator."""
    return ("Normal", me, version, "", 0, 0), []


def on_timer(me: int, count: int, node: Node) -> Stepped:
    """Go on without those that have not replied; or check on the others, if nothing is asked."""
    status, coordinator, version, asks, _, _ = node
    if asks:
        return go_on(me, count, node)
    if status != "Normal":
        return begin_election(me, count, node)
    if coordinator == me:
        return ask(status, coordinator, version, "AreYouNormal", (1 << count) - 1 - (1 << me))
    return ask(status, coordinator, version, "AreYouThere", 1 << coordinator)


def go_on(me: int, count: int, node: Node) -> Stepped:
    """Go on with the replies that came."""
    status, coordinator, version, asks, silent, up = node
    if asks == "AreYouUp":
        return ((status, coordinator, version, "", 0, 0), []) if up else halt_lower(me, version)
    if asks == "EnterElection":
        return ask("Reorganization", me, version, "SetCoordinator", up) if up else lead(me, version)
    if asks == "AreYouNormal" or not silent:
        if asks == "SetCoordinator":
            return ask(status, coordinator, version, "NewState", up)
        return lead(me, version) if asks == "NewState" else ((status, coordinator, version, "", 0, 0), [])
    return begin_election(me, count, node)


def on_message(me: int, count: int, node: Node, source: int, message: Message) -> Stepped:
    """Answer a request; take a reply."""
    kind, its_version = message
    status, coordinator, version, asks, missing, up = node
    if kind.endswith("Answer"):
        bit = 1 << source
        if kind != asks + "Answer" or its_version != version or not missing & bit:
            return node, []
        node = (status, coordinator, version, asks, missing & ~bit, up | bit)
        return (node, []) if missing & ~bit else go_on(me, count, node)
    if kind == "EnterElection":
        node = ("Election", source, version, "", 0, 0)
    elif kind == "SetCoordinator" and coordinator == source:
        node = ("Reorganization", source, version, asks, missing, up)
    elif kind == "NewState" and coordinator == source:
        node = ("Normal", source, version, asks, missing, up)
    elif (kind == "AreYouNormal" and status != "Normal") or (kind == "AreYouThere" and coordinator != me):
        return node, []
    return node, [(source, (kind + "Answer", its_version))]


def successors(state: State) -> Iterator[State]:
    """Yield all states after one move."""
    nodes, links, kills = state
    count = len(nodes)
    for me, node in enumerate(nodes):
        if node is not DOWN:
            yield from stepped(state, me, on_timer(me, count, node), links)
            if kills:
                yield killed(state, me, links)
    for link, queue in enumerate(links):
        if queue:
            source, me = divmod(link, count)
            step = on_message(me, count, nodes[me], source, queue[0])
            yield from stepped(state, me, step, (*links[:link], queue[1:], *links[link + 1 :]))


def stepped(state: State, me: int, step: Stepped, links: Links) -> Iterator[State]:
    """Yield the state after a step, and those after a kill between two of its messages."""
    nodes, _, kills = state
    node, sends = step
    for target, message in sends:
        if kills:
            yield killed(state, me, links)
        if nodes[target] is not DOWN:
            link = me * len(nodes) + target
            links = (*links[:link], (*links[link], message), *links[link + 1 :])
    yield (*nodes[:me], node, *nodes[me + 1 :]), links, kills


def killed(state: State, me: int, links: Links) -> State:
    """Return the state after a kill; messages to the node are lost."""
    nodes, _, kills = state
    left = list(links)
    for source in range(len(nodes)):
        left[source * len(nodes) + me] = ()
    return (*nodes[:me], DOWN, *nodes[me + 1 :]), tuple(left), kills - 1


def has_two_leaders(state: State) -> bool:
    """Return whether two nodes that are up take themselves for the coordinator."""
    return sum(node[0] == "Normal" and node[1] == me for me, node in enumerate(state[0])) > 1


class Searched(NamedTuple):
    """The numbers of states, of transitions, and of states with two leaders."""

    states: int
    transitions: int
    violated: int


def search(count: int, most_states: int) -> Searched:
    """Search breadth first from all Normal under the highest node, up to so many states."""
    begin: State = ((("Normal", count - 1, 0, "", 0, 0),) * count, ((),) * count**2, 1)
    predecessors: dict[State, State | None] = {begin: None}
    frontier = [begin]
    transitions = violated = 0
    while frontier:
        states, frontier = frontier, []
        for state in states:
            for after in successors(state):
                transitions += 1
                if after in predecessors:
                    continue
                if len(predecessors) == most_states:
                    return Searched(len(predecessors), transitions, violated)
                predecessors[after] = state
                violated += has_two_leaders(after)
                frontier.append(after)
    return Searched(len(predecessors), transitions, violated)
