"""Hosts forked from this process, for programs that start many: they start at once and share imported modules.

Starting an interpreter takes half a second of processor time, which delays the nodes of other runs. This process
must have one thread and no event loop, so that a fork copies no half-done work.
"""

import gc
import os
import select
import signal
import subprocess
import sys
from functools import partial
from typing import IO

from lab.worlds.host.launch import HostProcess
from lab.worlds.loading.config import RunConfig
from lab.worlds.processes.fork_server import detach, exit_with


def preload() -> None:
    """Import everything that a live host needs, so that forked hosts need not."""
    import lab.worlds.host.host  # noqa: PLC0415
    import lab.worlds.live.live_host  # noqa: F401, PLC0415
    from lab.script.parse import parse  # noqa: PLC0415

    parse("kill 5")  # builds the parser
    gc.collect()
    gc.freeze()


class ForkedHost(HostProcess):
    """See ``HostProcess``. For live runs only; call ``preload`` first."""

    def _start_process(self, config: RunConfig, module: str) -> "_ForkedProcess":
        return _ForkedProcess(self._log)


class _ForkedProcess:
    """A forked host, with the part of ``subprocess.Popen`` that is used."""

    def __init__(self, log: IO[bytes]) -> None:
        child_in, ours_in = os.pipe()
        ours_out, child_out = os.pipe()
        sys.stdout.flush()  # the child has a copy of what is not yet written
        self.pid = os.fork()
        if self.pid == 0:
            exit_with(partial(_run_host, child_in, child_out, log.fileno()))
        os.close(child_in)
        os.close(child_out)
        self.stdin: IO[bytes] | None = os.fdopen(ours_in, "wb")
        self.stdout: IO[bytes] | None = os.fdopen(ours_out, "rb")
        self._status: int | None = None

    def poll(self) -> int | None:
        """Return its exit status if it has ended; a negative one is the signal that ended it."""
        if self._status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._status = os.waitstatus_to_exitcode(status)
        return self._status

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; return its exit status. Raises subprocess.TimeoutExpired."""
        if self.poll() is None:
            ended = os.pidfd_open(self.pid)
            try:
                select.select([ended], [], [], timeout)
            finally:
                os.close(ended)
        status = self.poll()
        if status is None:
            raise subprocess.TimeoutExpired("host", timeout or 0)
        return status

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


def _run_host(*descriptors: int) -> int:
    detach(*descriptors)
    from lab.worlds.live.__main__ import main  # noqa: PLC0415 - see ``preload``

    return main()
