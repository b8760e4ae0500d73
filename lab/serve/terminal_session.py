"""A student's session at a terminal, whatever kind of connection leads to it.

The session's process has a pseudo-terminal, of which the server has the master; neither side is overrun. What a
client says of its own terminal is validated.
"""

import asyncio
import contextlib
import fcntl
import os
import re
import signal
import socket
import struct
import termios
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from typing import Protocol

from lab.serve.children import Child, SessionWork
from lab.serve.server_context import ActiveSession, ServerContext
from lab.serve.session_control import serve_control
from lab.serve.student_lists import REMOVED as REMOVED_BY_TEACHER
from lab.text import sanitize
from lab.tui.terminal.guard import RESTORE
from lab.units import format_us

REFUSED = 1
_NICE = 5
"""Sessions yield to the server and to the clusters, whose timers they would delay."""
_PATIENCE_S = 3.0
_ANSWER_WITHIN_S = 60.0
_HOW_TO_TAKE_OVER = "Press Enter to end that session and continue here, any other key to leave."

_CHUNK = 32768
_PAUSE_S = 0.1
_AT_ONCE_BYTES = 65536
_BYTES_PER_S = 4096
"""The rate at which input reaches the session, after a burst of ``_AT_ONCE_BYTES``: to process a key costs a
thousand times what it costs the client to send it."""

_TERMINAL = re.compile(r"[a-z0-9][a-z0-9+._-]{0,31}")
_USUAL_TERMINAL = "xterm-256color"
_COLUMNS, _ROWS = (20, 500), (5, 200)


class ClientStream(Protocol):
    """The stream to a client; a channel of asyncssh is one.

    Its owner calls ``TerminalSession.hold`` when the client stops reading.
    """

    def write(self, data: bytes, /) -> None:
        """Show this. Raises BrokenPipeError if the client is leaving."""

    def pause_reading(self) -> None:
        """Stop reading keys."""

    def resume_reading(self) -> None:
        """Read keys again."""

    def exit(self, status: int, /) -> None:
        """End when all output is shown. Raises OSError if the client has gone."""

    def is_closing(self) -> bool:
        """Return whether the stream has ended, or the client has gone."""


