"""A branch: a recording up to one of its records, continued as a simulation from exactly that state.

The recording may be of any world. The branch's own recording begins with the parent's records, byte for byte, so
it can be replayed from the beginning, verified, and branched again. The branch's seed determines what follows, and
the arrival of those messages for which the parent records only that they were sent.

The nodes come from a re-execution, which must give every recorded step. The rest comes from the records: when
messages in flight arrive, since when nodes are paused, which faults are in force. What the records leave open is
decided as follows. A message of the last step that no later record mentions has not left its node; any other
message has, unless the parent goes on with a record that shows the opposite: so a fault that is triggered amid a
step strikes before the rest of its messages leave. Captions and outcomes of expectations do not change that,
unless the clock shows that the step was over (only in simulation, where nodes have no clocks of their own). A node
that a process fault names, and that no record shows affected (a live host records what it observes), is struck
when the branch begins.
"""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from lab import __version__
from lab.kernel import CommandInput, Message, Protocol, Received, Step
from lab.network import Rule
from lab.protocols import Algorithm, source_of
from lab.recording.reader import NotARecordingError, RecordStore, open_recording
from lab.recording.records import (
    FAULT_KIND_SEEN,
    FORMAT,
    PROCESS_AFTER,
    Captioned,
    Commanded,
    End,
    Expected,
    Fault,
    Header,
    Injected,
    Parent,
    Process,
    Record,
    Routed,
)
from lab.recording.writer import RecordLog, Writer
from lab.replay.reexecution import Reexecution
from lab.replay.roster import has_other_sources
from lab.script.commands import LinkFault, NodeCommand, Partition, ProtocolCommandLine, Slow, SlowDisk
from lab.script.parse import parse
from lab.script.scope import CommandError, NodeNames
from lab.script.statements import Statement
from lab.worlds.loading.config import NotRunnableError, RunConfig, require_simulable
from lab.worlds.loading.members import protocols_of
from lab.worlds.simulated.simulation import SimulatedIncarnation, Simulation

_OVER = ("started", "resumed", "failed")
_MOST_AHEAD = 500
"""The number of records after the branch point that are read."""


class NotBranchableError(NotRunnableError):
    """No branch can begin there; the text is for the user."""


class Arrival(Struct, frozen=True):
    """The arrival of a message that the network delayed: its time, and whether it is in the order of its link."""

    due_us: int
    in_order: bool


class Departure(Struct, frozen=True):
    """When a message left its node. Of messages of different ranks, those of the lower one left first."""

    rank: int
    at_us: int


