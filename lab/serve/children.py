"""The server's side of the zygote: start it, have it fork children, and hear how they end."""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from lab.serve.orders import Ended, Fork, Forked, Kill, NotForked, Room, Work
from lab.worlds.host.lines import LineBuffer

__all__ = ["Child", "Children", "start_zygote"]

_END_WITHIN_S = 6.0
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Forked | NotForked | Ended).decode


def start_zygote(exercises: Path) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """Start it, with the exercises in this folder; it says one empty line when it is ready.

    Its environment is that of no child.
    """
    ours, its = socket.socketpair()
    with its:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "lab.serve.zygote", str(exercises)],
            stdin=its.fileno(),
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            # some libraries read these once, when they are imported
            env={**os.environ, "LANG": "C.UTF-8", "TEXTUAL_ANIMATIONS": "none", "MALLOC_ARENA_MAX": "2"},
        )
    return ours, process


class Child:
    """A child of the zygote. ``ended`` has its exit status one day, negative for a signal."""

    def __init__(self, pid: int, signal_it: Callable[[int, int], None]) -> None:
        self.pid = pid
        self.ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._signal_it = signal_it

    def kill(self, number: int) -> None:
        """Send this signal to it and its group, unless it has ended: then its number may be another's."""
        if not self.ended.done():
            self._signal_it(self.pid, number)


class Children:
    """All children. ``gone`` is called when the zygote has ended without being told to."""

    def __init__(self, zygote: socket.socket, process: subprocess.Popen[bytes], gone: Callable[[], None]) -> None:
        self._zygote = zygote
        self._process = process
        self._gone = gone
        self._children: dict[int, Child] = {}
        self._buffer = LineBuffer()
        self._forking = asyncio.Lock()
        self._ready = asyncio.Event()
        self._serial = 0
        self._forked: dict[int, asyncio.Future[Child]] = {}
        asyncio.get_running_loop().add_reader(zygote, self._read)

    async def fork(self, room: Room, descriptors: Sequence[int], work: Work) -> Child:
        """Have a child forked that has these descriptors; they stay the caller's to close. OSError.

        Who waits for it may be cancelled: the child then sees that the other ends of its descriptors are closed.
        """
        await self._ready.wait()
        async with self._forking:  # a fork takes some milliseconds: a crowd waits here, and in no buffer
            self._serial += 1
            forked: asyncio.Future[Child] = asyncio.get_running_loop().create_future()
            self._forked[self._serial] = forked
            order = Fork(self._serial, room, work)
            socket.send_fds(self._zygote, [_encode(order) + b"\n"], descriptors)
            return await forked

    async def close(self) -> None:
        """End the zygote, and all children that are left."""
        asyncio.get_running_loop().remove_reader(self._zygote)
        self._zygote.close()
        if not self._ready.is_set():
            self._process.kill()  # it still imports, and has no children
        try:
            await asyncio.to_thread(self._process.wait, _END_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _signal(self, pid: int, number: int) -> None:
        with contextlib.suppress(OSError):  # it does not wait: the zygote reads whatever it is told
            self._zygote.sendall(_encode(Kill(pid, number)) + b"\n")

    def _read(self) -> None:
        data = b""
        with contextlib.suppress(ConnectionError):
            data = self._zygote.recv(65536)
        if not data:
            asyncio.get_running_loop().remove_reader(self._zygote)
            for forked in self._forked.values():
                if not forked.done():
                    forked.set_exception(ConnectionResetError("the process that forks has ended"))
            for child in self._children.values():
                if not child.ended.done():
                    child.ended.set_result(-signal.SIGKILL)  # nobody tells: they end with what they are held by
            self._gone()
            return
        for line in self._buffer.feed(data):
            if not line:
                self._ready.set()
            else:
                self._hear(_decode(line))

    def _hear(self, report: Forked | NotForked | Ended) -> None:
        if isinstance(report, Forked):
            child = self._children[report.pid] = Child(report.pid, self._signal)
            forked = self._forked.pop(report.serial)
            if not forked.done():
                forked.set_result(child)
        elif isinstance(report, NotForked):
            forked = self._forked.pop(report.serial)
            if not forked.done():
                forked.set_exception(OSError(report.text))
        else:
            child = self._children.pop(report.pid)
            if not child.ended.done():
                child.ended.set_result(report.status)