class TerminalSession:
    """A session; it does nothing until ``begin`` is called."""

    def __init__(self, context: ServerContext, student: str, address: str) -> None:
        self._context = context
        self._student = student
        self._address = address
        self._log = partial(context.log.write, student=student, address=address)
        self._stream: ClientStream
        self._size = (80, 24)
        self._held: set[str] = set()
        self._pty: Pty | None = None
        self._child: Child | None = None
        self._active: ActiveSession | None = None
        self._end_reason = ""
        self._take_over_reply: asyncio.Future[bytes] | None = None
        self._running: asyncio.Task[None] | None = None
        self._idle: asyncio.TimerHandle | None = None

    @property
    def is_active(self) -> bool:
        """Return whether a session is starting or in progress."""
        return self._running is not None and not self._running.done()

    # input from the client

    def begin(self, stream: ClientStream, terminal: str, first: str) -> None:
        """Begin a session for a client with this terminal, at this exercise or at the list."""
        self._stream = stream
        self._running = asyncio.create_task(self._begin(terminal, first))

    def resize(self, size: tuple[int, int]) -> None:
        """Set the size of the client's terminal: (columns, rows)."""
        self._size = size
        if self._pty is not None:
            self._pty.resize(size)

    def type(self, data: bytes) -> None:
        if self._take_over_reply is not None and not self._take_over_reply.done():
            self._take_over_reply.set_result(data)
        elif self._pty is not None and self._active is not None:
            self._active.pressed_s = time.monotonic()
            self._pty.type(data)

    def hold(self, why: str, held: bool) -> None:
        """Hold back output while any reason is in force."""
        (self._held.add if held else self._held.discard)(why)
        if self._pty is not None:
            self._pty.hold(bool(self._held))

    def hang_up(self) -> None:
        """Hang up the terminal: the client has gone."""
        if self._take_over_reply is not None and not self._take_over_reply.done():
            self._take_over_reply.set_result(b"")
        if self._pty is not None:
            self._pty.close()
        self._stop()

    # lifecycle

    def end(self, why: str) -> None:
        """End the session, and tell the student why."""
        self._end_reason = why
        self._stop()

    def _stop(self) -> None:
        if self._active is not None:
            self._active.leaving = True
        if (child := self._child) is not None:
            child.kill(signal.SIGHUP)
            asyncio.get_running_loop().call_later(_PATIENCE_S, child.kill, signal.SIGKILL)

    async def _begin(self, terminal: str, first: str) -> None:
        """Run a session if this student may have one now."""
        for other in self._context.presence.of(self._student):
            if other.leaving:
                await other.over.wait()
        if self._context.presence.of(self._student) and not await self._confirm_take_over():
            self._finish("lab: your other session continues", REFUSED)
        elif self._student in self._context.admission.removed.names():
            self._log("refused", "removed by the teacher")
            self._finish(f"lab: {REMOVED_BY_TEACHER}", REFUSED)
        elif fault := self._context.presence.refusal_reason():
            self._log("refused", fault)
            self._finish(f"lab: {fault}", REFUSED)
        else:
            self._active = self._context.presence.enter(self._student, self._address, time.monotonic(), self.end)
            await self._run(self._active, terminal, first)

    async def _confirm_take_over(self) -> bool:
        """Ask whether to end the student's other session, whose connection may be dead; end it if so."""
        (other, *_) = self._context.presence.of(self._student)
        since = f"lab: you are already logged in, since {_clock(other.began)} from {other.address}."
        self._stream.write(f"{since}\r\n     {_HOW_TO_TAKE_OVER}\r\n".encode())
        self._take_over_reply = asyncio.get_running_loop().create_future()
        try:
            taken = await asyncio.wait_for(self._take_over_reply, _ANSWER_WITHIN_S) in (b"\r", b"\n")
        except TimeoutError:
            taken = False
        if taken:
            self._log("taken over", f"the session from {other.address}")
        while taken and (others := self._context.presence.of(self._student)):
            others[0].end("you continued in another session")
            await others[0].over.wait()
        return taken

    async def _run(self, session: ActiveSession, terminal: str, first: str) -> None:
        began_s = time.monotonic()
        self._log("session", f"{terminal} {self._size[0]}x{self._size[1]}")
        try:
            status = await self._run_child(terminal, first)
        except OSError as error:
            self._log("fault", f"the session did not start: {error}")
            self._end_reason, status = "the session did not start; tell your teacher", REFUSED
        finally:
            if self._idle is not None:
                self._idle.cancel()
            self._context.presence.leave(session)
        self._log("session ended", f"status {status}, after {time.monotonic() - began_s:.0f} s")
        restore = RESTORE if status < 0 else ""  # a killed session cannot restore the terminal itself
        self._finish(
            restore + (sanitize(f"lab: {self._end_reason}") if self._end_reason else ""),
            status if status >= 0 else 128 - status,
        )

    async def _run_child(self, terminal: str, first: str) -> int:
        """Fork the session, wait for its end, and return its exit status."""
        self._pty = Pty(self._size, self._show, self._allow_typing)
        self._pty.hold(bool(self._held))
        ours, its = socket.socketpair()
        context = self._context
        control = asyncio.create_task(
            serve_control(ours, self._student, context.clusters, context.branches, context.hub, context.comments)
        )
        try:
            with its, self._pty.open_slave() as slave:
                await self._context.progress_updater.wait_until_done(self._student)
                environment = self._context.environment(self._student, terminal_name(terminal), _NICE)
                work = SessionWork(self._student, environment.folder, self._context.folder.nonce(), first)
                self._child = await self._context.children.fork(environment, (slave, its.fileno()), work)
            if self._end_reason or self._stream.is_closing():
                self._stop()  # ended during the start
            status = await self._child.ended
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._pty.over.wait(), 1.0)
            return status
        finally:
            control.cancel()
            self._pty.close()

    def _watch_idle(self, session: ActiveSession) -> None:
        idle_s = self._context.limits.idle_s
        left_s = session.pressed_s + idle_s - time.monotonic()
        self._idle = asyncio.get_running_loop().call_later(max(0.0, left_s), self._watch_idle, session)
        if left_s <= 0:
            self._idle.cancel()
            self.end(f"no key was pressed for {format_us(round(idle_s * 1e6))}; connect again to continue")

    def _show(self, data: bytes) -> None:
        if self._idle is None and self._active is not None:  # the start of the interface is not idle time
            self._active.pressed_s = time.monotonic()
            self._watch_idle(self._active)
        with contextlib.suppress(BrokenPipeError):  # the client is leaving
            self._stream.write(data)

    def _allow_typing(self, may: bool) -> None:
        (self._stream.resume_reading if may else self._stream.pause_reading)()

    def _finish(self, text: str, status: int) -> None:
        """Print a last line, and end."""
        with contextlib.suppress(OSError):
            if text:
                self._stream.write((text + "\r\n").encode())
            self._stream.exit(status)