class BranchPoint:
    """The state of a run after ``record``. ``feed`` it the records from the first on.

    ``arrivals`` has the messages whose time of arrival was recorded, ``later_us`` the times of the copies that
    arrive after the original. ``paused_at_us`` has the paused nodes. ``pending_faults`` are the (verb, node) not
    yet confirmed, each with its fault. ``unsent`` are the messages that the last step has still to send,
    ``withheld`` those of each node that a fault keeps or kept from leaving. ``departures`` are those of messages
    that a pause had kept from leaving, and of later ones. ``faults`` is the number of faults so far, ``rules`` are
    the link faults in force, each with its kind, ``slow_disks`` those of slow disks as (number, time) by node.
    ``commands`` are protocol commands that nodes were given and have not taken.
    """

    def __init__(self, execution: Reexecution, protocol: type[Protocol], header: Header) -> None:
        self.execution = execution
        self.protocol = protocol
        self.record = -1
        self.arrivals: dict[tuple[int, int], Arrival] = {}
        self.later_us: dict[tuple[int, int], list[int]] = {}
        self.paused_at_us: dict[int, int] = {}
        self.pending_faults: dict[tuple[str, int], Fault] = {}
        self.unsent: tuple[Message, ...] = ()
        self.withheld: dict[int, tuple[Message, ...]] = {}
        self.departures: dict[tuple[int, int], Departure] = {}
        self.faults = 0
        self.rules: dict[int, tuple[str, Rule]] = {}
        self.slow_disks: dict[int, tuple[int, int]] = {}
        self.commands: list[tuple[int, CommandInput]] = []
        self._names = NodeNames.of(header)
        self._one_clock = header.world == "simulated"
        self._given: dict[int, list[str]] = {}
        self._last: Step | None = None
        self._sent: dict[int, tuple[Message, ...]] = {}
        self._rank = 0

    def feed(self, record: Record | None) -> None:
        """Take the next record, which the re-execution has processed."""
        self.record += 1
        if isinstance(record, Step):
            self._step(record)
        elif isinstance(record, Routed):
            self._routed(record)
        elif isinstance(record, Captioned | Expected):
            if self._one_clock and self._last is not None and record.at_us > self._last.at_us:
                self._last, self.unsent = None, ()
        elif isinstance(record, Process | Fault | Commanded | Injected):
            self._last, self.unsent = None, ()
            if isinstance(record, Process):
                self._process(record)
            elif isinstance(record, Fault):
                self._fault(record)
            elif isinstance(record, Injected):
                message = record.message
                self.arrivals[message.source, message.serial] = Arrival(record.at_us, in_order=False)
            elif isinstance(record, Commanded):
                for node in record.reached:
                    self._given.setdefault(node, []).append(record.text)

    def _step(self, step: Step) -> None:
        self._last, self.unsent = step, step.sent
        self._sent[step.node] = step.sent
        if self._rank:
            self._depart(step.sent, step.at_us)
        if isinstance(step.input, Received):
            self._arrived(step.input.source, step.input.serial)
        elif isinstance(step.input, CommandInput):
            del self._given.get(step.node, [])[:1]

    def find_withheld(self, records: Iterable[Record | None]) -> None:
        """Find in the records that follow which messages of the last steps had not left their nodes by now.

        A record of what the network decides when it accepts a message, or that it was never sent, comes when it is
        the message's turn to leave.
        """
        open_ = {node: sent for node, sent in self._sent.items() if sent and node not in self.withheld}
        if self.unsent:
            open_.pop(self.unsent[0].source, None)
        for record in records:
            if isinstance(record, Step):
                open_.pop(record.node, None)
            elif isinstance(record, Process) and record.unsent and record.node in open_:
                self.withheld[record.node] = open_.pop(record.node)[-record.unsent :]
            elif isinstance(record, Routed) and record.source in open_ and _is_of_departure(record):
                sent = open_[record.source]
                if record.serial in [message.serial for message in sent]:
                    self.withheld[record.source] = tuple(each for each in sent if each.serial >= record.serial)
                    del open_[record.source]

    def complete(self) -> None:
        """Build ``rules`` and ``commands`` after the last record. Raises NotBranchableError."""
        names = self._names
        for node, texts in self._given.items():
            for text in texts:
                command = _read(text, "the command", names).command
                if isinstance(command, ProtocolCommandLine):
                    self.commands.append((node, CommandInput(command.command, command.words)))
        for fault in self.execution.cluster.faults.values():
            if not fault.links and fault.kind != "slow-disk":
                continue
            command = _read(fault.text, f"fault {fault.id} in force", names).command
            if isinstance(command, SlowDisk):
                self.slow_disks |= dict.fromkeys(fault.nodes, (fault.id, command.us))
                continue
            if not isinstance(command, LinkFault | Slow | Partition):
                raise NotBranchableError(f"fault {fault.id} in force, {fault.text!r}, is none of links")
            self.rules[fault.id] = fault.kind, command.rule_over(frozenset(fault.links))

    def _routed(self, routed: Routed) -> None:
        last, key = self._last, (routed.source, routed.serial)
        if last is not None and routed.source == last.node and any(routed.serial == m.serial for m in last.sent):
            self.unsent = tuple(message for message in self.unsent if message.serial > routed.serial)
        else:
            self._last, self.unsent = None, ()
        if routed.fate == "dropped":
            self._arrived(*key)
        elif routed.fate == "duplicated":
            if routed.due_us is not None:
                self.later_us.setdefault(key, []).append(routed.due_us)
        elif routed.due_us is not None:
            self.arrivals[key] = Arrival(routed.due_us, routed.fate != "reordered")
        elif routed.fate == "released":
            self.arrivals[key] = Arrival(routed.at_us, True)

    def _arrived(self, source: int, serial: int) -> None:
        if (source, serial) not in self.execution.messages:  # else another copy is on its way
            self.arrivals.pop((source, serial), None)
            self.later_us.pop((source, serial), None)
            self.departures.pop((source, serial), None)

    def _process(self, record: Process) -> None:
        if record.event == "resumed":
            self._rank += record.node in self.withheld
            self._depart(self.withheld.get(record.node, ()), record.at_us)
        if record.event != "paused" and record.event in PROCESS_AFTER:
            self.withheld.pop(record.node, None)
        elif record.unsent:
            self.withheld[record.node] = self._sent.get(record.node, ())[-record.unsent :]
        if record.event == "paused":
            self.paused_at_us[record.node] = record.at_us
        elif record.event in PROCESS_AFTER:
            self.paused_at_us.pop(record.node, None)
        self.pending_faults.pop((FAULT_KIND_SEEN.get(record.event, ""), record.node), None)
        if record.event in PROCESS_AFTER and record.event not in ("paused", "resumed"):
            self._given.pop(record.node, None)
        if record.event in _OVER:
            for verb in FAULT_KIND_SEEN.values():
                self.pending_faults.pop((verb, record.node), None)

    def _depart(self, messages: tuple[Message, ...], at_us: int) -> None:
        self.departures |= {(each.source, each.serial): Departure(self._rank, at_us) for each in messages}

    def _fault(self, fault: Fault) -> None:
        self.faults = max(self.faults, fault.id)
        for node in fault.nodes if fault.kind in FAULT_KIND_SEEN.values() else ():
            self.pending_faults[fault.kind, node] = fault
        if fault.lifted:
            self.pending_faults = {asked: by for asked, by in self.pending_faults.items() if by.id != fault.id}


