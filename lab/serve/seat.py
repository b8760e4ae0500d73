"""A student's seat: a session at a terminal, and its life, whatever kind of line leads to it."""

import asyncio
import contextlib
import signal
import socket
import time
from datetime import datetime
from typing import Protocol

from lab.serve.children import Child
from lab.serve.control import serve_control
from lab.serve.house import House
from lab.serve.presence import Present
from lab.serve.pty import RESTORE, Pty
from lab.units import format_us

__all__ = ["REFUSED", "Line", "Seat"]

REFUSED = 1
_PATIENCE_S = 3.0
_ANSWER_WITHIN_S = 60.0
_HOW_TO_TAKE_OVER = "Enter ends that session and goes on here, any other key leaves."


class Line(Protocol):
    """The line to a client; a channel of asyncssh is one. Who has it tells the seat when it takes nothing more."""

    def write(self, data: bytes, /) -> None:
        """Show this. BrokenPipeError where the client is leaving."""

    def pause_reading(self) -> None:
        """Take no more keys."""

    def resume_reading(self) -> None:
        """Do again."""

    def exit(self, status: int, /) -> None:
        """End, when all is shown. OSError where the client has gone."""

    def is_closing(self) -> bool:
        """Whether it has ended, or the client has gone."""


class Seat:
    """Nobody sits on it until it begins."""

    def __init__(self, house: House, student: str, address: str) -> None:
        self._house = house
        self._student = student
        self._address = address
        self._line: Line
        self._size = (80, 24)
        self._held: set[str] = set()
        self._pty: Pty | None = None
        self._child: Child | None = None
        self._present: Present | None = None
        self._why = ""
        self._answered: asyncio.Future[bytes] | None = None
        self._running: asyncio.Task[None] | None = None
        self._idle: asyncio.TimerHandle

    @property
    def is_taken(self) -> bool:
        """Whether a session goes on, or is about to."""
        return self._running is not None and not self._running.done()

    # what comes over the line

    def begin(self, line: Line, terminal: str, first: str) -> None:
        """A client with such a terminal wants a session that begins with this exercise, or with the list."""
        self._line = line
        self._running = asyncio.create_task(self._begin(terminal, first))

    def resize(self, size: tuple[int, int]) -> None:
        """The client's terminal has (columns, rows)."""
        self._size = size
        if self._pty is not None:
            self._pty.resize(size)

    def type(self, data: bytes) -> None:
        """Keys."""
        if self._answered is not None and not self._answered.done():
            self._answered.set_result(data)
        elif self._pty is not None and self._present is not None:
            self._present.pressed_s = time.monotonic()
            self._pty.type(data)

    def hold(self, why: str, held: bool) -> None:
        """Show nothing as long as there is a reason not to."""
        (self._held.add if held else self._held.discard)(why)
        if self._pty is not None:
            self._pty.hold(bool(self._held))

    def hang_up(self) -> None:
        """The client has gone: the terminal hangs up."""
        if self._answered is not None and not self._answered.done():
            self._answered.set_result(b"")
        if self._pty is not None:
            self._pty.close()
        self._stop()

    # the session's life

    def end(self, why: str) -> None:
        """End the session, and tell the student why."""
        self._why = why
        self._stop()

    def _stop(self) -> None:
        if self._present is not None:
            self._present.leaving = True
        if (child := self._child) is not None:
            child.kill(signal.SIGHUP)
            asyncio.get_running_loop().call_later(_PATIENCE_S, child.kill, signal.SIGKILL)

    async def _begin(self, terminal: str, first: str) -> None:
        """A session, if this student may have one now."""
        for other in self._house.presence.of(self._student):
            if other.leaving:
                await other.over.wait()
        if self._house.presence.of(self._student) and not await self._takes_over():
            self._say("lab: the other session goes on", REFUSED)
        elif fault := self._house.presence.fault_of():
            self._log("refused", fault)
            self._say(f"lab: {fault}", REFUSED)
        else:
            self._present = self._house.presence.enter(self._student, self._address, time.monotonic(), self.end)
            await self._run(self._present, terminal, first)

    async def _takes_over(self) -> bool:
        """Ask whether the student's other session is to end, and end it; it may be one whose line is dead."""
        (other, *_) = self._house.presence.of(self._student)
        since = f"lab: you are on already, since {_clock(other.began)} from {other.address}."
        self._line.write(f"{since}\r\n     {_HOW_TO_TAKE_OVER}\r\n".encode())
        self._answered = asyncio.get_running_loop().create_future()
        try:
            taken = await asyncio.wait_for(self._answered, _ANSWER_WITHIN_S) in (b"\r", b"\n")
        except TimeoutError:
            taken = False
        if taken:
            self._log("taken over", f"the session from {other.address}")
        while taken and (others := self._house.presence.of(self._student)):
            others[0].end("you went on in another session")
            await others[0].over.wait()
        return taken

    async def _run(self, present: Present, terminal: str, first: str) -> None:
        began_s = time.monotonic()
        self._log("session", f"{terminal} {self._size[0]}x{self._size[1]}")
        self._watch_idle(present)
        try:
            status = await self._run_child(terminal, first)
        except OSError as error:
            self._log("fault", f"the session did not start: {error}")
            self._why, status = "the session did not start; tell your teacher", REFUSED
        finally:
            self._idle.cancel()
            self._house.presence.leave(present)
        self._log("session ended", f"status {status}, after {time.monotonic() - began_s:.0f} s")
        restore = RESTORE if status < 0 else ""  # it could not put the terminal right itself
        self._say(f"{restore}lab: {self._why}" if self._why else restore, status if status >= 0 else 128 - status)

    async def _run_child(self, terminal: str, first: str) -> int:
        """Fork the session, and wait for its end; its exit status."""
        self._pty = Pty(self._size, self._show, self._may_type)
        self._pty.hold(bool(self._held))
        ours, its = socket.socketpair()
        control = asyncio.create_task(serve_control(ours, self._student, self._house.clusters, self._house.desk))
        try:
            with its, self._pty.lent_slave() as slave:
                await self._house.notes.settled(self._student)
                room = self._house.session_room(self._student, terminal)
                info = self._house.session_of(self._student, first)
                self._child = await self._house.children.fork(room, (slave, its.fileno()), info)
            if self._why or self._line.is_closing():
                self._stop()  # it was ended while it started
            status = await self._child.ended
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._pty.over.wait(), 1.0)
            return status
        finally:
            control.cancel()
            self._pty.close()

    def _watch_idle(self, present: Present) -> None:
        idle_s = self._house.limits.idle_s
        left_s = present.pressed_s + idle_s - time.monotonic()
        self._idle = asyncio.get_running_loop().call_later(max(0.0, left_s), self._watch_idle, present)
        if left_s <= 0:
            self._idle.cancel()
            self.end(f"nobody pressed a key for {format_us(round(idle_s * 1e6))}; connect again to go on")

    def _show(self, data: bytes) -> None:
        with contextlib.suppress(BrokenPipeError):  # the client is leaving
            self._line.write(data)

    def _may_type(self, may: bool) -> None:
        (self._line.resume_reading if may else self._line.pause_reading)()

    def _say(self, text: str, status: int) -> None:
        """A last line, and the end."""
        with contextlib.suppress(OSError):
            if text:
                self._line.write((text + "\r\n").encode())
            self._line.exit(status)

    def _log(self, event: str, text: str) -> None:
        self._house.log.say(event, text, student=self._student, address=self._address)


def _clock(began: str) -> str:
    """When that was, as a clock on this machine's wall has it."""
    return f"{datetime.fromisoformat(began).astimezone():%H:%M}"