def _clock(began: str) -> str:
    """Format the local time of day."""
    return f"{datetime.fromisoformat(began).astimezone():%H:%M}"


# the terminal


def terminal_name(text: str) -> str:
    """Return the client's TERM if it is valid, else a default. It names a file in the terminfo database."""
    return text if _TERMINAL.fullmatch(text) else _USUAL_TERMINAL


def size_of(columns: int, rows: int) -> tuple[int, int]:
    """Return (columns, rows), limited to sizes that are affordable to draw; 0 by 0 means unknown."""
    if not columns or not rows:
        return 80, 24
    return min(max(columns, _COLUMNS[0]), _COLUMNS[1]), min(max(rows, _ROWS[0]), _ROWS[1])


class Pty:
    """A pseudo-terminal. ``on_output`` is called with the session's output.

    ``on_writable`` is called with whether more input is accepted. ``over`` is set when the slave is closed
    everywhere and all output was passed on.
    """

    def __init__(
        self, size: tuple[int, int], on_output: Callable[[bytes], None], on_writable: Callable[[bool], None]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._on_output = on_output
        self._on_writable = on_writable
        self._unwritten = b""
        self._drained_at_s = 0.0
        self._retry: asyncio.TimerHandle | None = None
        self.over = asyncio.Event()
        self._master, self._slave = os.openpty()
        os.set_blocking(self._master, False)
        self.resize(size)
        self._loop.add_reader(self._master, self._read)

    def resize(self, size: tuple[int, int]) -> None:
        """Set the size to (columns, rows); the kernel notifies the session."""
        if self._master >= 0:
            columns, rows = size
            fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, data: bytes) -> None:
        """Pass input to the session."""
        if self._master >= 0:
            self._unwritten += data
            self._write()

    def hold(self, held: bool) -> None:
        """Stop passing output on, or continue."""
        if self._master >= 0:
            if held:
                self._loop.remove_reader(self._master)
            else:
                self._loop.add_reader(self._master, self._read)

    @contextlib.contextmanager
    def open_slave(self) -> Iterator[int]:
        """Yield the slave, for the session; the server's copy is closed afterwards."""
        try:
            yield self._slave
        finally:
            os.close(self._slave)

    def close(self) -> None:
        """Hang up: the kernel sends the session SIGHUP."""
        if self._master >= 0:
            self._loop.remove_reader(self._master)
            self._stop_writing()
            os.close(self._master)
            self._master = -1
            self.over.set()

    def _read(self) -> None:
        data = b""
        with contextlib.suppress(OSError):  # Linux reports EIO instead of end of file
            data = os.read(self._master, _CHUNK)
        if data:
            self._on_output(data)
        else:
            self.close()

    def _write(self) -> None:
        now_s = self._loop.time()
        self._drained_at_s = max(self._drained_at_s, now_s)
        most = int(_AT_ONCE_BYTES - (self._drained_at_s - now_s) * _BYTES_PER_S)
        try:
            written = os.write(self._master, self._unwritten[: max(0, most)])
        except BlockingIOError:
            written = 0
        except OSError:
            written = len(self._unwritten)  # the session has ended
        self._unwritten = self._unwritten[written:]
        self._drained_at_s += written / _BYTES_PER_S
        self._stop_writing()
        if self._unwritten and most > written:
            self._loop.add_writer(self._master, self._write)
        elif self._unwritten:
            self._retry = self._loop.call_later(_PAUSE_S, self._write)
        self._on_writable(not self._unwritten)

    def _stop_writing(self) -> None:
        self._loop.remove_writer(self._master)
        if self._retry is not None:
            self._retry.cancel()
