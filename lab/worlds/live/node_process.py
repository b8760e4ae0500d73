"""Node processes, and the fork server that forks them.

A node process feeds one kernel node from a socket, the real clock and its stable storage. After a pause it reads
its socket first and fires timers then: a message that arrived during the pause comes before a timeout that expired
during it. The process ends when its connection to the host does.

A node whose stable storage is damaged does not start: it tells the host why, and ends.

The process of a program becomes the program, which speaks with the host itself: the connection to the host is its
standard input and output, and a second one is its log, standard error. So a signal of the host's strikes the
program, and nothing stands between. A stranger's program is confined once its connections are made, as it cannot
make any itself.
"""

import contextlib
import ctypes
import errno
import gc
import os
import select
import shlex
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from lab.kernel import CommandInput, Message, Protocol, Started, Step
from lab.kernel.node import SteppedNode
from lab.kernel.storage import DamagedStorageError, write_of
from lab.protocols import Program
from lab.replay.roster import Roster
from lab.worlds.fork_server import ForkServer, exit_with, silence
from lab.worlds.json_lines import Channel, to_line
from lab.worlds.live.stable_storage import StableStorage
from lab.worlds.live.stall_detector import StallDetector
from lab.worlds.live.wire import (
    COMMAND_PREFIX,
    SLOW_DISK_PREFIX,
    WELCOME,
    Hello,
    NodeJob,
    NotStarted,
    SlowDisk,
    Start,
)
from lab.worlds.loading.config import RunConfig, member_roles
from lab.worlds.loading.program_confinement import ENVIRONMENT, confine_program
from lab.worlds.watchdog import watch_steps

_decode_message = msgspec.json.Decoder(Message).decode
_decode_command = msgspec.json.Decoder(CommandInput).decode

_LEAST_WAIT_US = 50_000
"""A shorter one would cost fifty nodes too much of a processor."""


def start_fork_server(config: RunConfig, protocol: type[Protocol]) -> socket.socket:
    """Fork the fork server; return the host's end of its channel. Call before any thread or loop exists."""
    ours, its = socket.socketpair()
    gc.collect()
    gc.freeze()
    if os.fork() == 0:
        ours.close()
        silence(0, 1)
        exit_with(_NodeForkServer(its, config, protocol).run)
    its.close()
    return ours


