"""The fork server: a small process that forks node processes, signals them, and reports their changes of state.

It is forked from the host before that loads an event loop, so a node starts in a few milliseconds and shares its
memory. It is the parent of all nodes, and only it may signal them: until it has waited for a child, the child's
pid cannot be reused. When the host ends, it kills its children, stopped ones too.
"""

import contextlib
import ctypes
import gc
import os
import select
import signal
import socket
import sys

import msgspec

from lab.kernel import Protocol
from lab.worlds.host.line_buffer import LineBuffer
from lab.worlds.live.node_process import run_and_exit, run_node
from lab.worlds.live.wire import Fork, Forked, ProcessChange, Signal
from lab.worlds.loading.config import RunConfig

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Fork | Signal).decode


def start_fork_server(config: RunConfig, protocol: type[Protocol]) -> socket.socket:
    """Fork the fork server; return the host's end of its connection. Call before any thread or loop exists."""
    ours, its = socket.socketpair()
    gc.collect()
    gc.freeze()
    if os.fork() == 0:
        ours.close()
        run_and_exit(_ForkServer(its, config, protocol).run)
    its.close()
    return ours


class _ForkServer:
    def __init__(self, host: socket.socket, config: RunConfig, protocol: type[Protocol]) -> None:
        self._host = host
        self._config = config
        self._protocol = protocol
        self._parameters = msgspec.convert(config.parameters, protocol.Parameters)
        self._children: set[int] = set()
        self._prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None

    def run(self) -> None:
        _detach()
        woken, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        buffer = LineBuffer()
        try:
            while True:
                readable, _, _ = select.select([self._host.fileno(), woken], [], [])
                if woken in readable:
                    os.read(woken, 4096)
                    self._report()
                if self._host.fileno() in readable:
                    data = self._host.recv(65536)
                    if not data:
                        return
                    for line in buffer.feed(data):
                        self._handle_request(_decode(line))
        finally:
            for pid in self._children:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            for pid in self._children:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, 0)  # the host waits for this process to end, and then no child may be left

    def _handle_request(self, request: Fork | Signal) -> None:
        if isinstance(request, Signal):
            if request.pid in self._children:
                os.kill(request.pid, request.number)
            return
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            run_and_exit(lambda: self._run_child(request, parent))
        self._children.add(pid)
        self._host.sendall(_encode(Forked(request.node, request.incarnation, pid)) + b"\n")

    def _run_child(self, request: Fork, parent: int) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._host.close()
        # a stopped node cannot notice the end of its connection: give it a process group of its own, which is
        # orphaned when the fork server dies; the system then continues its stopped members
        os.setpgid(0, 0)
        if self._prctl is not None:
            pr_set_pdeathsig = 1  # on Linux, the kernel kills it at once
            self._prctl(pr_set_pdeathsig, signal.SIGKILL, 0, 0, 0)
        if os.getppid() == parent:
            run_node(request, self._protocol, self._config.nodes, self._config.timing, self._parameters)

    def _report(self) -> None:
        while self._children:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if os.WIFSTOPPED(status):
                seen = ProcessChange(pid, "stopped")
            elif os.WIFCONTINUED(status):
                seen = ProcessChange(pid, "continued")
            else:
                self._children.discard(pid)
                seen = ProcessChange(pid, "ended")
            self._host.sendall(_encode(seen) + b"\n")


def _detach() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1):
        os.dup2(nowhere, standard)
    os.close(nowhere)
