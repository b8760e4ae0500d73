"""The teacher's end of a running server's admin socket. Each request has one reply."""

import socket
from contextlib import closing, suppress
from math import inf
from pathlib import Path
from threading import Lock
from typing import Self

import msgspec

from lab.exercises.teacher import (
    Audience,
    ClassReport,
    LecturePosition,
    ServerAdminError,
    ServerGoneError,
    VoteTally,
)
from lab.serve.admin_requests import (
    AdminReply,
    AdminRequest,
    ArchiveStudent,
    AskQuestion,
    BeginLecture,
    CloseVote,
    CommentAttempt,
    EndLecture,
    EraseStudent,
    GetReport,
    GetTally,
    NotifyStudents,
    ReadmitStudent,
    RecordRequest,
    RemoveStudent,
    ShowPosition,
    TakeControl,
)
from lab.serve.data_folder import DataFolder, ServerLog
from lab.worlds.json_lines import Channel

ADMIN_SOCKET = "admin.sock"
"""The socket's name, in the folder of the server's sockets."""

_WITHIN_S = 5.0
_RECORDS_WITHIN_S = 60.0
"""A student's sessions and cluster may have to end first, or many recordings be read."""


class AdminConnection:
    """A connection to the server with this data folder; what its requests hold ends when it closes.

    Calls block briefly; several threads may call. All raise ServerAdminError if the server has gone or refuses.
    """

    def __init__(self, folder: DataFolder) -> None:
        self._folder = folder
        self._lock = Lock()
        self._connect()

    def _connect(self) -> None:
        running = self._folder.running_server()
        if running is None:
            raise self._no_server_error()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._server = Channel(self._socket, longest=inf)  # a report on a class of any size
        try:
            self._socket.settimeout(_WITHIN_S)
            self._socket.connect(str(Path(running.sockets) / ADMIN_SOCKET))
        except OSError:
            self.close()
            raise self._no_server_error() from None

    def __enter__(self) -> Self:
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

    def begin_lecture(self, feed: str, title: str, folder: str = "") -> None:
        """Show this cluster, or the lecture in this folder, to the class until this connection closes."""
        self._request(BeginLecture(feed, title, folder))

    def show_position(self, position: LecturePosition) -> Audience:
        """Show the class where the teacher is in a lecture from a file; return who is there."""
        found = self._request(ShowPosition(position)).audience
        assert found is not None
        return found

    def end_lecture(self) -> None:
        """Note that the lecture from a file is over, and will not go on."""
        self._request(EndLecture())

    def change_records(self, request: RecordRequest) -> str:
        """Carry out a request about one student; return the result, for the teacher."""
        self._socket.settimeout(_RECORDS_WITHIN_S)
        try:
            return self._request(request).text
        finally:
            self._socket.settimeout(_WITHIN_S)

    def ask(
        self, text: str, options: tuple[str, ...], step: int = 0, answer: str = "", explanation: str = ""
    ) -> None:
        """Ask the class a question, or that of a step, whose answer is shown when the vote is closed."""
        self._request(AskQuestion(text, options, step, answer, explanation))

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
            raise ServerGoneError("the server does not answer; see lab serve log") from None
        except (EOFError, OSError):
            raise self._no_server_error() from None
        reply = msgspec.json.decode(lines[0], type=AdminReply)
        if reply.failure:
            raise ServerAdminError(reply.failure)
        return reply

    def _no_server_error(self) -> ServerGoneError:
        return ServerGoneError(
            f"no server runs in {self._folder.path}; start one with: lab serve{self._folder.option}"
        )


class LectureConnection(AdminConnection):
    """A connection to the class of a lecture from a file, in its folder. It can be opened again."""

    def __init__(self, data: DataFolder, lecture: Path, title: str) -> None:
        super().__init__(data)
        self._lecture = title, str(lecture)
        try:
            self._begin()
        except BaseException:
            self.close()
            raise

    def connect_again(self) -> None:
        """Connect again after the server has gone, and show the lecture to the class."""
        with self._lock:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)  # a process that watches this one has a copy
            self.close()
            self._connect()
        self._begin()

    def _begin(self) -> None:
        title, folder = self._lecture
        self.begin_lecture("", title, folder)


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

    def change_records(self, request: RecordRequest) -> str:
        """Carry out a request about one student, by the server if one runs; return the result, for the teacher.

        Raises ServerAdminError, FolderError or OSError.
        """
        try:
            line = AdminConnection(self._folder)
        except ServerAdminError:
            return _change_without_server(self._folder, request)
        with line:
            return line.change_records(request)

    def comment(self, student: str, exercise: str, attempt: int, text: str) -> str:
        """Comment on an attempt; 0 is the latest. Raises as ``change_records``."""
        return self.change_records(CommentAttempt(student, exercise, text, attempt))

    def remove(self, student: str) -> str:
        """End the student's sessions, and admit the student no more. Raises as ``change_records``."""
        return self.change_records(RemoveStudent(student))

    def readmit(self, student: str) -> str:
        """Admit a removed student again. Raises as ``change_records``."""
        return self.change_records(ReadmitStudent(student))

    def archive(self, student: str, to: Path) -> str:
        """Write all that is stored about the student to a zip file. Raises as ``change_records``."""
        return self.change_records(ArchiveStudent(student, str(to.absolute())))

    def erase(self, student: str) -> str:
        """Delete all that is stored about the student. Raises as ``change_records``."""
        return self.change_records(EraseStudent(student))

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


def _change_without_server(folder: DataFolder, request: RecordRequest) -> str:
    """Carry out a request while this process holds the data folder as a server does."""
    from lab.serve.class_records import ClassRecords  # noqa: PLC0415 - it needs asyncssh

    with folder.held(), closing(ServerLog(folder.log)) as log:
        return ClassRecords(folder, log).apply(request)
