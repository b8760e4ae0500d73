"""The fork server of this process for the children of its sandboxes.

A graded file needs a child for each incarnation of a run. One with an interpreter of its own imports for 80 ms
before it confines itself; a forked one has imported. The fork server executes no stranger's code.
"""

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import weakref
from collections import deque
from collections.abc import Sequence

from msgspec import Struct

from lab.worlds.fork_server import Fork, Forked, NotForked, ProcessChange, Ready, Report, Signal, decode_report
from lab.worlds.json_lines import Channel

_REPORTS_S = 20.0
_PROGRAM = """
import sys
sys.path[:] = sys.argv[2:]
from lab.worlds.loading.sandbox_child import main
main()
"""


class SandboxJob(Struct, frozen=True):
    """The job of a child, which gets its socket. ``code`` is the folder of the file, ``empty`` its own folder."""

    code: str
    empty: str


class SandboxChild:
    """A forked child."""

    def __init__(self, server: "SandboxServer", pid: int) -> None:
        self._server = server
        self._pid = pid

    def end(self) -> int | None:
        """End the child. Return its exit status, its own if it had ended before; None if that is unknown."""
        return self._server.end(self._pid)


class SandboxServer:
    """A fork server whose children import from the folders ``paths``. Raises OSError.

    It belongs to the process that started it, and ends with it. All threads of that may use it.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        ours, its = socket.socketpair()
        with its:
            process = subprocess.Popen(
                [sys.executable, "-P", "-B", "-c", _PROGRAM, str(its.fileno()), *paths],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(its.fileno(),),
                cwd="/",
                env={},
            )
        self._owner = os.getpid()
        self._close = weakref.finalize(self, _end, self._owner, process, ours)
        self._channel = Channel(ours)
        self._lock = threading.Lock()
        self._reports: deque[Report] = deque()
        self._serial = 0
        self._statuses: dict[int, int] = {}
        self._await(Ready)

    @property
    def is_alive(self) -> bool:
        """True while this process can use it."""
        return self._close.alive and self._owner == os.getpid()

    def fork(self, its: socket.socket, job: SandboxJob) -> SandboxChild:
        """Fork a child that has this socket; the caller still closes its own. Raises OSError."""
        with self._lock:
            self._serial += 1
            self._channel.send_files(Fork(self._serial, job), [its.fileno()])
            report = self._await(Forked, NotForked)
        if isinstance(report, NotForked):
            raise OSError(report.text)
        assert isinstance(report, Forked)
        return SandboxChild(self, report.pid)

    def end(self, pid: int) -> int | None:
        """End this child and return its exit status."""
        with self._lock, contextlib.suppress(OSError):
            if pid not in self._statuses:
                self._channel.send(Signal(pid, signal.SIGKILL))
            while pid not in self._statuses:
                self._await(ProcessChange)
        return self._statuses.pop(pid, None)

    def _await(self, *kinds: type[Report]) -> Report:
        """Return the next report of these kinds. Raises OSError if the fork server ends, or is silent."""
        while True:
            while self._reports:
                report = self._reports.popleft()
                if isinstance(report, ProcessChange) and report.what == "ended":
                    self._statuses[report.pid] = report.status
                if isinstance(report, kinds):
                    return report
            try:
                if not select.select([self._channel], [], [], _REPORTS_S)[0]:
                    raise TimeoutError("the fork server of the sandboxes is silent")
                self._reports += map(decode_report, self._channel.receive())
            except (EOFError, OSError) as error:
                self._close()
                raise OSError(str(error) or "the fork server of the sandboxes has ended") from None


def _end(owner: int, process: "subprocess.Popen[bytes]", ours: socket.socket) -> None:
    """End the fork server with its children, unless this is a fork of the process that it belongs to."""
    if owner != os.getpid():
        ours.detach()  # the descriptor may be another file's by now
        return
    ours.close()
    process.kill()
    process.wait()


_servers: dict[tuple[str, ...], SandboxServer] = {}
_starting = threading.Lock()


def sandbox_server(paths: Sequence[str]) -> SandboxServer:
    """Return the fork server of this process for these folders; start it if there is none. Raises OSError."""
    with _starting:
        server = _servers.get(tuple(paths))
        if server is None or not server.is_alive:
            server = _servers[tuple(paths)] = SandboxServer(paths)
        return server
