"""The server's children: it asks its fork server for them, and learns how they end."""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from lab.worlds.fork_server import (
    Fork,
    Forked,
    NotForked,
    ProcessChange,
    Ready,
    Report,
    Signal,
    decode_report,
)
from lab.worlds.json_lines import Channel

T = TypeVar("T")

_END_WITHIN_S = 6.0


# jobs


class ChildEnvironment(Struct, frozen=True):
    """A child's environment variables, its folder, and its resource limits."""

    environment: dict[str, str]
    folder: str
    memory_bytes: int
    file_bytes: int
    nice: int


class SessionWork(Struct, frozen=True, tag="session"):
    """Show the exercises to a student; it gets (terminal, control socket).

    ``home`` is the student's folder; ``first`` is the exercise to begin with, if any. ``nonce`` is the course's.
    """

    student: str
    home: str
    nonce: bytes
    first: str = ""


class HostWork(Struct, frozen=True, tag="host"):
    """Run the host of a run; it gets (standard input, output, error)."""


class ProgressWork(Struct, frozen=True, tag="progress"):
    """Store the progress of an attempt in the student's folder; it gets (standard input, output, error)."""

    student: str
    recording: str
    nonce: bytes


Work = SessionWork | HostWork | ProgressWork


class ChildJob(Struct, frozen=True):
    """The work of a child, and where it does it."""

    environment: ChildEnvironment
    work: Work


# children


class Child:
    """A child of the fork server. ``ended`` resolves to its exit status, negative for a signal."""

    def __init__(self, pid: int, fork_server: Channel) -> None:
        self.ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._pid = pid
        self._fork_server = fork_server

    def kill(self, number: int) -> None:
        """Send this signal to the child and its group, unless it has ended: its process id may be reused then."""
        if not self.ended.done():
            with contextlib.suppress(OSError):  # does not block: the fork server always reads
                self._fork_server.send(Signal(self._pid, number))


def start_fork_server(exercises: Path) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """Start the fork server with the exercises in this folder. No child inherits its environment."""
    ours, its = socket.socketpair()
    with its:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "lab.serve.child", str(exercises)],
            stdin=its.fileno(),
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            # some libraries read these on import
            env={**os.environ, "LANG": "C.UTF-8", "TEXTUAL_ANIMATIONS": "none", "MALLOC_ARENA_MAX": "2"},
        )
    return ours, process


class Children:
    """Forks children and observes them. ``on_exit`` is called if the fork server ends."""

    def __init__(
        self, fork_server: socket.socket, process: subprocess.Popen[bytes], on_exit: Callable[[], None]
    ) -> None:
        self._fork_server = Channel(fork_server)
        self._process = process
        self._on_exit = on_exit
        self._children: dict[int, Child] = {}
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
            self._fork_server.send_files(Fork(self._serial, ChildJob(environment, work)), descriptors)
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

    def _read(self) -> None:
        try:
            lines = self._fork_server.receive()
        except EOFError:
            asyncio.get_running_loop().remove_reader(self._fork_server)
            self._end_all()
            self._on_exit()
        else:
            for line in lines:
                self._on_report(decode_report(line))

    def _on_report(self, report: Report) -> None:
        match report:
            case Ready():
                self._ready.set()
            case Forked(serial, pid):
                child = self._children[pid] = Child(pid, self._fork_server)
                _resolve(self._forked.pop(serial), child)
            case NotForked(serial, text):
                _resolve(self._forked.pop(serial), OSError(text))
            case ProcessChange(pid, "ended", status):
                _resolve(self._children.pop(pid).ended, status)
            case ProcessChange(pid, "stopped"):
                self._children[pid].kill(signal.SIGCONT)  # Ctrl-Z: there is no shell to resume it
            case _:
                pass

    def _end_all(self) -> None:
        for forked in self._forked.values():
            _resolve(forked, ConnectionResetError("the fork server has ended"))
        for child in self._children.values():
            _resolve(child.ended, -signal.SIGKILL)  # unreported: they end as their pipes close


def _resolve(future: "asyncio.Future[T]", outcome: T | Exception) -> None:
    """Set the result or the exception, unless the future was cancelled."""
    if future.done():
        return
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
