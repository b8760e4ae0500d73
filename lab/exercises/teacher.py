"""What passes between a class that works and its teacher: how each student stands, and what the teacher says.

The server carries it, the students' sessions show the one half, the teacher's screen the other.
"""

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

__all__ = [
    "Announcement",
    "Asked",
    "ClassReport",
    "KeysTaken",
    "Lecture",
    "Notice",
    "OfficeError",
    "Pupil",
    "Tally",
    "Teacher",
    "in_minutes",
    "stuck_first",
]


class OfficeError(Exception):
    """What the teacher wants cannot be done, or there is no server; the text is for the teacher."""


class Pupil(Struct, frozen=True):
    """A student. ``since`` is when the session began, UTC, ISO 8601, ``on_s`` ago; empty where there is none.

    ``exercise`` and what follows is the attempt that goes on: ``stuck_s`` is the time since its last task was
    done, or since it began; None where all is done, or nothing goes on. ``socket`` is the feed of its ``cluster``.
    ``points`` and ``solved`` count all exercises. ``keys``: the teacher gives commands to the cluster, too.
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
    """How the class stands. There are so many ``exercises``, which bring ``points``; ``lecture`` is its title."""

    port: int
    pupils: tuple[Pupil, ...]
    exercises: int
    points: int
    lecture: str = ""


def in_minutes(time_s: float) -> str:
    """So long, as a teacher wants to know it: 45 s, 12 min, 3 h."""
    if time_s < 60:
        return f"{max(0.0, time_s):.0f} s"
    return f"{time_s // 60:.0f} min" if time_s < 7200 else f"{time_s // 3600:.0f} h"


def stuck_first(pupils: tuple[Pupil, ...]) -> list[Pupil]:
    """Who has been stuck for longest comes first, then who is on, then who is not."""

    def order(pupil: Pupil) -> tuple[bool, bool, float, str]:
        return not pupil.since, pupil.stuck_s is None, -(pupil.stuck_s or 0.0), pupil.name

    return sorted(pupils, key=order)


class Announcement(Struct, frozen=True, tag="told"):
    """A message of the teacher's. It is seen until it is put away."""

    text: str


class KeysTaken(Struct, frozen=True, tag="keys"):
    """The teacher gives commands to the student's cluster, too; not ``held``: no longer."""

    held: bool


class Lecture(Struct, frozen=True, tag="lecture"):
    """The teacher's cluster, for all to see; without a ``socket`` it is over. ``at_once``: it is shown unasked."""

    socket: str
    title: str
    at_once: bool = False


class Asked(Struct, frozen=True, tag="asked"):
    """The teacher asks the class."""

    serial: int
    text: str
    choices: tuple[str, ...]


class Tally(Struct, frozen=True, tag="tally"):
    """What the class said, choice by choice. ``is_open``: votes still come; then only the teacher sees it."""

    serial: int
    text: str
    choices: tuple[str, ...]
    votes: tuple[int, ...]
    is_open: bool


Notice = Announcement | KeysTaken | Lecture | Asked | Tally


class Teacher(Protocol):
    """The way to the teacher that a session has."""

    def listen(self, hear: Callable[[Notice], object]) -> None:
        """From now on ``hear`` is given what the teacher says, in a thread of its own; also what came before."""

    def vote(self, serial: int, choice: int) -> None:
        """Answer what was asked. It blocks."""
