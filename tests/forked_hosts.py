"""Hosts without the cost of their imports: each is a fork of a process that has done them, one for all tests.

A host has its own process and session, as with ``python -m lab.worlds``; its folder and environment are those of
the test. Half a second of processor time is saved for each. Run as a program, the module is the server.
"""

import atexit
import contextlib
import functools
import gc
import importlib
import os
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import IO, Any

import pytest
from msgspec import Struct

from lab.protocols import PROTOCOLS
from lab.script.parse import parse
from lab.worlds.fork_server import Fork, Forked, ForkServer, ProcessChange, decode_report, detach
from lab.worlds.json_lines import Channel
from lab.worlds.launch import HostProcess

__all__ = ["ForkedProcess", "ProcessForker", "TestHost", "fork_hosts"]

_MAIN = {"lab.worlds": "lab.worlds.__main__", "tests.worlds.launcher": "tests.worlds.launcher"}
"""Where the modules of hosts that are forked have their ``main``; others get an interpreter of their own."""


_start_interpreter = HostProcess._start_process


class TestHost(HostProcess):
    """See ``HostProcess``: a host for tests that are not about its own interpreter."""

    __test__ = False

    def _start_process(self, module: str) -> Any:
        if module not in _MAIN:
            return _start_interpreter(self, module)
        sys.audit("tests.host", self._world)
        child_in, ours_in = os.pipe()
        ours_out, child_out = os.pipe()
        job = _Job(_MAIN[module], os.getcwd(), dict(os.environ))
        pid = _forker().fork(job, (child_in, child_out, self._log.fileno()))
        os.close(child_in)
        os.close(child_out)
        return _ForkedHost(pid, os.fdopen(ours_in, "wb"), os.fdopen(ours_out, "rb"))


def fork_hosts(patch: pytest.MonkeyPatch) -> None:
    """Fork the hosts that the product starts in this process."""
    patch.setattr(HostProcess, "_start_process", TestHost._start_process)


class _Job(Struct, frozen=True):
    module: str
    folder: str
    environment: dict[str, str]


class ForkedProcess:
    """A process forked by another one, with the part of ``subprocess.Popen`` that is used."""

    def __init__(self, forker: "ProcessForker", pid: int) -> None:
        self.pid = pid
        self._forker = forker

    @property
    def returncode(self) -> int | None:
        return self.poll()

    def poll(self) -> int | None:
        return self._forker.status_of(self.pid)

    def wait(self, timeout: float | None = None) -> int:
        status = self._forker.wait_for(self.pid, timeout)
        if status is None:
            raise subprocess.TimeoutExpired("a forked process", timeout or 0)
        return status

    def kill(self) -> None:
        self.send_signal(9)

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # it ends now
                os.kill(self.pid, number)


class _ForkedHost(ForkedProcess):
    def __init__(self, pid: int, stdin: IO[bytes], stdout: IO[bytes]) -> None:
        super().__init__(_forker(), pid)
        self.stdin = stdin
        self.stdout = stdout


class ProcessForker:
    """A process that forks others: this module run as a program. It ends with the tests.

    Several threads may start processes and wait for them.
    """

    def __init__(self, module: str, environment: Mapping[str, str] | None = None) -> None:
        ours, its = socket.socketpair()
        with its:
            words = [sys.executable, "-P", "-m", module, str(its.fileno())]
            self._process = subprocess.Popen(
                words, pass_fds=[its.fileno()], start_new_session=True, env=environment
            )
        self._channel = Channel(ours)
        self._lock = threading.RLock()
        self._forked: list[int] = []
        self._statuses: dict[int, int] = {}
        atexit.register(self._end)

    def fork(self, job: Struct, descriptors: Sequence[int]) -> int:
        """Return the process id of a new process that does this job."""
        with self._lock:
            self._channel.send_files(Fork(0, job), descriptors)
            while not self._forked:
                self._read(None)
            return self._forked.pop()

    def status_of(self, pid: int) -> int | None:
        """Return its exit status if it has ended; a negative one is the signal that ended it."""
        with self._lock:
            while pid not in self._statuses and self._read(0):
                pass
            return self._statuses.get(pid)

    def wait_for(self, pid: int, timeout_s: float | None) -> int | None:
        """Wait for its end; return its exit status, or None if it goes on."""
        try:
            process = os.pidfd_open(pid)
        except ProcessLookupError:
            ended = True
        else:
            try:
                ended = bool(select.select([process], [], [], timeout_s)[0])
            finally:
                os.close(process)
        with self._lock:
            while ended and pid not in self._statuses:
                self._read(None)
            return self._statuses.get(pid)

    def _read(self, within_s: float | None) -> bool:
        """Read a report; return whether there was one in time."""
        if not select.select([self._channel], [], [], within_s)[0]:
            return False
        for line in self._channel.receive():
            match decode_report(line):
                case Forked(pid=pid):
                    self._statuses.pop(pid, None)
                    self._forked.append(pid)
                case ProcessChange(pid=pid, what="ended", status=status):
                    self._statuses[pid] = status
        return True

    def _end(self) -> None:
        self._channel.close()
        self._process.wait()


@functools.cache
def _forker() -> ProcessForker:
    return ProcessForker(__name__)


# the process that forks


class _Hosts(ForkServer[_Job]):
    def run_child(self, job: _Job, descriptors: Sequence[int]) -> int:
        detach(*descriptors)
        os.chdir(job.folder)
        os.environ.clear()
        os.environ.update(job.environment)
        return int(importlib.import_module(job.module).main())


def _warm_up() -> None:
    """Import what hosts import, and build a parser for the words of each protocol, which is slow too."""
    for name in ("host.host", "live.live_host", "simulated.execution", "simulated.simulated_host", "__main__"):
        importlib.import_module(f"lab.worlds.{name}")
    importlib.import_module("tests.worlds.launcher")
    for protocol in (None, *PROTOCOLS.values()):
        parse("heal", protocol)
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    _warm_up()
    _Hosts(socket.socket(fileno=int(sys.argv[1])), _Job).run()