class _NodeForkServer(ForkServer[NodeJob]):
    def __init__(self, host: socket.socket, config: RunConfig, protocol: type[Protocol]) -> None:
        super().__init__(host, NodeJob)
        self._config = config
        parameters = msgspec.convert(config.parameters, protocol.Parameters)
        self._roster = Roster(
            protocol, parameters, config.nodes, config.timing, config.seed, config.roles, member_roles(config)
        )
        self._prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None

    def run_child(self, job: NodeJob, descriptors: Sequence[int]) -> int:
        # a stopped node cannot notice the end of its connection: give it a process group of its own, which is
        # orphaned when the fork server dies; the system then continues its stopped members
        os.setpgid(0, 0)
        if self._prctl is not None:
            pr_set_pdeathsig = 1  # on Linux, the kernel kills it at once
            self._prctl(pr_set_pdeathsig, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != self.pid:
            return 0
        parameters = self._roster.parameters_of(job.node)
        if isinstance(parameters, Program.Parameters):
            return _become_program(parameters.program, job, self._config)
        watch_steps()
        gc.disable()  # until it has started: collecting garbage in a long log takes longer than reading it
        with contextlib.suppress(EOFError, ConnectionError):
            tempfile.tempdir = job.storage  # the files of a sandbox go with the run's folder
            _NodeProcess(job, self._roster.new_node(job.node, self), self._config.timing.tp_us).run()
        return 0


class _NodeProcess:
    """Runs the node until it halts or the host's connection ends. Raises EOFError or ConnectionError."""

    def __init__(self, job: NodeJob, node: SteppedNode, tp_us: int) -> None:
        connection = socket.socket()
        connection.connect(("127.0.0.1", job.port))  # create_connection would load the IDNA codec: 4 ms
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._host = Channel(connection)
        self._host.send(Hello(job.node, job.incarnation, job.token))
        self._node = node
        self._origin_ns = job.origin_ns
        self._why_not = ""
        try:
            self._storage = StableStorage(Path(job.storage), job.node)
        except DamagedStorageError as error:
            self._why_not = error.describe(job.node)
        self._slow_disk_us = 0
        self._stalls = StallDetector(tp_us, _LEAST_WAIT_US, job.node)
        self._out: list[bytes] = []

    def run(self) -> None:
        lines: list[bytes] = []
        while not lines:
            lines = self._host.receive()
        start = msgspec.json.decode(lines.pop(0), type=Start)
        if self._why_not:
            self._host.send(NotStarted(self._why_not))
            return
        self._slow_disk_us = start.slow_disk_us
        self._on_step(
            self._node.step(Started(self._storage.values, start.incarnation, start.serial), self._now_us())
        )
        gc.freeze()
        gc.enable()
        self._handle(lines)
        self._send()
        while not self._node.halted:
            timer = self._node.next_timer()
            readable = self._wait(None if timer is None else timer[0])
            if readable:
                self._handle(self._host.receive())
            elif timer is not None and timer[0] <= self._now_us():
                self._on_step(self._node.step(timer[1], self._now_us()))
            self._send()

    def _wait(self, until_us: int | None) -> bool:
        """Wait for the host, not for long; return whether it has sent anything. A stall is noted."""
        now_us = self._now_us()
        due_us = now_us + self._stalls.longest_wait_us
        if until_us is not None:
            due_us = max(now_us, min(due_us, until_us))
        self._stalls.expect_by(due_us)
        readable, _, _ = select.select([self._host], [], [], (due_us - now_us) / 1e6)
        stall = self._stalls.check(self._now_us())
        if stall is not None:
            self._out.append(to_line(stall))
        return bool(readable)

    def _handle(self, lines: Sequence[bytes]) -> None:
        for line in lines:
            if line.startswith(SLOW_DISK_PREFIX):
                self._slow_disk_us = msgspec.json.decode(line, type=SlowDisk).us
            elif not self._node.halted:
                node_input = _decode_command(line) if line.startswith(COMMAND_PREFIX) else _decode_message(line)
                self._on_step(self._node.step(node_input, self._now_us()))

    def _on_step(self, step: Step) -> None:
        if step.stores and self._slow_disk_us:
            self._send()  # what earlier steps have sent does not wait for this one
            time.sleep(self._slow_disk_us / 1e6)
        if step.stores:
            self._storage.write(write_of(step))  # on disk before the step's messages leave
        self._out.append(to_line(step))

    def _send(self) -> None:
        if self._out:
            self._host.write(b"".join(self._out))
            self._out.clear()

    def _now_us(self) -> int:
        return (time.monotonic_ns() - self._origin_ns) // 1000


_MOST_FILES = 1 << 12


def _become_program(command: str, job: NodeJob, config: RunConfig) -> int:
    """Connect to the host and execute the program; return only if that is not possible, an exit status."""
    try:
        log, talk = _connect(job, is_log=True), _connect(job, is_log=False)
    except OSError:
        return 1  # the host has gone, or does not want this node any more
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    try:
        words = shlex.split(command)
        for descriptor, standard in ((talk, 0), (talk, 1), (log, 2)):
            os.dup2(descriptor.fileno(), standard)
        if config.confined is None:
            os.execvp(words[0], words)
        os.chdir(config.confined.folder)
        os.closerange(3, _MOST_FILES)
        confine_program(config.confined, words[0], config.end_us)
        os.execve(words[0], words, ENVIRONMENT)
    except (OSError, ValueError, IndexError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        if isinstance(error, OSError) and error.errno == errno.ENOEXEC:
            reason = f"{reason}; a script has a first line such as #!/usr/bin/env python3"
        os.write(1, to_line(NotStarted(f"the program {command!r} cannot be executed: {reason}")))
    return 1


def _connect(job: NodeJob, is_log: bool) -> socket.socket:
    connection = socket.socket()
    connection.connect(("127.0.0.1", job.port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.sendall(to_line(Hello(job.node, job.incarnation, job.token, is_log)))
    if connection.recv(1) != WELCOME:  # from now on, all that is written is the program's
        raise ConnectionRefusedError
    return connection
