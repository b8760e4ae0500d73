"""Messages between students and teacher: the state of the class, and the teacher's notices.

The server carries them. The students' sessions show the notices, the teacher's screen shows the state of the
class.
"""

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct, field

from lab.exercises.course import Schedule
from lab.text import UserError


class ServerAdminError(UserError):
    """A request of the teacher's failed, or no server runs; the text is for the teacher."""


class Student(Struct, frozen=True):
    """A student. ``since`` is when the session began, UTC, ISO 8601, ``on_s`` ago; empty without a session.

    ``exercise`` and the next fields describe the attempt in progress: ``stuck_s`` is the time since its last task
    was done, or since it began; None if all are done, or there is no attempt. ``socket`` is the feed of its
    ``cluster``. ``points`` and ``solved`` count all exercises. ``keys``: the teacher controls the cluster, too.
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


class ClassReport(Struct, frozen=True):
    """The state of the class; ``exercises`` counts the exercises, ``points`` are their sum.

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


def sort_by_stuck_time(students: tuple[Student, ...]) -> list[Student]:
    """Sort the students: longest stuck first, then the others who are logged in, then the rest."""

    def order(student: Student) -> tuple[bool, bool, float, str]:
        return not student.since, student.stuck_s is None, -(student.stuck_s or 0.0), student.name

    return sorted(students, key=order)


class Announcement(Struct, frozen=True, tag="announcement"):
    """A message of the teacher's, shown until the student dismisses it."""

    text: str


class TeacherControl(Struct, frozen=True, tag="keys"):
    """The teacher controls the student's cluster, too; if not ``held``: no longer."""

    held: bool


class Lecture(Struct, frozen=True, tag="lecture"):
    """The teacher's cluster, shown to all; without a ``socket`` the lecture is over.

    ``at_once``: it is shown without asking the student.
    """

    socket: str
    title: str
    at_once: bool = False


class VoteQuestion(Struct, frozen=True, tag="asked"):
    """A question of the teacher's to the class."""

    serial: int
    text: str
    options: tuple[str, ...]


class VoteTally(Struct, frozen=True, tag="tally"):
    """The votes for each option. While ``is_open``, more may come, and only the teacher sees the tally."""

    serial: int
    text: str
    options: tuple[str, ...]
    votes: tuple[int, ...]
    is_open: bool


Notice = Schedule | Announcement | TeacherControl | Lecture | VoteQuestion | VoteTally


class Teacher(Protocol):
    """A session's connection to the teacher."""

    def listen(self, callback: Callable[[Notice], object]) -> None:
        """Call ``callback`` in another thread with each notice, starting with those that have already arrived."""

    def vote(self, serial: int, choice: int) -> None:
        """Answer a question. It blocks."""
