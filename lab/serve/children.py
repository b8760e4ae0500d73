"""The server's side of the fork server: start it, request children, and learn how they end."""

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

from lab.serve.fork_protocol import (
    ChildEnded,
    ChildEnvironment,
    ChildForked,
    ForkChild,
    ForkFailed,
    SignalChild,
    Work,
)
from lab.worlds.processes.json_lines import LineBuffer

_END_WITHIN_S = 6.0
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(ChildForked | ForkFailed | ChildEnded).decode


def start_fork_server(exercises: Path) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """Start the fork server with the exercises in this folder; it sends an empty line when it is ready.

    No child inherits its environment.
    """
    ours, its = socket.socketpair()
    with its:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "lab.serve.session_fork_server", str(exercises)],
            stdin=its.fileno(),
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            # some libraries read these on import
            env={**os.environ, "LANG": "C.UTF-8", "TEXTUAL_ANIMATIONS": "none", "MALLOC_ARENA_MAX": "2"},
        )
    return ours, process


class Child:
    """A child of the fork server. ``ended`` resolves to its exit status, negative for a signal."""

    def __init__(self, pid: int, send_signal: Callable[[int, int], None]) -> None:
        self.pid = pid
        self.ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._send_signal = send_signal

    def kill(self, number: int) -> None:
        """Send this signal to the child and its group, unless it has ended: its process id may be reused then."""
        if not self.ended.done():
            self._send_signal(self.pid, number)


class Children:
    """All children. ``on_exit`` is called if the fork server ends unasked."""

    def __init__(
        self, fork_server: socket.socket, process: subprocess.Popen[bytes], on_exit: Callable[[], None]
    ) -> None:
        self._fork_server = fork_server
        self._process = process
        self._on_exit = on_exit
        self._children: dict[int, Child] = {}
        self._buffer = LineBuffer()
        self._forking = asyncio.Lock()
        self._ready = asyncio.Event()
        self._serial = 0
        self._forked: dict[int, asyncio.Future[Child]] = {}
        asyncio.get_running_loop().add_reader(fork_server, self._read)

    async def fork(self, environment: ChildEnvironment, descriptors: Sequence[int], work: Work) -> Child:
        """Fork a child that has these descriptors; the caller still closes its own. Raises OSError.

        If the caller is cancelled, the child sees the other ends of its descriptors close.
        """
        await self._ready.wait()
        async with self._forking:  # a fork takes milliseconds: many callers wait here, not in a buffer
            self._serial += 1
            forked: asyncio.Future[Child] = asyncio.get_running_loop().create_future()
            self._forked[self._serial] = forked
            request = ForkChild(self._serial, environment, work)
            socket.send_fds(self._fork_server, [_encode(request) + b"\n"], descriptors)
            return await forked

    async def close(self) -> None:
        """End the fork server, and all children."""
        asyncio.get_running_loop().remove_reader(self._fork_server)
        self._fork_server.close()
        if not self._ready.is_set():
            self._process.kill()  # it is still importing, and has no children
        try:
            await asyncio.to_thread(self._process.wait, _END_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _signal(self, pid: int, number: int) -> None:
        with contextlib.suppress(OSError):  # does not block: the fork server always reads
            self._fork_server.sendall(_encode(SignalChild(pid, number)) + b"\n")

    def _read(self) -> None:
        data = b""
        with contextlib.suppress(ConnectionError):
            data = self._fork_server.recv(65536)
        if not data:
            asyncio.get_running_loop().remove_reader(self._fork_server)
            for forked in self._forked.values():
                if not forked.done():
                    forked.set_exception(ConnectionResetError("the fork server has ended"))
            for child in self._children.values():
                if not child.ended.done():
                    child.ended.set_result(-signal.SIGKILL)  # unreported: they end as their pipes close
            self._on_exit()
            return
        for line in self._buffer.feed(data):
            if not line:
                self._ready.set()
            else:
                self._on_report(_decode(line))

    def _on_report(self, report: ChildForked | ForkFailed | ChildEnded) -> None:
        if isinstance(report, ChildForked):
            child = self._children[report.pid] = Child(report.pid, self._signal)
            forked = self._forked.pop(report.serial)
            if not forked.done():
                forked.set_result(child)
        elif isinstance(report, ForkFailed):
            forked = self._forked.pop(report.serial)
            if not forked.done():
                forked.set_exception(OSError(report.text))
        else:
            child = self._children.pop(report.pid)
            if not child.ended.done():
                child.ended.set_result(report.status)