def _is_of_departure(routed: Routed) -> bool:
    """Return whether a message has this record before it is on its way, or if it never will be."""
    if routed.fate == "dropped":
        return routed.why in ("unsent", "lost")
    return routed.fate in ("held", "duplicated") or routed.due_us is not None


def _read(text: str, what: str, names: NodeNames) -> Statement:
    try:
        return parse(text, names=names)
    except CommandError as error:
        raise NotBranchableError(f"{what} cannot be read: {error}") from None


def reexecute_to(
    store: RecordStore,
    last: int,
    protocol: type[Algorithm],
    progress: Callable[[int], None] = lambda done: None,
) -> BranchPoint:
    """Return the run of ``protocol`` as of record ``last``, or the one before if that is only its end.

    If the protocol's source differs from the recorded one, its steps must still be the recorded ones. ``progress``
    is called with the number of records done, every thousand. Raises NotBranchableError.
    """
    differs = has_other_sources(store.header, source_of(protocol)[1])
    try:
        past = BranchPoint(Reexecution(store.header, protocol, differs), protocol, store.header)
    except NotARecordingError as error:
        raise NotBranchableError(f"it cannot be re-executed: {error}") from None
    while last > 0 and isinstance(store.record(last), End):
        last -= 1
    for number, record in enumerate(store.records(0, last + 1)):
        if number % 1000 == 0:
            progress(number)
        found = past.execution.check(number, record)
        if number in store.damage:
            found = f"it cannot be read: {store.damage[number]}"
        if found is not None:
            raise NotBranchableError(
                f"record {number} (line {number + 1}) does not hold, so branch before it: {found}"
            )
        past.feed(record)
    past.find_withheld(store.records(last + 1, min(len(store), last + 1 + _MOST_AHEAD)))
    past.complete()
    return past


def open_branch(
    config: RunConfig, protocol: type[Algorithm], progress: Callable[[int], None] = lambda done: None
) -> tuple[Writer, "BranchedSimulation"]:
    """Return the recording of the branch, which already has the parent's records, and the branch itself.

    Raises OSError if the recording cannot be written, and NotBranchableError; see ``reexecute_to``.
    """
    for each in (protocol, *protocols_of(config.members)):
        require_simulable(each)
    parent, recording = Path(config.parent), Path(config.recording)
    try:
        store = open_recording(parent)
    except NotARecordingError as error:
        raise NotBranchableError(str(error)) from None
    with contextlib.closing(store):
        branch_point = reexecute_to(store, config.at, protocol, progress)
        at_us = branch_point.execution.cluster.at_us
        header = replace(
            store.header,
            format=FORMAT,
            program=__version__,
            run=f"{store.header.run} from {branch_point.record}",
            began="",
            world="simulated",
            seed=config.seed,
            remark="",
            parent=Parent(_seen_from(recording, parent), store.header.run, branch_point.record, at_us),
        )
        writer = Writer(recording, header)
        writer.copy(store, branch_point.record, branch_point.execution.cluster)
    return writer, BranchedSimulation(writer, branch_point)


def _seen_from(recording: Path, parent: Path) -> str:
    """Return the parent's name if it is in the branch's folder, else its whole path."""
    path = parent.resolve()
    return path.name if path.parent == recording.resolve().parent else os.fspath(path)


