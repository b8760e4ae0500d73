"""The course of a run in virtual time: what the live host does, in the same order, without process or clock.

A step is recorded, shown to the director, and only then are its messages routed; a message in flight outlives
its sender; what was handed to a node and not taken in dies with it. Nodes take no time to handle a message.
At equal times a command comes first, then messages, then timers in the order of the nodes' ids.
"""

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import msgspec
from msgspec import Struct

from lab.journal import FORMAT, Cluster, Header, Link, Process, ProtocolInfo, Record, Routed
from lab.kernel import Fired, Message, Node, Received, Started, Timing
from lab.network import Network, Parcel, Sending
from lab.protocols import Election, source_of
from lab.script import Director
from lab.worlds.control import Control, NodeHandles

__all__ = ["Course", "header_of"]


class _Life(Struct):
    """One life of a node, as long as its process exists."""

    node: Node
    number: int
    inbox: list[Message] = []
    unsent: list[Message] = []
    paused_at_us: int | None = None


class Course(NodeHandles):
    """A cluster whose nodes can be struck. ``watchers`` are called after every record."""

    def __init__(self, protocol: type[Election], header: Header, parameters: Struct | None) -> None:
        self.now_us = 0
        self.header = header
        self.ids = header.nodes
        self.cluster = Cluster.of(header)
        self.records: list[Record] = [header]
        self.cluster.apply(header)
        self.messages: dict[tuple[int, int], Message] = {}
        self.watchers: list[Callable[[], None]] = []
        self.network: Network[Message] = Network(
            lambda source, target: Random(f"{header.seed}/link/{source}->{target}"),
            header.link.latency_us,
            header.link.jitter_us,
        )
        self.director = Director()
        self.control = Control(
            self, self.network, self.cluster, header.timing.tm_us, self.record, lambda: self.now_us
        )
        self.lives: dict[int, _Life] = {}
        self._protocol = protocol
        self._parameters = parameters
        self._numbers = dict.fromkeys(self.ids, 0)
        self._serials = dict.fromkeys(self.ids, 1)
        self._stores: dict[int, dict[str, Any]] = {node: {} for node in self.ids}
        self._timers: dict[int, tuple[int, Fired]] = {}

    def advance(self, end_us: int) -> bool:
        """Do what is next, if it is no later than ``end_us``; whether there was anything."""
        command_us, arrival_us = self.director.next_due_us(), self.network.next_due_us()
        timer = min(((due[0], node) for node, due in self._timers.items()), default=None)
        dues = [due for due in (command_us, arrival_us, timer and timer[0]) if due is not None]
        if not dues or min(dues) > end_us:
            return False
        self.now_us = max(self.now_us, min(dues))
        if command_us is not None and command_us <= self.now_us:
            for scripted in self.director.due(self.now_us):
                self.control.execute(scripted)
        elif arrival_us is not None and arrival_us <= self.now_us:
            parcel, cut = next(self.network.due(self.now_us))
            self._arrive(parcel.content, cut)
        elif timer is not None:
            self._step(timer[1], self._timers[timer[1]][1])
        return True

    def record(self, record: Record) -> None:
        """Write a record down, and do what has become due by it."""
        self.records.append(record)
        self.cluster.apply(record)
        for scripted in self.director.after(record, self.cluster):
            self.control.execute(scripted)
        for watcher in self.watchers:
            watcher()

    # what commands do: see NodeHandles

    def kill(self, node: int) -> bool:
        """Crash it."""
        life = self.lives.pop(node, None)
        if life is None:
            return False
        self._forget(node, life, "killed")
        self.record(Process(self.now_us, node, "killed", life.number))
        return True

    def restart(self, node: int) -> bool:
        """A new life with what safe storage held."""
        if node in self.lives:
            return False
        self._numbers[node] += 1
        number = self._numbers[node]
        fresh = Node(self._protocol, node, self.ids, self.header.timing, self._parameters)
        life = self.lives[node] = _Life(fresh, number)
        self.record(Process(self.now_us, node, "started", number))
        if self.lives.get(node) is life:
            self._step(node, Started(dict(self._stores[node]), number, self._serials[node]))
        return True

    def pause(self, node: int) -> bool:
        """Let it stand still: what arrives waits."""
        life = self.lives.get(node)
        if life is None or life.paused_at_us is not None:
            return False
        life.paused_at_us = self.now_us
        self._timers.pop(node, None)
        self.record(Process(self.now_us, node, "paused", life.number))
        return True

    def resume(self, node: int) -> bool:
        """Let it go on: what arrived comes first, then the timers that have expired."""
        life = self.lives.get(node)
        if life is None or life.paused_at_us is None:
            return False
        paused_us, life.paused_at_us = self.now_us - life.paused_at_us, None
        self.record(Process(self.now_us, node, "resumed", life.number, paused_us=paused_us))
        unsent, life.unsent = life.unsent, []
        self._send(node, life, unsent)
        inbox, life.inbox = life.inbox, []
        for message in inbox:
            self._arrive(message, None)
        self._set_timer(node)
        return True

    def wipe(self, node: int) -> bool:
        """Empty its safe storage."""
        if node in self.lives or not self._stores[node]:
            return False
        self._stores[node] = {}
        self.record(Process(self.now_us, node, "wiped", self._numbers[node]))
        return True

    # the course of a run

    def _arrive(self, message: Message, cut: int | None) -> None:
        life = self.lives.get(message.target)
        if cut is not None:
            self._drop(message, "cut", (cut,))
        elif life is None:
            self._drop(message, "down")
        elif life.paused_at_us is not None:
            life.inbox.append(message)
        else:
            self._step(message.target, message)

    def _step(self, node: int, given: Started | Message | Fired) -> None:
        life = self.lives[node]
        step = life.node.step(given, self.now_us)
        self._stores[node].update(step.stored)
        if step.sent:
            self._serials[node] = step.sent[-1].serial + 1
            self.messages.update({(message.source, message.serial): message for message in step.sent})
        self.record(step)
        if isinstance(step.input, Received):
            self._due_on("deliver", self.messages[step.input.source, step.input.serial])
        self._send(node, life, step.sent)
        if step.failed:
            self.lives.pop(node)
            self._forget(node, life, "down")
            self.record(Process(self.now_us, node, "failed", life.number))
        self._set_timer(node)

    def _send(self, node: int, life: _Life, messages: Iterable[Message]) -> None:
        for message in messages:
            if self.lives.get(node) is not life:
                self._drop(message, "unsent")
            elif life.paused_at_us is not None:
                life.unsent.append(message)
            else:
                sending = self.network.send(
                    Parcel(message.source, message.target, message.kind, message), self.now_us
                )
                self._record_sending(message, sending)
                self._due_on("send", message)

    def _record_sending(self, message: Message, sending: Sending) -> None:
        name, by = (message.source, message.serial), sending.by
        for _ in sending.extra:
            self.record(Routed(self.now_us, *name, "duplicated", by=by))
            by = ()
        if sending.reordered:
            self.record(Routed(self.now_us, *name, "reordered", by=by, due_us=sending.due_us))
        elif sending.fate:
            self.record(Routed(self.now_us, *name, sending.fate, sending.why, by, sending.due_us))

    def _due_on(self, moment: str, message: Message) -> None:
        for scripted in self.director.on(moment, message):
            self.control.execute(scripted)

    def _drop(self, message: Message, why: str, by: tuple[int, ...] = ()) -> None:
        self.record(Routed(self.now_us, message.source, message.serial, "dropped", why, by))

    def _forget(self, node: int, life: _Life, why: str) -> None:
        self._timers.pop(node, None)
        for message in life.inbox:
            self._drop(message, why)
        for message in life.unsent:
            self._drop(message, "unsent")

    def _set_timer(self, node: int) -> None:
        life = self.lives.get(node)
        due = None if life is None or life.paused_at_us is not None else life.node.next_timer()
        if due is None:
            self._timers.pop(node, None)
        else:
            self._timers[node] = due


def header_of(
    protocol: type[Election],
    ids: tuple[int, ...],
    timing: Timing,
    link: Link,
    seed: int,
    parameters: Struct | None = None,
) -> Header:
    """The first line of the run's recording."""
    file, source = source_of(protocol)
    heartbeats = tuple(kind.__name__ for kind in protocol.heartbeats)
    info = ProtocolInfo(
        protocol.name, msgspec.to_builtins(parameters or {}), file, source, heartbeats, protocol.promises
    )
    return Header(FORMAT, "test", "rig", "2024-01-01T00:00:00", "simulated", info, ids, timing, link, seed)
