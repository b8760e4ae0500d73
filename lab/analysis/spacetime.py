"""A run in space and time: the status of each node, the messages between them, the faults in force.

One pass over the records, from the first or from any keyframe, collects the content of a space-time diagram, for
the terminal and for every export format. Times are microseconds since the run began.
"""

from collections.abc import Iterable

from msgspec import Struct

from lab.analysis.delivery import DeliveryTracker, affected_message
from lab.analysis.group_history import RecordedMoment
from lab.kernel import Started, Step
from lab.recording.cluster_state import ClusterState
from lab.recording.log_lines import LogLine, lines_of
from lab.recording.records import Header, Keyframe, Process, Record, Routed
from lab.recording.snapshot import ActiveFault, InFlightMessage, NodeState, ProcessState, Snapshot

_DOMINANT = ("killed", "paused", "failed", "absent")
_STATUS_FIELDS = frozenset(("status", "coordinator", "group"))
"""The fields of a state that a status interval shows."""


class StatusInterval(Struct):
    """An interval in which the status of a node stays the same; ``until`` is None while it lasts."""

    node: int
    status: str
    process: ProcessState
    coordinator: int | None
    group: tuple[int, int] | None
    since: RecordedMoment
    until: RecordedMoment | None = None

    @property
    def shown(self) -> str:
        """The Status, or the state of the process if that matters more."""
        return self.process if self.process in _DOMINANT else self.status

    @property
    def leads(self) -> bool:
        """True if it runs, is Normal, and is its own coordinator."""
        return self.shown == "Normal" and self.coordinator == self.node


class MessageEdge(Struct):
    """A message. ``line`` is its log line, ``fate`` its delivery outcome, reached at ``end`` (None before that).

    ``end`` is the step that received it or the record that shows another outcome. ``again`` are the further
    arrivals of a duplicated message, ``by`` the faults that touched it. The line of a message sent before the
    first record of the pass has only its kind, and record -1.
    """

    line: LogLine
    fate: str = "in flight"
    end: RecordedMoment | None = None
    again: list[RecordedMoment] = []
    by: tuple[int, ...] = ()

    @property
    def ends(self) -> tuple[int, int]:
        """The sender and the receiver."""
        assert self.line.source is not None
        assert self.line.target is not None
        return self.line.source, self.line.target

    @property
    def sent(self) -> RecordedMoment:
        """The step that sent it."""
        return RecordedMoment(self.line.record, self.line.at_us)

    @property
    def arrived(self) -> bool:
        """True if a step received it."""
        return self.fate in ("delivered", "timed out", "forged")


class FaultInterval(Struct):
    """A fault, in its final or current state. ``until`` is None while it is in force."""

    fault: ActiveFault
    since: RecordedMoment
    until: RecordedMoment | None = None


class SpaceTime:
    """The space-time content of the records so far. ``events`` are the log lines other than messages.

    Status intervals are in the order of their begins, messages in the order sent.
    """

    def __init__(self, header: Header, start: Snapshot | None = None) -> None:
        """Start after the header, or after the keyframe with the snapshot ``start``."""
        self._cluster = ClusterState.of(header) if start is None else ClusterState.resume(start, header)
        self.status_intervals: list[StatusInterval] = []
        self.messages: list[MessageEdge] = []
        self.fault_intervals: list[FaultInterval] = []
        self.events: list[LogLine] = []
        self._current: dict[int, StatusInterval] = {}
        self._deliveries = DeliveryTracker()
        self._in_flight: dict[tuple[int, int], MessageEdge] = {}
        """The messages of which a copy is in flight."""
        self._open_faults: dict[int, FaultInterval] = {}
        self._cluster.record += 1  # the header or the keyframe itself
        if start is not None:
            self._resume(start.in_flight)
        self._update_status([*self._cluster.nodes.values(), *self._cluster.others.values()], self.last)
        self._update_faults(self.last)

    @property
    def last(self) -> RecordedMoment:
        """The position of the last record observed."""
        return RecordedMoment(self._cluster.record, self._cluster.at_us)

    def observe(self, record: Record | None) -> None:
        """Add the next record; None stands for one that could not be read."""
        cluster = self._cluster
        cluster.apply(record)
        if record is None or isinstance(record, Header | Keyframe):
            return
        for line in lines_of(cluster.record, record):
            if line.what == "message":
                self._send(MessageEdge(line))
            else:
                self.events.append(line)
        at = RecordedMoment(cluster.record, record.at_us)
        self._apply_to_message(record, at)
        if isinstance(record, Process) or (isinstance(record, Step) and _may_change_status(record)):
            self._update_status([cluster.view_of(record.node)], at)
        if cluster.faults or self._open_faults:
            self._update_faults(at)

    def _resume(self, in_flight: Iterable[InFlightMessage]) -> None:
        for flight in in_flight:
            line = LogLine(
                -1, flight.sent_us, "message", "", flight.source, flight.target, flight.kind, flight.serial
            )
            self._send(MessageEdge(line, "held" if flight.held else "in flight"), flight.copies)

    def _send(self, arrow: MessageEdge, copies: int = 1) -> None:
        self.messages.append(arrow)
        self._in_flight[arrow.line.message] = arrow
        self._deliveries.sent(arrow.line.message, copies)

    def _update_status(self, views: Iterable[NodeState], at: RecordedMoment) -> None:
        for view in views:
            now = (view.status, view.process, view.coordinator, view.group)
            before = self._current.get(view.id)
            if before is not None:
                if (before.status, before.process, before.coordinator, before.group) == now:
                    continue
                before.until = at
            self._current[view.id] = StatusInterval(view.id, *now, at)
            self.status_intervals.append(self._current[view.id])

    def _apply_to_message(self, record: Record, at: RecordedMoment) -> None:
        """Apply the record to the message in flight that it concerns, if any."""
        message = affected_message(record)
        arrow = None if message is None else self._in_flight.get(message)
        if message is None or arrow is None:
            return
        if isinstance(record, Routed):
            arrow.by += tuple(number for number in record.by if number not in arrow.by)
        transition = self._deliveries.observe(record)
        if transition is not None and transition.again:
            arrow.again.append(at)
        elif transition is not None:
            arrow.fate, arrow.end = transition.fate, at if transition.is_final else None
        if message not in self._deliveries:
            del self._in_flight[message]

    def _update_faults(self, at: RecordedMoment) -> None:
        faults = self._cluster.faults
        for number in [number for number in self._open_faults if number not in faults]:
            interval = self._open_faults.pop(number)
            over = (fault for fault in reversed(self._cluster.lifted) if fault.id == number)
            interval.fault, interval.until = next(over, interval.fault), at
        for number, fault in faults.items():
            if number in self._open_faults:
                self._open_faults[number].fault = fault
            else:
                self._open_faults[number] = FaultInterval(fault, RecordedMoment(at.record, fault.since_us))
                self.fault_intervals.append(self._open_faults[number])


def _may_change_status(step: Step) -> bool:
    changes = not (_STATUS_FIELDS.isdisjoint(step.changed) and _STATUS_FIELDS.isdisjoint(step.stored))
    return changes or isinstance(step.input, Started)
