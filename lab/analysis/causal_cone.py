"""What can have led to a record, and what can have come of it: its causal past, and its causal future.

Happens-before is that of ``lab.analysis.causality``: what a node did before, the sending of a message before each
step that took it, and a crash before every timer that fires after it, on any node. So each cone is one pass over
what happened, backwards for the past and forwards for the future: a node that is in it once stays in it. The past
is what it is; the future grows with a run that goes on.
"""

from collections.abc import Sequence

from msgspec import Struct

from lab.kernel import Fired, Received, Step
from lab.recording.records import Process, Record

__all__ = ["Future", "Happened", "happened_in", "past_of"]

_CRASHES = ("killed", "failed")


class Happened(Struct, frozen=True, gc=False):
    """What a record is to causality. ``heard`` and ``sent`` name messages by source and serial.

    ``fired``: a timer did, so the node may know who has died; ``died``: the node crashed.
    """

    record: int
    at_us: int
    node: int
    heard: tuple[int, int] | None = None
    sent: tuple[tuple[int, int], ...] = ()
    fired: bool = False
    died: bool = False


def happened_in(number: int, record: Record | None) -> Happened | None:
    """Of the record with that number; None where it happened at no node."""
    if isinstance(record, Step):
        given = record.input
        heard = (given.source, given.serial) if isinstance(given, Received) else None
        sent = tuple((record.node, message.serial) for message in record.sent)
        return Happened(number, record.at_us, record.node, heard, sent, isinstance(given, Fired))
    if isinstance(record, Process):
        return Happened(number, record.at_us, record.node, died=record.event in _CRASHES)
    return None


def past_of(happened: Sequence[Happened], record: int) -> frozenset[int]:
    """The record, and those before it that happened before; ``happened`` is in the order of records."""
    past: set[int] = set()
    nodes: set[int] = set()
    wanted: set[tuple[int, int]] = set()
    knows_who_died = False
    for each in reversed(happened):
        if each.record > record:
            continue
        leads_here = each.record == record or each.node in nodes or (each.died and knows_who_died)
        if leads_here or not wanted.isdisjoint(each.sent):
            past.add(each.record)
            nodes.add(each.node)
            knows_who_died |= each.fired
            if each.heard is not None:
                wanted.add(each.heard)
    return frozenset(past)


class Future:
    """``records``: that one, and those after it that it happened before, of what was observed."""

    def __init__(self, record: int) -> None:
        self.records: set[int] = set()
        self._record = record
        self._nodes: set[int] = set()
        self._told: set[tuple[int, int]] = set()
        self._has_died = False

    def observe(self, each: Happened) -> bool:
        """Take what happened next, in the order of records; whether it belongs to the future."""
        if each.record < self._record:
            return False
        comes_of_it = each.node in self._nodes or (each.fired and self._has_died) or each.heard in self._told
        if not comes_of_it and each.record != self._record:
            return False
        self.records.add(each.record)
        self._nodes.add(each.node)
        self._told.update(each.sent)
        self._has_died |= each.died
        return True
