"""The live world: node processes, on real sockets and the real clock.

The host is the network between them, one line at a time, so a fault can strike between two messages of one step.
Nothing here waits: ``LiveHost`` waits for sockets and time.
"""

import contextlib
import secrets
import select
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from lab.kernel import CommandInput, Message, Protocol
from lab.kernel.storage import AlteredStorage, flip, tear, unwrite
from lab.output import print_remark
from lab.recording.records import Event, Process, Record, Stall
from lab.recording.writer import RecordLog
from lab.text import sanitize
from lab.units import format_us
from lab.worlds.fork_server import Fork, Forked, ProcessChange, Signal
from lab.worlds.json_lines import GARBAGE, TooLongError
from lab.worlds.live.connections import (
    Connection,
    NotAStepError,
    ProgramConnection,
    ProgramLog,
    TooMuchError,
)
from lab.worlds.live.stable_storage import alter, truncate, wipe
from lab.worlds.live.stall_detector import StallDetector
from lab.worlds.live.wire import (
    NOT_STARTED_PREFIX,
    STALL_PREFIX,
    WELCOME,
    Hello,
    NodeJob,
    NotStarted,
    SlowDisk,
    Start,
)
from lab.worlds.loading.program_confinement import ERRORS, describe_end
from lab.worlds.world import World, storage_record

_encode = msgspec.json.Encoder().encode
_decode_not_started = msgspec.json.Decoder(NotStarted).decode
_decode_stall = msgspec.json.Decoder(Stall).decode
_LEAST_WAIT_US = 5_000
_LONGEST_LAST_LINE = 200
INIT_US = 10_000_000
"""The time that a program has to answer ``init``, without its pauses; as in Maelstrom."""
_MOST_LINES = 10_000
"""The number of lines that a confined program may write."""


class _Child(Struct):
    """The process of a node's last incarnation.

    ``phase``: forked but not connected, connected, being killed, gone.
    """

    number: int
    token: str
    phase: Literal["forked", "up", "dying", "gone"] = "forked"
    pid: int = 0
    connection: Connection | None = None
    log: ProgramLog | None = None
    stopped_us: int | None = None
    resumed_us: int = -1
    resume_wanted: bool = False
    restart_wanted: bool = False
    storage_faults: list[Callable[[], bool]] = []
    failed: bool = False
    why: str = ""
    last_log_line: str = ""


