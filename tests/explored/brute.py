"""Brute force: every path of a small protocol, each done again from the start, with nothing interned or left out.

It shares nothing with the explorer but the kernel. A state is described by what both can tell of it.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from lab.kernel import Message, Node, Started
from lab.kernel.state import plain
from lab.protocols import Election
from lab.worlds.explored.explorer import Explorer
from lab.worlds.explored.moves import State, Timeouts
from tests.explored.toys import TIMING

__all__ = ["described", "described_by_brute_force"]

Description = tuple[Any, ...]


class Happening(NamedTuple):
    """One thing that happens; ``sent``: how many messages of the step go out before a kill, if one strikes."""

    what: str
    source: int = 0
    target: int = 0
    sent: int | None = None


class Cluster:
    """Nodes, and messages in flight with the times at which they were sent."""

    def __init__(self, protocol: type[Election], ids: tuple[int, ...], timeouts: Timeouts, kills: int) -> None:
        self.ids = ids
        self.timeouts = timeouts
        self.kills = kills
        self.nodes = {node: Node(protocol, node, ids, TIMING) for node in ids}
        self.clocks = dict.fromkeys(ids, 0)
        self.flying: list[tuple[Message, int]] = []
        for node in ids:
            self._feed(node, Started({}, 1, 1), None)

    def happen(self, happening: Happening) -> int:
        """Let it happen; how many messages the step of it sent."""
        what, source, target, sent = happening
        if what == "kill":
            self._kill(target)
            return 0
        if what == "tick":
            wait_us = self._wait_us()
            for node in self.ids:
                self.clocks[node] += wait_us
            return 0
        if what == "deliver":
            message = next(m for m, _ in self.flying if (m.source, m.target) == (source, target))
            self.flying = [each for each in self.flying if each[0] is not message]
            return self._feed(target, message, sent)
        due = self.nodes[target].next_timer()
        assert due is not None
        self.clocks[target] = max(self.clocks[target], due[0])
        return self._feed(target, due[1], sent)

    def happenings(self) -> list[Happening]:
        """What may happen next; that a kill may strike within a step is left to the caller."""
        found = [
            Happening("deliver", *link) for link in dict.fromkeys((m.source, m.target) for m, _ in self.flying)
        ]
        for node, life in self.nodes.items():
            due = life.next_timer()
            if due is not None and (self.timeouts == "any" or due[0] <= self.clocks[node]):
                found.append(Happening("fire", target=node))
        if self.timeouts != "any" and self._wait_us():
            found.append(Happening("tick"))
        if self.kills:
            found += [Happening("kill", target=node) for node in self.nodes]
        return found

    def describe(self) -> Description:
        """What is seen of each node, and what is in flight on each link."""
        return (
            tuple(self._node(node) for node in self.ids),
            tuple(
                (m.source, m.target, m.kind, bytes(m.body), bool(m.answers), self._left_us(m, sent_us))
                for m, sent_us in sorted(self.flying, key=lambda each: (each[0].source, each[0].target))
            ),
            self.kills,
        )

    def _node(self, node: int) -> Description:
        if node not in self.nodes:
            return ("killed",)
        life = self.nodes[node]
        due = life.next_timer()
        state = {field.name: plain(getattr(life.protocol, field.name)) for field in life.protocol.fields}
        return (
            "running",
            msgspec.json.encode(state),
            None if due is None else max(0, due[0] - self.clocks[node]),
        )

    def _left_us(self, message: Message, sent_us: int) -> int | None:
        if self.timeouts != "synchronous":
            return None
        return sent_us + TIMING.tm_us - self.clocks[message.source]

    def _wait_us(self) -> int:
        """How long until the next instant; 0 where there is none, or one is now."""
        dues = [(life.next_timer(), self.clocks[node]) for node, life in self.nodes.items()]
        waits = [max(0, due[0] - clock) for due, clock in dues if due is not None]
        waits += [left for m, at_us in self.flying if (left := self._left_us(m, at_us)) is not None]
        return min(waits, default=0)

    def _feed(self, node: int, given: Any, sent: int | None) -> int:
        step = self.nodes[node].step(given, self.clocks[node])
        self.flying += [(message, self.clocks[node]) for message in step.sent[:sent]]
        if sent is not None:
            self._kill(node)
        self.flying = [(m, at_us) for m, at_us in self.flying if m.target in self.nodes]
        return len(step.sent)

    def _kill(self, node: int) -> None:
        self.kills -= 1
        del self.nodes[node]
        self.flying = [(m, at_us) for m, at_us in self.flying if m.target != node]


def described_by_brute_force(
    protocol: type[Election], count: int, timeouts: Timeouts, kills: int, most_moves: int | None
) -> tuple[set[Description], int]:
    """(descriptions of all states at the ends of all paths of so many moves, how many such paths there are)."""
    ids = tuple(range(1, count + 1))
    found: set[Description] = set()
    paths = 0

    def again(path: tuple[Happening, ...]) -> tuple[Cluster, int]:
        cluster, sent = Cluster(protocol, ids, timeouts, kills), 0
        for happening in path:
            sent = cluster.happen(happening)
        return cluster, sent

    def follow(path: tuple[Happening, ...]) -> None:
        nonlocal paths
        cluster, _ = again(path)
        paths += 1
        found.add(cluster.describe())
        if len(path) == most_moves:
            return
        for happening in cluster.happenings():
            _, sent = again((*path, happening))
            follow((*path, happening))
            for part in range(sent if cluster.kills else 0):
                follow((*path, happening._replace(sent=part)))

    follow(())
    return found, paths


def described(explorer: Explorer, ids: tuple[int, ...], timeouts: Timeouts) -> set[Description]:
    """The same of all states that the explorer has seen."""
    return {_describe(explorer, state, ids, timeouts) for state in explorer.seen}


def _describe(explorer: Explorer, state: State, ids: tuple[int, ...], timeouts: Timeouts) -> Description:
    locals_ = explorer.locals
    nodes: list[Description] = []
    for local in state[: len(ids)]:
        if locals_.alive[local]:
            view = msgspec.json.encode(locals_.views[local].state)
            nodes.append(("running", view, locals_.due_us[local]))
        else:
            nodes.append(("killed",))
    return tuple(nodes), tuple(_flying(explorer, state, len(ids), timeouts)), state[-2]


def _flying(explorer: Explorer, state: State, count: int, timeouts: Timeouts) -> Iterator[Description]:
    queues = explorer.queues
    for queue in state[count:-2]:
        left = queue
        while left:
            m = queues.messages[queues.first[left]]
            left_us = queues.left_us[left] if timeouts == "synchronous" else None
            yield m.source, m.target, m.kind, bytes(m.body), bool(m.answers), left_us
            left = queues.rest[left]
