"""One channel of a connection: a session at a terminal, or the answer to one of the lab's own words."""

import asyncio
import contextlib
import signal
import socket
import time
from collections.abc import Callable

import asyncssh

from lab.serve.border import size_of
from lab.serve.children import Child
from lab.serve.control import serve_control
from lab.serve.house import House
from lab.serve.presence import Present
from lab.serve.pty import RESTORE, Pty
from lab.serve.words import answer_to, first_exercise
from lab.units import format_us

__all__ = ["Channel"]

_PATIENCE_S = 3.0
_ANSWER_WITHIN_S = 60.0
_REFUSED = 1
_NO_TERMINAL = "lab: the laboratory needs a terminal: connect with ssh -t, or ask for a word: ssh HOST help"

_HOW_TO_TAKE_OVER = "Enter ends that session and goes on here, any other key leaves."


class Channel(asyncssh.SSHServerSession[bytes]):
    """``closed`` is called when it has ended."""

    def __init__(self, house: House, student: str, address: str, closed: Callable[["Channel"], None]) -> None:
        self._house = house
        self._closed = closed
        self._student = student
        self._address = address
        self._channel: asyncssh.SSHServerChannel[bytes]
        self._terminal: str | None = None
        self._command: str | None = None
        self._size = (80, 24)
        self._held: set[str] = set()
        self._pty: Pty | None = None
        self._child: Child | None = None
        self._present: Present | None = None
        self._why = ""
        self._answered: asyncio.Future[bytes] | None = None
        self._running: asyncio.Task[None] | None = None

    # what the client asks for

    def connection_made(self, chan: asyncssh.SSHServerChannel[bytes]) -> None:
        """It is open."""
        self._channel = chan

    def pty_requested(self, term_type: str, term_size: tuple[int, int, int, int], term_modes: object) -> bool:
        """The client has a terminal."""
        self._terminal = term_type
        self._size = size_of(*term_size[:2])
        return True

    def shell_requested(self) -> bool:
        """The laboratory itself."""
        return True

    def exec_requested(self, command: str) -> bool:
        """A word; whatever it is, it is answered, and handed to no shell."""
        self._command = command
        return True

    def subsystem_requested(self, subsystem: str) -> bool:
        """No sftp, nor any other."""
        self._log("refused", f"subsystem {subsystem}")
        return False

    def session_started(self) -> None:
        """All that belongs to the request has been said: answer it."""
        first = first_exercise(self._command, self._house)
        if first is None:
            text, status = answer_to(self._command or "", self._house, self._student)
            self._log("refused" if status else "word", self._command or "")
            self._say(text, status)
        elif self._terminal is None:
            self._say(_NO_TERMINAL, _REFUSED)
        else:
            self._running = asyncio.create_task(self._begin(self._terminal, first))

    def terminal_size_changed(self, width: int, height: int, pixwidth: int, pixheight: int) -> None:
        """The window was resized."""
        self._size = size_of(width, height)
        if self._pty is not None:
            self._pty.resize(self._size)

    def data_received(self, data: bytes, datatype: asyncssh.DataType) -> None:
        """Keys."""
        if self._answered is not None and not self._answered.done():
            self._answered.set_result(data)
        elif self._pty is not None and self._present is not None:
            self._present.pressed_s = time.monotonic()
            self._pty.type(data)

    def pause_writing(self) -> None:
        """The client takes nothing more."""
        self.hold("window", True)

    def resume_writing(self) -> None:
        """It does again."""
        self.hold("window", False)

    def hold(self, why: str, held: bool) -> None:
        """Show nothing as long as there is a reason not to."""
        (self._held.add if held else self._held.discard)(why)
        if self._pty is not None:
            self._pty.hold(bool(self._held))

    def eof_received(self) -> bool:
        """Nothing more is typed; the session may go on."""
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone: the terminal hangs up."""
        if self._answered is not None and not self._answered.done():
            self._answered.set_result(b"")
        if self._pty is not None:
            self._pty.close()
        self._stop()
        self._closed(self)

    # the session's life

    def end(self, why: str) -> None:
        """End the session, and tell the student why."""
        self._why = why
        self._stop()

    def _stop(self) -> None:
        if (child := self._child) is not None:
            child.kill(signal.SIGHUP)
            asyncio.get_running_loop().call_later(_PATIENCE_S, child.kill, signal.SIGKILL)

    async def _begin(self, terminal: str, first: str) -> None:
        """A session, if this student may have one now."""
        if self._house.presence.of(self._student) and not await self._takes_over():
            self._say("lab: the other session goes on", _REFUSED)
        elif fault := self._house.presence.fault_of():
            self._log("refused", fault)
            self._say(f"lab: {fault}", _REFUSED)
        else:
            self._present = self._house.presence.enter(self._student, self._address, time.monotonic(), self.end)
            await self._run(self._present, terminal, first)

    async def _takes_over(self) -> bool:
        """Ask whether the student's other session is to end, and end it; it may be one whose line is dead."""
        (other, *_) = self._house.presence.of(self._student)
        since = f"lab: you are on already, since {other.began} from {other.address}."
        self._channel.write(f"{since}\r\n     {_HOW_TO_TAKE_OVER}\r\n".encode())
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
            self._why, status = "the session did not start; tell your teacher", _REFUSED
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
                room = self._house.session_room(self._student, terminal)
                info = self._house.session_of(self._student, first)
                self._child = await self._house.children.fork(room, (slave, its.fileno()), info)
            if self._why or self._channel.is_closing():
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
            self._channel.write(data)

    def _may_type(self, may: bool) -> None:
        (self._channel.resume_reading if may else self._channel.pause_reading)()

    def _say(self, text: str, status: int) -> None:
        """A last line, and the end."""
        end = "\r\n" if self._terminal is not None else "\n"
        with contextlib.suppress(OSError):
            if text:
                self._channel.write((text.replace("\n", end) + end).encode())
            self._channel.exit(status)

    def _log(self, event: str, text: str) -> None:
        self._house.log.say(event, text, student=self._student, address=self._address)
