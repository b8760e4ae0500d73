"""The fork server: a small process that has imported what sessions and hosts need, and forks them.

A session with its own interpreter costs half a second of CPU time and 26 MiB; a forked one starts at once and
shares the fork server's memory. It has one thread and no event loop, so that a fork never copies an inconsistent
state. It is the parent of the children, and it alone signals them: a process id cannot be reused before its parent
has waited for it. However the server ends, this process sees its socket close, and ends all children.
"""

import contextlib
import gc
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from lab.exercises.exercise import Exercise
from lab.exercises.exercise_reader import all_exercises
from lab.serve.child import run_child
from lab.serve.fork_protocol import ChildEnded, ChildForked, ForkChild, ForkFailed, SignalChild
from lab.worlds.processes.json_lines import LineBuffer

_MOST_DESCRIPTORS = 3
_PATIENCE_S = 2.0
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(ForkChild | SignalChild).decode


class _SessionForkServer:
    def __init__(self, server: socket.socket, exercises: Sequence[Exercise]) -> None:
        self._server = server
        self._exercises = exercises
        self._children: set[int] = set()
        self._wakeup_fd, wake = os.pipe()
        os.set_blocking(self._wakeup_fd, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)

    def run(self) -> None:
        """Serve requests until the server has gone."""
        buffer = LineBuffer()
        while True:
            readable, _, _ = select.select([self._server.fileno(), self._wakeup_fd], [], [])
            if self._wakeup_fd in readable:
                os.read(self._wakeup_fd, 4096)
                for ended in self._reap():
                    self._report(ended)
            if self._server.fileno() in readable:
                # at most one request with descriptors arrives in one call
                data, descriptors, _, _ = socket.recv_fds(self._server, 65536, _MOST_DESCRIPTORS)
                if not data:
                    return
                for line in buffer.feed(data):
                    self._handle_request(_decode(line), descriptors)

    def end_children(self) -> None:
        """End all children: first by SIGHUP, then by SIGKILL."""
        for number in (signal.SIGHUP, signal.SIGKILL):
            for pid in self._children:
                _signal_group(pid, number)
            ends_s = time.monotonic() + _PATIENCE_S
            while self._children and time.monotonic() < ends_s:
                select.select([self._wakeup_fd], [], [], 0.05)
                self._reap()

    def _handle_request(self, request: ForkChild | SignalChild, descriptors: list[int]) -> None:
        if isinstance(request, SignalChild):
            if request.pid in self._children:
                _signal_group(request.pid, request.number)
            return
        try:
            pid = os.fork()
        except OSError as error:
            self._report(ForkFailed(request.serial, str(error)))
        else:
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                run_child(request, descriptors, self._exercises)
            self._children.add(pid)
            self._report(ChildForked(request.serial, pid))
        for descriptor in descriptors:
            os.close(descriptor)

    def _reap(self) -> list[ChildEnded]:
        ended = []
        while self._children:
            pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            if pid == 0:
                break
            if os.WIFSTOPPED(status):
                _signal_group(pid, signal.SIGCONT)  # Ctrl-Z: there is no shell to resume it
                continue
            self._children.discard(pid)
            ended.append(ChildEnded(pid, os.waitstatus_to_exitcode(status)))
        return ended

    def _report(self, report: ChildForked | ForkFailed | ChildEnded) -> None:
        with contextlib.suppress(OSError):  # the server has gone, as the next select() shows
            self._server.sendall(_encode(report) + b"\n")


def _signal_group(pid: int, number: int) -> None:
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        os.kill(pid, number)  # it creates its group only when it first runs


def main() -> int:
    """Serve on the socket that is standard input, with the exercises in the folder given as argument."""
    server = socket.socket(fileno=os.dup(0))
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # it ends with the server
    import_everything()
    exercises = all_exercises(Path(sys.argv[1]))
    gc.collect()
    gc.freeze()
    fork_server = _SessionForkServer(server, exercises)
    server.sendall(b"\n")
    try:
        fork_server.run()
    finally:
        server.close()
        fork_server.end_children()
    return 0


def import_everything() -> None:
    """Import what children need, so that they share its memory."""
    import lab.serve.session  # noqa: PLC0415
    import lab.worlds.host.host  # noqa: PLC0415
    import lab.worlds.live.live_host  # noqa: PLC0415
    import lab.worlds.simulated.__main__  # noqa: F401, PLC0415


if __name__ == "__main__":
    sys.exit(main())