class LiveWorld(World[Connection]):
    """The world of node processes. They say Hello on ``port``, and have stable storage in the folder ``storage``.

    ``confined_until_us``: programs are confined, in a run that ends then.

    ``unflushed`` are the connections with something to write, ``requests`` those for the fork server. The caller
    writes both after the recording, so that everything is recorded before anyone can see it.
    """

    def __init__(
        self,
        protocol: type[Protocol],
        log: RecordLog,
        storage: Path,
        port: int,
        confined_until_us: int | None = None,
    ) -> None:
        super().__init__(protocol, log)
        self._confined_until_us = confined_until_us
        self.unflushed: dict[int, Connection] = {}
        self.requests: list[Fork[NodeJob] | Signal] = []
        self._origin_ns = time.monotonic_ns()
        self._storage = storage
        self._port = port
        self._children: dict[int, _Child] = {}
        self._by_pid: dict[int, int] = {}
        self._started = False
        self._slow_disks_us: dict[int, int] = {}
        self._init_due_us: dict[int, int] = {}  # of the programs that have still to answer ``init``
        self._writes = dict.fromkeys(self.ids, 0)  # by the steps recorded
        self._stalls = StallDetector(self.header.timing.tp_us, _LEAST_WAIT_US)

    @property
    def now_us(self) -> int:
        return (time.monotonic_ns() - self._origin_ns) // 1000

    # stalls

    def record(self, record: Record) -> None:
        self.record_stall()  # before anything that this process does after it
        super().record(record)

    def finish(self) -> None:
        self.record_stall()
        super().finish()

    def record_stall(self) -> bool:
        """Record the stall of this process that ends now; return whether there is one."""
        stall = self._stalls.check(self.now_us)
        if stall is not None:
            super().record(stall)
        return stall is not None

    def expect_turn(self) -> float:
        """Return in how many seconds the host has to call ``record_stall``; if it is late, that is a stall."""
        self._stalls.expect_by(self.now_us + self._stalls.longest_wait_us)
        return self._stalls.longest_wait_us / 1e6

    def _take_stall(self, connection: Connection, line: bytes) -> None:
        """Record a stall of a node, unless that was a pause. Raises NotAStepError for an impossible one."""
        try:
            stall = _decode_stall(line)
        except GARBAGE as error:
            raise NotAStepError(str(error)) from None
        if stall.node != connection.id:
            raise NotAStepError(f"a stall of node {stall.node}")
        if stall.began_us >= self._children[connection.id].resumed_us:
            self.record(stall)

    # messages

    def read(self, connection: Connection | ProgramLog) -> bool:
        """Take in what the node's socket holds now, at most a chunk; return False at its end."""
        try:
            for line in connection.receive():
                if isinstance(connection, ProgramLog):
                    self._receive_log(connection, line)
                else:
                    self._receive(connection, line)
        except (EOFError, OSError):
            return False
        except (NotAStepError, TooLongError) as error:
            assert isinstance(connection, Connection)
            what = "sent garbage: "
            if isinstance(error, TooLongError):
                what = "wrote " if isinstance(connection, ProgramConnection) else "made too large a step: "
            self._fail(connection, f"{what}{error}")
            return False
        except TooMuchError as error:
            self._fail(connection, str(error))
            return False
        return True

    def _drain(self, connection: Connection | ProgramLog) -> None:
        """Take in all that a node's socket holds."""
        while connection.fileno() >= 0 and select.select([connection], [], [], 0)[0]:
            if not self.read(connection):
                return

    def _receive(self, connection: Connection, line: bytes) -> None:
        """Take in a step of a node; if the node is paused, keep it in the backlog. Raises NotAStepError."""
        if isinstance(connection, ProgramConnection):
            self._receive_from_program(connection, line)
        elif connection.paused:
            connection.backlog.append(line)
        elif self.incarnations.get(connection.id) is not connection:
            return
        elif line.startswith(NOT_STARTED_PREFIX):
            self._take_not_started(connection, line)
        elif line.startswith(STALL_PREFIX):
            self._take_stall(connection, line)
        else:
            step, message = connection.read_step(line)
            self._writes[step.node] += step.stores
            self.take_step(connection, step, message)
            self.deliver_due()

    def _take_not_started(self, connection: Connection, line: bytes) -> None:
        """Note why a process could not begin. Raises NotAStepError for a line that does not say it."""
        try:
            why = _decode_not_started(line).why
        except GARBAGE as error:
            raise NotAStepError(str(error)) from None
        child = self._children[connection.id]
        child.failed, child.why = True, why

    def _receive_from_program(self, program: ProgramConnection, line: bytes) -> None:
        if line.startswith(NOT_STARTED_PREFIX) and not program.has_written:
            with contextlib.suppress(NotAStepError):  # else the program wrote it, and not the process before it
                self._take_not_started(program, line)
                return
        program.take_line(line)
        self._feed(program)
        self.deliver_due()

    def _receive_log(self, log: ProgramLog, line: bytes) -> None:
        child, program = self._children[log.id], self.incarnations.get(log.id)
        if child.number == log.number and line.strip():  # it may end before the other nodes are ready
            child.last_log_line = line.decode("utf-8", "replace").strip()
        if isinstance(program, ProgramConnection) and program.number == log.number:
            program.take_line(line, is_log=True)
            self._feed(program)

    def _feed(self, program: ProgramConnection) -> None:
        """Let the node of a program take the inputs that wait, unless it is in a step, paused, or down."""
        if program.in_step:
            return
        program.in_step = True
        while program.inputs and not program.paused and self.incarnations.get(program.id) is program:
            given = program.inputs.popleft()
            step = program.step(given, self.now_us)
            self.unflushed[program.id] = program
            if program.answered_init:
                self._init_due_us.pop(program.id, None)
            self.take_step(program, step, given if isinstance(given, Message) else None)
            if program.init_error:
                self._fail(program, f"answered init with an error: {program.init_error}")
            if step.failed:
                self._children[program.id].failed = True
                self.kill(program.id)
        program.in_step = False

    def deliver_due(self) -> None:
        """Deliver the messages that are due."""
        for message, cut in self.network.due(self.now_us):
            self.arrive(message, cut)

    def deliver(self, incarnation: Connection, node_input: Message | CommandInput) -> None:
        if incarnation.give(node_input):
            self.unflushed[incarnation.id] = incarnation
            if isinstance(incarnation, ProgramConnection):
                self._feed(incarnation)
        elif isinstance(node_input, Message):
            self.drop(node_input, "overflow")

    # programs that have still to answer ``init``

    @property
    def init_due_us(self) -> int | None:
        """When the next program has had its time to answer ``init``; None if none is waited for."""
        return min((due_us for node, due_us in self._init_due_us.items() if self._may_answer(node)), default=None)

    def fail_uninitialized(self) -> None:
        """Let the nodes fail whose programs have had their time to answer ``init``."""
        for node, due_us in list(self._init_due_us.items()):
            if due_us <= self.now_us and self._may_answer(node):
                self._fail(
                    self.incarnations[node], f"did not answer init with init_ok within {format_us(INIT_US)}"
                )

    def _may_answer(self, node: int) -> bool:
        connection = self.incarnations.get(node)
        return connection is not None and not connection.paused

    def take_down(
        self, incarnation: Connection, why: Literal["killed", "down"], end: Process | None = None
    ) -> None:
        self.unflushed.pop(incarnation.id, None)
        self._init_due_us.pop(incarnation.id, None)
        super().take_down(incarnation, why, end)

    # operations on nodes; see ActiveRun

    def kill(self, node: int) -> bool:
        """Send SIGKILL. Whatever the process still does no longer counts."""
        child = self._children[node]
        if child.phase not in ("forked", "up"):
            restart_was_wanted, child.restart_wanted = child.restart_wanted, False
            return restart_was_wanted
        child.phase = "dying"
        if child.pid:
            self.requests.append(Signal(child.pid, signal.SIGKILL))
        connection = self.incarnations.get(node)
        if connection is not None:
            self.take_down(connection, "killed")
        return True

    def pause(self, node: int) -> bool:
        """Send SIGSTOP."""
        connection = self.incarnations.get(node)
        if connection is None or connection.paused:
            return False
        connection.paused = True
        self.requests.append(Signal(self._children[node].pid, signal.SIGSTOP))
        return True

    def resume(self, node: int) -> bool:
        """Send SIGCONT, once the process is seen stopped."""
        connection, child = self.incarnations.get(node), self._children[node]
        if connection is None or not connection.paused or child.resume_wanted:
            return False
        child.resume_wanted = True
        if child.stopped_us is not None:
            self.requests.append(Signal(child.pid, signal.SIGCONT))
        return True

    def restart(self, node: int) -> bool:
        """Fork a new process; if the last one has still to end, then."""
        child = self._children[node]
        if child.phase == "dying" and not child.restart_wanted:
            child.restart_wanted = True
            return True
        if child.phase == "gone":
            self._fork(node)
            return True
        return False

    def wipe(self, node: int) -> bool:
        return self._on_storage(node, lambda: self._wipe(node))

    def unwrite(self, node: int, count: int) -> bool:
        return self._on_storage(node, lambda: self._alter(node, "unwritten", lambda data: unwrite(data, count)))

    def tear(self, node: int) -> bool:
        return self._on_storage(node, lambda: self._alter(node, "torn", tear))

    def flip(self, node: int) -> bool:
        random = self.disk_random(node)
        return self._on_storage(node, lambda: self._alter(node, "flipped", lambda data: flip(data, random)))

    def slow_disk(self, node: int, us: int) -> None:
        """Tell the process; it heeds that after the inputs given to it before."""
        self._slow_disks_us[node] = us
        connection = self.incarnations.get(node)
        if connection is not None and connection.put(_encode(SlowDisk(us))):
            self.unflushed[node] = connection

    def _on_storage(self, node: int, fault: Callable[[], bool]) -> bool:
        """Let a fault strike the stable storage of a node; if its process has still to end, then."""
        child = self._children[node]
        if child.phase == "dying" and not child.restart_wanted:
            child.storage_faults.append(fault)
            return True
        return child.phase == "gone" and fault()

    def _wipe(self, node: int) -> bool:
        if not wipe(self._storage, node):
            return False
        self._writes[node] = 0
        self.record(Process(self.now_us, node, "wiped", self._children[node].number))
        return True

    def _alter(self, node: int, event: Event, fault: Callable[[bytes], AlteredStorage | None]) -> bool:
        altered = alter(self._storage, node, fault)
        if altered is None:
            return False
        self._writes[node] -= altered.lost
        self.record(storage_record(self.now_us, node, event, self._children[node].number, altered))
        return True

    # the course of an incarnation, as the fork server and the process report it

    def fork_all(self) -> None:
        """Fork every node; they begin together once all are connected."""
        for node in self.ids:
            self._fork(node)

    def on_forked(self, report: Forked) -> None:
        """Note the pid of a new process."""
        child = self._children[report.serial]
        child.pid = report.pid
        self._by_pid[report.pid] = report.serial
        if child.phase == "dying":
            self.requests.append(Signal(child.pid, signal.SIGKILL))  # it was killed before its pid was known
        self._begin_if_ready()

    def on_hello(self, hello: Hello, peer: socket.socket) -> Connection | ProgramLog | None:
        """Accept a process's connection; return None if it is not of a node that is expected."""
        child = self._children.get(hello.node)
        if child is None or child.number != hello.incarnation or not _is_same(child.token, hello.token):
            return None
        if child.phase != "forked" or (child.log if hello.is_log else child.connection) is not None:
            return None
        if hello.is_log:
            child.log = ProgramLog(peer, hello)
            peer.send(WELCOME)
            return child.log
        if self.roster.protocol_of(hello.node).is_program:
            most_lines = float("inf") if self._confined_until_us is None else _MOST_LINES
            node = self.roster.new_kernel_node(hello.node)
            child.connection = ProgramConnection(peer, hello, node, most_lines)
            peer.send(WELCOME)
        else:
            child.connection = Connection(peer, hello)
        self._begin_if_ready()
        return child.connection

    def on_process_change(self, report: ProcessChange) -> None:
        """Record what the operating system reports about a process."""
        node = self._by_pid.get(report.pid)
        if node is None:
            return
        child = self._children[node]
        if report.what == "ended":
            del self._by_pid[report.pid]
            self._on_ended(node, child, report.status)
        elif report.what == "stopped" and child.stopped_us is None and child.phase == "up":
            self._on_stopped(node, child)
        elif report.what == "continued" and child.phase == "up":
            if child.stopped_us is None:
                self._on_stopped(node, child)  # it was stopped too briefly to be seen
            self._on_continued(node, child)

    def _fork(self, node: int) -> None:
        before = self._children.get(node)
        child = self._children[node] = _Child(before.number + 1 if before else 1, secrets.token_hex(16))
        job = NodeJob(node, child.number, self._port, child.token, self._origin_ns, str(self._storage))
        self.requests.append(Fork(node, job))

    def _begin_if_ready(self) -> None:
        coming = {node: child for node, child in self._children.items() if child.phase == "forked"}
        ready = {node: child.connection for node, child in coming.items() if child.connection and child.pid}
        if not self._started and len(ready) < len(coming):
            return
        self._started = True
        for node, connection in ready.items():
            self._begin(connection, self._children[node])

    def _begin(self, connection: Connection, child: _Child) -> None:
        node = connection.id
        child.phase = "up"
        self.incarnations[node] = connection
        # queued before the record, which may trigger a command that gives the node an input
        connection.begin(Start(child.number, self.serials[node], self._slow_disks_us.get(node, 0)))
        self.unflushed[node] = connection
        self.record(Process(self.now_us, node, "started", child.number, child.pid))
        if isinstance(connection, ProgramConnection):
            self._init_due_us[node] = self.now_us + INIT_US
            self._feed(connection)

    def _on_ended(self, node: int, child: _Child, status: int) -> None:
        connection = self.incarnations.get(node)
        if self.roster.protocol_of(node).is_program and child.phase in ("forked", "up"):
            self._on_program_ended(child, status)
        if connection is not None and child.phase == "up":
            self._drain(connection)  # what it sent before it ended, the traceback included
            child.failed |= bool(self.cluster.view_of(node).traceback)
            if self.incarnations.get(node) is connection:
                child.phase = "dying"
                self.take_down(connection, "down")
        child.phase = "gone"
        truncate(self._storage, node, self._writes[node])  # the process may have gone on after it was killed
        event: Literal["failed", "killed"] = "failed" if child.failed else "killed"
        self.record(Process(self.now_us, node, event, child.number, child.pid, why=child.why))
        for fault in child.storage_faults:
            fault()
        if child.restart_wanted:
            self._fork(node)
        self._begin_if_ready()

    def _on_program_ended(self, child: _Child, status: int) -> None:
        """Take in what a program wrote before it ended; it has failed, unless a signal from outside ended it."""
        for connection in (child.log, child.connection):
            if connection is not None:
                self._drain(connection)
        if child.log is not None and child.log.rest.strip():
            child.last_log_line = child.log.rest.decode("utf-8", "replace").strip()
        why = describe_end(status, self._confined_until_us)
        is_own = status >= 0 or status in ERRORS or self._confined_until_us is not None
        if why and not child.failed and is_own:
            last = f"; its last line of stderr: {sanitize(child.last_log_line, _LONGEST_LAST_LINE)}"
            child.failed, child.why = True, why + (last if child.last_log_line else "")

    def _on_stopped(self, node: int, child: _Child) -> None:
        connection = self.incarnations.get(node)
        if connection is None:
            return
        self._drain(connection)
        connection.paused = True
        child.stopped_us = self.now_us
        unsent = len(connection.unsent) + connection.leaving
        self.record(Process(child.stopped_us, node, "paused", child.number, child.pid, unsent=unsent))
        if child.resume_wanted:
            self.requests.append(Signal(child.pid, signal.SIGCONT))

    def _on_continued(self, node: int, child: _Child) -> None:
        connection = self.incarnations.get(node)
        if connection is None or child.stopped_us is None:
            return
        paused_us = self.now_us - child.stopped_us
        child.stopped_us = None
        child.resumed_us = self.now_us
        child.resume_wanted = False
        connection.paused = False
        if node in self._init_due_us:
            self._init_due_us[node] += paused_us
        self.record(Process(self.now_us, node, "resumed", child.number, child.pid, paused_us=paused_us))
        self.send_rest(connection)
        self.deliver_due()
        backlog, connection.backlog = connection.backlog, []
        try:
            for line in backlog:
                self._receive(connection, line)
        except NotAStepError as error:
            self._fail(connection, f"sent garbage: {error}")
        except TooMuchError as error:
            self._fail(connection, str(error))
        if isinstance(connection, ProgramConnection):
            self._feed(connection)

    def _fail(self, connection: Connection | ProgramLog, why: str) -> None:
        """Kill a node that misbehaves, as failed."""
        child = self._children[connection.id]
        if child.phase == "up" and child.number == connection.number:
            print_remark(f"node {connection.id} {why}")
            child.failed, child.why = True, why
            self.kill(connection.id)


def _is_same(ours: str, received: str) -> bool:
    return secrets.compare_digest(ours.encode(), received.encode())
