"""Hosts that are forked from this process, for whoever starts many: each at once, and sharing what is imported.

An interpreter of its own takes a host half a second of a processor, in which the nodes of other runs are late.
This process must have one thread and no event loop, so that a fork copies nothing half done.
"""

import gc
import os
import select
import signal
import subprocess
import traceback
from typing import IO, NoReturn

from lab.worlds.config import RunConfig
from lab.worlds.host.launch import HostProcess

__all__ = ["ForkedHost", "warm_up"]


def warm_up() -> None:
    """Have everything here that a host of processes needs, so that none has to load it."""
    import lab.worlds.host.host  # noqa: PLC0415
    import lab.worlds.live.host  # noqa: F401, PLC0415
    from lab.script import parse  # noqa: PLC0415

    parse("kill 5")  # which makes the parser
    gc.collect()
    gc.freeze()


_MOST_FILES = 1 << 12


class ForkedHost(HostProcess):
    """See ``HostProcess``. Only for runs on processes; see ``warm_up``."""

    def _started(self, config: RunConfig, module: str) -> "_Forked":
        return _Forked(self._log)


class _Forked:
    """A forked host, as far as it is used as ``subprocess.Popen`` is."""

    def __init__(self, log: IO[bytes]) -> None:
        child_in, ours_in = os.pipe()
        ours_out, child_out = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            _be_host(child_in, child_out, log.fileno())
        os.close(child_in)
        os.close(child_out)
        self.stdin: IO[bytes] | None = os.fdopen(ours_in, "wb")
        self.stdout: IO[bytes] | None = os.fdopen(ours_out, "rb")
        self._status: int | None = None

    def poll(self) -> int | None:
        """Its exit status, if it has ended; below 0 the signal that ended it."""
        if self._status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._status = os.waitstatus_to_exitcode(status)
        return self._status

    def wait(self, timeout: float | None = None) -> int:
        """Wait for that. subprocess.TimeoutExpired."""
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
        """End it by force."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


def _be_host(given: int, answers: int, log: int) -> NoReturn:
    """Have these as standard input, output and error, and nothing else that is open here; then be a host."""
    status = 1
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        for standard, descriptor in enumerate((given, answers, log)):
            os.dup2(descriptor, standard)
        os.closerange(3, _MOST_FILES)
        from lab.worlds.live.__main__ import main  # noqa: PLC0415

        status = main()
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)
