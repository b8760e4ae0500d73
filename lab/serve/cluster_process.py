"""One student's cluster: a host process as in ``lab run``. It ends when the server closes its standard input."""

import asyncio
import os
import signal
import tempfile
from pathlib import Path
from typing import IO

import msgspec

from lab.recording.records import ExerciseAttempt
from lab.serve.children import Child, Children
from lab.serve.fork_protocol import ChildEnvironment, HostInfo
from lab.worlds.config import HostReady, HostRefused, RunConfig
from lab.worlds.host.launch import HostFailedError, HostRefusedError
from lab.worlds.runs import RunInfo

__all__ = ["ClusterProcess"]

_START_WITHIN_S = 30.0
_END_WITHIN_S = 5.0
_decode_first = msgspec.json.Decoder(HostReady | HostRefused).decode


class ClusterProcess:
    """A running host. ``info`` is what it published about itself; ``attempt`` is its exercise attempt, if any."""

    def __init__(self, child: Child, owner: int, log: IO[bytes], attempt: ExerciseAttempt | None) -> None:
        self.child = child
        self.attempt = attempt
        self.info: RunInfo
        self.ready: HostReady
        self._owner = owner
        self._log = log

    @property
    def label(self) -> str:
        """The name of the run in the log."""
        of = self.attempt
        return self.info.protocol if of is None else f"{of.name}, attempt {of.attempt}"

    @classmethod
    async def start(cls, children: Children, config: RunConfig, environment: ChildEnvironment) -> "ClusterProcess":
        """Start a host, and wait until it serves its feed. Raises HostFailedError."""
        log = tempfile.TemporaryFile()  # noqa: SIM115 - open while the host runs
        stdin, owner = os.pipe()
        host_stdout, stdout = os.pipe()
        try:
            child = await children.fork(environment, (stdin, stdout, log.fileno()), HostInfo(config.world))
        except BaseException as error:
            for descriptor in (owner, host_stdout):
                os.close(descriptor)
            log.close()
            if isinstance(error, OSError):
                raise HostFailedError(f"the host did not start: {error}") from None
            raise
        finally:
            os.close(stdin)
            os.close(stdout)
        cluster = cls(child, owner, log, config.exercise)
        try:
            cluster.ready = await cluster._await_ready(config, host_stdout)
        except BaseException:
            await cluster.end()
            raise
        cluster.info = msgspec.json.decode(
            (Path(cluster.ready.socket).parent / "run.json").read_bytes(), type=RunInfo
        )
        return cluster

    async def end(self) -> str:
        """End the run and wait until the host has exited. Return why it failed, or an empty text."""
        if self._owner >= 0:
            os.close(self._owner)  # the host notices that its owner has gone
            self._owner = -1
        try:
            await asyncio.wait_for(asyncio.shield(self.child.ended), _END_WITHIN_S)
        except TimeoutError:
            self.child.kill(signal.SIGKILL)
        status = await self.child.ended
        output = self._host_output()
        self._log.close()
        if status == -signal.SIGKILL:
            return "the host was killed; its recording up to then is kept"
        return f"the host ended with status {status}:\n{output}" if status else ""

    async def _await_ready(self, config: RunConfig, host_stdout: int) -> HostReady:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        reading, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(host_stdout, "rb")
        )
        writing, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(os.dup(self._owner), "wb"))
        try:
            writing.write(msgspec.json.encode(config) + b"\n")
            line = await asyncio.wait_for(reader.readline(), _START_WITHIN_S)
        except TimeoutError:
            raise HostFailedError(f"the host did not start within {_START_WITHIN_S:.0f} s") from None
        finally:
            writing.close()
            reading.close()
        if not line:
            raise HostFailedError(f"the host did not start:\n{self._host_output()}")
        first: HostReady | HostRefused = _decode_first(line)
        if isinstance(first, HostRefused):
            raise HostRefusedError(first.text)
        return first

    def _host_output(self) -> str:
        return os.pread(self._log.fileno(), 4000, 0).decode("utf-8", "replace").strip()
