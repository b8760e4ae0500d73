"""Messages between students and teacher: the state of the class, and the teacher's notices.

The server carries them. The students' sessions show the notices, the teacher's screen shows the state of the
class.
"""

from collections.abc import Callable
from typing import Literal, Protocol, get_args

from msgspec import Struct, field

from lab.exercises.assessment import State
from lab.exercises.course import CourseSchedule
from lab.text import UserError
from lab.worlds.loading.config import HostReady


class ServerAdminError(UserError):
    """A request of the teacher's failed, or no server runs; the text is for the teacher."""


class ServerGoneError(ServerAdminError):
    """No server runs, or it has ended since; the text is for the teacher."""


class Student(Struct, frozen=True):
    """A student. ``since`` is when the session began, UTC, ISO 8601, ``on_s`` ago; empty without a session.

    ``exercise`` and the next fields describe the attempt in progress: ``stuck_s`` is the time since its last task
    was done, or since it began; None if all are done, or there is no attempt. ``socket`` is the feed of its
    ``cluster``. ``points`` and ``solved`` count all exercises. ``keys``: the teacher controls the cluster, too.
    ``states`` are those of the tasks of the attempt in progress. ``latest`` and ``latest_attempt`` name the last
    attempt, in progress or not. ``unread`` counts the comments that the student has not read. ``removed``: the
    student cannot log in.
    """

    name: str
    since: str = ""
    on_s: float | None = None
    address: str = ""
    idle_s: float = 0.0
    exercise: str = ""
    attempt: int = 0
    done: int = 0
    tasks: int = 0
    stuck_s: float | None = None
    cluster: str = ""
    socket: str = ""
    points: int = 0
    solved: int = 0
    keys: bool = False
    states: tuple[State, ...] = ()
    latest: str = ""
    latest_attempt: int = 0
    unread: int = 0
    removed: bool = False


Situation = Literal["stuck", "idle", "working", "choosing", "done", "away", "removed"]
"""What a student is doing; those who need help come first."""
STUCK_S = IDLE_S = 300.0
"""Without progress for this long a student is stuck; without a key pressed, idle."""


def situation_of(student: Student) -> Situation:
    """Return what the student is doing: see ``lab guide class``."""
    if student.removed:
        return "removed"
    if not student.since:
        return "away"
    if not student.exercise:
        return "choosing"
    if student.stuck_s is None:
        return "done"
    if student.idle_s >= IDLE_S:
        return "idle"
    return "stuck" if student.stuck_s >= STUCK_S else "working"


class ClassReport(Struct, frozen=True):
    """The state of the class; ``exercises`` counts those that are done on the server, ``points`` are their sum.

    ``lecture`` is the title of the lecture in progress, if any.
    """

    port: int
    students: tuple[Student, ...] = field(name="pupils")
    exercises: int
    points: int
    lecture: str = ""


def format_minutes(time_s: float) -> str:
    """Format a duration, coarsely: 45 s, 12 min, 3 h."""
    if time_s < 60:
        return f"{max(0.0, time_s):.0f} s"
    return f"{time_s // 60:.0f} min" if time_s < 7200 else f"{time_s // 3600:.0f} h"


def sort_by_need(students: tuple[Student, ...]) -> list[Student]:
    """Sort the students: by their situation, then the longest stuck first."""
    situations = get_args(Situation)

    def order(student: Student) -> tuple[int, float, str]:
        return situations.index(situation_of(student)), -(student.stuck_s or 0.0), student.name

    return sorted(students, key=order)


class Announcement(Struct, frozen=True, tag="announcement"):
    """A message of the teacher's, shown until the student dismisses it."""

    text: str


class Comment(Struct, frozen=True, omit_defaults=True):
    """The teacher's comment on an attempt, with a ``serial`` that differs from the student's others.

    ``at`` is when it was written, ``read`` when the student read it, UTC, ISO 8601; empty until then.
    """

    serial: int
    exercise: str
    attempt: int
    text: str
    at: str
    read: str = ""


