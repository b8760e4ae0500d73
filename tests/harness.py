"""A whole cluster in virtual time, for tests: start it, give it commands, let time pass, look at what it did.

    rig = Rig([1, 2, 3]).started()
    rig.do("on send NewState 3->1 kill 3")
    rig.run_until(lambda: rig.agreed() == 2, 20 * T_US, "2 leads")

``records`` is a recording as the live host writes it. ``Solo`` drives one node alone, message by message.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from lab.analysis.elections import agreed_coordinator
from lab.kernel import Message, Node, Payload, Protocol, Started, Step, Timing, Wait
from lab.network import Hold, Links, Lose, Rule
from lab.protocols import Algorithm, Bully
from lab.recording.cluster_state import ClusterState
from lab.recording.records import End, Header, Link, Record, Routed
from lab.recording.writer import MemoryLog, Writer
from lab.script.parse import parse
from lab.worlds.loading.config import RunConfig, header_of
from lab.worlds.simulated.simulation import Simulation

__all__ = ["TIMING", "TM_US", "T_US", "Rig", "Solo", "simulated_header"]

TM_US = 50_000
TIMING = Timing(TM_US, 20_000)
T_US = TIMING.t_us


def simulated_header(
    protocol: type[Algorithm],
    ids: tuple[int, ...],
    timing: Timing = TIMING,
    link: Link | None = None,
    seed: int = 1,
    parameters: Struct | None = None,
) -> Header:
    """Return the header of a simulated run."""
    given = msgspec.to_builtins(parameters or {})
    config = RunConfig("test", protocol.name, ids, timing, given, link or Link(), seed, "", world="simulated")
    return header_of(config, protocol)


class Rig(Simulation):
    """A cluster of ``ids``, with messages that take ``latency_us``. Nothing runs until ``start``.

    ``watchers`` are called after every record.
    """

    def __init__(
        self,
        ids: Iterable[int],
        *,
        protocol: type[Algorithm] = Bully,
        latency_us: int = 10_000,
        jitter_us: int = 0,
        seed: int = 1,
        parameters: Struct | None = None,
    ) -> None:
        self.watchers: list[Callable[[], None]] = []
        self.header = simulated_header(protocol, tuple(ids), TIMING, Link(latency_us, jitter_us), seed, parameters)
        self._memory = MemoryLog(self.header, lambda record: [watcher() for watcher in self.watchers])
        super().__init__(protocol, self._memory)
        self._rules = 1_000

    @property
    def records(self) -> list[Record]:
        return self._memory.records

    @property
    def cluster(self) -> ClusterState:
        """The state of the cluster after the last record."""
        return self._memory.cluster

    @property
    def messages(self) -> dict[tuple[int, int], Message]:
        """Every message sent so far, by source and serial."""
        return {(message.source, message.serial): message for step in self.steps for message in step.sent}

    def started(self, *nodes: int) -> "Rig":
        """Start these nodes, or all."""
        for node in nodes or self.ids:
            self.restart(node)
        return self

    def do(self, *lines: str) -> str:
        """Give commands, now or at their triggers; return the outcome of the last one carried out now."""
        outcome = ""
        for line in lines:
            scripted = parse(line)
            if scripted.trigger is None:
                done = self.control.execute(scripted)
                outcome = done.text
                assert done.changed, f"{line}: {outcome}"
            else:
                self.director.add(scripted)
        return outcome

    def run(self, us: int) -> "Rig":
        """Advance time by ``us``."""
        self.run_to(self.now_us + us)
        return self

    def run_until(self, condition: Callable[[], bool], within_us: int, what: str) -> int:
        """Advance time until the condition holds; return when it did. The error shows the last records."""
        end_us = self.now_us + within_us
        while not condition():
            due_us = self.next_us()
            if due_us is None or due_us > end_us:
                raise AssertionError(f"not within {within_us} µs: {what}\n{self.tail()}")
            self.step()
        return self.now_us

    def run_until_agreed(self) -> int:
        """Advance time until all running nodes are Normal under one coordinator; return that coordinator."""
        self.run_until(lambda: self.agreed() is not None, 100 * T_US, "all Normal under one coordinator")
        return self.agreed() or 0

    def agreed(self) -> int | None:
        """Return the coordinator under which all started nodes are Normal (A2), or None."""
        return agreed_coordinator({n: view for n, view in self.cluster.nodes.items() if view.process != "absent"})

    def hold(self, links: Links, *kinds: str) -> int:
        """Hold messages until ``release``: tests use this to choose an order of arrival."""
        return self.rule(Hold(links=links, kinds=frozenset(kinds)))

    def lose(self, links: Links, *kinds: str) -> int:
        """Lose messages until ``release``."""
        return self.rule(Lose(links=links, kinds=frozenset(kinds), probability=1.0))

    def rule(self, rule: Rule) -> int:
        """Add a rule to the network; return its number."""
        self._rules += 1
        self.network.add_rule(self._rules, rule)
        return self._rules

    def release(self, number: int) -> None:
        """Remove a rule; release what it held."""
        for message in self.network.remove_rule(number, self.now_us):
            self.record(Routed(self.now_us, message.source, message.serial, "released", by=(number,)))

    def protocol(self, node: int) -> Any:
        """Return the protocol object of a node that is up."""
        executed = self.incarnations[node].node
        assert isinstance(executed, Node)
        return executed.protocol

    @property
    def steps(self) -> list[Step]:
        return [record for record in self.records if isinstance(record, Step)]

    def sent(self, *kinds: str, since: int = 0) -> list[tuple[int, str, int]]:
        """Return (source, kind, target) of the messages in the records from ``since`` on, in the order sent."""
        return [
            (message.source, message.kind, message.target)
            for record in self.records[since:]
            if isinstance(record, Step)
            for message in record.sent
            if not kinds or message.kind in kinds
        ]

    def write(self, path: Path, end: bool = True) -> Path:
        """Write the records to a file, as the host does; with ``end``, as a run that ended normally."""
        writer = Writer(path, self.header)
        for record in self.records[1:]:
            writer.append(record)
        if end:
            writer.append(End(self.now_us, "the test ended"))
        writer.close()
        return path

    def tail(self, most: int = 40) -> str:
        """Return the last records as text, for the message of a failure."""
        return "\n".join(msgspec.json.encode(record).decode()[:200] for record in self.records[-most:])


class Solo:
    """A single node, driven by hand. ``now_us`` is the instant of the next input."""

    def __init__(
        self,
        protocol: type[Protocol],
        node: int = 2,
        ids: tuple[int, ...] = (1, 2, 3),
        timing: Timing = TIMING,
        parameters: Struct | None = None,
    ) -> None:
        self.node = Node(protocol, node, ids, timing, parameters)
        self.now_us = 0
        self._serials = dict.fromkeys(ids, 0)

    @property
    def protocol(self) -> Any:
        """The protocol object of the node."""
        return self.node.protocol

    @property
    def waits(self) -> tuple[Wait, ...]:
        """All waits of the node after its last step."""
        return self.node.waits()

    def start(self, stored: dict[str, Any] | None = None, incarnation: int = 1, serial: int = 1) -> Step:
        """Start the node."""
        return self.node.step(Started(stored or {}, incarnation, serial), self.now_us)

    def hear(self, source: int, payload: Payload, reply_to: int = 0) -> Step:
        """Deliver a message."""
        self._serials[source] += 1
        body = msgspec.Raw(msgspec.json.encode(payload))
        message = Message(source, self.node.id, self._serials[source], type(payload).__name__, body, reply_to)
        return self.node.step(message, self.now_us)

    def reply(self, asked: Message, payload: Payload) -> Step:
        """Deliver the answer of a peer that was asked."""
        return self.hear(asked.target, payload, asked.serial)

    def fire_timer(self) -> Step:
        """Fire the next timer, at its due time, or now if that is past."""
        due = self.node.next_timer()
        assert due is not None, "no timer is set"
        self.now_us = max(self.now_us, due[0])
        return self.node.step(due[1], self.now_us)
