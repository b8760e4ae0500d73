"""Start a host, as a new process or forked from this one, and talk to its feed, without an event loop."""

import contextlib
import gc
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, Literal

import msgspec

from lab.worlds.feed_protocol import ASIDES, REPLY_PREFIX, Attach, FeedRequest, Reply
from lab.worlds.fork_server import detach, exit_with
from lab.worlds.json_lines import to_line
from lab.worlds.loading.config import HostReady, HostRefused, RunConfig

_POLLED_EVERY_S = 0.01
_decode_first = msgspec.json.Decoder(HostReady | HostRefused).decode


class HostFailedError(Exception):
    """The host did not start, or ended early; the text is for the user."""


class HostRefusedError(HostFailedError):
    """The host refused its configuration."""


def read_ready(line: bytes) -> HostReady:
    """Return what the host's first line says. Raises HostRefusedError."""
    first: HostReady | HostRefused = _decode_first(line)
    if isinstance(first, HostRefused):
        raise HostRefusedError(first.text)
    return first


class HostProcess:
    """A host that runs until this object is closed; it notices when this process dies.

    The constructor returns at once; ``ready`` waits until the host serves its feed. ``module`` replaces the host's
    module, for programs with protocols of their own.
    """

    def __init__(self, config: RunConfig, module: str = "lab.worlds") -> None:
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._world = config.world
        self.process = self._start_process(module)
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(to_line(config))
            self.process.stdin.flush()

    def _start_process(self, module: str) -> "subprocess.Popen[bytes] | _ForkedProcess":
        return subprocess.Popen(
            # -P: no file in the current folder can shadow a module; the world is for whoever lists the processes
            [sys.executable, "-P", "-m", module, self._world],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,
        )

    def ready(self) -> HostReady:
        """Wait until the host serves its feed. Raises HostFailedError."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            raise HostFailedError(f"the host did not start:\n{self.stderr_text()}")
        try:
            return read_ready(line)
        except HostRefusedError:
            self.process.wait()  # then nothing of the run is left
            raise

    def wait(self, timeout_s: float | None = None) -> int:
        """Wait for the end of the run. Raises HostFailedError if the host failed."""
        status = self.process.wait(timeout_s)
        if status == -signal.SIGKILL:
            raise HostFailedError("the host was killed; its recording has all up to then")
        if status != 0:
            raise HostFailedError(f"the host ended with status {status}:\n{self.stderr_text()}")
        return status

    def end(self) -> str:
        """End the run, and wait until only its recording is left; return why it had failed, if it had."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.wait()
        except HostFailedError as error:
            return str(error)
        return ""

    def close(self) -> None:
        """Close the pipes and files that this object holds; a run that is still active ends."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()
        self._log.close()

    def stderr_text(self) -> str:
        """Return the end of the host's standard error."""
        file = self._log.fileno()  # the host writes at the same position: read without moving it
        size = os.fstat(file).st_size
        return os.pread(file, 4000, max(0, size - 4000)).decode("utf-8", "replace").strip()


# Hosts forked from this process, for programs that start many: they start at once and share imported modules.
# Starting an interpreter takes half a second of processor time, which delays the nodes of other runs. This process
# must have one thread and no event loop, so that a fork copies no half-done work.


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

    def _start_process(self, module: str) -> "_ForkedProcess":
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
        ends_s = None if timeout is None else time.monotonic() + timeout
        while (status := self.poll()) is None:
            left_s = None if ends_s is None else ends_s - time.monotonic()
            if left_s is not None and left_s <= 0:
                raise subprocess.TimeoutExpired("host", timeout or 0)
            self._await_end(left_s)
        return status

    def _await_end(self, left_s: float | None) -> None:
        """Wait for its end, or a while where the system cannot."""
        if not hasattr(os, "pidfd_open"):  # macOS
            time.sleep(_POLLED_EVERY_S if left_s is None else min(left_s, _POLLED_EVERY_S))
            return
        ended = os.pidfd_open(self.pid)
        try:
            select.select([ended], [], [], left_s)
        finally:
            os.close(ended)

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


def _run_host(*descriptors: int) -> int:
    detach(*descriptors)
    from lab.worlds.__main__ import main  # noqa: PLC0415 - see ``preload``

    return main()


# the feed


class FeedClient:
    """A blocking connection to a host's feed. Raises ConnectionError if the host is gone."""

    def __init__(
        self,
        path: str | Path,
        role: Literal["driver", "viewer"] = "driver",
        start: Literal["first", "keyframe", "end"] = "first",
    ) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._stream = self._socket.makefile("rb")
        self._requests = 0
        try:
            self._socket.connect(os.fspath(path))
            self._send(Attach(role, start))
        except OSError:
            self.close()
            raise

    def lines(self) -> Iterator[bytes]:
        """Yield the records as they come, a line each, without newline, until the run ends."""
        for line in self._stream:
            if not line.startswith(ASIDES):
                yield line.rstrip(b"\n")

    def command(self, text: str) -> Reply:
        """Give a command and wait for the reply; records that come in between are dropped."""
        self._requests += 1
        self._send(FeedRequest(self._requests, text))
        for line in self._stream:
            if line.startswith(REPLY_PREFIX):
                return msgspec.json.decode(line, type=Reply)
        raise ConnectionResetError("the run ended before it replied")

    def end(self) -> None:
        """End the run, and wait until its last record is written; then the host ends by itself."""
        self._requests += 1
        self._send(FeedRequest(self._requests, end=True))
        for _ in self._stream:
            pass

    def close(self) -> None:
        self._stream.close()
        self._socket.close()

    def _send(self, line: Attach | FeedRequest) -> None:
        self._socket.sendall(to_line(line))
