"""Brute force: execute every path of a small protocol from the start, with no interning and no reduction.

It shares nothing with the explorer but the kernel. States are compared by what both see alike. They differ on
whether a cut is in force that has stopped nothing yet, or is healed and has let nothing pass yet.
"""

from collections.abc import Iterator
from itertools import chain, combinations
from typing import Any, NamedTuple

import msgspec

from lab.kernel import Message, Node, Started
from lab.kernel.plain import plain
from lab.kernel.traps import Ask, Sleep
from lab.protocols import Election
from lab.worlds.explored.explorer import Explorer
from lab.worlds.explored.states import KILLS, SUSPICIONS, State, Timeouts, links_of
from tests.explored.toys import TIMING

__all__ = ["describe_state", "described_by_brute_force"]

Description = tuple[Any, ...]
Links = frozenset[tuple[int, int]]

WITHIN_US = {"synchronous": TIMING.tm_us, "prompt": 0}
"""How long a message may take, in those models of time in which that is bounded."""


class Move(NamedTuple):
    """A move; ``links``: those of a cut.

    ``during`` are faults within the step, each after this many of its messages were sent.
    """

    what: str
    source: int = 0
    target: int = 0
    links: Links = frozenset()
    during: "tuple[tuple[int, Move], ...]" = ()


class ClusterState:
    """Nodes, and messages in flight with the times when they were sent."""

    def __init__(
        self,
        protocol: type[Election],
        ids: tuple[int, ...],
        timeouts: Timeouts,
        kills: int,
        cuts: int,
        suspicions: int,
    ) -> None:
        self.ids = ids
        self.timeouts = timeouts
        self.kills = kills
        self.suspicions = suspicions
        self.was_struck = False
        self.cuts = cuts
        self.cut: Links = frozenset()
        self.nodes = {node: Node(protocol, node, ids, TIMING) for node in ids}
        self.clocks = dict.fromkeys(ids, 0)
        self.flying: list[tuple[Message, int]] = []
        for node in ids:
            self._feed(node, Started({}, 1, 1), ())

    def execute(self, move: Move) -> int:
        """Execute a move; return how many messages its step sent."""
        what, source, target, links, during = move
        if what == "kill":
            self._kill(target)
            return 0
        self.suspicions -= what == "suspect"
        if what in ("cut", "heal"):
            self.cuts -= what == "cut"
            self.cut = links
            return 0
        if what == "tick":
            wait_us = self._wait_us()
            for node in self.ids:
                self.clocks[node] += wait_us
            return 0
        if what == "deliver":
            message = next(m for m, _ in self.flying if (m.source, m.target) == (source, target))
            self.flying = [each for each in self.flying if each[0] is not message]
            return 0 if (source, target) in self.cut else self._feed(target, message, during)
        due = self.nodes[target].next_timer()
        assert due is not None
        self.clocks[target] = max(self.clocks[target], due[0])
        return self._feed(target, due[1], during)

    def moves(self) -> list[Move]:
        """Return the moves possible now; faults within a step are left to the caller."""
        found = [Move("deliver", *link) for link in dict.fromkeys((m.source, m.target) for m, _ in self.flying)]
        found += [Move("fire", target=node) for node in self.nodes if self._fires(node) and not self._errs(node)]
        wrong = [node for node in self.nodes if self._fires(node) and self._errs(node)]
        if not found:
            found += [Move("fire", target=node) for node in wrong]
        elif self.suspicions:
            found += [Move("suspect", target=node) for node in wrong]
        if self.timeouts not in ("budget", "any") and self._wait_us():
            found.append(Move("tick"))
        return found + self.strikes()

    def _fires(self, node: int) -> bool:
        due = self.nodes[node].next_timer()
        return due is not None and (self.timeouts in ("budget", "any") or due[0] <= self.clocks[node])

    def _errs(self, node: int) -> bool:
        """Return whether the node's next timer would be a wrong suspicion."""
        running = self.nodes[node]
        due = running.next_timer()
        if self.timeouts != "budget" or due is None:
            return False
        procedure = running._running.get(due[1].procedure)
        if procedure is None:
            waits_for = [peer for peer in running.protocol.peers if self._is_put_off_by(running, peer)]
            return bool(waits_for) and all(peer in self.nodes for peer in waits_for)
        if isinstance(procedure.waits_for, Sleep):
            return False
        if not isinstance(procedure.waits_for, Ask):
            return not self.was_struck
        mine = {serial for serial, asking in running._requests.items() if asking is procedure}
        return any(
            (m.target in self.nodes and m.source == node and m.serial in mine)
            or (m.source in self.nodes and m.target == node and m.reply_to in mine)
            for m, _ in self.flying
        )

    def _is_put_off_by(self, running: Node, peer: int) -> bool:
        """Return whether the node's next timer, of a periodic procedure, depends on when the peer was heard."""
        due, heard = running.earliest_timer(), dict(running._heard)
        try:
            return any(self._timer_if_heard(running, peer, us) != due for us in (-1, running.now_us + 1))
        finally:
            running._heard = heard

    def _timer_if_heard(self, running: Node, peer: int, at_us: int) -> Any:
        running._heard = {**running._heard, peer: at_us}
        return running.earliest_timer()

    def strikes(self) -> list[Move]:
        """Return the faults possible now."""
        found = [Move("kill", target=node) for node in self.nodes] if self.kills else []
        if self.cut:
            found.append(Move("heal"))
        elif self.cuts:
            found += [Move("cut", links=links) for links in all_cuts(self.ids)]
        return found

    def describe(self) -> Description:
        """Return the view of each node, and the messages in flight on each link."""
        return (
            tuple(self._node(node) for node in self.ids),
            tuple(
                (m.source, m.target, m.kind, bytes(m.body), bool(m.reply_to), self._left_us(m, sent_us))
                for m, sent_us in sorted(self.flying, key=lambda each: (each[0].source, each[0].target))
            ),
            self.kills,
            self.suspicions,
        )

    def _node(self, node: int) -> Description:
        if node not in self.nodes:
            return ("killed",)
        running = self.nodes[node]
        due = running.next_timer()
        state = {field.name: plain(getattr(running.protocol, field.name)) for field in running.protocol.fields}
        return (
            "running",
            msgspec.json.encode(state),
            None if due is None else max(0, due[0] - self.clocks[node]),
        )

    def _left_us(self, message: Message, sent_us: int) -> int | None:
        if self.timeouts not in WITHIN_US:
            return None
        return sent_us + WITHIN_US[self.timeouts] - self.clocks[message.source]

    def _wait_us(self) -> int:
        """Return the time until the next instant; 0 if there is none, or one is now."""
        dues = [(running.next_timer(), self.clocks[node]) for node, running in self.nodes.items()]
        waits = [max(0, due[0] - clock) for due, clock in dues if due is not None]
        waits += [left for m, at_us in self.flying if (left := self._left_us(m, at_us)) is not None]
        return min(waits, default=0)

    def _feed(self, node: int, given: Any, during: tuple[tuple[int, Move], ...]) -> int:
        step = self.nodes[node].step(given, self.clocks[node])
        for place, message in enumerate(step.sent):
            for strike in (strike for sent, strike in during if sent == place):
                self.execute(strike)
            if node in self.nodes and (node, message.target) not in self.cut:
                self.flying.append((message, self.clocks[node]))
        self.flying = [(m, at_us) for m, at_us in self.flying if m.target in self.nodes]
        return len(step.sent)

    def _kill(self, node: int) -> None:
        self.kills -= 1
        self.was_struck = True
        del self.nodes[node]
        self.flying = [(m, at_us) for m, at_us in self.flying if m.target != node]


