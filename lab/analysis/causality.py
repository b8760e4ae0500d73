"""Happens-before, as vector clocks over record numbers: which local states of two nodes are concurrent.

The clock of a node holds, for every node, the last record of that node which it can know of: through the messages
that it received, and through what their senders knew when they sent them. So the records in a clock are a
consistent cut: no message crosses it backwards. A local state that ends with record ``e`` is over before a state
of another node begins if and only if the clock of that other node has reached ``e`` by then. Two states are
*concurrent* if neither is over before the other begins: some consistent cut holds both (Lamport 1978; Mattern
1989).

A crash sends no message. It shows only as silence, which a timer detects. So a crash happens before every timer
that fires after it, on any node. Without this, every takeover from a crashed coordinator would be concurrent with
the last state of that coordinator, and no assertion about pairs could hold.

The causal past or future of one record takes one pass over the events, backwards for the past and forwards for the
future: once a node is in it, all its further events are. The past is fixed; the future grows with a run in
progress.
"""

from collections.abc import Sequence

from msgspec import Struct

from lab.kernel import Fired, Received, Step, Wrote
from lab.recording.records import Process, Record

Clock = tuple[int, ...]
"""The last known record of each node, in the order of the nodes; 0, the number of the header, if there is none."""


class Causality:
    """The vector clocks of ``nodes``. A message carries the ``stamp`` of its sender, a forged one ``zero``."""

    def __init__(self, nodes: tuple[int, ...]) -> None:
        self.nodes = nodes
        self.place = {node: place for place, node in enumerate(nodes)}
        self.zero: Clock = (0,) * len(nodes)
        self._clocks = {node: list(self.zero) for node in nodes}
        self._crashes = self.zero
        self._known_crashes = dict.fromkeys(nodes, self.zero)

    def received(self, node: int, carried: Clock) -> None:
        """Merge the clock of a message that the node received."""
        self._clocks[node] = list(map(max, self._clocks[node], carried))

    def fired(self, node: int) -> None:
        """Note that a timer of the node fired: from now on it may know of all crashes so far."""
        if self._known_crashes[node] is not self._crashes:
            self._known_crashes[node] = self._crashes
            self.received(node, self._crashes)

    def stamp(self, node: int, record: int) -> Clock:
        """Advance the clock of the node to this record of its own, and return it for messages."""
        clock = self._clocks[node]
        clock[self.place[node]] = record
        return tuple(clock)

    def crashed(self, node: int, record: int) -> None:
        """Note that the node crashed with this record."""
        self._crashes = tuple(map(max, self._crashes, self.stamp(node, record)))


_CRASHES = ("killed", "failed")


class CausalEvent(Struct, frozen=True, gc=False):
    """A record as an event of a node. ``received`` and ``sent`` name messages by source and serial.

    ``fired``: a timer fired, so the node may know of crashes; ``crashed``: the node crashed.
    """

    record: int
    at_us: int
    node: int
    received: tuple[int, int] | None = None
    sent: tuple[tuple[int, int], ...] = ()
    fired: bool = False
    crashed: bool = False


def causal_event(number: int, record: Record | None) -> CausalEvent | None:
    """Return the event of the record with that number, or None if it happened at no node."""
    if isinstance(record, Step):
        given = record.input
        received = (given.source, given.serial) if isinstance(given, Received) else None
        sent = tuple((record.node, message.serial) for message in record.sent)
        fired = isinstance(given, Fired | Wrote)  # a program has timers of its own
        return CausalEvent(number, record.at_us, record.node, received, sent, fired)
    if isinstance(record, Process):
        return CausalEvent(number, record.at_us, record.node, crashed=record.event in _CRASHES)
    return None


def causal_past(events: Sequence[CausalEvent], record: int) -> frozenset[int]:
    """Return the record and all records that happened before it; ``events`` are in the order of records."""
    past: set[int] = set()
    nodes: set[int] = set()
    wanted: set[tuple[int, int]] = set()
    knows_crashes = False
    for each in reversed(events):
        if each.record > record:
            continue
        leads_here = each.record == record or each.node in nodes or (each.crashed and knows_crashes)
        if leads_here or not wanted.isdisjoint(each.sent):
            past.add(each.record)
            nodes.add(each.node)
            knows_crashes |= each.fired
            if each.received is not None:
                wanted.add(each.received)
    return frozenset(past)


class CausalFuture:
    """The causal future: ``records`` holds a record and all observed records that it happened before."""

    def __init__(self, record: int) -> None:
        self.records: set[int] = set()
        self._record = record
        self._nodes: set[int] = set()
        self._sent: set[tuple[int, int]] = set()
        self._has_crashed = False

    def observe(self, each: CausalEvent) -> bool:
        """Add the next event, in the order of records; return whether it belongs to the future."""
        if each.record < self._record:
            return False
        follows = each.node in self._nodes or (each.fired and self._has_crashed) or each.received in self._sent
        if not follows and each.record != self._record:
            return False
        self.records.add(each.record)
        self._nodes.add(each.node)
        self._sent.update(each.sent)
        self._has_crashed |= each.crashed
        return True