class BranchedSimulation(Simulation):
    """Continues from ``branch_point``, whose records are in ``log``."""

    def __init__(self, log: RecordLog, branch_point: BranchPoint) -> None:
        super().__init__(branch_point.protocol, log)
        execution = branch_point.execution
        self.now_us = execution.cluster.at_us
        self._branch_point = branch_point
        self._numbers |= {node: execution.cluster.view_of(node).incarnation for node in self.ids}
        self.serials |= execution.serials
        self._stores = execution.stores
        self.fault_count = branch_point.faults
        self.control.resume(branch_point.rules, branch_point.slow_disks)
        for node in self.ids:
            if execution.cluster.view_of(node).process in ("running", "paused"):
                self._adopt_node(node)
        self._interrupted = list(self._adopt_withheld())
        self._adopt_messages()

    def start(self) -> None:
        """Complete what the branch point left open.

        Messages of the last step leave their node; those that a fault keeps from that do so after it. Nodes that
        have not taken their first step begin, and those not yet started are started. Pending faults strike, and
        nodes get the commands that they had not yet taken.
        """
        branch_point = self._branch_point
        for message in self.network.release(self.now_us):
            self.record(Routed(self.now_us, message.source, message.serial, "released"))
        if branch_point.unsent and (incarnation := self.incarnations.get(branch_point.unsent[0].source)):
            self.send(incarnation, branch_point.unsent)
        for node in self.ids:
            incarnation = self.incarnations.get(node)
            if incarnation is None and not self._numbers[node]:
                self.restart(node)
            elif incarnation is not None and incarnation.node.halted:
                self._fail(incarnation)
            elif incarnation is not None and branch_point.execution.incarnations.get(node) != incarnation.number:
                self._begin(incarnation)
        for (verb, node), fault in branch_point.pending_faults.items():
            self._strike(verb, node, fault)
        for incarnation, withheld in self._interrupted:
            self.send(incarnation, withheld)
        for node, command in branch_point.commands:
            self.give_command(node, command)
        for statement in self.director.on_record(None):  # a predicate may be true already
            self.execute(statement)

    def _strike(self, verb: str, node: int, fault: Fault) -> None:
        if verb == "unwrite":
            command = _read(fault.text, f"fault {fault.id}", NodeNames.of(self.header)).command
            self.unwrite(node, command.count if isinstance(command, NodeCommand) else 1)
        else:
            getattr(self, verb)(node)

    def _adopt_node(self, node: int) -> None:
        number, execution = self._numbers[node], self._branch_point.execution
        begun = execution.incarnations.get(node) == number
        fresh = execution.nodes[node] if begun else self.create_node(node)
        incarnation = self.incarnations[node] = SimulatedIncarnation(fresh, number)
        incarnation.stepping = not begun
        if (paused_at_us := self._branch_point.paused_at_us.get(node)) is not None:
            incarnation.pause(paused_at_us)
        else:
            self._update_timer(incarnation)

    def _adopt_withheld(self) -> Iterator[tuple[SimulatedIncarnation, list[Message]]]:
        """Give the messages that have not left back to their nodes; yield the steps that are under way."""
        in_flight = self._branch_point.execution.cluster.in_flight
        for node, messages in self._branch_point.withheld.items():
            withheld = [message for message in messages if (node, message.serial) in in_flight]
            incarnation = self.incarnations.get(node)
            if incarnation is None:
                gone = SimulatedIncarnation(self.create_node(node), self._numbers[node])
                yield gone, withheld  # never to be sent
            elif incarnation.paused:
                incarnation.unsent = withheld
            else:
                incarnation.leaving = len(withheld)
                yield incarnation, withheld

    def _adopt_messages(self) -> None:
        branch_point = self._branch_point
        withheld = chain.from_iterable(branch_point.withheld.values())
        to_leave = {(message.source, message.serial) for message in withheld} | {
            (message.source, message.serial)
            for message in branch_point.unsent
            if message.source in self.incarnations
        }
        in_flight = branch_point.execution.cluster.in_flight
        departures = {key: Departure(0, flight.sent_us) for key, flight in in_flight.items()}
        departures |= {key: left for key, left in branch_point.departures.items() if key in in_flight}
        for key in sorted(in_flight, key=lambda key: departures[key].rank):
            flight = in_flight[key]
            if key in to_leave:
                continue
            message = branch_point.execution.messages[key][0]
            if flight.held:
                for _ in range(flight.copies):
                    self.network.resume(message, None)
                continue
            arrival = branch_point.arrivals.get(key)
            if arrival is None:
                latency_us = self.network.draw_latency_us((message.source, message.target))
                arrival = Arrival(departures[key].at_us + latency_us, in_order=True)
            due_us = (
                arrival.due_us
                if self.process_state(message.target) == "paused"
                else max(arrival.due_us, self.now_us)
            )
            # the original ends its way first, so the copies left are those that arrive last
            later_us = sorted(branch_point.later_us.get(key, []))[-flight.copies :]
            for _ in range(flight.copies - len(later_us)):
                self.network.resume(message, due_us, arrival.in_order)
            for copy_us in later_us:
                self.network.resume(message, max(copy_us, due_us), in_order=False)
        for message, _ in self.network.due(self.now_us - 1):  # only what has arrived at paused nodes
            self.incarnations[message.target].inbox.append(message)
