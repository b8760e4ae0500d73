"""Starting a host, and talking to its feed, from a program without an event loop."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Literal, Protocol

import msgspec

from lab.worlds.config import Ready, Refused, RunConfig
from lab.worlds.orders import ASIDES, REPLY_PREFIX, Attach, Order, Reply

__all__ = ["FeedClient", "HostFailedError", "HostProcess", "HostRefusedError"]

_decode_first = msgspec.json.Decoder(Ready | Refused).decode


class Started(Protocol):
    """What is used of a process that was started: it is ``subprocess.Popen`` mostly."""

    pid: int
    stdin: IO[bytes] | None
    stdout: IO[bytes] | None

    def poll(self) -> int | None:
        """Its exit status, if it has ended."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for that. subprocess.TimeoutExpired."""

    def kill(self) -> None:
        """End it by force."""


class HostFailedError(Exception):
    """The host did not start, or ended before its time; the text is for the user."""


class HostRefusedError(HostFailedError):
    """The host cannot run what it was told to, where it was told to."""


class HostProcess:
    """A host that runs as long as this object is not closed; it notices when this process dies.

    The constructor returns at once; ``ready`` waits until the host serves its feed. ``module`` is for those
    who start a host with protocols of their own.
    """

    def __init__(self, config: RunConfig, module: str = "") -> None:
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self.process = self._started(config, module)
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(msgspec.json.encode(config) + b"\n")
            self.process.stdin.flush()

    def _started(self, config: RunConfig, module: str) -> Started:
        return subprocess.Popen(
            # -P: a file in the folder of the call stands in for no module of the program
            [sys.executable, "-P", "-m", module or f"lab.worlds.{config.world}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,
        )

    def ready(self) -> Ready:
        """Wait until the host serves its feed. HostFailedError."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            raise HostFailedError(f"the host did not start:\n{self.said()}")
        first: Ready | Refused = _decode_first(line)
        if isinstance(first, Refused):
            raise HostRefusedError(first.text)
        return first

    def wait(self, timeout_s: float | None = None) -> int:
        """Wait for the end of the run. HostFailedError where it ended otherwise than in good order."""
        status = self.process.wait(timeout_s)
        if status == -signal.SIGKILL:
            raise HostFailedError("the host was killed; what was recorded up to then is there")
        if status != 0:
            raise HostFailedError(f"the host ended with status {status}:\n{self.said()}")
        return status

    def end(self) -> str:
        """End the run, and wait until nothing of it is left but the recording; why it had failed, if it had."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.wait()
        except HostFailedError as error:
            return str(error)
        return ""

    def close(self) -> None:
        """Close the pipes and files that this object holds; if the run still goes on, it ends."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()
        self._log.close()

    def said(self) -> str:
        """What the host wrote to its standard error."""
        file = self._log.fileno()  # the host writes at the same position: read without moving it
        size = os.fstat(file).st_size
        return os.pread(file, 4000, max(0, size - 4000)).decode("utf-8", "replace").strip()


class FeedClient:
    """A connection to a host's feed, blocking. ConnectionError where the host is gone."""

    def __init__(
        self,
        path: str | Path,
        role: Literal["driver", "viewer"] = "driver",
        start: Literal["first", "keyframe", "end"] = "first",
    ) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._stream = self._socket.makefile("rb")
        self._orders = 0
        try:
            self._socket.connect(os.fspath(path))
            self._send(Attach(role, start))
        except OSError:
            self.close()
            raise

    def lines(self) -> Iterator[bytes]:
        """The records as they come, a line each, without newline; ends with the run. All else is left out."""
        for line in self._stream:
            if not line.startswith(ASIDES):
                yield line.rstrip(b"\n")

    def command(self, text: str) -> Reply:
        """Give a command, and wait for the reply; records that come in between are dropped."""
        self._orders += 1
        self._send(Order(self._orders, text))
        for line in self._stream:
            if line.startswith(REPLY_PREFIX):
                return msgspec.json.decode(line, type=Reply)
        raise ConnectionResetError("the run ended before it replied")

    def close(self) -> None:
        """Leave the feed."""
        self._stream.close()
        self._socket.close()

    def _send(self, line: Attach | Order) -> None:
        self._socket.sendall(msgspec.json.encode(line) + b"\n")
