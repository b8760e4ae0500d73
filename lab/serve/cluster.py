"""One student's cluster: a host as ``lab run`` starts it, whose standard input the server holds."""

import asyncio
import os
import signal
import tempfile
from pathlib import Path
from typing import IO

import msgspec

from lab.recording.records import Exercised
from lab.serve.children import Child, Children
from lab.serve.orders import HostInfo, Room
from lab.worlds.config import Ready, Refused, RunConfig
from lab.worlds.host.launch import HostFailedError, HostRefusedError
from lab.worlds.runs import RunInfo

__all__ = ["ClusterProcess"]

_START_WITHIN_S = 30.0
_END_WITHIN_S = 5.0
_decode_first = msgspec.json.Decoder(Ready | Refused).decode


class ClusterProcess:
    """A running host; ``info`` is what it published of itself, ``attempt`` the exercise that it is of."""

    def __init__(self, child: Child, owner: int, log: IO[bytes], attempt: Exercised | None) -> None:
        self.child = child
        self.attempt = attempt
        self.info: RunInfo
        self.ready: Ready
        self._owner = owner
        self._log = log

    @property
    def named(self) -> str:
        """What it is of, for the log."""
        of = self.attempt
        return self.info.protocol if of is None else f"{of.name}, attempt {of.attempt}"

    @classmethod
    async def start(cls, children: Children, config: RunConfig, room: Room) -> "ClusterProcess":
        """Start it, and wait until it serves its feed. HostFailedError."""
        log = tempfile.TemporaryFile()  # noqa: SIM115 - it is open for as long as the host runs
        stdin, owner = os.pipe()
        answers, stdout = os.pipe()
        try:
            child = await children.fork(room, (stdin, stdout, log.fileno()), HostInfo(config.world))
        except BaseException as error:
            for descriptor in (owner, answers):
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
            cluster.ready = await cluster._begin(config, answers)
        except BaseException:
            await cluster.end()
            raise
        cluster.info = msgspec.json.decode(
            (Path(cluster.ready.socket).parent / "run.json").read_bytes(), type=RunInfo
        )
        return cluster

    async def end(self) -> str:
        """End the run, and wait until nothing of it is left but the recording; why it had failed, if it had."""
        if self._owner >= 0:
            os.close(self._owner)  # the host sees that whoever started it has gone
            self._owner = -1
        try:
            await asyncio.wait_for(asyncio.shield(self.child.ended), _END_WITHIN_S)
        except TimeoutError:
            self.child.kill(signal.SIGKILL)
        status = await self.child.ended
        said = self._said()
        self._log.close()
        if status == -signal.SIGKILL:
            return "the host was killed; what was recorded up to then is there"
        return f"the host ended with status {status}:\n{said}" if status else ""

    async def _begin(self, config: RunConfig, answers: int) -> Ready:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        reading, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(answers, "rb")
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
            raise HostFailedError(f"the host did not start:\n{self._said()}")
        first: Ready | Refused = _decode_first(line)
        if isinstance(first, Refused):
            raise HostRefusedError(first.text)
        return first

    def _said(self) -> str:
        return os.pread(self._log.fileno(), 4000, 0).decode("utf-8", "replace").strip()
