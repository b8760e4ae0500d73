"""Compute the causal past and the causal future of a record.

Happens-before is that of ``lab.analysis.causality``: each event of a node before its later ones, the sending of a
message before each step that received it, and a crash before every timer that fires after it, on any node. So each
set takes one pass over the events, backwards for the past and forwards for the future: once a node is in it, all
its further events are. The past is fixed; the future grows with a run in progress.
"""

from collections.abc import Sequence

from msgspec import Struct

from lab.kernel import Fired, Received, Step
from lab.recording.records import Process, Record

__all__ = ["CausalEvent", "CausalFuture", "causal_event", "causal_past"]

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
        return CausalEvent(number, record.at_us, record.node, received, sent, isinstance(given, Fired))
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
