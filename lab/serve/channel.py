"""One channel of an SSH connection: it carries a terminal session, or answers one of the lab's own commands."""

import contextlib
from collections.abc import Callable

import asyncssh

from lab.serve.sanitizer import size_of
from lab.serve.server_context import ServerContext
from lab.serve.ssh_commands import first_exercise, run_command
from lab.serve.terminal_session import REFUSED, TerminalSession

__all__ = ["Channel"]

_NO_TERMINAL = "lab: the laboratory needs a terminal: connect with ssh -t; for other commands see ssh HOST help"


class Channel(asyncssh.SSHServerSession[bytes]):
    """A channel. ``refuse`` is called with what the client may not have, ``closed`` when the channel ends."""

    def __init__(
        self,
        context: ServerContext,
        student: str,
        address: str,
        refuse: Callable[[str], bool],
        closed: Callable[["Channel"], None],
    ) -> None:
        self._context = context
        self._refuse = refuse
        self._closed = closed
        self._student = student
        self._address = address
        self._session = TerminalSession(context, student, address)
        self._channel: asyncssh.SSHServerChannel[bytes]
        self._terminal: str | None = None
        self._command: str | None = None

    @property
    def is_in_use(self) -> bool:
        return self._session.is_active

    # requests of the client

    def connection_made(self, chan: asyncssh.SSHServerChannel[bytes]) -> None:
        self._channel = chan

    def pty_requested(self, term_type: str, term_size: tuple[int, int, int, int], term_modes: object) -> bool:
        self._terminal = term_type
        self._session.resize(size_of(*term_size[:2]))
        return True

    def shell_requested(self) -> bool:
        """Accept: the laboratory itself is the shell."""
        return True

    def exec_requested(self, command: str) -> bool:
        """Accept any command; it is one of the lab's own, and no shell executes it."""
        self._command = command
        return True

    def subsystem_requested(self, subsystem: str) -> bool:
        """Refuse sftp, and all other subsystems."""
        return self._refuse(f"subsystem {subsystem}")

    def session_started(self) -> None:
        """Begin the session, or answer the command: the client's requests are complete."""
        first = first_exercise(self._command, self._context)
        if first is None:
            text, status = run_command(self._command or "", self._context, self._student)
            self._log("refused" if status else "ssh command", self._command or "")
            self._print(text, status)
        elif self._terminal is None:
            self._print(_NO_TERMINAL, REFUSED)
        else:
            self._session.begin(self._channel, self._terminal, first)

    # data

    def terminal_size_changed(self, width: int, height: int, pixwidth: int, pixheight: int) -> None:
        self._session.resize(size_of(width, height))

    def data_received(self, data: bytes, datatype: asyncssh.DataType) -> None:
        self._session.type(data)

    def pause_writing(self) -> None:
        self.hold("window", True)

    def resume_writing(self) -> None:
        self.hold("window", False)

    def hold(self, why: str, held: bool) -> None:
        """Hold back output while any reason is in force."""
        self._session.hold(why, held)

    def eof_received(self) -> bool:
        """Keep the session open: only the input has ended."""
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self._session.hang_up()
        self._closed(self)

    def _print(self, text: str, status: int) -> None:
        end = "\r\n" if self._terminal is not None else "\n"
        with contextlib.suppress(OSError):
            self._channel.write((text.replace("\n", end) + end).encode())
            self._channel.exit(status)

    def _log(self, event: str, text: str) -> None:
        self._context.log.write(event, text, student=self._student, address=self._address)
