"""The client side of the admin socket."""

import socket
from pathlib import Path
from threading import Lock

import msgspec

from lab.exercises.teacher import ClassReport, ServerAdminError, VoteTally
from lab.serve.admin_protocol import (
    ADMIN_SOCKET,
    AdminReply,
    AdminRequest,
    AskQuestion,
    BeginLecture,
    CloseVote,
    GetReport,
    GetTally,
    NotifyStudents,
    TakeControl,
)
from lab.serve.folder import DataFolder

__all__ = ["AdminConnection"]

_WITHIN_S = 5.0


class AdminConnection:
    """A connection to the server with this data folder; what its requests hold ends when it closes.

    Calls block briefly; several threads may call. All raise ServerAdminError if the server has gone or refuses.
    """

    def __init__(self, folder: DataFolder) -> None:
        self._folder = folder
        running = folder.running_server()
        if running is None:
            raise self._no_server_error()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.settimeout(_WITHIN_S)
            self._socket.connect(str(Path(running.sockets) / ADMIN_SOCKET))
        except OSError:
            self._socket.close()
            raise self._no_server_error() from None
        self._replies = self._socket.makefile("rb")
        self._lock = Lock()

    def __enter__(self) -> "AdminConnection":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._replies.close()
        self._socket.close()

    def report(self) -> ClassReport:
        """Return the state of the class."""
        found = self._request(GetReport()).report
        assert found is not None
        return found

    def notify(self, students: tuple[str, ...], text: str) -> list[str]:
        """Send a message to these students, or to all who are logged in; return who received it."""
        return self._request(NotifyStudents(students, text)).notified

    def take_control(self, student: str) -> None:
        """Tell the student that the teacher controls the cluster, too, until this connection closes."""
        self._request(TakeControl(student))

    def begin_lecture(self, feed: str, title: str) -> None:
        """Show this cluster to the class until this connection closes."""
        self._request(BeginLecture(feed, title))

    def ask(self, text: str, options: tuple[str, ...]) -> None:
        """Ask the class a question."""
        self._request(AskQuestion(text, options))

    def tally(self) -> VoteTally:
        """Return the votes so far."""
        return self._tally(GetTally())

    def close_vote(self) -> VoteTally:
        """Close the vote, and show the tally to the class."""
        return self._tally(CloseVote())

    def _tally(self, request: AdminRequest) -> VoteTally:
        found = self._request(request).tally
        assert found is not None
        return found

    def _request(self, request: AdminRequest) -> AdminReply:
        try:
            with self._lock:
                self._socket.sendall(msgspec.json.encode(request) + b"\n")
                line = self._replies.readline()
        except TimeoutError:
            self.close()  # a late reply would be taken for the next one
            raise ServerAdminError("the server does not answer; see lab serve log") from None
        except (OSError, ValueError):  # it was closed
            line = b""
        if not line:
            raise self._no_server_error()
        reply = msgspec.json.decode(line, type=AdminReply)
        if reply.failure:
            raise ServerAdminError(reply.failure)
        return reply

    def _no_server_error(self) -> ServerAdminError:
        return ServerAdminError(f"no server runs in {self._folder.path}; start one with: lab serve")