class Comments(Struct, frozen=True, tag="comments"):
    """All comments on this student's attempts, oldest first."""

    comments: tuple[Comment, ...]


class Welcome(Struct, frozen=True, tag="welcome"):
    """What became of the code with which the student came; shown until dismissed."""

    text: str


class TeacherControl(Struct, frozen=True, tag="keys"):
    """The teacher controls the student's cluster, too; if not ``held``: no longer."""

    held: bool


class ShownLecture(Struct, frozen=True, tag="lecture"):
    """A lecture of the teacher's, shown to all: a cluster, with a ``socket``, or one from a file, in a ``folder``.

    With neither, the lecture is over; if it was ``interrupted``, it may go on. ``at_once``: it is shown without
    asking the student.
    """

    socket: str
    title: str
    at_once: bool = False
    folder: str = ""
    interrupted: bool = False

    @property
    def is_on(self) -> bool:
        return bool(self.socket or self.folder)


class LecturePosition(Struct, frozen=True, tag="position"):
    """The teacher's place in a lecture from a file: the step of this ``place``, from 0.

    The run is at ``record``; if it ``plays``, it goes from there, at this ``speed``, to where the step stops.
    ``view`` and ``node`` are what the teacher looks at. ``reached`` is the place of the farthest step shown so
    far, ``shown`` has the last record shown so far of each run.
    """

    place: int = 0
    record: int = 0
    plays: bool = False
    speed: float = 1.0
    view: str = ""
    node: int | None = None
    reached: int = 0
    shown: tuple[int, ...] = ()


class Audience(Struct, frozen=True):
    """The students who are logged in, and those of them who follow the lecture, as numbers."""

    students: int
    following: int


class PastLecture(Struct, frozen=True):
    """A lecture from a file that was given to the class, with the date on which it began, ISO 8601."""

    folder: str
    title: str
    date: str


class PastLectures(Struct, frozen=True, tag="lectures"):
    """The lectures from files that were given to the class, oldest first."""

    lectures: tuple[PastLecture, ...]


LONGEST_TEXT = 280
"""In characters: that of a message, a question or an option, which must fit a student's screen."""


class VoteQuestion(Struct, frozen=True, tag="asked"):
    """A question of the teacher's to the class. ``step`` is the number of its step in a lecture from a file."""

    serial: int
    text: str
    options: tuple[str, ...]
    step: int = 0


class VoteTally(Struct, frozen=True, tag="tally"):
    """The votes for each option. While ``is_open``, more may come, and only the teacher sees the tally.

    That of a question of a lecture from a file has the number of its ``step``, and, once the vote is closed, the
    ``answer`` and its ``explanation``.
    """

    serial: int
    text: str
    options: tuple[str, ...]
    votes: tuple[int, ...]
    is_open: bool
    step: int = 0
    answer: str = ""
    explanation: str = ""


Notice = (
    CourseSchedule
    | Comments
    | Welcome
    | Announcement
    | TeacherControl
    | ShownLecture
    | LecturePosition
    | PastLectures
    | VoteQuestion
    | VoteTally
)


class Teacher(Protocol):
    """A session's connection to the teacher."""

    def listen(self, callback: Callable[[Notice], object]) -> None:
        """Call ``callback`` in another thread with each notice, starting with those that have already arrived."""

    def vote(self, serial: int, choice: int) -> None:
        """Answer a question. It blocks."""

    def mark_read(self, serials: tuple[int, ...]) -> None:
        """Note that the student has read these comments. It blocks."""

    def report_following(self, follows: bool) -> None:
        """Report whether the student follows the lecture. It blocks."""

    def start_branch(self, lecture: str, run: int, record: int) -> HostReady:
        """Branch off a run of the lecture in this folder at a record. It blocks. Raises HostFailedError."""

    def end_branch(self) -> None:
        """End the branch, if there is one. It blocks."""
