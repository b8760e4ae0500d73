"""The zygote: a small process that has imported what sessions and hosts need, and forks them.

A session of its own interpreter takes half a second of a core and 26 MiB; a forked one starts at once and shares
the zygote's memory. It has one thread and no event loop, so that a fork copies nothing half done. It is the
children's parent: it alone may signal them, as a process that it has not waited for yet cannot have given its
number to another. When the server goes, however it goes, this sees its socket close, and no child outlives that.
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
from lab.exercises.library import all_exercises
from lab.serve.child import be_child
from lab.serve.orders import Ended, Fork, Forked, Kill, NotForked
from lab.worlds.host.lines import LineBuffer

__all__ = ["import_everything", "main"]

_MOST_DESCRIPTORS = 3
_PATIENCE_S = 2.0
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Fork | Kill).decode


class _Zygote:
    def __init__(self, server: socket.socket, exercises: Sequence[Exercise]) -> None:
        self._server = server
        self._exercises = exercises
        self._children: set[int] = set()
        self._woken, wake = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)

    def run(self) -> None:
        """Fork and signal as the server says, until that has gone."""
        buffer = LineBuffer()
        while True:
            readable, _, _ = select.select([self._server.fileno(), self._woken], [], [])
            if self._woken in readable:
                os.read(self._woken, 4096)
                for ended in self._reaped():
                    self._tell(ended)
            if self._server.fileno() in readable:
                # of orders with descriptors there is one in what is received at once
                data, descriptors, _, _ = socket.recv_fds(self._server, 65536, _MOST_DESCRIPTORS)
                if not data:
                    return
                for line in buffer.feed(data):
                    self._obey(_decode(line), descriptors)

    def bury(self) -> None:
        """End all children: by the signal of a terminal that hangs up, then by force."""
        for number in (signal.SIGHUP, signal.SIGKILL):
            for pid in self._children:
                _signal_group(pid, number)
            ends_s = time.monotonic() + _PATIENCE_S
            while self._children and time.monotonic() < ends_s:
                select.select([self._woken], [], [], 0.05)
                self._reaped()

    def _obey(self, order: Fork | Kill, descriptors: list[int]) -> None:
        if isinstance(order, Kill):
            if order.pid in self._children:
                _signal_group(order.pid, order.number)
            return
        try:
            pid = os.fork()
        except OSError as error:
            self._tell(NotForked(order.serial, str(error)))
        else:
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                be_child(order, descriptors, self._exercises)
            self._children.add(pid)
            self._tell(Forked(order.serial, pid))
        for descriptor in descriptors:
            os.close(descriptor)

    def _reaped(self) -> list[Ended]:
        ended = []
        while self._children:
            pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            if pid == 0:
                break
            if os.WIFSTOPPED(status):
                _signal_group(pid, signal.SIGCONT)  # Ctrl-Z: there is no shell that could let it go on
                continue
            self._children.discard(pid)
            ended.append(Ended(pid, os.waitstatus_to_exitcode(status)))
        return ended

    def _tell(self, report: Forked | NotForked | Ended) -> None:
        with contextlib.suppress(OSError):  # the server has gone, as the next look at the socket shows
            self._server.sendall(_encode(report) + b"\n")


def _signal_group(pid: int, number: int) -> None:
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        os.kill(pid, number)  # it has a group of its own only once it has run


def main() -> int:
    """Serve on the socket that is standard input, with the exercises in the folder that is named."""
    server = socket.socket(fileno=os.dup(0))
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # it ends when the server does
    import_everything()
    exercises = all_exercises(Path(sys.argv[1]))
    gc.collect()
    gc.freeze()
    zygote = _Zygote(server, exercises)
    server.sendall(b"\n")
    try:
        zygote.run()
    finally:
        server.close()
        zygote.bury()
    return 0


def import_everything() -> None:
    """What children need, so that they share it."""
    import lab.serve.session  # noqa: PLC0415
    import lab.worlds.host.host  # noqa: PLC0415
    import lab.worlds.live.host  # noqa: PLC0415
    import lab.worlds.simulated.__main__  # noqa: F401, PLC0415


if __name__ == "__main__":
    sys.exit(main())
