"""One channel of a connection: the line to a seat, or the answer to one of the lab's own words."""

import contextlib
from collections.abc import Callable

import asyncssh

from lab.serve.border import size_of
from lab.serve.house import House
from lab.serve.seat import REFUSED, Seat
from lab.serve.words import answer_to, first_exercise

__all__ = ["Channel"]

_NO_TERMINAL = "lab: the laboratory needs a terminal: connect with ssh -t, or ask for a word: ssh HOST help"


class Channel(asyncssh.SSHServerSession[bytes]):
    """``refuse`` is told what cannot be had, and ``closed`` when it has ended."""

    def __init__(
        self,
        house: House,
        student: str,
        address: str,
        refuse: Callable[[str], bool],
        closed: Callable[["Channel"], None],
    ) -> None:
        self._house = house
        self._refuse = refuse
        self._closed = closed
        self._student = student
        self._address = address
        self._seat = Seat(house, student, address)
        self._channel: asyncssh.SSHServerChannel[bytes]
        self._terminal: str | None = None
        self._command: str | None = None

    @property
    def is_in_use(self) -> bool:
        """Whether a session goes on in it."""
        return self._seat.is_taken

    # what the client asks for

    def connection_made(self, chan: asyncssh.SSHServerChannel[bytes]) -> None:
        """It is open."""
        self._channel = chan

    def pty_requested(self, term_type: str, term_size: tuple[int, int, int, int], term_modes: object) -> bool:
        """The client has a terminal."""
        self._terminal = term_type
        self._seat.resize(size_of(*term_size[:2]))
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
        return self._refuse(f"subsystem {subsystem}")

    def session_started(self) -> None:
        """All that belongs to the request has been said: answer it."""
        first = first_exercise(self._command, self._house)
        if first is None:
            text, status = answer_to(self._command or "", self._house, self._student)
            self._log("refused" if status else "word", self._command or "")
            self._answer(text, status)
        elif self._terminal is None:
            self._answer(_NO_TERMINAL, REFUSED)
        else:
            self._seat.begin(self._channel, self._terminal, first)

    # what goes over the line

    def terminal_size_changed(self, width: int, height: int, pixwidth: int, pixheight: int) -> None:
        """The window was resized."""
        self._seat.resize(size_of(width, height))

    def data_received(self, data: bytes, datatype: asyncssh.DataType) -> None:
        """Keys."""
        self._seat.type(data)

    def pause_writing(self) -> None:
        """The client takes nothing more."""
        self.hold("window", True)

    def resume_writing(self) -> None:
        """It does again."""
        self.hold("window", False)

    def hold(self, why: str, held: bool) -> None:
        """Show nothing as long as there is a reason not to."""
        self._seat.hold(why, held)

    def eof_received(self) -> bool:
        """Nothing more is typed; the session may go on."""
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone."""
        self._seat.hang_up()
        self._closed(self)

    def _answer(self, text: str, status: int) -> None:
        end = "\r\n" if self._terminal is not None else "\n"
        with contextlib.suppress(OSError):
            self._channel.write((text.replace("\n", end) + end).encode())
            self._channel.exit(status)

    def _log(self, event: str, text: str) -> None:
        self._house.log.say(event, text, student=self._student, address=self._address)
