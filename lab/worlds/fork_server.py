"""A fork server: a small process that forks children, signals them, and reports their changes of state.

A forked child starts in a few milliseconds, and shares the memory of what the fork server has imported. The fork
server has one thread and no event loop, so that a fork never copies half-done work. It is the parent of its
children, and only it may signal them: until it has waited for a child, the child's process id cannot be reused.
However the other side of its channel ends, the fork server sees the channel close, and ends all children.
"""

import contextlib
import fcntl
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from typing import Generic, Literal, NoReturn, TypeVar

import msgspec
from msgspec import Struct

from lab.worlds.json_lines import Channel

J = TypeVar("J")

_MOST_DESCRIPTORS = 3
_MOST_FILES = 1 << 12


# requests to the fork server


class Fork(Struct, Generic[J], frozen=True, tag="fork"):
    """Fork a child that does this job, with the file descriptors beside this message."""

    serial: int
    job: J


class Signal(Struct, frozen=True, tag="signal"):
    """Send the signal to this child and its process group, if the child still exists."""

    pid: int
    number: int


# its reports


class Ready(Struct, frozen=True, tag="ready"):
    """The first report: the fork server has imported what children need."""


class Forked(Struct, frozen=True, tag="forked"):
    """The child of the request with this serial exists."""

    serial: int
    pid: int


class NotForked(Struct, frozen=True, tag="not forked"):
    """The system cannot create another process."""

    serial: int
    text: str


class ProcessChange(Struct, frozen=True, tag="seen"):
    """The system reports this change of a child. ``status`` is its exit status, negative for a signal."""

    pid: int
    what: Literal["ended", "stopped", "continued"]
    status: int = 0


Report = Ready | Forked | NotForked | ProcessChange
decode_report: Callable[[bytes], Report] = msgspec.json.Decoder(Report).decode


class ForkServer(Generic[J]):
    """A fork server; a subclass defines in ``run_child`` what a child does.

    ``job`` is the type of the jobs. Children are ended by the signals in ``ended_by``, ``patience_s`` after each
    other.
    """

    ended_by: tuple[int, ...] = (signal.SIGKILL,)
    patience_s = 2.0

    def __init__(self, peer: socket.socket, job: type[J]) -> None:
        self.pid = os.getpid()
        self._channel = Channel(peer)
        self._decode = msgspec.json.Decoder(Fork[job] | Signal).decode  # type: ignore[valid-type]
        self._children: set[int] = set()
        self._woken = -1

    def run_child(self, job: J, descriptors: Sequence[int]) -> int:
        """Do the job in a new process, and return its exit status."""
        raise NotImplementedError

    def run(self) -> None:
        """Serve requests until the other side of the channel has gone; then end all children."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        self._woken, wake = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        channel = self._channel.fileno()
        try:
            self._report(Ready())
            while True:
                readable, _, _ = select.select([channel, self._woken], [], [])
                if self._woken in readable:
                    self._reap()
                if channel in readable:
                    lines, descriptors = self._channel.receive_files(_MOST_DESCRIPTORS)
                    for line in lines:
                        self._handle_request(self._decode(line), descriptors)
                    for descriptor in descriptors:
                        os.close(descriptor)
        except EOFError:
            pass
        finally:
            self._end_children()

    def _handle_request(self, request: Fork[J] | Signal, descriptors: Sequence[int]) -> None:
        if isinstance(request, Signal):
            if request.pid in self._children:
                _signal_group(request.pid, request.number)
            return
        try:
            pid = os.fork()
        except OSError as error:
            self._report(NotForked(request.serial, str(error)))
            return
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self._channel.close()
            exit_with(lambda: self.run_child(request.job, descriptors))
        self._children.add(pid)
        self._report(Forked(request.serial, pid))

    def _reap(self) -> None:
        """Report every change of a child."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._woken, 4096)
        while self._children:
            pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
            if pid == 0:
                return
            if os.WIFSTOPPED(status):
                self._report(ProcessChange(pid, "stopped"))
            elif os.WIFCONTINUED(status):
                self._report(ProcessChange(pid, "continued"))
            else:
                self._children.discard(pid)
                self._report(ProcessChange(pid, "ended", os.waitstatus_to_exitcode(status)))

    def _end_children(self) -> None:
        for number in self.ended_by:
            for pid in self._children:
                _signal_group(pid, number)
            ends_s = time.monotonic() + self.patience_s
            while self._children and (left_s := ends_s - time.monotonic()) > 0:
                select.select([self._woken], [], [], left_s)
                self._reap()

    def _report(self, report: Report) -> None:
        with contextlib.suppress(OSError):  # the other side has gone, as the next ``receive`` shows
            self._channel.send(report)


def _signal_group(pid: int, number: int) -> None:
    try:
        os.killpg(pid, number)
    except OSError:
        os.kill(pid, number)  # it creates its group only when it first runs


# forked processes


def exit_with(run: Callable[[], int | None]) -> NoReturn:
    """Call ``run`` and end this forked process with its status, without the clean-up handlers of its parent."""
    status: int = 1
    try:
        status = run() or 0
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def detach(*descriptors: int) -> None:
    """Begin a session of its own, with the usual signals and these descriptors as 0, 1, 2 … and no others."""
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    keep_only(*descriptors)


def keep_only(*descriptors: int) -> None:
    """Have these descriptors as 0, 1, 2 … and no others."""
    duplicates = [fcntl.fcntl(each, fcntl.F_DUPFD, len(descriptors)) for each in descriptors]
    for standard, descriptor in enumerate(duplicates):
        os.dup2(descriptor, standard)
    os.closerange(len(descriptors), _MOST_FILES)


def silence(*standard: int) -> None:
    """Connect these standard files to nothing."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in standard:
        os.dup2(nowhere, number)
    os.close(nowhere)
