"""An exercise, as read from its folder."""

from pathlib import Path
from typing import Literal

from msgspec import Struct

from lab.scenario.file import Scenario

__all__ = ["FREE", "KINDS", "LEVELS", "Exercise", "Hint", "Kind", "Repair", "Task", "Way"]

Kind = Literal["bring about", "predict", "find", "repair", "explain"]
KINDS: dict[Kind, str] = {
    "bring about": "make it happen, with the allowed commands",
    "predict": "predict what will happen",
    "find": "find it in a run",
    "repair": "repair a protocol that leaves out a rule; not on the server",
    "explain": "explain in your own words, for the teacher",
}
"""The kinds of exercises: what the student mainly does."""

LEVELS = {1: "first steps", 2: "middle", 3: "hard"}

Way = Literal["reach", "script", "question", "explain", "repair"]

FREE = ("answer", "hint", "mark", "say", "freeze", "go", "speed", "step")
"""Commands that are allowed in every exercise and are not counted: they do not affect the nodes."""


class Hint(Struct, frozen=True):
    """A hint, in Markdown, and the points that it costs."""

    costs: int
    text: str


class Repair(Struct, frozen=True, forbid_unknown_fields=True):
    """The requirements for a repaired protocol: keep ``promises`` in ``runs`` runs with these ``faults``.

    Each run has a random number of ``nodes`` (from, to), random times and links, and executes ``commands``, or by
    default those of its protocol. If ``like`` names a built-in protocol, the repaired one may send at most
    ``times`` times as many messages.
    """

    promises: tuple[str, ...]
    faults: tuple[str, ...] = ("kill",)
    runs: int = 200
    nodes: tuple[int, int] = (3, 6)
    commands: tuple[str, ...] = ()
    like: str = ""
    times: float = 1.5


class Task(Struct, frozen=True):
    """One task. ``number`` counts from 1; ``text`` holds its instructions, in Markdown.

    A task is done in one of five ways. ``reach``: a predicate becomes true. ``script``: all lines of a script are
    met. ``question``: the answer is one of ``accepted_answers``, or the number of the record with which ``record``
    becomes true (a predicate, or ``violation A1.1``). An answer counts only until ``before`` becomes true, and
    only the first one counts. ``explain``: a text that a teacher reads. ``repair``: a protocol file is graded, not
    an attempt.

    ``at_most`` is the number of commands allowed, not counting those in ``FREE``; None means any number.
    ``explains`` is the explanation shown afterwards.
    """

    number: int
    title: str
    text: str
    points: int
    way: Way
    reach: str = ""
    script: str = ""
    question: str = ""
    options: tuple[str, ...] = ()
    accepted_answers: tuple[str, ...] = ()
    record: str = ""
    before: str = ""
    explain: str = ""
    at_most: int | None = None
    explains: str = ""
    hints: tuple[Hint, ...] = ()
    repair: Repair | None = None


class Exercise(Struct, frozen=True):
    """An exercise. ``intro`` is the text before the tasks, in Markdown.

    ``teaches`` names rules, assertions and assumptions. ``setup`` is the scenario that an attempt starts from; its
    ``for`` limits the attempt's time. ``may`` lists the commands that are allowed besides those in ``FREE``.
    ``repairs`` is the protocol file to be repaired, if there is one. Within a ``level``, exercises are sorted by
    ``place``.
    """

    name: str
    folder: Path
    title: str
    kind: Kind
    level: int
    teaches: tuple[str, ...]
    intro: str
    setup: Scenario
    may: tuple[str, ...]
    tasks: tuple[Task, ...]
    repairs: Path | None = None
    place: int = 50

    @property
    def points(self) -> int:
        """Points that can be earned without a teacher."""
        return sum(task.points for task in self.tasks if task.way != "explain")

    @property
    def allowed(self) -> tuple[str, ...]:
        return (*self.may, *FREE)
