"""The teacher's requests on a server's admin socket, each with one reply."""

from msgspec import Struct

from lab.exercises.teacher import Audience, ClassReport, LecturePosition, VoteTally


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
    """Show the cluster with this feed, or the lecture in this folder, to the class while the connection lasts."""

    socket: str
    title: str
    folder: str = ""


class ShowPosition(Struct, frozen=True, tag="position"):
    """Show the class where the teacher is in a lecture from a file."""

    position: LecturePosition


class EndLecture(Struct, frozen=True, tag="end lecture"):
    """Note that a lecture from a file is over, and will not go on."""


class AskQuestion(Struct, frozen=True, tag="ask"):
    """Ask the class a question; in a lecture from a file, that of a step, with what is shown after the vote."""

    text: str
    options: tuple[str, ...]
    step: int = 0
    answer: str = ""
    explanation: str = ""


class GetTally(Struct, frozen=True, tag="tally"):
    """Report the votes so far."""


class CloseVote(Struct, frozen=True, tag="close"):
    """Close the vote, and show the tally to the class."""


class CommentAttempt(Struct, frozen=True, tag="comment"):
    """Comment on an attempt; 0 is the student's latest attempt at the exercise."""

    student: str
    exercise: str
    text: str
    attempt: int = 0


class RemoveStudent(Struct, frozen=True, tag="remove"):
    """End the student's sessions, and admit the student no more."""

    student: str


class ReadmitStudent(Struct, frozen=True, tag="readmit"):
    """Admit a removed student again."""

    student: str


class ArchiveStudent(Struct, frozen=True, tag="archive"):
    """Write all that is stored about the student to this zip file."""

    student: str
    to: str


class EraseStudent(Struct, frozen=True, tag="erase"):
    """Delete all that is stored about the student."""

    student: str


RecordRequest = CommentAttempt | RemoveStudent | ReadmitStudent | ArchiveStudent | EraseStudent

AdminRequest = (
    GetReport
    | NotifyStudents
    | TakeControl
    | BeginLecture
    | ShowPosition
    | EndLecture
    | AskQuestion
    | GetTally
    | CloseVote
    | RecordRequest
)


class AdminReply(Struct, frozen=True, omit_defaults=True):
    """A reply; ``failure`` is the reason why the request failed, ``text`` the result, for the teacher."""

    failure: str = ""
    text: str = ""
    report: ClassReport | None = None
    notified: list[str] = []
    tally: VoteTally | None = None
    audience: Audience | None = None
