"""A run in space and time: how each node stood, which messages went between them, which faults were in force.

One pass over the records, from the first or from any keyframe, gives what a space-time diagram has, in the
terminal and in every format that one is exported to. Times are microseconds since the run began.
"""

from collections.abc import Iterable

from msgspec import Struct

from lab.analysis.delivery import Fates, message_met
from lab.analysis.group_history import Point
from lab.kernel import Started, Step
from lab.recording.cluster_state import ClusterState
from lab.recording.log_lines import LogLine, lines_of
from lab.recording.records import Header, Keyframe, Process, Record, Routed
from lab.recording.snapshot import ActiveFault, InFlightMessage, NodeState, ProcessState, Snapshot

__all__ = ["FaultInterval", "MessageEdge", "SpaceTime", "StatusInterval"]

_MATTERS = ("killed", "paused", "failed", "absent")
_STANDING = frozenset(("status", "coordinator", "group"))
"""What a node stands as, of its state."""


class StatusInterval(Struct):
    """A time in which a node stood as it did; ``until`` is None as long as it does."""

    node: int
    status: str
    process: ProcessState
    coordinator: int | None
    group: tuple[int, int] | None
    since: Point
    until: Point | None = None

    @property
    def shown(self) -> str:
        """Its Status, or what its process does where that matters more."""
        return self.process if self.process in _MATTERS else self.status

    @property
    def leads(self) -> bool:
        """Whether it runs, is Normal, and is its own coordinator."""
        return self.shown == "Normal" and self.coordinator == self.node


class MessageEdge(Struct):
    """A message. ``line`` is that of the log; ``fate`` as the log has it, met at ``end``, None before that.

    ``end`` of one that arrived is the step that took it, of any other the record that says what became of it.
    ``again`` are the further arrivals of one that was duplicated, ``by`` the faults that touched it on its way.
    One that was sent before the first record of the pass has no more in its line than its kind, and record -1.
    """

    line: LogLine
    fate: str = "in flight"
    end: Point | None = None
    again: list[Point] = []
    by: tuple[int, ...] = ()

    @property
    def sent(self) -> Point:
        """With which step."""
        return Point(self.line.record, self.line.at_us)

    @property
    def arrived(self) -> bool:
        """Whether a step took it."""
        return self.fate in ("delivered", "too late", "forged")


class FaultInterval(Struct):
    """A fault: as it was when it was over, or as it is now. ``until`` is None while it is in force."""

    fault: ActiveFault
    since: Point
    until: Point | None = None


class SpaceTime:
    """What the records so far come to. ``events`` are the lines of the log that are no messages.

    Stretches are in the order in which they begin, arrows in that in which they were sent.
    """

    def __init__(self, header: Header, start: Snapshot | None = None) -> None:
        """After the header; or after the keyframe with the snapshot ``start``."""
        self._cluster = ClusterState.of(header) if start is None else ClusterState.resume(start)
        self.stretches: list[StatusInterval] = []
        self.arrows: list[MessageEdge] = []
        self.strikes: list[FaultInterval] = []
        self.events: list[LogLine] = []
        self._standing: dict[int, StatusInterval] = {}
        self._fates = Fates()
        self._under_way: dict[tuple[int, int], MessageEdge] = {}
        """Those of which a copy is."""
        self._striking: dict[int, FaultInterval] = {}
        self._cluster.record += 1  # the header or the keyframe itself
        if start is not None:
            self._resume(start.in_flight)
        self._stand(self._cluster.nodes.values(), self.last)
        self._strike(self.last)

    @property
    def last(self) -> Point:
        """The last record that was observed."""
        return Point(self._cluster.record, self._cluster.at_us)

    def observe(self, record: Record | None) -> None:
        """Take the next record; None stands for one that could not be read."""
        cluster = self._cluster
        cluster.apply(record)
        if record is None or isinstance(record, Header | Keyframe):
            return
        for line in lines_of(cluster.record, record):
            if line.what == "message":
                self._send(MessageEdge(line))
            else:
                self.events.append(line)
        at = Point(cluster.record, record.at_us)
        self._meet(record, at)
        if isinstance(record, Process) or (isinstance(record, Step) and _may_stand_anew(record)):
            self._stand([cluster.nodes[record.node]], at)
        if cluster.faults or self._striking:
            self._strike(at)

    def _resume(self, in_flight: Iterable[InFlightMessage]) -> None:
        for flight in in_flight:
            line = LogLine(
                -1, flight.sent_us, "message", "", flight.source, flight.target, flight.kind, flight.serial
            )
            self._send(MessageEdge(line, "held" if flight.held else "in flight"), flight.copies)

    def _send(self, arrow: MessageEdge, copies: int = 1) -> None:
        self.arrows.append(arrow)
        self._under_way[arrow.line.message] = arrow
        self._fates.sent(arrow.line.message, copies)

    def _stand(self, views: Iterable[NodeState], at: Point) -> None:
        for view in views:
            now = (view.status, view.process, view.coordinator, view.group)
            before = self._standing.get(view.id)
            if before is not None:
                if (before.status, before.process, before.coordinator, before.group) == now:
                    continue
                before.until = at
            self._standing[view.id] = StatusInterval(view.id, *now, at)
            self.stretches.append(self._standing[view.id])

    def _meet(self, record: Record, at: Point) -> None:
        """What the record is to a message that is under way."""
        message = message_met(record)
        arrow = None if message is None else self._under_way.get(message)
        if message is None or arrow is None:
            return
        if isinstance(record, Routed):
            arrow.by += tuple(number for number in record.by if number not in arrow.by)
        turn = self._fates.observe(record)
        if turn is not None and turn.again:
            arrow.again.append(at)
        elif turn is not None:
            arrow.fate, arrow.end = turn.fate, at if turn.is_final else None
        if message not in self._fates:
            del self._under_way[message]

    def _strike(self, at: Point) -> None:
        faults = self._cluster.faults
        for number in [number for number in self._striking if number not in faults]:
            strike = self._striking.pop(number)
            over = (fault for fault in reversed(self._cluster.lifted) if fault.id == number)
            strike.fault, strike.until = next(over, strike.fault), at
        for number, fault in faults.items():
            if number in self._striking:
                self._striking[number].fault = fault
            else:
                self._striking[number] = FaultInterval(fault, Point(at.record, fault.since_us))
                self.strikes.append(self._striking[number])


def _may_stand_anew(step: Step) -> bool:
    told = not (_STANDING.isdisjoint(step.changed) and _STANDING.isdisjoint(step.stored))
    return told or isinstance(step.input, Started)
