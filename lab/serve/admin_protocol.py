"""Messages on the admin socket: JSON lines, one reply per request."""

from msgspec import Struct

from lab.exercises.teacher import ClassReport, VoteTally

__all__ = [
    "ADMIN_SOCKET",
    "AdminReply",
    "AdminRequest",
    "AskQuestion",
    "BeginLecture",
    "CloseVote",
    "GetReport",
    "GetTally",
    "NotifyStudents",
    "TakeControl",
]

ADMIN_SOCKET = "admin.sock"
"""The socket's name, in the folder of the server's sockets."""


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
