"""A branch: a recording up to one of its records, and from there on a simulation, from exactly that state.

The recording may be of any world. The branch's own recording begins with the parent's records, byte for byte,
so it replays from the beginning, can be verified, and can be branched again. Its seed rules what comes after
them, and when those messages arrive of which the parent only tells that they were sent.
"""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from lab import __version__
from lab.protocols import Algorithm
from lab.recording.memory import Log
from lab.recording.reader import NotARecordingError, open_recording
from lab.recording.records import Header, Parent, Routed
from lab.recording.writer import Writer
from lab.worlds.config import RunConfig
from lab.worlds.simulated.incarnation import Life
from lab.worlds.simulated.past import Arrival, NotBranchableError, Past, relive
from lab.worlds.simulated.simulation import Simulation

__all__ = ["Branch", "begin_branch"]


def begin_branch(
    config: RunConfig, protocol: type[Algorithm], progress: Callable[[int], None] = lambda done: None
) -> tuple[Writer, "Branch"]:
    """The branch that ``config`` tells of, and its recording, which has the parent's records already.

    OSError where it cannot be written, NotBranchableError; see ``relive``.
    """
    parent, recording = Path(config.parent), Path(config.recording)
    try:
        lines = open_recording(parent)
    except NotARecordingError as error:
        raise NotBranchableError(str(error)) from None
    with contextlib.closing(lines):
        past = relive(lines, config.at, protocol, progress)
        at_us = past.execution.cluster.at_us
        header = replace(
            lines.header,
            program=__version__,
            run=f"{lines.header.run} from {past.record}",
            began="",
            world="simulated",
            seed=config.seed,
            remark="",
            parent=Parent(_seen_from(recording, parent), lines.header.run, past.record, at_us),
        )
        writer = Writer(recording, header)
        writer.copy(lines, past.record, past.execution.cluster)
    return writer, Branch(header, writer, past)


def _seen_from(recording: Path, parent: Path) -> str:
    """The parent's name, where it lies beside the branch; else its whole path."""
    path = parent.resolve()
    return path.name if path.parent == recording.resolve().parent else os.fspath(path)


class Branch(Simulation):
    """Goes on from ``past``, whose records ``log`` has. ``start`` first does what was under way then."""

    def __init__(self, header: Header, log: Log, past: Past) -> None:
        super().__init__(past.protocol, header, log)
        execution = past.execution
        self.now_us = execution.cluster.at_us
        self._past = past
        self._numbers |= {node: execution.cluster.nodes[node].incarnation for node in self.ids}
        self._serials |= execution.serials
        self._stores = execution.stores
        self.control.resume(past.faults, past.rules)
        for node in self.ids:
            if execution.cluster.nodes[node].process in ("running", "paused"):
                self._take_node(node)
        self._take_messages()

    def start(self) -> None:
        """Do what was under way: messages of the last step leave it, nodes that had only been started begin, those
        that had not even been are started, faults of nodes strike that had not been seen to, and nodes get the
        commands that they had not taken yet."""
        past = self._past
        for message in self.network.release(self.now_us):
            self.record(Routed(self.now_us, message.source, message.serial, "released"))
        if past.unsent and (incarnation := self.lives.get(past.unsent[0].source)):
            self._send(past.unsent[0].source, incarnation, past.unsent)
        for node in self.ids:
            incarnation = self.lives.get(node)
            if incarnation is None and not self._numbers[node]:
                self.restart(node)
            elif incarnation is not None and incarnation.node.halted:
                self._fail(node, incarnation)
            elif incarnation is not None and past.execution.lives.get(node) != incarnation.number:
                self._begin(node, incarnation)
        for verb, node in past.asked:
            getattr(self, verb)(node)
        for node, told in past.told:
            self.tell(node, told)
        for scripted in self.director.after(None):  # a command may wait for what is so already
            self.control.execute(scripted)

    def _take_node(self, node: int) -> None:
        number, execution = self._numbers[node], self._past.execution
        begun = execution.lives.get(node) == number
        fresh = execution.nodes[node] if begun else self._new_node(node)
        incarnation = self.lives[node] = Life(fresh, number, paused_at_us=self._past.paused_at_us.get(node))
        if incarnation.paused_at_us is None:
            self._set_alarm(node, incarnation)

    def _take_messages(self) -> None:
        past = self._past
        to_leave = {(message.source, message.serial) for message in past.unsent if message.source in self.lives}
        for key, flight in past.execution.cluster.in_flight.items():
            if key in to_leave:
                continue
            message = past.execution.messages[key][0]
            if flight.held:
                self.network.resume(message, None)
                continue
            arrival = past.arrivals.get(key)
            if arrival is None:
                latency_us = self.network.draw_latency_us((message.source, message.target))
                arrival = Arrival(flight.sent_us + latency_us, in_order=True)
            due_us = arrival.due_us if self._stands_still(message.target) else max(arrival.due_us, self.now_us)
            for _ in range(flight.copies):
                self.network.resume(message, due_us, arrival.in_order)
        for message, _ in self.network.due(self.now_us - 1):  # only what has come to nodes that stand still
            self.lives[message.target].inbox.append(message)

    def _stands_still(self, node: int) -> bool:
        incarnation = self.lives.get(node)
        return incarnation is not None and incarnation.paused_at_us is not None
