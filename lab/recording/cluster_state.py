"""Fold records into the state of the whole cluster.

The host, the interface, triggers and summaries all see a run through this one class. ``apply`` takes the records
in order; ``snapshot`` freezes the state reached.
"""

from collections.abc import Iterable
from typing import Any, TypeVar

from msgspec.structs import replace

from lab.kernel import Fired, Message, Received, Started, Step, Waits, as_lists
from lab.recording.log_lines import count_lines
from lab.recording.records import (
    FAULT_KIND_SEEN,
    PROCESS_AFTER,
    SLOW_DISK,
    Fault,
    Header,
    Injected,
    Keyframe,
    Process,
    Record,
    Routed,
)
from lab.recording.snapshot import ActiveFault, InFlightMessage, NodeState, Snapshot

T = TypeVar("T")

_ENDED_BY = {"started": "kill", "resumed": "pause", "killed": "pause", "failed": "pause"}


def _log_of(view: NodeState) -> dict[str, Any]:
    # A log survives a crash in stable storage: what a dead node knows is what others may have to wait for.
    return {"log": view.state["log"]} if "log" in view.state else {}


class ClusterState:
    """The cluster after the records applied so far. ``lifted`` holds the faults that have ended.

    ``header`` is that of the recording, None if it is unknown.

    ``nodes`` maps the ids of the cluster's nodes to their states, ``others`` those of the clients and services
    outside it; ``in_flight`` maps (source, serial) to messages. All are updated lazily, on access: most steps
    change only where procedures wait, and most messages arrive soon.
    """

    def __init__(self, nodes: tuple[int, ...], header: Header | None = None, others: Iterable[int] = ()) -> None:
        self.header = header
        self.record = -1
        self.at_us = 0
        self.lines = 0
        self._nodes = {node: NodeState(node) for node in nodes}
        self._others = {node: NodeState(node) for node in others}
        self._newest: dict[int, Step] = {}
        self._waits: dict[int, Waits] = {}
        self._in_flight: dict[tuple[int, int], InFlightMessage] = {}
        self._sent: dict[tuple[int, int], tuple[Message, int]] = {}
        self._derived: dict[type, Any] = {}
        self.faults: dict[int, ActiveFault] = {}
        self.lifted: list[ActiveFault] = []
        self._fast_again: dict[int, tuple[int, int]] = {}
        self.messages: dict[str, int] = {}

    @classmethod
    def of(cls, header: Header) -> "ClusterState":
        """Return the cluster before anything has happened."""
        return cls(header.nodes, header, header.names)

    @classmethod
    def resume(cls, snapshot: Snapshot, header: Header | None) -> "ClusterState":
        """Return the cluster as of a snapshot; faults that had ended by then are unknown."""
        cluster = cls((), header)
        cluster.record, cluster.at_us, cluster.lines = snapshot.record, snapshot.at_us, snapshot.lines
        cluster._nodes = {view.id: view for view in snapshot.nodes}
        cluster._others = {view.id: view for view in snapshot.others}
        cluster._in_flight = {(flight.source, flight.serial): flight for flight in snapshot.in_flight}
        cluster.faults = {fault.id: fault for fault in snapshot.faults}
        cluster.messages = dict(snapshot.messages)
        return cluster

    @property
    def nodes(self) -> dict[int, NodeState]:
        """The states of the cluster's nodes by id."""
        self._take_in_newest()
        return self._nodes

    @property
    def others(self) -> dict[int, NodeState]:
        """The states of clients and services by id."""
        self._take_in_newest()
        return self._others

    @property
    def statuses(self) -> dict[int, NodeState]:
        """The nodes of the cluster, of which only the process and the variables of rule M2 may be read.

        The others are not up to date, which saves copying the logs.
        """
        return self._nodes

    @property
    def ids(self) -> tuple[int, ...]:
        """The ids of all nodes, those of the cluster first."""
        return (*self._nodes, *self._others)

    def view_of(self, node: int) -> NodeState:
        """Return the state of a node of the cluster, or outside it. Raises KeyError."""
        self._take_in_newest()
        return self._table(node)[node]

    def _table(self, node: int) -> dict[int, NodeState]:
        """Return the table that has this node."""
        return self._others if node in self._others else self._nodes

    def _take_in_newest(self) -> None:
        for node, step in self._newest.items():
            table = self._table(node)
            view = table[node]
            table[node] = NodeState(
                view.id,
                view.process,
                view.incarnation,
                view.pid,
                as_lists(view.state),
                self._waits_of(node).now(),
                step.at_us,
                step.failed,
            )
        self._newest.clear()

    @property
    def in_flight(self) -> dict[tuple[int, int], InFlightMessage]:
        """Messages in flight by source and serial, in the order sent."""
        for key, (message, at_us) in self._sent.items():
            self._in_flight[key] = InFlightMessage(
                message.source, message.serial, message.target, message.kind, at_us
            )
        self._sent.clear()
        return self._in_flight

    def derived(self, kind: type[T]) -> T:
        """Return the object of this type that accompanies this state, made on first use.

        It may keep what it has read of the nodes so far, and go on from there as the state changes.
        """
        if kind not in self._derived:
            self._derived[kind] = kind()
        found: T = self._derived[kind]
        return found

    def snapshot(self) -> Snapshot:
        """Return this state, frozen."""
        return Snapshot(
            self.record,
            self.at_us,
            tuple(self.nodes.values()),
            tuple(self.in_flight.values()),
            tuple(self.faults.values()),
            dict(self.messages),
            self.lines,
            tuple(self._others.values()),
        )

    def apply(self, record: Record | None) -> None:
        """Apply the next record; None stands for a line that could not be read."""
        self.apply_all((record,))

    def apply_all(self, records: Iterable[Record | None]) -> None:
        """Apply the next records, in this order. Steps that only send take a short way: most do."""
        nodes, newest, waits = self._nodes, self._newest, self._waits
        sent, counts = self._sent, self.messages
        for record in records:
            self.record += 1
            if (
                not isinstance(record, Step)
                or record.changes_state
                or record.notes
                or record.failed
                or self.faults
                or record.node not in nodes
                or not isinstance(record.input, Received | Fired)
            ):
                self._apply(record)
                continue
            given, at_us, messages = record.input, record.at_us, record.sent
            self.at_us = max(self.at_us, at_us)
            if isinstance(given, Received) and sent.pop((given.source, given.serial), None) is None:
                self._arrived(given.source, given.serial)
            newest[record.node] = record
            if record.began or record.ended or record.answered:
                (waits.get(record.node) or self._waits_of(record.node)).apply(record)
            if messages:
                self.lines += len(messages)
                for message in messages:
                    counts[message.kind] = counts.get(message.kind, 0) + 1
                    sent[message.source, message.serial] = (message, at_us)

    def _apply(self, record: Record | None) -> None:
        if record is None or isinstance(record, Header | Keyframe):
            return
        self.at_us = max(self.at_us, record.at_us)
        self.lines += count_lines(record)
        if isinstance(record, Step):
            self._step(record)
        elif isinstance(record, Routed):
            self._routed(record)
        elif isinstance(record, Process):
            self._process(record)
        elif isinstance(record, Fault):
            self._fault(record)
        elif isinstance(record, Injected):
            self._add_in_flight(record.message, record.at_us)

    def _step(self, step: Step) -> None:
        node, given = step.node, step.input
        if isinstance(given, Received):
            if given.serial < 0:
                self._touch(-given.serial)  # a forged message has the number of its fault
            self._arrived(given.source, given.serial)
        table = self._table(node)
        if step.changes_state or isinstance(given, Started) or node not in table:
            view = table.get(node) or NodeState(node)
            before = view.state
            if isinstance(given, Started):  # rule M3; stored fields come last, as in a first incarnation
                before = {**dict.fromkeys(step.changed), **given.stored}
            table[node] = replace(view, state=step.state_after(before))
        if step.stores and (self.faults or self._fast_again):
            self._count_slow_write(node, step.at_us)
        self._newest[node] = step
        if step.changes_waits:
            self._waits_of(node).apply(step)
        for message in step.sent:
            self.messages[message.kind] = self.messages.get(message.kind, 0) + 1
            self._add_in_flight(message, step.at_us)

    def _waits_of(self, node: int) -> Waits:
        waits = self._waits.get(node)
        if waits is None:
            waits = self._waits[node] = Waits(self._table(node)[node].waits)
        return waits

    def _count_slow_write(self, node: int, at_us: int) -> None:
        """Count a write for the fault that made it slow, if any: one in force, or ended since the write began."""
        for fault in self._node_faults(SLOW_DISK, node):
            if at_us >= fault.since_us:
                self.faults[fault.id] = replace(fault, struck=fault.struck + 1)
        place, until_us = self._fast_again.get(node, (0, -1))
        if self.lifted and self.lifted[place].since_us <= at_us <= until_us:
            self.lifted[place] = replace(self.lifted[place], struck=self.lifted[place].struck + 1)

    def _add_in_flight(self, message: Message, at_us: int) -> None:
        self._sent[message.source, message.serial] = (message, at_us)
        if self.faults:
            for fault in self._node_faults("pause", message.target):
                self._touch(fault.id)

    def _arrived(self, source: int, serial: int) -> None:
        forged = self.faults.get(-serial)
        if forged is not None and forged.kind == "inject":
            self.lifted.append(self.faults.pop(-serial))
        if self._sent.pop((source, serial), None) is not None:
            return
        flight = self._in_flight.pop((source, serial), None)
        if flight is not None and flight.copies > 1:
            self._in_flight[source, serial] = replace(flight, copies=flight.copies - 1)

    def _routed(self, routed: Routed) -> None:
        for number in routed.by:
            self._touch(number)
        key = (routed.source, routed.serial)
        flight = self.in_flight.get(key)
        if flight is None:
            return
        if routed.fate == "dropped":
            if routed.why in ("down", "killed"):
                for fault in self._node_faults("kill", flight.target):
                    self._touch(fault.id)
            self._arrived(*key)
        elif routed.fate == "duplicated":
            self.in_flight[key] = replace(flight, copies=flight.copies + 1)
        elif routed.fate in ("held", "released"):
            self.in_flight[key] = replace(flight, held=routed.fate == "held")

    def _process(self, record: Process) -> None:
        self._take_in_newest()
        table = self._table(record.node)
        view = table.get(record.node) or NodeState(record.node)
        if record.event in PROCESS_AFTER:
            view = replace(
                view, process=PROCESS_AFTER[record.event], incarnation=record.incarnation, pid=record.pid
            )
        if record.event in ("killed", "failed"):
            view = replace(view, waits=())
            self._waits.pop(record.node, None)
        if record.event == "killed":
            view = replace(view, state={"status": "Down", **_log_of(view)})  # rule M4
        if record.event == "started":
            view = replace(view, state=_log_of(view), traceback="")
        if record.event == "wiped":
            view = replace(view, state={name: value for name, value in view.state.items() if name != "log"})
        if record.left:
            kept = {name: view.state[name][:left] for name, left in record.left.items() if name in view.state}
            view = replace(view, state={**view.state, **kept})
        if record.why:
            view = replace(view, traceback=record.why)
        table[record.node] = view
        for fault in self._node_faults(FAULT_KIND_SEEN.get(record.event), record.node):
            self.faults[fault.id] = replace(fault, struck=fault.struck + 1)
        for fault in self._node_faults(_ENDED_BY.get(record.event), record.node):
            self._lift_from(fault, record.node)

    def _fault(self, record: Fault) -> None:
        if record.lifted:
            over = self.faults.pop(record.id, None)
            if over is not None:
                if over.kind == SLOW_DISK:
                    self._fast_again |= dict.fromkeys(over.nodes, (len(self.lifted), record.at_us))
                self.lifted.append(over)
        elif record.id in self.faults:
            self.faults[record.id] = replace(self.faults[record.id], links=record.links)
        else:
            self.faults[record.id] = ActiveFault(
                record.id, record.kind, record.text, record.at_us, record.nodes, record.breaks, record.links
            )

    def _node_faults(self, kind: str | None, node: int) -> list[ActiveFault]:
        if kind is None or not self.faults:
            return []
        return [fault for fault in self.faults.values() if fault.kind == kind and node in fault.nodes]

    def _touch(self, fault: int) -> None:
        touched = self.faults.get(fault)
        if touched is not None:
            self.faults[fault] = replace(touched, messages=touched.messages + 1)

    def _lift_from(self, fault: ActiveFault, node: int) -> None:
        left = [n for n in fault.nodes if n != node and self._table(n)[n].process in ("killed", "paused")]
        if not left:
            del self.faults[fault.id]
            self.lifted.append(fault)
