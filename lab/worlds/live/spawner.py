"""The warm parent: a small process that forks node processes, signals them, and reports what it sees of them.

It is forked from the host before that loads an event loop, so a node starts in a few milliseconds and shares
its memory. It is the nodes' parent: it alone may signal them, as a process that it has not waited for yet
cannot have given its number to another. When the host goes, it kills what it forked, stopped nodes too.
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
from lab.worlds.config import RunConfig
from lab.worlds.host.lines import LineBuffer
from lab.worlds.live.node_process import run_and_leave, serve
from lab.worlds.live.wire import Fork, Forked, Seen, Signal

__all__ = ["fork_spawner"]

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Fork | Signal).decode


def fork_spawner(config: RunConfig, protocol: type[Protocol]) -> socket.socket:
    """Fork the warm parent; the host's end of the connection to it. Call before any thread or loop exists."""
    ours, its = socket.socketpair()
    gc.collect()
    gc.freeze()
    if os.fork() == 0:
        ours.close()
        run_and_leave(_Spawner(its, config, protocol).run)
    its.close()
    return ours


class _Spawner:
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
                        self._obey(_decode(line))
        finally:
            for pid in self._children:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            for pid in self._children:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, 0)  # the host waits for our end, and then nothing is left

    def _obey(self, order: Fork | Signal) -> None:
        if isinstance(order, Signal):
            if order.pid in self._children:
                os.kill(order.pid, order.number)
            return
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            run_and_leave(lambda: self._be_node(order, parent))
        self._children.add(pid)
        self._host.sendall(_encode(Forked(order.node, order.incarnation, pid)) + b"\n")

    def _be_node(self, order: Fork, parent: int) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._host.close()
        # for a node that stands still and cannot notice the end of its connection: when the warm parent dies,
        # a process group of the node's own is orphaned, and the system lets stopped members of such go on
        os.setpgid(0, 0)
        if self._prctl is not None:
            pr_set_pdeathsig = 1  # Linux can do it at once
            self._prctl(pr_set_pdeathsig, signal.SIGKILL, 0, 0, 0)
        if os.getppid() == parent:
            serve(order, self._protocol, self._config.nodes, self._config.timing, self._parameters)

    def _report(self) -> None:
        while self._children:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if os.WIFSTOPPED(status):
                seen = Seen(pid, "stopped")
            elif os.WIFCONTINUED(status):
                seen = Seen(pid, "continued")
            else:
                self._children.discard(pid)
                seen = Seen(pid, "ended")
            self._host.sendall(_encode(seen) + b"\n")


def _detach() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1):
        os.dup2(nowhere, standard)
    os.close(nowhere)
