"""An exercise, as it is read from its folder."""

from pathlib import Path
from typing import Literal

from msgspec import Struct

from lab.scenario.file import Scenario

__all__ = ["FREE", "KINDS", "LEVELS", "Exercise", "Hint", "Kind", "Repair", "Task", "Way"]

Kind = Literal["bring about", "predict", "find", "repair", "explain"]
KINDS: dict[Kind, str] = {
    "bring about": "make it happen, with the commands that are allowed",
    "predict": "say what will happen before it does",
    "find": "find it in what happens",
    "repair": "mend a protocol that leaves out a rule; not on the server",
    "explain": "in your own words, for the teacher",
}
"""What is mostly to be done in an exercise."""

LEVELS = {1: "first steps", 2: "middle", 3: "hard"}

Way = Literal["reach", "script", "question", "explain", "repair"]

FREE = ("answer", "hint", "mark", "say", "freeze", "go", "speed", "step")
"""Commands that may be given in every exercise, and count as nothing: they do nothing to the nodes."""


class Hint(Struct, frozen=True):
    """A hint, in Markdown, and how many points it costs."""

    costs: int
    text: str


class Repair(Struct, frozen=True, forbid_unknown_fields=True):
    """What a mended protocol is to stand: ``promises`` kept in ``runs`` in which these ``faults`` strike.

    Each run has from-to ``nodes``, drawn times and links, and is kept busy with ``commands``; where none are said,
    with those of its protocol. ``like``: it may send ``times`` as many messages as this protocol of the program.
    """

    promises: tuple[str, ...]
    faults: tuple[str, ...] = ("kill",)
    runs: int = 200
    nodes: tuple[int, int] = (3, 6)
    commands: tuple[str, ...] = ()
    like: str = ""
    times: float = 1.5


class Task(Struct, frozen=True):
    """One task. ``number`` from 1; ``text`` is the instructions for it, in Markdown.

    How it is done is one of five ways. ``reach``: a predicate, to become true. ``script``: lines of the command
    language, to be met, all of them. ``question``: to be answered with one of ``answers``; or, where ``record`` is
    said, with the number of the record with which that becomes true, a predicate or ``violation A1.1``. An answer
    counts until ``before`` becomes true, and the first one does. ``explain``: words that a teacher reads.
    ``repair``: with a protocol file, and in no attempt.

    ``at_most``: so many commands may have been given by then, without those that are ``FREE``; None: any number.
    ``explains`` is what is said of it afterwards.
    """

    number: int
    title: str
    text: str
    points: int
    way: Way
    reach: str = ""
    script: str = ""
    question: str = ""
    choices: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    record: str = ""
    before: str = ""
    explain: str = ""
    at_most: int | None = None
    explains: str = ""
    hints: tuple[Hint, ...] = ()
    repair: Repair | None = None


class Exercise(Struct, frozen=True):
    """``intro`` is what is said before the tasks, in Markdown; ``teaches`` names rules, assertions, assumptions.

    ``setup`` is the scenario that it begins with, whose ``for`` says how long an attempt may take. ``may`` are the
    commands that are allowed beside those that are ``FREE``. ``repairs``: the file with the protocol that is to be
    mended, where there is one. Of those of a ``level`` the ones with the lowest ``place`` come first.
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
        """How many can be had without a teacher."""
        return sum(task.points for task in self.tasks if task.way != "explain")

    @property
    def allowed(self) -> tuple[str, ...]:
        """The commands that may be given, by their first word."""
        return (*self.may, *FREE)
