"""The teacher's side of the admin socket."""

import socket
from pathlib import Path
from threading import Lock

import msgspec

from lab.exercises.teacher import ClassReport, OfficeError, Tally
from lab.serve.admin_words import (
    ADMIN_SOCKET,
    AdminOrder,
    AdminReply,
    AskClass,
    BeginLecture,
    CloseVote,
    ReportClass,
    TakeKeys,
    TellClass,
    TellTally,
)
from lab.serve.folder import DataFolder

__all__ = ["AdminLine"]

_WITHIN_S = 5.0


class AdminLine:
    """A connection to the server of this folder; what it began is over when it closes. OfficeError.

    Each of its calls blocks for a moment; several threads may call. OfficeError: the server has gone, or says no.
    """

    def __init__(self, folder: DataFolder) -> None:
        self._folder = folder
        running = folder.found()
        if running is None:
            raise self._missing()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.settimeout(_WITHIN_S)
            self._socket.connect(str(Path(running.sockets) / ADMIN_SOCKET))
        except OSError:
            self._socket.close()
            raise self._missing() from None
        self._answers = self._socket.makefile("rb")
        self._turn = Lock()

    def __enter__(self) -> "AdminLine":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Hang up."""
        self._answers.close()
        self._socket.close()

    def report(self) -> ClassReport:
        """How the class stands."""
        found = self._ask(ReportClass()).report
        assert found is not None
        return found

    def tell(self, students: tuple[str, ...], text: str) -> list[str]:
        """Tell these, or all who are on; who was told."""
        return self._ask(TellClass(students, text)).told

    def take_keys(self, student: str) -> None:
        """Let the student know that the teacher has the keys, until this is closed."""
        self._ask(TakeKeys(student))

    def begin_lecture(self, feed: str, title: str) -> None:
        """Let all see that cluster, until this is closed."""
        self._ask(BeginLecture(feed, title))

    def ask(self, text: str, choices: tuple[str, ...]) -> None:
        """Ask the class."""
        self._ask(AskClass(text, choices))

    def tally(self) -> Tally:
        """What it has said so far."""
        return self._tally(TellTally())

    def close_vote(self) -> Tally:
        """No more votes; all see the tally."""
        return self._tally(CloseVote())

    def _tally(self, order: AdminOrder) -> Tally:
        found = self._ask(order).tally
        assert found is not None
        return found

    def _ask(self, order: AdminOrder) -> AdminReply:
        try:
            with self._turn:
                self._socket.sendall(msgspec.json.encode(order) + b"\n")
                line = self._answers.readline()
        except TimeoutError:
            self.close()  # the answer may come yet, and would be taken for the next one
            raise OfficeError("the server does not answer; lab serve log may say why") from None
        except (OSError, ValueError):  # it was closed
            line = b""
        if not line:
            raise self._missing()
        reply = msgspec.json.decode(line, type=AdminReply)
        if reply.failure:
            raise OfficeError(reply.failure)
        return reply

    def _missing(self) -> OfficeError:
        return OfficeError(f"no server runs on {self._folder.path}; start one with: lab serve")
