"""The teacher's end of a running server's admin socket. Each request has one reply."""

import socket
from math import inf
from pathlib import Path
from threading import Lock

import msgspec
from msgspec import Struct

from lab.exercises.teacher import ClassReport, ServerAdminError, VoteTally
from lab.serve.data_folder import DataFolder
from lab.worlds.json_lines import Channel

ADMIN_SOCKET = "admin.sock"
"""The socket's name, in the folder of the server's sockets."""

_WITHIN_S = 5.0


class GetReport(Struct, frozen=True, tag="report"):
    """Report the state of the class."""


class NotifyStudents(Struct, frozen=True, tag="notify"):
    """Send a message to these students, or to all who are logged in."""

    students: tuple[str, ...]
    text: str


class TakeControl(Struct, frozen=True, tag="keys"):
    """Share control of this student's cluster while the connection lasts."""

    student: str


class BeginLecture(Struct, frozen=True, tag="lecture"):
    """Show the cluster with this feed to the class while the connection lasts."""

    socket: str
    title: str


class AskQuestion(Struct, frozen=True, tag="ask"):
    """Ask the class a question."""

    text: str
    options: tuple[str, ...]


class GetTally(Struct, frozen=True, tag="tally"):
    """Report the votes so far."""


class CloseVote(Struct, frozen=True, tag="close"):
    """Close the vote, and show the tally to the class."""


AdminRequest = GetReport | NotifyStudents | TakeControl | BeginLecture | AskQuestion | GetTally | CloseVote


class AdminReply(Struct, frozen=True, omit_defaults=True):
    """A reply; ``failure`` is the reason why the request failed, for the teacher."""

    failure: str = ""
    report: ClassReport | None = None
    notified: list[str] = []
    tally: VoteTally | None = None


class AdminConnection:
    """A connection to the server with this data folder; what its requests hold ends when it closes.

    Calls block briefly; several threads may call. All raise ServerAdminError if the server has gone or refuses.
    """

    def __init__(self, folder: DataFolder) -> None:
        self._folder = folder
        self._lock = Lock()
        running = folder.running_server()
        if running is None:
            raise self._no_server_error()
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._server = Channel(connection, longest=inf)  # a report on a class of any size
        try:
            connection.settimeout(_WITHIN_S)
            connection.connect(str(Path(running.sockets) / ADMIN_SOCKET))
        except OSError:
            self.close()
            raise self._no_server_error() from None

    def __enter__(self) -> "AdminConnection":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._server.close()

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
        lines: list[bytes] = []
        try:
            with self._lock:
                self._server.send(request)
                while not lines:
                    lines = self._server.receive()
        except TimeoutError:
            self.close()  # a late reply would be taken for the next one
            raise ServerAdminError("the server does not answer; see lab serve log") from None
        except (EOFError, OSError):
            raise self._no_server_error() from None
        reply = msgspec.json.decode(lines[0], type=AdminReply)
        if reply.failure:
            raise ServerAdminError(reply.failure)
        return reply

    def _no_server_error(self) -> ServerAdminError:
        return ServerAdminError(f"no server runs in {self._folder.path}; start one with: lab serve")


class AdminClient:
    """A client of the server with this data folder; each request has its own connection."""

    def __init__(self, folder: DataFolder) -> None:
        self._folder = folder

    def report(self) -> ClassReport:
        """Return the state of the class. Raises ServerAdminError."""
        with AdminConnection(self._folder) as line:
            return line.report()

    def notify(self, students: tuple[str, ...], text: str) -> list[str]:
        """Send a message to these students, or to all; return who received it. Raises ServerAdminError."""
        with AdminConnection(self._folder) as line:
            return line.notify(students, text)

    def take_control(self, student: str) -> AdminConnection:
        """Share control of the student's cluster until the returned connection is closed.

        Raises ServerAdminError.
        """
        line = AdminConnection(self._folder)
        try:
            line.take_control(student)
        except BaseException:
            line.close()
            raise
        return line