def all_cuts(ids: tuple[int, ...]) -> list[Links]:
    """Yield the links between two sides, or between two nodes."""
    sides = chain.from_iterable(combinations(ids, size) for size in range(1, len(ids)))
    parted = [frozenset((a, b) for a in ids for b in ids if (a in side) != (b in side)) for side in sides]
    return list(dict.fromkeys([*parted, *(frozenset({(a, b), (b, a)}) for a, b in combinations(ids, 2))]))


def described_by_brute_force(
    protocol: type[Election],
    count: int,
    timeouts: Timeouts,
    kills: int,
    most_moves: int | None,
    cuts: int = 0,
    suspicions: int = 0,
) -> tuple[set[Description], int]:
    """Return (descriptions of the states at the ends of all paths of this many moves, number of paths)."""
    ids = tuple(range(1, count + 1))
    found: set[Description] = set()
    paths = 0

    def again(path: tuple[Move, ...]) -> tuple[ClusterState, int]:
        cluster, sent = ClusterState(protocol, ids, timeouts, kills, cuts, suspicions), 0
        for move in path:
            sent = cluster.execute(move)
        return cluster, sent

    def follow(path: tuple[Move, ...]) -> None:
        nonlocal paths
        cluster, _ = again(path)
        paths += 1
        found.add(cluster.describe())
        if len(path) == most_moves:
            return
        for move in cluster.moves():
            disturb((*path, move), 0)

    def disturb(path: tuple[Move, ...], begin: int) -> None:
        """Follow the path, and all paths with more faults within its last step, not before ``begin``."""
        follow(path)
        last = path[-1]
        cluster, sent = again(path)
        if last.target not in cluster.nodes:
            return
        for place in range(begin, sent):
            for strike in cluster.strikes():
                if strike.what != "kill" or strike.target == last.target:
                    during = (*last.during, (place, strike))
                    disturb((*path[:-1], last._replace(during=during)), place)

    follow(())
    return found, paths


def describe_state(explorer: Explorer, ids: tuple[int, ...], timeouts: Timeouts) -> set[Description]:
    """Return the descriptions of all states that the explorer has seen."""
    return {_describe(explorer, state, ids, timeouts) for state in explorer.states}


def _describe(explorer: Explorer, state: State, ids: tuple[int, ...], timeouts: Timeouts) -> Description:
    locals_ = explorer.locals
    nodes: list[Description] = []
    for local in state[: len(ids)]:
        if locals_.alive[local]:
            view = msgspec.json.encode(locals_.views[local].state)
            nodes.append(("running", view, locals_.due_us[local]))
        else:
            nodes.append(("killed",))
    flying = tuple(_flying(explorer, state, len(ids), timeouts))
    return tuple(nodes), flying, state[KILLS], state[SUSPICIONS]


def _flying(explorer: Explorer, state: State, count: int, timeouts: Timeouts) -> Iterator[Description]:
    queues = explorer.queues
    for queue in links_of(state, count):
        left = queue
        while left:
            m = queues.messages[queues.first[left]]
            left_us = queues.left_us[left] if timeouts in WITHIN_US else None
            yield m.source, m.target, m.kind, bytes(m.body), bool(m.reply_to), left_us
            left = queues.rest[left]
