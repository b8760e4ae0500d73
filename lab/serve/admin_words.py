"""What the teacher's side and the server say to each other: JSON lines, an order and its reply."""

from msgspec import Struct

from lab.exercises.teacher import ClassReport, Tally

__all__ = [
    "ADMIN_SOCKET",
    "AdminOrder",
    "AdminReply",
    "AskClass",
    "BeginLecture",
    "CloseVote",
    "ReportClass",
    "TakeKeys",
    "TellClass",
    "TellTally",
]

ADMIN_SOCKET = "admin.sock"
"""In the folder of the server's sockets."""


class ReportClass(Struct, frozen=True, tag="report"):
    """How does the class stand?"""


class TellClass(Struct, frozen=True, tag="tell"):
    """Tell these students, or all who are on."""

    students: tuple[str, ...]
    text: str


class TakeKeys(Struct, frozen=True, tag="keys"):
    """The teacher gives commands to this student's cluster, too, as long as the connection lasts."""

    student: str


class BeginLecture(Struct, frozen=True, tag="lecture"):
    """All see the cluster with its feed on this socket, as long as the connection lasts."""

    socket: str
    title: str


class AskClass(Struct, frozen=True, tag="ask"):
    """Ask the class."""

    text: str
    choices: tuple[str, ...]


class TellTally(Struct, frozen=True, tag="tally"):
    """What has the class said so far?"""


class CloseVote(Struct, frozen=True, tag="close"):
    """No more votes; all see the tally."""


AdminOrder = ReportClass | TellClass | TakeKeys | BeginLecture | AskClass | TellTally | CloseVote


class AdminReply(Struct, frozen=True, omit_defaults=True):
    """``failure`` is for the teacher, where it could not be done."""

    failure: str = ""
    report: ClassReport | None = None
    told: list[str] = []
    tally: Tally | None = None
