"""A branch: a recording up to one of its records, continued as a simulation from exactly that state.

The recording may be of any world. The branch's own recording begins with the parent's records, byte for byte, so
it can be replayed from the beginning, verified, and branched again. The branch's seed determines what follows, and
the arrival of those messages for which the parent records only that they were sent.
"""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from lab import __version__
from lab.protocols import Algorithm
from lab.recording.memory import RecordLog
from lab.recording.reader import NotARecordingError, open_recording
from lab.recording.records import Header, Parent, Routed
from lab.recording.writer import Writer
from lab.worlds.config import RunConfig
from lab.worlds.simulated.branch_point import Arrival, BranchPoint, NotBranchableError, reexecute_to
from lab.worlds.simulated.incarnation import Incarnation
from lab.worlds.simulated.simulation import Simulation

__all__ = ["Branch", "open_branch"]


def open_branch(
    config: RunConfig, protocol: type[Algorithm], progress: Callable[[int], None] = lambda done: None
) -> tuple[Writer, "Branch"]:
    """Return the recording of the branch, which already has the parent's records, and the branch itself.

    Raises OSError if the recording cannot be written, and NotBranchableError; see ``reexecute_to``.
    """
    parent, recording = Path(config.parent), Path(config.recording)
    try:
        lines = open_recording(parent)
    except NotARecordingError as error:
        raise NotBranchableError(str(error)) from None
    with contextlib.closing(lines):
        branch_point = reexecute_to(lines, config.at, protocol, progress)
        at_us = branch_point.execution.cluster.at_us
        header = replace(
            lines.header,
            program=__version__,
            run=f"{lines.header.run} from {branch_point.record}",
            began="",
            world="simulated",
            seed=config.seed,
            remark="",
            parent=Parent(_seen_from(recording, parent), lines.header.run, branch_point.record, at_us),
        )
        writer = Writer(recording, header)
        writer.copy(lines, branch_point.record, branch_point.execution.cluster)
    return writer, Branch(header, writer, branch_point)


def _seen_from(recording: Path, parent: Path) -> str:
    """Return the parent's name if it is in the branch's folder, else its whole path."""
    path = parent.resolve()
    return path.name if path.parent == recording.resolve().parent else os.fspath(path)


class Branch(Simulation):
    """Continues from ``branch_point``, whose records are in ``log``."""

    def __init__(self, header: Header, log: RecordLog, branch_point: BranchPoint) -> None:
        super().__init__(branch_point.protocol, header, log)
        execution = branch_point.execution
        self.now_us = execution.cluster.at_us
        self._branch_point = branch_point
        self._numbers |= {node: execution.cluster.nodes[node].incarnation for node in self.ids}
        self._serials |= execution.serials
        self._stores = execution.stores
        self.control.resume(branch_point.faults, branch_point.rules)
        for node in self.ids:
            if execution.cluster.nodes[node].process in ("running", "paused"):
                self._adopt_node(node)
        self._adopt_messages()

    def start(self) -> None:
        """Complete what the branch point left open.

        Messages of the last step leave their node. Nodes that have not taken their first step begin, and those not
        yet started are started. Pending faults strike, and nodes get the commands that they had not yet taken.
        """
        branch_point = self._branch_point
        for message in self.network.release(self.now_us):
            self.record(Routed(self.now_us, message.source, message.serial, "released"))
        if branch_point.unsent and (incarnation := self.incarnations.get(branch_point.unsent[0].source)):
            self._send(branch_point.unsent[0].source, incarnation, branch_point.unsent)
        for node in self.ids:
            incarnation = self.incarnations.get(node)
            if incarnation is None and not self._numbers[node]:
                self.restart(node)
            elif incarnation is not None and incarnation.node.halted:
                self._fail(node, incarnation)
            elif incarnation is not None and branch_point.execution.incarnations.get(node) != incarnation.number:
                self._begin(node, incarnation)
        for verb, node in branch_point.pending_faults:
            getattr(self, verb)(node)
        for node, command in branch_point.commands:
            self.give_command(node, command)
        for scripted in self.director.on_record(None):  # a predicate may be true already
            self.control.execute(scripted)

    def _adopt_node(self, node: int) -> None:
        number, execution = self._numbers[node], self._branch_point.execution
        begun = execution.incarnations.get(node) == number
        fresh = execution.nodes[node] if begun else self._new_node(node)
        incarnation = self.incarnations[node] = Incarnation(
            fresh, number, paused_at_us=self._branch_point.paused_at_us.get(node)
        )
        if incarnation.paused_at_us is None:
            self._update_timer(node, incarnation)

    def _adopt_messages(self) -> None:
        branch_point = self._branch_point
        to_leave = {
            (message.source, message.serial)
            for message in branch_point.unsent
            if message.source in self.incarnations
        }
        for key, flight in branch_point.execution.cluster.in_flight.items():
            if key in to_leave:
                continue
            message = branch_point.execution.messages[key][0]
            if flight.held:
                self.network.resume(message, None)
                continue
            arrival = branch_point.arrivals.get(key)
            if arrival is None:
                latency_us = self.network.draw_latency_us((message.source, message.target))
                arrival = Arrival(flight.sent_us + latency_us, in_order=True)
            due_us = arrival.due_us if self._is_paused(message.target) else max(arrival.due_us, self.now_us)
            for _ in range(flight.copies):
                self.network.resume(message, due_us, arrival.in_order)
        for message, _ in self.network.due(self.now_us - 1):  # only what has arrived at paused nodes
            self.incarnations[message.target].inbox.append(message)

    def _is_paused(self, node: int) -> bool:
        incarnation = self.incarnations.get(node)
        return incarnation is not None and incarnation.paused_at_us is not None
